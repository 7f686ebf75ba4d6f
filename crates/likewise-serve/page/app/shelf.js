// Where labels lie that are not saved yet: in this browser, by which data they are of, so that no other run gets
// them. Each tab has a shelf of its own, and holds a lock of the same name as long as it lives: a shelf whose lock
// is free belongs to no tab any more. Without locks (plain http to another machine) all tabs share one shelf.

import { forget, keep, kept, namesKept, store } from './store.js';

const { locks } = navigator;
const tab = crypto.getRandomValues(new Uint32Array(1))[0];
/** On the shared shelf: what this tab put there or took up; all else is of others and stays as it is. */
const mine = new Set();

const shared = () => `unsaved.${store.run.data}`;
const own = () => (locks ? `${shared()}.${tab}` : shared());

/** A moment that no other label has: it orders labels of several tabs, and tells them apart. */
export const moment = () => Date.now() + Math.random();

/** Puts all labels of this tab that are not saved in the place of those that lay here; `at` is the `moment` of each. */
export function put(labels) {
  for (const { at } of labels) mine.add(at);
  const others = locks ? [] : kept(own(), []).filter(({ at }) => !mine.has(at));
  const all = [...others, ...labels];
  if (all.length) keep(own(), all); else forget(own());
}

/** Whether another tab has saved this label meanwhile, or taken it back: only a shared shelf tells. */
export const settled = ({ at, found }) => Boolean(!locks && found && !kept(own(), []).some((each) => each.at === at));

/** Gives `take` the labels of tabs that are gone. It has put them on the shelf of this tab when it returns. */
export async function gather(take) {
  if (!locks) {
    const found = kept(own(), []);
    if (found.length) take(found);
    return;
  }
  await live();
  for (const name of namesKept(`${shared()}.`)) {
    if (name === own()) continue;
    // A page that is loaded anew may still hold the lock of its shelf for a moment: this waits until its tab is gone.
    locks.request(`likewise.${name}`, () => {
      const found = kept(name, []);
      if (found.length) take(found);
      forget(name);
    }).catch(() => {});
  }
}

/** Holds the lock of this tab until it closes. */
function live() {
  return new Promise((held) => {
    locks.request(`likewise.${own()}`, () => { held(); return new Promise(() => {}); }).catch(held);
  });
}
