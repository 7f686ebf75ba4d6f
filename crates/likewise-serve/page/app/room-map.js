// Map: all items at once; colours say what is known, and a drawn line or a circle chooses many to label or review.

import { ask } from './ask.js';
import { css } from './colours.js';
import { button, element, fill, icon } from './element.js';
import { labelOf } from './keys.js';
import { give } from './labels.js';
import { MapData } from './map-data.js';
import { MapView } from './map-view.js';
import { classButtons, pick } from './picker.js';
import { Queue } from './queue.js';
import { disc, sureWords, verdict } from './sign.js';
import { keep, kept, learn, percent, store, when, whole } from './store.js';
import { arrows, picture, tile } from './tile.js';
import { say, toast } from './words.js';

const COLOURS = [['belief', 'Belief'], ['label', 'Label'], ['confidence', 'Confidence'], ['split', 'Part'], ['outside', 'Outside']];
/** Most items of a choice that are shown, names in a legend, and items that one request labels. */
const SHOWN = 24;
const NAMES = 40;
const AT_ONCE = 10_000;
/** Most items that one press of a key labels. */
const MOST = 100_000;
/** Milliseconds after which a map that many beliefs have moved on is fetched anew. */
const SETTLE = 2500;

/** Builds the room; `open` shows what is known of an item. */
export function map(open) {
  let data = null;
  let view = null;
  let tones = null;
  let only = null;
  let chosen = [];
  let by = kept('colour', 'belief');
  let stale = null;
  let dull = false;

  const hint = element('div', { class: 'hint', hidden: true });
  const legend = element('div', { class: 'legend' });
  const choice = element('div', { class: 'chosen' });
  const status = element('p', { class: 'soft small number', id: 'map-said' });
  const stage = element('div', { class: 'map-stage' });
  const colours = element('div', { class: 'choice', role: 'group', 'aria-label': 'Colour by' }, COLOURS.map(([name, words]) => element('button', { type: 'button', 'data-by': name, 'aria-pressed': String(name === by), onclick: () => colourBy(name) }, words)));
  const lasso = button('Draw around', () => { view.lassoing = !view.lassoing; showLasso(); }, { icon: 'lasso', 'aria-pressed': 'false', title: 'Draw around items to choose them (or hold Shift and drag)' });
  const tools = element('div', { class: 'map-tools' }, lasso,
    tool('plus', 'Nearer', () => view.zoom(1.6)), tool('minus', 'Farther', () => view.zoom(1 / 1.6)), tool('whole', 'The whole map', () => view.whole()));
  const made = element('section', { class: 'room map', 'aria-label': 'Map' },
    element('div', { class: 'map-left' }, element('div', { class: 'head' }, colours, element('span', { class: 'grow' }), status), stage),
    element('aside', { class: 'map-side', 'aria-label': 'Legend and choice' }, choice, legend));
  const keysSaid = element('p', { class: 'unseen', id: 'map-keys' }, 'Arrows move a cross, plus and minus zoom, space selects what lies in the circle around the cross, square brackets change the circle, Enter opens the item at the cross, a class key labels what is selected.');

  const told = {
    hover(row, x, y) {
      hint.hidden = row < 0;
      if (row < 0) return;
      const item = data.item(row);
      const { name, words, believed } = verdict(item);
      fill(hint, item.image ? picture(item, 96) : null, element('span', { class: 'line' }, disc(name, believed), element('strong', { class: 'name' }, words)),
        element('span', { class: 'soft small' }, believed ? sureWords(item) : 'labeled'), element('span', { class: 'id soft small' }, item.id));
      hint.style.setProperty('--x', `${Math.min(view.width - 130, Math.max(8, x + 14))}px`);
      hint.style.setProperty('--y', `${Math.min(view.height - 170, Math.max(8, y + 14))}px`);
    },
    press: (row) => open(data.ids[row]),
    select(rows, how) {
      chosen = how === 'add' ? [...new Set([...chosen, ...rows])] : rows;
      showChosen();
      say(`${whole(chosen.length)} items chosen`);
    },
    cross(row, inside) {
      const item = row >= 0 ? data.item(row) : null;
      say(item ? `${item.id}: ${verdict(item).words}, ${whole(inside.length)} in the circle` : 'nothing here');
    },
  };

  async function load() {
    stage.setAttribute('aria-busy', 'true');
    if (!data) fill(stage, element('p', { class: 'empty' }, 'Fetching the map ...'));
    try {
      const fresh = await MapData.load();
      if (!view) view = new MapView(told);
      const rows = new Set(chosen.map((row) => data?.ids[row]));
      const moved = !data || data.count !== fresh.count || fresh.places.some((v, i) => v !== data.places[i]);
      data = fresh;
      if (moved) view.put(data.places);
      if (!stage.contains(view.element)) fill(stage, view.element, hint, tools, keysSaid);
      view.element.setAttribute('aria-label', `Map of ${whole(data.count)} items`);
      if (rows.size) chosen = chosen.filter((row) => rows.has(data.ids[row]));
      status.textContent = `${whole(data.count)} items; ${percent(data.share)} of what varies is seen`;
      if (by === 'outside') await likely();
      recolour();
      showChosen();
    } catch (error) {
      if (data) toast(error.message, { bad: true });
      else fill(stage, element('div', { class: 'empty', role: 'alert' }, element('p', { class: 'failed' }, error.message), error.hint ? element('p', {}, error.hint) : null, button('Try again', load)));
    } finally {
      stage.removeAttribute('aria-busy');
    }
  }

  async function likely() {
    try {
      const { items } = await ask('queue?kind=outside&n=500');
      data.likely = new Set(items.map((item) => item.row));
    } catch (error) {
      toast(`What is outside cannot be said: ${error.message}`);
    }
  }

  async function colourBy(name) {
    by = name;
    only = null;
    keep('colour', by);
    for (const each of colours.children) each.setAttribute('aria-pressed', String(each.dataset.by === by));
    if (by === 'outside' && data && !data.likely.size) await likely();
    recolour();
  }

  function recolour() {
    if (!data || !view) return;
    dull = made.hidden;
    if (dull) return;
    tones = data.tones(by);
    view.points.paint(tones, data.palette(by, only));
    raise();
    showLegend();
    view.refresh();
  }

  function raise() {
    const style = getComputedStyle(document.documentElement);
    const channel = (name) => { const hex = style.getPropertyValue(name).trim(); return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255); };
    view.points.raise('labeled', by === 'split' ? [] : data.labeled(), [...channel('--ink'), 0.75], 7);
    view.points.raise('chosen', chosen, [...channel('--accent'), 1], 8);
  }

  function showLegend() {
    if (by === 'confidence') {
      const ramp = element('span', { class: 'ramp', 'aria-hidden': 'true' });
      ramp.style.setProperty('--from', css(data.colour(1, by)));
      ramp.style.setProperty('--to', css(data.colour(255, by)));
      fill(legend, element('h3', {}, 'Confidence'), element('p', { class: 'row small' }, 'unsure', ramp, 'sure'), element('p', { class: 'soft small' }, 'Items with a label have a ring.'));
      return;
    }
    const names = data.legend(by, tones);
    fill(legend, element('h3', {}, COLOURS.find(([name]) => name === by)[1]),
      element('ul', {}, names.slice(0, NAMES).map(({ tone, words, count }) => {
        const sign = element('span', { class: 'sign', 'aria-hidden': 'true' });
        sign.style.setProperty('--tone', css(data.colour(tone, by)));
        return element('li', {}, element('button', { type: 'button', class: 'bare', 'aria-pressed': String(only === tone), title: 'Only these', onclick: () => { only = only === tone ? null : tone; view.points.paint(tones, data.palette(by, only)); showLegend(); view.refresh(); } },
          sign, element('span', { class: 'name' }, words), element('span', { class: 'soft number small' }, whole(count))));
      })), names.length > NAMES ? element('p', { class: 'soft small' }, `and ${names.length - NAMES} more`) : null,
      by === 'split' ? null : element('p', { class: 'soft small' }, 'Items with a label have a ring.'));
  }

  function showChosen() {
    raise();
    view.refresh();
    if (choice.contains(document.activeElement)) view.element.focus();
    if (!chosen.length) {
      fill(choice, element('p', { class: 'soft small' }, matchMedia('(hover: none)').matches
        ? 'Drag to move, pinch to come nearer. Press “Draw around” and draw to choose items; then label them all, or put them into the review.'
        : 'Drag to move, scroll to come nearer. Hold Shift and drag, or press “Draw around”, to choose items; then label them all, or put them into the review.'));
      return;
    }
    const counts = new Map();
    for (const row of chosen) { const { words } = verdict(data.item(row)); counts.set(words, (counts.get(words) ?? 0) + 1); }
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4);
    const around = chosen.slice(0, SHOWN).map((row) => data.ids[row]);
    const tiles = element('ul', { class: 'tiles small-tiles' }, chosen.slice(0, SHOWN).map((row) => element('li', {}, tile(data.item(row), { open: (id) => open(id, around), edge: 96 }))));
    arrows(tiles);
    fill(choice, element('div', { class: 'row between' }, element('h3', { class: 'number' }, `${whole(chosen.length)} chosen`), button('None', () => told.select([], 'only'), { class: 'bare' })),
      element('p', { class: 'soft small number' }, most.map(([words, count]) => `${whole(count)} ${words}`).join(', '), counts.size > 4 ? ' ...' : ''),
      store.run.labels ? element('div', { class: 'names-row', role: 'group', 'aria-label': 'Label all that are chosen' }, classButtons(label)) : null,
      store.run.labels ? button('Put into the review', () => { Queue.put(chosen.slice(0, AT_ONCE).map((row) => data.ids[row])); location.hash = '#/review?kind=chosen'; }, { icon: 'review' }) : null,
      tiles, chosen.length > SHOWN ? element('p', { class: 'soft small' }, `and ${whole(chosen.length - SHOWN)} more`) : null);
  }

  function label(name) {
    if (chosen.length > MOST) { toast(`At most ${whole(MOST)} items are labeled at once; these are ${whole(chosen.length)}.`, { bad: true }); return; }
    const ids = chosen.map((row) => data.ids[row]);
    learn(chosen.map((row) => data.item(row)));
    for (let at = 0; at < ids.length; at += AT_ONCE) give(ids.slice(at, at + AT_ONCE), name);
  }

  function follow(what) {
    if (!data) return;
    // The answer names at most some hundred items; of those that were labeled here, all are known.
    const mine = what.label === undefined ? [] : what.ids.map((id) => store.items.get(id)).filter((item) => item?.row !== undefined);
    const { rows, all } = data.follow([...mine.map((item) => ({ ...item, pseudo_label: item.label ?? item.pseudo_label })), ...what.items]);
    if (!all || what.what === 'class' || what.changed > what.items.length) later();
    if (made.hidden || !view) { dull = true; return; }
    for (const row of rows) { tones[row] = data.tone(row, by); view.points.retone(row, tones[row]); }
    showLegend();
    showChosen();
  }

  /** Fetches the map anew when things have settled, or when one comes back to it. */
  function later() {
    clearTimeout(stale);
    stale = setTimeout(() => { if (!made.hidden) { stale = null; load(); } else stale = 'old'; }, SETTLE);
  }

  function showLasso() { lasso.setAttribute('aria-pressed', String(view.lassoing)); view.element.classList.toggle('lassoing', view.lassoing); }

  for (const change of ['labels', 'heard']) when(change, follow);
  for (const change of ['model', 'anew']) when(change, () => { if (data) later(); });
  when('places', recolour);

  return {
    element: made,
    wide: true,
    show() {
      if (!data || stale === 'old') { stale = null; load(); } else if (dull) recolour();
      else view?.refresh();
    },
    key(event) {
      if (!view || event.target.closest?.('button, a, [data-item]')) return false;
      const onMap = view.element.contains(document.activeElement) || document.activeElement === document.getElementById('main') || document.activeElement === document.body;
      if (onMap && view.key(event)) return true;
      if (!chosen.length || !store.run.labels) return false;
      if (event.key === 'l') { pick(`Which class are these ${whole(chosen.length)}?`).then((name) => { if (name !== undefined) label(name); }); return true; }
      const name = event.key === 'Delete' ? null : labelOf(event.key);
      if (name === undefined) return false;
      label(name);
      return true;
    },
  };
}

const tool = (sign, words, onclick) => element('button', { type: 'button', 'aria-label': words, title: words, onclick }, icon(sign));
