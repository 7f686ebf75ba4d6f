// The bar above: how many labels there are, whether they are saved, whether the server is there, and the refit.

import { ask } from './ask.js';
import { button, element, fill, icon } from './element.js';
import { changedWords, undo, unsaved, who } from './labels.js';
import { kept, keep, labeled, learn, store, tell, when, whole } from './store.js';
import { say, toast } from './words.js';

/** Fills the bar. */
export function header(help) {
  const at = document.getElementById('state');
  const labels = element('span', { class: 'labels number' });
  const line = element('span', { class: 'dot' });
  const refit = button('Refit', startRefit, { icon: 'refit', class: 'refit', title: 'Learn anew from all labels' });
  const theme = element('button', { type: 'button', class: 'bare', 'aria-label': 'Light or dark', title: 'Light or dark', onclick: () => window.likewiseTheme.turn() }, icon('sun'));
  const keys = element('button', { type: 'button', class: 'bare', 'aria-label': 'Help and keys', title: 'Help and keys (?)', onclick: help }, icon('help'));
  fill(at, labels, line, store.run.labels ? refit : null, theme, keys);
  const show = () => {
    const lost = unsaved();
    fill(labels, `${whole(labeled())} label${labeled() === 1 ? '' : 's'}`, lost ? element('span', { class: 'badge bad' }, `${lost} not saved`) : null);
    fill(line, element('span', { class: 'line-words' }, store.connected ? 'live' : 'no server'));
    line.classList.toggle('lost', !store.connected);
    const why = store.run.no_refit;
    refit.disabled = store.refit.state === 'running' || Boolean(why);
    refit.title = why ? noRefitWords(why) : 'Learn anew from all labels';
  };
  for (const change of ['classes', 'unsaved', 'connection', 'refit', 'run']) when(change, show);
  show();
}

/** Why this run cannot be fitted again. */
export const noRefitWords = ({ error, hint }) => `No refit here: ${error}.${hint ? ` To learn from the labels, ${hint}.` : ''}`;

/** Asks for a new model of all labels that there are. */
export async function startRefit() {
  try {
    await ask('refit', { body: { who: who() } });
    // A small run may have been learned by now, and its event be here before the answer.
    store.refit = await ask('refit');
    tell('refit', store.refit);
  } catch (error) {
    toast(`No refit: ${error.message} ${error.hint ?? ''}`, { bad: true });
  }
}

/** Shows what goes on under the bar: a lost server, a refit, labels of others. */
export function notices() {
  const at = document.getElementById('notices');
  const lost = element('div', { class: 'notice bad', hidden: true }, element('span'));
  const fit = refitNotice();
  at.append(lost, fit);
  const showLost = () => {
    const waiting = unsaved();
    lost.hidden = store.connected && !store.unwell;
    lost.firstChild.textContent = store.connected ? store.unwell ?? '' : `The server does not answer. Trying again ...${waiting ? ` ${waiting} label${waiting === 1 ? ' is' : 's are'} not saved yet; ${waiting === 1 ? 'it is' : 'they are'} kept in this browser.` : ''}`;
  };
  // The first line needs a moment: nothing is lost before it was there.
  when('connection', () => { showLost(); say(store.connected ? 'Connected.' : 'The server does not answer.'); });
  when('unsaved', () => { if (!store.connected) showLost(); });
  when('unwell', () => { showLost(); if (store.unwell) say(store.unwell); });
  when('heard', (what) => {
    if (what.who === who()) return;
    const items = what.ids?.length === 1 ? what.ids[0] : `${what.ids?.length ?? 0} items`;
    const did = { label: `labeled ${items}`, undo: 'took back a label', class: 'changed the classes' }[what.what] ?? 'changed something';
    toast(`${what.who ?? 'Somebody'} ${did}. ${changedWords(what.changed)}`);
  });
  when('model', (what) => {
    if (what.why !== 'restore' || !what.who || what.who === who()) return;
    toast(`${what.who} brought model ${what.model} back. Labels that were given stay as they are.`);
  });
  when('labels', (what) => {
    if (what.what !== 'label') return;
    const items = what.ids.length === 1 ? what.ids[0] : `${whole(what.ids.length)} items`;
    const as = what.label === null ? 'no label' : what.label === 'outside' ? 'none of the classes' : what.label;
    if (what.quiet || location.hash.startsWith('#/review')) say(`${items}: ${as}. ${changedWords(what.changed)}`);
    else toast(`${items}: ${as}. ${changedWords(what.changed)}`, { action: ['Undo', undo] });
  });
}

function refitNotice() {
  const words = element('span');
  const bar = element('progress', { max: 1, 'aria-label': 'Refit' });
  const cancel = button('Cancel', async () => {
    try { await ask('refit/cancel', { body: { who: who() } }); store.refit = await ask('refit'); tell('refit', store.refit); } catch (error) { toast(error.message, { bad: true }); }
  });
  const close = element('button', { type: 'button', class: 'bare', 'aria-label': 'Close', onclick: () => { made.hidden = true; } }, icon('close'));
  const made = element('div', { class: 'notice', hidden: true }, words, bar, cancel, close);
  let was = null;
  const show = (now) => {
    const running = now.state === 'running';
    const by = now.who && now.who !== who() ? ` by ${now.who}` : '';
    made.hidden = now.state === 'idle' || (!running && was !== 'running');
    made.classList.toggle('bad', now.state === 'failed');
    bar.hidden = cancel.hidden = !running;
    close.hidden = running;
    if (running && now.total) bar.value = now.done / now.total; else bar.removeAttribute('value');
    words.textContent = {
      running: `Learning model ${now.number} from the labels${by && `, begun${by}`}: ${now.stage ?? 'starting'}`,
      done: `Model ${now.number} has learned from your labels and answers from now on.`,
      failed: `The refit failed: ${now.error ?? 'no reason given'} ${now.hint ?? ''}`,
      cancelled: `The refit was cancelled${by}. The model is as it was.`,
    }[now.state] ?? '';
    if (was !== now.state) say(words.textContent);
    was = made.hidden ? was : now.state;
  };
  when('refit', show);
  ask('refit').then((now) => { store.refit = now; tell('refit', now); }, () => {});
  return made;
}
