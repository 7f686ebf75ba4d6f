// The line to the server: what others do arrives here, and a lost line is noticed and mended.

import { ask } from './ask.js';
import { learn, store, tell } from './store.js';

/** Milliseconds between two tries. */
const AGAIN = 2000;

let source = null;
let mending = null;
let everything = false;

/** Opens the line, and keeps it open. */
export function listen() {
  source?.close();
  source = new EventSource('events');
  source.addEventListener('hello', (event) => {
    store.run = { ...store.run, ...JSON.parse(event.data) };
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
  });
  source.addEventListener('lagged', () => tell('anew'));
  source.addEventListener('error', () => {
    everything = true;
    connection(false);
    source.close();
    clearTimeout(mending);
    mending = setTimeout(listen, AGAIN);
  });
}

function connection(is) {
  if (store.connected === is) return;
  store.connected = is;
  tell('connection', is);
}

let counting = null;

/** Asks for the classes and their counts, at most twice a second. */
export function count() {
  counting ??= new Promise((resolve) => { setTimeout(resolve, 120); }).then(async () => {
    counting = null;
    try {
      const answer = await ask('classes');
      store.classes = answer.classes;
      store.outside = answer.outside ?? 0;
      tell('classes');
    } catch { /* the next change asks again */ }
  });
  return counting;
}
