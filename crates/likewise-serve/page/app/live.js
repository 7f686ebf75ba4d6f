// The line to the server: what others do arrives here, and a lost line is noticed and mended.

import { ask } from './ask.js';
import { learn, store, tell } from './store.js';

/** Milliseconds between two tries. */
const AGAIN = 2000;
/** Milliseconds between two looks whether the server is there: a line can be dead without anybody saying so. */
const PULSE = 10_000;

let source = null;
let mending = null;
let pulse = null;
let everything = false;

/** Opens the line, and keeps it open. */
export function listen() {
  source?.close();
  source = new EventSource('events');
  source.addEventListener('hello', (event) => {
    const run = JSON.parse(event.data);
    // Another run is served at this address now: nothing that is shown is of it.
    if (run.data !== store.run.data) { location.reload(); return; }
    store.run = { ...store.run, ...run };
    tell('run', run);
    connection(true);
    if (everything) tell('anew');
    everything = false;
  });
  source.addEventListener('label', (event) => {
    const what = JSON.parse(event.data);
    learn(what.items);
    store.run.sequence = what.sequence;
    tell('heard', what);
  });
  source.addEventListener('refit', (event) => { store.refit = JSON.parse(event.data); tell('refit', store.refit); });
  source.addEventListener('model', (event) => {
    const what = JSON.parse(event.data);
    store.run.model = what.model;
    tell('model', what);
    // What can be done with it may be another thing.
    ask('run').then((run) => { store.run = { ...store.run, ...run }; tell('run', run); }, () => {});
  });
  source.addEventListener('lagged', () => tell('anew'));
  source.addEventListener('error', lose);
  clearInterval(pulse);
  pulse = setInterval(feel, PULSE);
}

function lose() {
  everything = true;
  connection(false);
  source.close();
  clearInterval(pulse);
  clearTimeout(mending);
  mending = setTimeout(listen, AGAIN);
}

async function feel() {
  const line = source;
  try {
    // What it says of itself is no sign that it is busy.
    const { sequence } = await ask('healthz', { patience: PULSE / 2, times: 1 });
    unwell(null);
    if (line === source && sequence > store.run.sequence) { store.run.sequence = sequence; tell('anew'); }
  } catch (error) {
    if (line !== source) return;
    // It is there, and says itself what is wrong with it.
    if (error.state === 503) unwell(`${error.message}. ${error.hint ?? ''}`);
    else if (error.passing) lose();
  }
}

function unwell(why) {
  if (store.unwell === why) return;
  store.unwell = why;
  tell('unwell', why);
}

function connection(is) {
  if (store.connected === is) return;
  store.connected = is;
  tell('connection', is);
}

let counting = null;
let counted = 0;

/** Asks for the classes and their counts, at most twice a second. */
export function count() {
  counting ??= new Promise((resolve) => { setTimeout(resolve, 120); }).then(async () => {
    counting = null;
    try {
      const answer = await ask('classes');
      // Answers may overtake each other: an older one is no news.
      if (answer.sequence < counted) return;
      counted = answer.sequence;
      const names = new Set(answer.classes.map((c) => c.name));
      const gone = store.classes.some((c) => !names.has(c.name));
      const same = answer.classes.length === store.classes.length && answer.classes.every((c, i) => c.name === store.classes[i].name);
      store.classes = answer.classes;
      store.outside = answer.outside ?? 0;
      tell('classes');
      if (!same) tell('places');
      // What is known of items is by names that nobody has any more.
      if (gone) { store.items.clear(); tell('renamed'); }
    } catch { /* the next change asks again */ }
  });
  return counting;
}
