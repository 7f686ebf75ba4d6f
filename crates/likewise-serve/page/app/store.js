// What the page knows of the run, and who wants to hear when it changes.

/** How many asked after which those are forgotten whose element is gone, and milliseconds that a new one has. */
const SWEEP = 300;
const FRESH = 5000;

const wanting = new Map();
let asked = 0;

/** What is known. `items` holds what was last said of each item that was shown. */
export const store = {
  run: null,
  classes: [],
  outside: 0,
  items: new Map(),
  refit: { state: 'idle' },
  connected: false,
  /** What is wrong with a server that is there. */
  unwell: null,
};

/** Calls `heard` at each `name` from now on, while `element` (if given) is part of the page. */
export function when(name, heard, element = null) {
  if (!wanting.has(name)) wanting.set(name, new Set());
  wanting.get(name).add({ heard, element, since: performance.now() });
  if (element && ++asked % SWEEP === 0) for (const each of wanting.keys()) sweep(each);
}

/** Forgets those whose element is no longer part of the page; a new one has a moment to become so. */
function sweep(name) {
  const all = wanting.get(name) ?? new Set();
  for (const entry of all) if (entry.element && !entry.element.isConnected && performance.now() - entry.since > FRESH) all.delete(entry);
  if (!all.size) wanting.delete(name);
}

/** Tells all who asked. */
export function tell(name, what) {
  sweep(name);
  for (const entry of [...wanting.get(name) ?? []]) entry.heard(what);
}

/** Takes in what the server says of items; `known` are fields of each as `/items/{id}` has them. */
export function learn(known) {
  for (const item of known) {
    const before = store.items.get(item.id);
    const now = { ...before, ...item };
    store.items.set(item.id, now);
    if (before && (given(before) !== given(now) || before.pseudo_label !== now.pseudo_label || before.confidence !== now.confidence)) {
      tell(`item ${item.id}`, now);
    }
  }
}

/** The label that an item was given: one that is known but kept back to score the fit is none. */
export const given = (item) => (item.hidden ? null : item.label ?? null);

/** Place of a class among those that came before it: its colour, and the order in which keys are given. -2 outside, -1 none. */
export function placeOf(name) {
  if (name === null || name === undefined) return -1;
  if (name === 'outside') return -2;
  if (store.places?.list !== store.classes) {
    store.places = { list: store.classes, of: new Map(store.classes.map((c) => [c.name, c.place])) };
  }
  return store.places.of.get(name) ?? -1;
}

/** How many items have a label. */
export const labeled = () => store.classes.reduce((sum, c) => sum + c.labeled, store.outside);

/** What was kept in this browser under a name, or `otherwise`. */
export function kept(name, otherwise) {
  try { return JSON.parse(localStorage.getItem(`likewise.${name}`)) ?? otherwise; } catch { return otherwise; }
}

/** Keeps it, where the browser allows. */
export function keep(name, value) {
  try { localStorage.setItem(`likewise.${name}`, JSON.stringify(value)); } catch { /* lasts until the page closes */ }
}

/** Keeps it no longer. */
export function forget(name) {
  try { localStorage.removeItem(`likewise.${name}`); } catch { /* it was never kept */ }
}

/** Names of all that is kept and begins so. */
export function namesKept(begin) {
  try { return Object.keys(localStorage).filter((name) => name.startsWith(`likewise.${begin}`)).map((name) => name.slice('likewise.'.length)); } catch { return []; }
}

/** A number with thin groups of thousands, a share as per cent. */
export const whole = (n) => new Intl.NumberFormat('en').format(n);
export const percent = (share) => `${Math.round(share * 100)} %`;
