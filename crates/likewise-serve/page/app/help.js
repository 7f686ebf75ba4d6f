// Help: what keys do, who one is, and whether single keys work.

import { element, icon } from './element.js';
import { who } from './labels.js';
import { keep, kept } from './store.js';

const COMMON = [
  [['?'], 'this help'],
  [['/'], 'to the search field'],
  [['u'], 'take back the last label'],
  [['Esc'], 'close what is open'],
];
const ITEM = [
  [['←', '→', '↑', '↓'], 'from item to item'],
  [['Enter'], 'why is it believed to be this'],
  [['1', '…', 'z'], 'label it; each class shows its key'],
  [['.'], 'none of the classes'],
  [['l'], 'label by name'],
  [['Delete'], 'take its label away'],
];
const REVIEW = [
  [['1', '…', 'z'], 'label, and on to the next'],
  [['Enter'], 'it is what it is believed to be'],
  [['Space'], 'skip'],
  [['Tab'], 'to the buttons, and to why it is believed'],
];
const MAP = [
  [['←', '→', '↑', '↓'], 'move the cross; with Shift, the map'],
  [['+', '-', 'Home'], 'nearer, farther, the whole map'],
  [['[', ']'], 'smaller or larger circle around the cross'],
  [['Space'], 'select what lies in the circle'],
  [['Enter'], 'open the item at the cross'],
  [['Esc'], 'select nothing'],
];

/** Opens the help. */
export function help(rooms) {
  const close = element('button', { type: 'button', class: 'bare', 'aria-label': 'Close', onclick: () => dialog.close() }, icon('close'));
  const name = element('input', { type: 'text', id: 'who', maxlength: 100, value: who(), autocomplete: 'off', onchange: () => keep('who', name.value.trim() || null) });
  const single = element('input', { type: 'checkbox', id: 'single', onchange: () => keep('keys', single.checked) });
  single.checked = kept('keys', true);
  const dialog = element('dialog', { class: 'help', 'aria-labelledby': 'help-title' },
    element('div', { class: 'head' }, element('h2', { class: 'grow', id: 'help-title' }, 'Keys'), close),
    element('div', { class: 'help-columns' },
      block('Everywhere', [...COMMON, ...rooms.map((room) => [['g', room.key], room.words])]),
      block('On an item', ITEM), block('Review', REVIEW), block('Map', MAP)),
    element('div', { class: 'settings' },
      element('div', { class: 'field' }, element('label', { for: 'who' }, 'Your name, as others see it beside your labels'), name),
      element('div', { class: 'row' }, single, element('label', { for: 'single' }, 'Single keys do something'))));
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}

function block(title, keys) {
  return element('section', {}, element('h3', {}, title),
    element('dl', { class: 'keys' }, keys.map(([pressed, does]) => [
      element('dt', {}, pressed.map((key) => element('kbd', {}, key))), element('dd', {}, does)])));
}
