// Giving labels: shown at once, sent one after the other, and shown as not saved until the server says
// that they are on its disk. What was not sent is kept in this browser and sent when the server is back.

import { ask, itemPath, Refusal } from './ask.js';
import { gather, moment, put, settled } from './shelf.js';
import { given, keep, kept, learn, store, tell, when } from './store.js';
import { say, toast } from './words.js';

/** Milliseconds after which a lost label is sent again. */
const AGAIN = 2500;
/** Most items that are read again to see whether their label arrived; more are sent again, which changes nothing where it did. */
const READ = 20;

const waiting = [];
let sending = false;
let wake = null;
let flight = null;

const keepWaiting = () => { put(waiting.map(({ ids, label, at }) => ({ ids, label, at }))); tell('unsaved'); };

/** Who labels here: a name for the journal. */
export function who() {
  const name = kept('who', null) ?? `guest-${crypto.getRandomValues(new Uint16Array(1))[0].toString(16).padStart(4, '0')}`;
  keep('who', name);
  return name;
}

/** How many labels are not acknowledged, and whether one of an item is among them. */
export const unsaved = () => waiting.reduce((sum, { ids }) => sum + ids.length, 0);
export const isUnsaved = (id) => waiting.some(({ ids }) => ids.includes(id));

/** Takes up what earlier visits, and tabs that are gone, could not send. */
export function takeUp() {
  when('connection', () => { if (store.connected) wake?.(); });
  gather((found) => {
    // Of these nobody knows whether they arrived before their tab was gone.
    for (const { ids, label, at } of found) waiting.push({ ids, label, at, before: new Map(), found: true, unsure: true });
    waiting.sort((a, b) => a.at - b.at);
    keepWaiting();
    const count = found.reduce((sum, { ids }) => sum + ids.length, 0);
    toast(`Saving ${count} label${count === 1 ? '' : 's'} that could not be saved before.`);
    send();
  });
}

/** Gives a label (a class, `outside`, or null to take it away) to items, up to 10,000. */
export function give(ids, label) {
  const before = new Map(ids.map((id) => { const { label: was = null, hidden = false } = store.items.get(id) ?? {}; return [id, { label: was, hidden }]; }));
  waiting.push({ ids, label, at: moment(), before });
  keepWaiting();
  learn(ids.map((id) => ({ id, label, hidden: false })));
  ids.forEach((id) => tell(`item ${id}`, store.items.get(id)));
  send();
}

/** Takes back the last label: one that was not sent, or the last on the server: of this person, or of all where no name is given. */
export async function undo() {
  // What is on its way arrives first, so that it is this that is taken back.
  if (waiting.length === 1) await flight?.catch(() => {});
  if (waiting.length) {
    const { ids, before, lost } = waiting.pop();
    // Of one that was lost nobody knows whether it arrived.
    if (lost) for (const [id, was] of before) waiting.push({ ids: [id], label: was.hidden ? null : was.label, at: moment(), before: new Map(), lost });
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
    toast(`Taken back. ${changedWords(answer.changed)}${keptWords(answer.kept)}${classKeptWords(answer.class_kept)}`);
    tell('undone', answer.items.map((item) => item.id));
  } catch (error) {
    toast(error.state === 409 ? 'Nothing of yours to take back.' : error.message);
  }
}

/** What a change did, in words. */
export const changedWords = (changed) => (changed === 0 ? 'No belief changed.' : `${changed} belief${changed === 1 ? '' : 's'} changed.`);

/** How many items an undo left as they are, since somebody labeled them after what it takes back. */
const keptWords = (count = 0) => (count === 0 ? '' : ` ${count} item${count === 1 ? ' keeps' : 's keep'} a label that was given later.`);

/** Says that a class stays though its adding, or its name, was taken back. */
const classKeptWords = (name) => (name === undefined ? '' : ` The class ${name} stays, since items have this label.`);

async function send() {
  if (sending) return;
  sending = true;
  while (waiting.length) {
    const task = waiting[0];
    const started = performance.now();
    try {
      flight = attempt(task);
      const answer = await flight;
      done(task);
      if (!answer) {
        task.ids.forEach((id) => tell(`item ${id}`, store.items.get(id)));
        continue;
      }
      store.run.sequence = Math.max(store.run.sequence, answer.sequence);
      learn(answer.items);
      task.ids.forEach((id) => tell(`item ${id}`, store.items.get(id)));
      tell('labels', { ...answer, ids: task.ids, label: task.label, what: 'label', took: performance.now() - started });
    } catch (error) {
      if (error.passing) {
        // A server that says 500 or 503 did nothing; one that was too slow or did not answer may have.
        if (![500, 503].includes(error.state)) task.unsure = true;
        if (!task.lost) lose(task, error);
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

/** Sends a label; answers null where it was saved already, or where another tab has settled it. */
async function attempt(task) {
  if (settled(task)) return null;
  if (task.lost || task.unsure || !store.connected) await sameData();
  if (task.unsure && await arrived(task)) return null;
  const body = { ...(task.ids.length === 1 ? { id: task.ids[0] } : { ids: task.ids }), label: task.label, who: who() };
  return ask('label', { body });
}

/** Another run may be served at this address by now: it gets no labels of this one. Where nobody says, they wait. */
async function sameData() {
  const { data } = await ask('run').catch((error) => { throw error.passing ? error : new Refusal(0, error.message, error.hint); });
  if (data === store.run.data) return;
  location.reload();
  await new Promise(() => {});
}

/** Whether all items of a label have it, by what the server says now. */
async function arrived({ ids, label }) {
  if (ids.length > READ) return false;
  const items = await Promise.all(ids.map((id) => ask(itemPath(id)))).catch((error) => {
    if (error.passing) throw error;
    // What is wrong with it is said when it is sent.
    return [];
  });
  // What is hidden looks as if it had no label: taking that away is another thing.
  if (!items.length || items.some((item) => item.hidden || given(item) !== label)) return false;
  learn(items);
  say(`Saved: ${words(ids)}`);
  return true;
}

/** Shows that a label could not be sent, and why where the server said so. */
function lose(task, { state, message }) {
  task.lost = true;
  tell('unsaved');
  task.ids.forEach((id) => tell(`item ${id}`, store.items.get(id)));
  if (state !== 0) toast(`Not saved yet: ${words(task.ids)} (${message}). It is kept in this browser and sent again.`, { bad: true });
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
