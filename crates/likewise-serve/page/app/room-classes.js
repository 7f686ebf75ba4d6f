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

  function show() {
    const most = Math.max(1, ...store.classes.map((c) => c.labeled + c.believed));
    fill(body, store.classes.map((c) => element('tr', {},
      element('th', { scope: 'row' }, element('span', { class: 'line' }, disc(c.name), element('span', { class: 'name' }, c.name)), bar(c, most)),
      element('td', {}, keyOf(c.name) ? element('kbd', {}, keyOf(c.name)) : ''),
      element('td', { class: 'number' }, whole(c.labeled)), element('td', { class: 'number soft' }, whole(c.believed)),
      element('td', {}, element('div', { class: 'row end' },
        button('Rename', () => rename(c.name), { class: 'bare', 'aria-label': `Rename ${c.name}` }),
        button('Merge', () => merge(c.name), { class: 'bare', 'aria-label': `Merge ${c.name} into another` }))))),
    element('tr', {}, element('th', { scope: 'row' }, element('span', { class: 'line' }, disc('outside'), element('span', { class: 'name' }, 'none of the classes'))),
      element('td', {}, element('kbd', {}, keyOf('outside'))), element('td', { class: 'number' }, whole(store.outside)), element('td'), element('td')));
  }

  async function rename(from) {
    const to = await askName(`Rename ${from}`, from);
    if (to && to !== from) change({ rename: { from, to } }, `${from} is called ${to} now.`);
  }

  async function merge(from) {
    const into = await pick(`Merge ${from} into which class?`);
    if (!into || into === 'outside' || into === from) return;
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

function bar({ name, labeled, believed }, most) {
  const part = (share, kind) => { const made = element('span', { class: kind }); made.style.setProperty('--share', `${(100 * share) / most}%`); return made; };
  const made = element('span', { class: 'amount', 'aria-hidden': 'true' }, part(labeled, 'sure'), part(believed, 'guess'));
  return toned(made, name);
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
