// Choosing a class by name, or making a new one: for any number of classes.

import { ask } from './ask.js';
import { button, element, fill, icon } from './element.js';
import { keyOf } from './keys.js';
import { who } from './labels.js';
import { disc } from './sign.js';
import { store, tell, whole } from './store.js';
import { toast } from './words.js';

/** Most names that are shown at once. */
const SHOWN = 60;

/** What is no class: its name where it is chosen, how it is called, and a note. */
const NONE = [['outside', 'none of the classes', 'outside'], [null, 'no label', 'takes the label away']];
/** Whether a text is how something is called that is no class. */
const isNone = (text) => NONE.some((none) => none.includes(text.toLowerCase()));

/** Asks for a class, one that there is where all are `classes`; answers its name, `outside`, null (no label), or undefined where nothing was chosen. */
export function pick(question, classes = null) {
  return new Promise((resolve) => {
    let chosen;
    const list = element('ul', { class: 'names', role: 'listbox', id: 'picker-list', 'aria-label': 'Classes' });
    const input = element('input', { type: 'text', role: 'combobox', 'aria-label': 'Class', 'aria-controls': 'picker-list', 'aria-expanded': 'true', autocomplete: 'off', placeholder: 'Name of a class', maxlength: 200 });
    const dialog = element('dialog', { class: 'picker', 'aria-label': question },
      element('div', { class: 'head' }, element('h2', { class: 'grow' }, question),
        element('button', { type: 'button', class: 'bare', 'aria-label': 'Close', onclick: () => dialog.close() }, icon('close'))),
      input, list);
    let at = 0;
    const end = (name) => { chosen = name; dialog.close(); };
    const options = () => [...list.children];
    const mark = () => {
      options().forEach((option, i) => option.setAttribute('aria-selected', String(i === at)));
      const option = options()[at];
      if (option) { input.setAttribute('aria-activedescendant', option.id); option.scrollIntoView({ block: 'nearest' }); } else input.removeAttribute('aria-activedescendant');
    };
    const show = () => {
      const text = input.value.trim();
      const found = (classes ?? store.classes).filter((c) => c.name.toLowerCase().includes(text.toLowerCase())).slice(0, SHOWN);
      const choices = found.map((c) => option(disc(c.name), c.name, `${whole(c.labeled)} labeled`, keyOf(c.name), () => end(c.name)));
      for (const [name, words, note] of classes ? [] : NONE) {
        const called = [words, name ?? ''].some((each) => each.startsWith(text.toLowerCase()));
        if (called) choices.push(option(disc(name, name === null), words, note, name && keyOf(name), () => end(name)));
      }
      if (!classes && text && !isNone(text) && !store.classes.some((c) => c.name === text)) choices.push(option(icon('plus'), `add the class ${text}`, '', null, () => add(text, end)));
      fill(list, choices.map((made, i) => { made.id = `picker-${i}`; return made; }));
      at = 0;
      mark();
    };
    input.addEventListener('input', show);
    input.addEventListener('keydown', (event) => {
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in steps) { event.preventDefault(); at = (at + steps[event.key] + options().length) % options().length; mark(); }
      if (event.key === 'Enter') { event.preventDefault(); options()[at]?.click(); }
    });
    dialog.addEventListener('close', () => { dialog.remove(); resolve(chosen); });
    dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
    document.body.append(dialog);
    show();
    dialog.showModal();
    input.focus();
  });
}

function option(sign, name, note, key, chosen) {
  return element('li', { role: 'option', onclick: chosen }, sign, element('span', { class: 'name' }, name), element('span', { class: 'soft small' }, note), key ? element('kbd', {}, key) : null);
}

async function add(name, end) {
  try {
    await changeClasses({ add: name });
    end(name);
  } catch (error) {
    toast(error.message, { bad: true });
  }
}

/** Adds, renames or merges classes, and takes in what the server says. */
export async function changeClasses(change) {
  const answer = await ask('classes', { body: { ...change, who: who() } });
  store.classes = answer.classes.classes ?? answer.classes;
  tell('classes');
  tell('places');
  return answer;
}

/** Buttons for all classes with their keys, as many as there are keys, and the rest by name. */
export function classButtons(choose, current = undefined) {
  const buttons = store.classes.filter((c) => keyOf(c.name)).map((c) => classButton(c.name, c.name, choose, current));
  const rest = element('button', { type: 'button', class: 'name-button', onclick: async () => { const name = await pick('Which class?'); if (name !== undefined) choose(name); } },
    element('span', {}, 'By name ...'), element('kbd', {}, 'l'));
  return [...buttons, classButton('outside', 'none of these', choose, current), rest];
}

function classButton(name, words, choose, current) {
  return element('button', { type: 'button', class: 'name-button', 'aria-pressed': current === undefined ? null : String(current === name), onclick: () => choose(name) },
    disc(name), element('span', { class: 'name' }, words), element('kbd', {}, keyOf(name)));
}
