// Small signs that stand for classes and shares, the same in every room.

import { classColour, css } from './colours.js';
import { element } from './element.js';
import { given, percent, placeOf } from './store.js';

/** Puts the colour of a class on an element, as `--tone`. */
export function toned(made, name) {
  made.style.setProperty('--tone', css(classColour(placeOf(name))));
  return made;
}

/** A disc for a label, a ring for a belief. */
export const disc = (name, believed) => toned(element('span', { class: believed ? 'sign believed' : 'sign', 'aria-hidden': 'true' }), name);

/** A bar that is filled as far as a share says. */
export function meter(share, name = null) {
  const inner = element('span');
  inner.style.setProperty('--share', `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`);
  if (name !== null) toned(inner, name);
  return element('span', { class: 'meter', 'aria-hidden': 'true' }, inner);
}

/** What an item is, in words: its label, or what it is believed to be. */
export function verdict(item) {
  const label = given(item);
  if (label === 'outside') return { name: 'outside', words: 'none of the classes', believed: false };
  if (label !== null) return { name: label, words: label, believed: false };
  if (item.pseudo_label !== null && item.pseudo_label !== undefined) return { name: item.pseudo_label, words: item.pseudo_label, believed: true };
  return { name: null, words: 'not known', believed: true };
}

/** A line of what an item is: disc, name, and how sure. */
export function verdictLine(item) {
  const { name, words, believed } = verdict(item);
  return element('span', { class: 'line' }, disc(name, believed),
    element('span', { class: believed ? 'name' : 'name labeled' },
      element('span', { class: 'unseen' }, believed ? 'believed ' : 'labeled '), words));
}

/** How sure a belief is, in words; empty for what has a label. */
export const sureWords = (item) => (given(item) === null && item.confidence !== null && item.confidence !== undefined ? `${percent(item.confidence)} sure` : '');
