// Short words to the person: seen for some seconds, and said to screen readers.

import { button, element } from './element.js';

/** Milliseconds that a word stays. */
const STAYS = 5000;

/** Says something to those who listen. */
export function say(words) {
  document.getElementById('spoken').textContent = words;
}

/** Shows and says something; `action` is `[words, what to do]`. */
export function toast(words, { action = null, bad = false } = {}) {
  const at = document.getElementById('toasts');
  const shown = element('div', { class: bad ? 'toast bad' : 'toast' }, element('span', {}, words));
  if (action) shown.append(button(action[0], () => { shown.remove(); action[1](); }));
  at.replaceChildren(...[...at.children].slice(-1), shown);
  say(words);
  setTimeout(() => shown.remove(), bad ? 2 * STAYS : STAYS);
}
