// The page: opens the run, shows one room at a time, and hands keys to it.

import { ask } from './ask.js';
import { element, fill, icon } from './element.js';
import { header, notices } from './header.js';
import { help } from './help.js';
import { forPage, labelOf } from './keys.js';
import { give, takeUp, undo } from './labels.js';
import { count, listen } from './live.js';
import { openItem } from './panel.js';
import { pick } from './picker.js';
import { classes } from './room-classes.js';
import { compare } from './room-compare.js';
import { map } from './room-map.js';
import { report } from './room-report.js';
import { review } from './room-review.js';
import { search } from './room-search.js';
import { labeled, store, tell, when } from './store.js';

/** All rooms: their address, name, the key after `g`, what builds them when they are
 * first visited, and whether they need labels, or a run that is not across views. */
const ALL = [
  { name: 'search', words: 'Search', key: 's', build: search },
  { name: 'map', words: 'Map', key: 'm', build: map, one: true },
  { name: 'review', words: 'Review', key: 'r', build: review, labels: true },
  { name: 'compare', words: 'Compare', key: 'b', build: compare },
  { name: 'classes', words: 'Classes', key: 'c', build: classes, labels: true },
  { name: 'report', words: 'Report', key: 'p', build: report },
];

/** Milliseconds after which a run that could not be opened is asked for again. */
const AGAIN = 2000;

let ROOMS = ALL;
const main = document.getElementById('main');
let current = null;

async function open() {
  try {
    store.run = await ask('run');
    if (store.run.labels) await count();
  } catch (error) {
    fill(main, element('div', { class: 'empty' }, element('h2', {}, 'The run cannot be opened'),
      element('p', {}, error.message), element('p', {}, error.state === 401 ? 'Open the address that the program printed, with its token.' : error.hint ?? '')));
    if (error.passing) setTimeout(open, AGAIN);
    return;
  }
  ROOMS = ALL.filter((room) => (store.run.labels || !room.labels) && (!store.run.views.length || !room.one));
  document.title = `${store.run.name} · Likewise`;
  document.getElementById('run').textContent = store.run.name;
  fill(document.getElementById('rooms'), ROOMS.map((room) => element('a', { href: `#/${room.name}`, 'data-room': room.name, title: `g then ${room.key}` }, icon(room.name), element('span', {}, room.words))));
  header(() => help(ROOMS));
  notices();
  takeUp();
  listen();
  if (store.run.labels) for (const change of ['labels', 'heard', 'anew', 'model']) when(change, count);
  addEventListener('likewise-theme', () => tell('places'));
  addEventListener('hashchange', route);
  addEventListener('keydown', keys);
  document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
  fill(main);
  route();
}

function route() {
  if (current && !location.hash.startsWith('#/')) return;
  const [path, query] = location.hash.slice(2).split('?');
  const room = ROOMS.find((each) => each.name === path) ?? ROOMS[labeled() || !store.run.labels ? 0 : 2];
  if (current && current !== room) {
    current.made.element.hidden = true;
    current.made.hide?.();
  }
  if (!room.made) {
    room.made = room.build(openItem);
    main.append(room.made.element);
  }
  const moved = current !== null && current !== room;
  current = room;
  room.made.element.hidden = false;
  main.classList.toggle('wide', room.made.wide === true);
  for (const link of document.querySelectorAll('[data-room]')) {
    if (link.dataset.room === room.name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  room.made.show(new URLSearchParams(query ?? ''));
  if (moved) { scrollTo(0, 0); main.focus({ preventScroll: true }); }
}

let going = 0;

function keys(event) {
  if (!forPage(event) || document.querySelector('dialog[open]')) return;
  const { key } = event;
  if (performance.now() - going < 1500) {
    going = 0;
    const room = ROOMS.find((each) => each.key === key.toLowerCase());
    if (room) { location.hash = `#/${room.name}`; event.preventDefault(); return; }
  }
  if (key === 'g') { going = performance.now(); return; }
  if (key === '?') { help(ROOMS); event.preventDefault(); return; }
  if (current.made.key?.(event)) { event.preventDefault(); return; }
  if (key === 'u' && store.run.labels) { undo(); return; }
  const item = event.target.closest?.('[data-item]')?.dataset.item;
  if (item && store.run.labels) labelKey(event, item);
}

/** A class key on an item that has the focus labels it. */
async function labelKey(event, id) {
  const name = event.key === 'Delete' ? null : labelOf(event.key);
  if (event.key === 'l') {
    event.preventDefault();
    const chosen = await pick(`Which class is ${id}?`);
    if (chosen !== undefined) give([id], chosen);
  } else if (name !== undefined) {
    event.preventDefault();
    give([id], name);
  }
}

open();
