// One key a class, the same for all who open the run. A class of one letter has its own; the others take digits, then
// letters, by their places, which they keep.

import { kept, store } from './store.js';

/** Keys that classes can have: g goes to a room, l chooses by name, u takes back. */
const FREE = [...'1234567890qwertyiopasdfhjkzxcvbnm'];
/** Key of `outside`. */
export const OUTSIDE = '.';

let assigned = null;

function assignment() {
  if (assigned?.list === store.classes) return assigned;
  // In the order in which they came, so that a new one takes no key of another.
  const classes = [...store.classes].sort((a, b) => a.place - b.place);
  const keys = {};
  for (const { name } of classes) if (FREE.includes(name.toLowerCase())) keys[name] ??= takes(keys, name.toLowerCase());
  // A class that is gone leaves its key free, so that those behind it keep theirs.
  for (const { name, place } of classes) if (!keys[name] && FREE[place]) keys[name] = takes(keys, FREE[place]);
  for (const { name } of classes) if (!keys[name]) keys[name] = FREE.find((key) => !Object.values(keys).includes(key)) ?? null;
  assigned = { list: store.classes, keys, names: Object.fromEntries(Object.entries(keys).map(([name, key]) => [key, name])) };
  return assigned;
}

const takes = (keys, key) => (Object.values(keys).includes(key) ? null : key);

/** The key of a class, or null where there are more classes than keys. */
export const keyOf = (name) => (name === 'outside' ? OUTSIDE : assignment().keys[name] ?? null);

/** What a key labels: a class, `outside`, or undefined. */
export const labelOf = (key) => (key === OUTSIDE ? 'outside' : assignment().names[key.toLowerCase()]);

/** Whether keys are meant for the page and not for a field, the browser or a dialog. */
export function forPage(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return false;
  if (!kept('keys', true)) return false;
  const { target } = event;
  return !(target instanceof Element && target.closest('input:not([type="checkbox"], [type="range"]), textarea, select, iframe'));
}
