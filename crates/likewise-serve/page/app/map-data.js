// The map as the server says it: one typed array a fact, a place in each for every item.

import { ask } from './ask.js';
import { classColour, sureColour } from './colours.js';
import { placeOf, store } from './store.js';

/** Tones that are not classes: nothing known, outside; classes follow, and begin anew where they are more than the rest. */
const NOTHING = 0;
const OUTSIDE = 1;
const FIRST = 2;
const CLASSES = 256 - FIRST;
/** How strongly a tone shows that the legend has turned down. */
const FAINT = 22;

export class MapData {
  /** Fetches the map; 21 bytes an item and its id. */
  static async load() {
    const bytes = await ask('map', { patience: 120_000 });
    const length = new DataView(bytes).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
    const section = (name, Kind) => { const { offset, length: size } = head.sections[name]; return new Kind(bytes, offset, size / Kind.BYTES_PER_ELEMENT); };
    const data = new MapData();
    Object.assign(data, { classes: head.classes, splits: head.splits, share: head.share, count: head.items, idBytes: section('ids', Uint8Array) });
    for (const name of ['label', 'belief']) data[name] = section(name, Int32Array).slice();
    data.confidence = section('confidence', Float32Array).slice();
    data.split = section('split', Uint8Array);
    data.places = fitted(section('x', Float32Array), section('y', Float32Array));
    data.likely = new Set();
    return data;
  }

  /** Ids, read when they are first needed. */
  get ids() {
    if (this.idBytes) { this.list = JSON.parse(new TextDecoder().decode(this.idBytes)); this.idBytes = null; }
    return this.list;
  }

  #name(place) { return place === -2 ? 'outside' : place < 0 ? null : this.classes[place]; }

  /** An item, as other rooms know it. */
  item(row) {
    const known = store.items.get(this.ids[row]);
    return { image: store.run.images, split: this.splits[this.split[row]] ?? null, ...known, row, id: this.ids[row],
      label: this.#name(this.label[row]), pseudo_label: this.#name(this.belief[row]), confidence: this.belief[row] < 0 ? null : this.confidence[row] };
  }

  /** Takes in items as they are now; answers the rows of those that this map has and whether all classes are known to it. */
  follow(items) {
    const places = new Map(this.classes.map((name, i) => [name, i]));
    const place = (name) => (name === null ? -1 : name === 'outside' ? -2 : places.get(name) ?? -3);
    const rows = [];
    let all = true;
    for (const { row, label, pseudo_label: believed, confidence, hidden } of items) {
      if (row === undefined || row >= this.count) continue;
      const [now, belief] = [hidden ? -1 : place(label), place(believed)];
      if (now === -3 || belief === -3) { all = false; continue; }
      this.label[row] = now;
      this.belief[row] = belief;
      this.confidence[row] = confidence ?? 0;
      rows.push(row);
    }
    return { rows, all };
  }

  /** Rows with a label. */
  labeled() {
    const rows = [];
    for (let row = 0; row < this.count; row += 1) if (this.label[row] !== -1) rows.push(row);
    return rows;
  }

  /** Tone of an item where colours stand for `by`. */
  tone(row, by) {
    if (by === 'confidence') return this.label[row] !== -1 ? 255 : this.belief[row] < 0 ? 0 : 1 + Math.round(254 * Math.min(1, Math.max(0, this.confidence[row])));
    if (by === 'split') return this.split[row] === 255 ? NOTHING : FIRST + this.split[row];
    if (by === 'outside') return this.label[row] === -2 ? OUTSIDE : this.likely.has(row) ? FIRST : NOTHING;
    const place = by === 'label' || this.label[row] !== -1 ? this.label[row] : this.belief[row];
    return place === -2 ? OUTSIDE : place < 0 ? NOTHING : FIRST + (place % CLASSES);
  }

  /** Tones of all items. */
  tones(by) {
    const tones = new Uint8Array(this.count);
    for (let row = 0; row < this.count; row += 1) tones[row] = this.tone(row, by);
    return tones;
  }

  /** Colours that tones stand for; `only` is a tone that alone shows, or null. */
  palette(by, only) {
    const colours = new Uint8Array(1024);
    for (let tone = 0; tone < 256; tone += 1) {
      colours.set(this.colour(tone, by), 4 * tone);
      const strong = by === 'confidence' ? 225 : tone === NOTHING ? 130 : 235;
      colours[4 * tone + 3] = only === null || only === tone ? strong : FAINT;
    }
    return colours;
  }

  /** Colour of a tone. */
  colour(tone, by) {
    if (by === 'confidence') return tone === 0 ? classColour(-1) : sureColour((tone - 1) / 254);
    if (tone === NOTHING) return classColour(-1);
    if (tone === OUTSIDE) return classColour(-2);
    if (by === 'split') return classColour(tone - FIRST);
    if (by === 'outside') return classColour(1);
    return classColour(placeOf(this.classes[tone - FIRST]));
  }

  /** What the colours say: tone, words, and how many items. */
  legend(by, tones) {
    const counts = new Uint32Array(256);
    for (const tone of tones) counts[tone] += 1;
    if (by === 'confidence') return [];
    const words = (tone) => {
      if (tone === NOTHING) return { label: 'no label', belief: 'nothing known', split: 'no part', outside: 'inside' }[by];
      if (tone === OUTSIDE) return by === 'outside' ? 'labeled outside' : 'none of the classes';
      if (by === 'split') return this.splits[tone - FIRST];
      if (by === 'outside') return 'likely outside';
      return this.classes[tone - FIRST];
    };
    const tonesOf = [...counts.keys()].filter((tone) => counts[tone]);
    return [...tonesOf.filter((tone) => tone >= FIRST), ...tonesOf.filter((tone) => tone < FIRST)].map((tone) => ({ tone, words: words(tone), count: counts[tone] }));
  }
}

/** Places moved and scaled so that all of them lie within -1 and 1, `x, y` of each. */
function fitted(x, y) {
  const ends = (values) => { let [low, high] = [Infinity, -Infinity]; for (const v of values) { if (v < low) low = v; if (v > high) high = v; } return low <= high ? [low, high] : [0, 0]; };
  const [[left, right], [low, high]] = [ends(x), ends(y)];
  const half = Math.max(right - left, high - low) / 2 || 1;
  const places = new Float32Array(2 * x.length);
  for (let i = 0; i < x.length; i += 1) {
    places[2 * i] = (x[i] - (left + right) / 2) / half;
    places[2 * i + 1] = (y[i] - (low + high) / 2) / half;
  }
  return places;
}
