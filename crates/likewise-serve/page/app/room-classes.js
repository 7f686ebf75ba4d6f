// Classes: how many items each has, new ones, other names, two made one.

import { button, element, field, fill, icon } from './element.js';
import { keyOf } from './keys.js';
import { changedWords, undo } from './labels.js';
import { learn, store, tell, when, whole } from './store.js';
import { changeClasses, pick } from './picker.js';
import { disc, toned } from './sign.js';
import { toast } from './words.js';

/** Builds the room. */
export function classes() {
  const name = element('input', { type: 'text', id: 'class-name', maxlength: 200, autocomplete: 'off', required: true, placeholder: 'Name of a new class' });
  const add = element('form', { class: 'ask' }, element('div', { class: 'ask-field' }, icon('plus'), name), button('Add', () => {}, { class: 'first', type: 'submit' }));
  name.setAttribute('aria-label', 'Name of a new class');
  const body = element('tbody');
  const table = element('table', { class: 'class-table' }, element('thead', {}, element('tr', {},
    element('th', { scope: 'col' }, 'Class'), element('th', { scope: 'col' }, 'Key'), element('th', { scope: 'col', class: 'number' }, 'Labeled'), element('th', { scope: 'col', class: 'number' }, 'Believed'), element('th', { scope: 'col' }, element('span', { class: 'unseen' }, 'Changes')))), body);
  const made = element('section', { class: 'room classes', 'aria-label': 'Classes' },
    element('div', { class: 'head' }, element('h2', { class: 'grow' }, 'Classes'),
      element('a', { class: 'button', href: 'labels.csv', download: 'labels.csv' }, icon('save'), element('span', {}, 'labels.csv'))),
    add, element('div', { class: 'scroll' }, table));

  add.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (await change({ add: name.value.trim() }, `${name.value.trim()} is a class now.`)) name.value = '';
  });
  when('classes', show);
  addEventListener('likewise-theme', () => { names = ''; show(); });

  // Rows stay while the names stay: a count that changes must not take the focus away.
  let rows = new Map();
  let names = '';

  function show() {
    const now = JSON.stringify(store.classes.map((c) => [c.name, keyOf(c.name)]));
    if (now !== names) {
      names = now;
      rows = new Map(store.classes.map((c) => [c.name, rowOf(c.name, true)]));
      rows.set('outside', rowOf('outside', false));
      fill(body, [...rows.values()].map((row) => row.element));
    }
    const most = Math.max(1, ...store.classes.map((c) => c.labeled + c.believed));
    for (const c of store.classes) rows.get(c.name).count(c.labeled, c.believed, most);
    rows.get('outside').count(store.outside, null, Math.max(most, store.outside));
  }

  function rowOf(class_, change) {
    const [labeled, believed] = [element('td', { class: 'number' }), element('td', { class: 'number soft' })];
    const [sure, guess] = [element('span', { class: 'sure' }), element('span', { class: 'guess' })];
    const key = keyOf(class_);
    const row = element('tr', {},
      element('th', { scope: 'row' }, element('span', { class: 'line' }, disc(class_), element('span', { class: 'name' }, change ? class_ : 'none of the classes')),
        toned(element('span', { class: 'amount', 'aria-hidden': 'true' }, sure, guess), class_)),
      element('td', {}, key ? element('kbd', {}, key) : ''), labeled, believed,
      element('td', {}, change ? element('div', { class: 'row end' },
        button('Rename', () => rename(class_), { class: 'bare', 'aria-label': `Rename ${class_}` }),
        button('Merge', () => merge(class_), { class: 'bare', 'aria-label': `Merge ${class_} into another` })) : null));
    return {
      element: row,
      count(known, guessed, most) {
        labeled.textContent = whole(known);
        believed.textContent = guessed === null ? '' : whole(guessed);
        for (const [part, n] of [[sure, known], [guess, guessed ?? 0]]) part.style.setProperty('--share', `${(100 * n) / most}%`);
      },
    };
  }

  async function rename(from) {
    const to = await askName(`Rename ${from}`, from);
    if (to && to !== from) change({ rename: { from, to } }, `${from} is called ${to} now.`);
  }

  async function merge(from) {
    const into = await pick(`Merge ${from} into which class?`, store.classes.filter((c) => c.name !== from));
    if (!into) return;
    change({ merge: { from, into } }, `All of ${from} is ${into} now.`);
  }

  return { element: made, show, key: () => false };
}

async function change(what, words) {
  try {
    const answer = await changeClasses(what);
    learn(answer.items);
    tell('labels', { ...answer, what: 'class' });
    toast(`${words} ${answer.changed ? changedWords(answer.changed) : ''}`, { action: ['Undo', undo] });
    return true;
  } catch (error) {
    toast(`${error.message} ${error.hint ?? ''}`, { bad: true });
    return false;
  }
}

/** Asks for a name; answers undefined where none was given. */
function askName(title, value) {
  return new Promise((resolve) => {
    let given;
    const input = element('input', { type: 'text', value, maxlength: 200, autocomplete: 'off' });
    const form = element('form', { method: 'dialog' }, field('New name', input), element('div', { class: 'row end' }, button('Cancel', () => dialog.close()), button('Rename', () => {}, { class: 'first', type: 'submit' })));
    const dialog = element('dialog', { 'aria-label': title }, element('h2', {}, title), form);
    form.addEventListener('submit', (event) => { event.preventDefault(); given = input.value.trim(); dialog.close(); });
    dialog.addEventListener('close', () => { dialog.remove(); resolve(given); });
    document.body.append(dialog);
    dialog.showModal();
    input.select();
  });
}
