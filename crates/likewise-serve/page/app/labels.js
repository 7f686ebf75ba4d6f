// Giving labels: shown at once, sent one after the other, and shown as not saved until the server says
// that they are on its disk. What was not sent is kept in this browser and sent when the server is back.

import { ask } from './ask.js';
import { keep, kept, learn, store, tell, when } from './store.js';
import { say, toast } from './words.js';

/** Milliseconds after which a lost label is sent again. */
const AGAIN = 2500;

const waiting = [];
let sending = false;
let wake = null;
let flight = null;

const shelf = () => `unsaved.${store.run.name}`;
const keepWaiting = () => { keep(shelf(), waiting.map(({ ids, label }) => ({ ids, label }))); tell('unsaved'); };

/** Who labels here: a name for the journal. */
export function who() {
  const name = kept('who', null) ?? `guest-${crypto.getRandomValues(new Uint16Array(1))[0].toString(16).padStart(4, '0')}`;
  keep('who', name);
  return name;
}

/** How many labels are not acknowledged, and whether one of an item is among them. */
export const unsaved = () => waiting.reduce((sum, { ids }) => sum + ids.length, 0);
export const isUnsaved = (id) => waiting.some(({ ids }) => ids.includes(id));

/** Takes up what an earlier visit could not send. */
export function takeUp() {
  for (const { ids, label } of kept(shelf(), [])) waiting.push({ ids, label, before: new Map() });
  if (waiting.length) toast(`Saving ${unsaved()} label${unsaved() === 1 ? '' : 's'} that could not be saved before.`);
  when('connection', () => { if (store.connected) wake?.(); });
  send();
}

/** Gives a label (a class, `outside`, or null to take it away) to items, up to 10,000. */
export function give(ids, label) {
  const before = new Map(ids.map((id) => { const { label: was = null, hidden = false } = store.items.get(id) ?? {}; return [id, { label: was, hidden }]; }));
  waiting.push({ ids, label, before });
  keepWaiting();
  learn(ids.map((id) => ({ id, label, hidden: false })));
  ids.forEach((id) => tell(`item ${id}`, store.items.get(id)));
  send();
}

/** Takes back the last label: one that was not sent, or the last of this person on the server. */
export async function undo() {
  // What is on its way arrives first, so that it is this that is taken back.
  if (waiting.length === 1) await flight?.catch(() => {});
  if (waiting.length) {
    const { ids, before, lost } = waiting.pop();
    // Of one that was lost nobody knows whether it arrived.
    if (lost) for (const [id, was] of before) waiting.push({ ids: [id], label: was.hidden ? null : was.label, before: new Map(), lost });
    keepWaiting();
    restore(before);
    say(`Taken back: ${words(ids)} (it was not saved yet)`);
    tell('undone', ids);
    return;
  }
  try {
    const answer = await ask('undo', { body: { who: who() } });
    store.run.sequence = Math.max(store.run.sequence, answer.sequence);
    learn(answer.items);
    tell('labels', { ...answer, what: 'undo' });
    toast(`Taken back. ${changedWords(answer.changed)}`);
    tell('undone', answer.items.map((item) => item.id));
  } catch (error) {
    toast(error.state === 409 ? 'Nothing of yours to take back.' : error.message);
  }
}

/** What a change did, in words. */
export const changedWords = (changed) => (changed === 0 ? 'No belief changed.' : `${changed} belief${changed === 1 ? '' : 's'} changed.`);

async function send() {
  if (sending) return;
  sending = true;
  while (waiting.length) {
    const task = waiting[0];
    const started = performance.now();
    try {
      const body = { ...(task.ids.length === 1 ? { id: task.ids[0] } : { ids: task.ids }), label: task.label, who: who() };
      flight = ask('label', { body });
      const answer = await flight;
      done(task);
      store.run.sequence = Math.max(store.run.sequence, answer.sequence);
      learn(answer.items);
      task.ids.forEach((id) => tell(`item ${id}`, store.items.get(id)));
      tell('labels', { ...answer, ids: task.ids, label: task.label, what: 'label', took: performance.now() - started });
    } catch (error) {
      if (error.passing) {
        if (!task.lost) {
          task.lost = true;
          tell('unsaved');
          task.ids.forEach((id) => tell(`item ${id}`, store.items.get(id)));
        }
        await new Promise((resolve) => { wake = resolve; setTimeout(resolve, AGAIN); });
        continue;
      }
      done(task);
      restore(task.before);
      toast(`Not saved: ${words(task.ids)}. ${error.message}${error.hint ? ` ${error.hint}` : ''}`, { bad: true });
    }
  }
  sending = false;
}

function done(task) {
  if (waiting.includes(task)) waiting.splice(waiting.indexOf(task), 1);
  keepWaiting();
}

function restore(before) {
  learn([...before].map(([id, was]) => ({ id, ...was })));
  for (const id of before.keys()) tell(`item ${id}`, store.items.get(id));
}

const words = (ids) => (ids.length === 1 ? `the label of ${ids[0]}` : `the labels of ${ids.length} items`);
