// Review: one item after the other, one key a class, and what follows from each label at once.

import { ask, itemPath } from './ask.js';
import { button, element, fill, icon } from './element.js';
import { labelOf } from './keys.js';
import { changedWords, give, undo, who } from './labels.js';
import { classButtons, pick } from './picker.js';
import { why } from './panel.js';
import { Queue } from './queue.js';
import { disc, meter, sureWords, verdict } from './sign.js';
import { given, keep, kept, labeled, learn, store, when, whole } from './store.js';
import { picture, tile } from './tile.js';
import { say } from './words.js';
import { worth } from './worth.js';

/** What can be reviewed: name on the server, words, what it is, and what is said where nothing is left. */
const KINDS = [
  ['informative', 'Most telling', 'Items whose label would say most about others.'],
  ['uncertain', 'Uncertain', 'Items without a label whose belief is least sure.'],
  ['conflicting', 'Conflicting', 'Labels that are not what the items around are believed to be.'],
  ['suspect', 'Suspects', 'Labels that the other labels contradict: likely mistakes.'],
  ['outside', 'Outside', 'Items that are likely none of the classes.'],
  ['duplicate', 'Duplicates', 'Items that stand more than once.'],
  ['chosen', 'My choice', 'Items that were put here from the map.'],
];

/** What is reviewed where nobody chose. */
const FIRST = KINDS[0][0];

/** Most items shown of those that followed a label. */
const FOLLOWED = 12;

/** Builds the room; `open` shows what is known of an item. */
export function review(open) {
  const kinds = element('div', { class: 'choice', role: 'group', 'aria-label': 'What to review' });
  const goal = element('div', { class: 'goal' });
  const about = element('p', { class: 'soft small about' });
  const stage = element('div', { class: 'stage' });
  const followed = element('div', { class: 'followed' });
  const made = element('section', { class: 'room review', 'aria-label': 'Review' },
    element('div', { class: 'head' }, kinds, element('div', { class: 'grow' }), goal), element('div', { class: 'under' }, about, worth()), element('div', { class: 'bench' }, stage, followed));
  let kind = kept('kind', FIRST);
  let queue = new Queue(kind);
  let current = null;
  /** Who labeled the item in sight while it was looked at. */
  let by = null;
  let through = false;
  let turn = 0;

  async function choose(next) {
    kind = next;
    keep('kind', kind === 'chosen' ? FIRST : kind);
    queue = new Queue(kind);
    showKinds();
    await step();
  }

  async function step() {
    const now = ++turn;
    current = null;
    by = null;
    through = false;
    stage.setAttribute('aria-busy', 'true');
    try {
      const item = await queue.next();
      if (now !== turn) return;
      if (!item) return nothing();
      current = item;
      learn([item]);
      showItem();
      await explain();
      queue.look();
    } catch (error) {
      if (now !== turn) return;
      const told = [element('p', { class: 'failed' }, error.message), element('p', {}, error.hint ?? '')];
      // What can be labeled stays in sight: a key would label it unseen.
      if (current) fill(stage.querySelector('.because'), element('section', { class: 'why', role: 'alert' }, told));
      else fill(stage, element('div', { class: 'empty', role: 'alert' }, told, button('Try again', step)));
    } finally {
      if (now === turn) stage.removeAttribute('aria-busy');
    }
  }

  /** Why the item in sight is believed to be what it is. */
  async function explain() {
    const now = turn;
    const known = await ask(itemPath(current.id));
    if (now !== turn) return;
    learn([known]);
    fill(stage.querySelector('.because'), why(known, (id) => open(id)));
  }

  /** Shows the item in sight as it is by now. It stays, so that no key labels another one. */
  async function refresh() {
    queue.forget();
    if (!current) return;
    const now = turn;
    const known = await ask(itemPath(current.id)).catch(() => null);
    if (now !== turn || !known) return;
    current = { ...known, with: current.with };
    learn([known]);
    showItem();
    fill(stage.querySelector('.because'), why(known, (id) => open(id)));
  }

  function nothing() {
    const words = { chosen: 'Nothing is chosen. Draw around items on the map and put them here.', conflicting: 'No label contradicts what is believed.', suspect: 'No label looks like a mistake.', outside: 'No item was seen that looks like none of the classes; that says little of items that look like one.', duplicate: 'No item stands twice.' }[kind];
    through = kind === 'informative' && queue.passed > 0;
    const [title, said] = through ? ['This batch is through', 'You have seen all of these items. Label one of them, or any other, and a new batch is made.']
      : queue.passed ? ['Nothing left here', `You have seen or skipped ${queue.passed < queue.total ? `the first ${whole(queue.passed)}` : 'all'} that are left.`]
      : ['Nothing left here', words ?? 'All items have a label.'];
    fill(stage, element('div', { class: 'empty' }, element('h2', {}, title), element('p', {}, said), button('Look again', () => choose(kind))));
    say(`${title}. ${said}`);
  }

  function showItem() {
    const item = { ...current, ...store.items.get(current.id) };
    const { name, words, believed } = verdict(item);
    const proposed = suggestion(item);
    const position = element('span', { class: 'soft small number' }, queue.total ? `${whole(queue.total)} in this ${kind === 'informative' ? 'batch' : 'queue'}` : '');
    const focused = stage.contains(document.activeElement);
    fill(stage,
      element('div', { class: 'looked' },
        element('button', { type: 'button', class: 'big', 'aria-label': `${item.id}: open`, onclick: () => open(item.id) }, picture(item, 420)),
        element('div', { class: 'row between' }, element('span', { class: 'id' }, item.id), position)),
      element('div', { class: 'deciding' },
        element('p', { class: 'is' }, disc(name, believed), element('strong', {}, words),
          element('span', { class: 'soft' }, name === null ? '' : believed ? ` believed, ${sureWords(item)}` : by ? ` labeled by ${by}` : ' labeled')),
        element('div', { class: 'big-meter' }, meter(believed ? item.confidence ?? 0 : 1, name)),
        item.suggested && item.suggested !== name ? element('p', { class: 'row' }, element('span', { class: 'soft' }, believed ? 'The labels say' : 'The other labels say'), disc(item.suggested), element('strong', {}, item.suggested)) : null,
        item.with?.length ? element('div', { class: 'beside-items' }, element('p', { class: 'soft small' }, 'Stands beside'),
          element('ul', { class: 'tiles small-tiles' }, item.with.slice(0, 4).map((id) => element('li', {}, neighbour(id))))) : null,
        element('div', { class: 'names-row', role: 'group', 'aria-label': 'Label it' }, classButtons(label)),
        element('div', { class: 'row actions' },
          proposed ? element('button', { type: 'button', class: 'first', onclick: agree }, icon('check'), element('span', {}, `It is ${proposed === 'outside' ? 'none of these' : proposed}`), element('kbd', {}, '⏎')) : null,
          element('button', { type: 'button', onclick: skip }, element('span', {}, 'Skip'), element('kbd', {}, 'space')),
          element('button', { type: 'button', onclick: undo }, icon('undo'), element('span', {}, 'Undo'), element('kbd', {}, 'u')))),
      element('div', { class: 'because' }, element('section', { class: 'why' }, element('h3', {}, 'Why'), element('p', { class: 'soft small' }, 'Looking ...'))));
    if (focused) document.getElementById('main').focus({ preventScroll: true });
    say(`${item.id}: ${words}${believed && name !== null ? `, believed, ${sureWords(item)}` : ''}`);
  }

  function neighbour(id) {
    const item = store.items.get(id) ?? { id, label: null, pseudo_label: null, confidence: null };
    const shown = tile(item, { open: () => open(id), edge: 96 });
    if (!store.items.has(id) || item.pseudo_label === null) ask(itemPath(id)).then((known) => learn([known]), () => {});
    return shown;
  }

  function label(name) {
    if (!current) return;
    queue.done(current.id);
    give([current.id], name);
    step();
  }

  function agree() {
    if (!current) return;
    const proposed = suggestion({ ...current, ...store.items.get(current.id) });
    if (proposed) label(proposed);
  }

  function skip() {
    if (!current) return;
    queue.skip(current.id);
    step();
  }

  function showKinds() {
    fill(kinds, KINDS.filter(([name]) => name !== 'chosen' || Queue.chosen().length || kind === 'chosen').map(([name, words]) => element('button', { type: 'button', 'aria-pressed': String(name === kind), onclick: () => choose(name) }, words)));
    about.textContent = KINDS.find(([name]) => name === kind)[2];
  }

  function showGoal() {
    const have = labeled();
    let wanted = kept(`goal.${store.run.data}`, null);
    if (wanted === null) {
      wanted = Math.ceil((have + 25) / 25) * 25;
      keep(`goal.${store.run.data}`, wanted);
    }
    const input = element('input', { type: 'number', id: 'goal', min: 1, max: 10000000, value: wanted, 'aria-label': 'Goal: labels', onchange: () => { keep(`goal.${store.run.data}`, Math.max(1, Number(input.value) || 1)); showGoal(); } });
    fill(goal, element('span', { class: 'number small' }, `${whole(have)} of`), input, element('span', { class: 'small' }, have >= wanted ? 'labels: reached' : 'labels'),
      element('progress', { max: wanted, value: Math.min(have, wanted), 'aria-label': 'Labels, of the goal' }));
  }

  // What has a label by now, of whoever gave it, is asked for no more. The item in sight stays, and says so.
  function settle({ what, ids = [], who: giver = null }) {
    if (what !== 'label') return;
    for (const id of ids.filter((each) => given(store.items.get(each) ?? {}) !== null)) {
      if (id !== current?.id) { queue.given(id); continue; }
      if (giver && giver !== who()) by = giver;
      const because = stage.querySelector('.because');
      showItem();
      if (because) stage.querySelector('.because').replaceWith(because);
    }
  }

  when('labels', (what) => {
    settle(what);
    if (what.what === 'label') showFollowed(what);
  });
  when('heard', settle);
  // What says most is chosen anew after each label, also of others.
  for (const change of ['labels', 'heard']) when(change, () => {
    if (kind !== 'informative') return;
    queue.anew();
    if (through && !made.hidden) step();
  });
  when('undone', (ids) => {
    if (made.hidden || ids.length === 0) return;
    queue.back(ids[0]);
    step();
    fill(followed);
  });
  when('classes', () => { if (goal.contains(document.activeElement)) return; showGoal(); });
  when('places', () => { if (current && !made.hidden) fill(stage.querySelector('.names-row'), classButtons(label)); });
  when('renamed', refresh);
  // What could not be told while the server was away.
  when('connection', () => { if (store.connected && stage.querySelector('.because [role="alert"]')) explain().catch(() => {}); });
  when('anew', () => { if (!made.hidden) choose(kind); });
  when('model', () => { if (!made.hidden) choose(kind); });

  function showFollowed(what) {
    const given = new Set(what.ids);
    const items = what.items.filter((item) => !given.has(item.id)).slice(0, FOLLOWED);
    const as = what.label === null ? 'no label' : what.label === 'outside' ? 'none of the classes' : what.label;
    const ids = what.ids.length === 1 ? what.ids[0] : `${what.ids.length} items`;
    fill(followed, element('p', { class: 'row' }, element('span', { class: 'id' }, ids), element('span', { 'aria-hidden': 'true' }, '→'), disc(what.label), element('strong', {}, as),
      element('span', { class: 'soft number' }, `${changedWords(what.changed)} ${Math.round(what.took)} ms`)),
      items.length ? element('ul', { class: 'tiles small-tiles' }, items.map((item) => element('li', {}, tile(item, { open: (id) => open(id, items.map((each) => each.id)), edge: 96 })))) : null);
  }

  return {
    element: made,
    show(wanted) {
      const asked = wanted.get('kind');
      showGoal();
      if (asked && KINDS.some(([name]) => name === asked) && (asked !== kind || asked === 'chosen' || !current)) choose(asked);
      else { showKinds(); if (!current) step(); }
    },
    key(event) {
      if (!current || event.target.closest?.('button, a, summary, [data-item]') && [' ', 'Enter'].includes(event.key)) return false;
      const name = labelOf(event.key);
      if (event.target.closest?.('.followed [data-item], .because')) return false;
      if (event.key === 'Enter') agree();
      else if (event.key === ' ') skip();
      else if (event.key === 'Delete') label(null);
      else if (event.key === 'l') pick(`Which class is ${current.id}?`).then((chosen) => { if (chosen !== undefined) label(chosen); });
      else if (name !== undefined) label(name);
      else return false;
      return true;
    },
  };
}

/** What pressing Enter would label it: what the queue suggests, or what it is believed to be. */
const suggestion = (item) => item.suggested ?? given(item) ?? item.pseudo_label;
