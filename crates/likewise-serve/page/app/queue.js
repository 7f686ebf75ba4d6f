// What is to be reviewed, in order: asked for in parts, without what was shown or skipped here.

import { ask, picturePath } from './ask.js';
import { isUnsaved } from './labels.js';
import { keep, kept, store } from './store.js';

/** Items asked for at once, how few may be left before more are asked for, and the most that the server answers with. */
const PART = 20;
const FEW = 4;
const MOST = 500;

const shelf = () => `chosen.${store.run.data}`;

export class Queue {
  constructor(kind) {
    this.kind = kind;
    this.waiting = [];
    this.seen = new Set();
    this.skipped = 0;
    /** Of the last answer: how many were shown or skipped before. */
    this.stale = 0;
    this.total = null;
    this.ended = false;
    /** Where nothing is left: how many are there still, but were shown or skipped. */
    this.passed = 0;
    this.changes = 0;
  }

  /** Ids that a person put aside for review, and putting more of them there. */
  static chosen() { return kept(shelf(), []); }

  static put(ids) { keep(shelf(), [...new Set([...Queue.chosen(), ...ids])]); }

  /** The next item, or null where nothing is left. */
  async next() {
    if (!this.waiting.length) await this.#more();
    return this.waiting[0] ?? null;
  }

  /** The item was labeled: it is not shown again. */
  done(id) {
    this.#gone(id);
    if (this.total) this.total -= 1;
    if (this.kind === 'chosen') keep(shelf(), Queue.chosen().filter((each) => each !== id));
  }

  /** The item was passed over: it is not shown again in this round. */
  skip(id) {
    this.#gone(id);
    this.skipped += 1;
  }

  /** The item has a label by now, of whoever gave it: it is not asked for. */
  given(id) {
    if (this.kind !== 'chosen' && this.waiting.some((item) => item.id === id)) this.done(id);
  }

  /** An item comes back to the front, since its label was taken back. */
  back(id) {
    if (this.seen.delete(id) && this.total !== null) this.total += 1;
    this.waiting = [store.items.get(id) ?? { id }, ...this.waiting.filter((item) => item.id !== id)];
  }

  /** What is known of those that wait is old: they are asked for again, but for the first, which may be in sight. */
  forget() {
    this.waiting.splice(1);
    this.anew();
  }

  /** Labels have changed: there may be others now. */
  anew() {
    this.ended = false;
    this.changes += 1;
  }

  /** Asks for more in time, and for the pictures of the next two. */
  look() {
    for (const { id, image } of this.waiting.slice(1, 3)) if (image) new Image().src = picturePath(id, 420);
    if (this.waiting.length < FEW) this.#more().catch(() => {});
  }

  #gone(id) {
    this.seen.add(id);
    this.waiting = this.waiting.filter((item) => item.id !== id);
  }

  async #more() {
    if (this.ended) return;
    if (this.kind === 'chosen') {
      const ids = Queue.chosen().filter((id) => !this.seen.has(id));
      this.total = ids.length;
      const known = await Promise.allSettled(ids.slice(0, PART).map((id) => ask(`items/${encodeURIComponent(id)}`)));
      this.#take(known.filter((each) => each.status === 'fulfilled').map((each) => each.value));
      return;
    }
    // Always from the beginning: each label changes the order, so that a place in it says nothing.
    let n = Math.min(MOST, PART + Math.max(this.skipped, this.stale));
    for (;;) {
      const { changes } = this;
      const { items, total } = await ask(`queue?kind=${this.kind}&n=${n}&offset=0`);
      this.total = total;
      this.#take(items);
      this.stale = items.filter((item) => this.seen.has(item.id)).length;
      const all = items.length < n || n === MOST;
      this.ended = all && !this.waiting.length;
      this.passed = this.ended ? items.length : 0;
      // Not all was seen yet, or this was asked before the last label and answered after it.
      if (!all && this.waiting.length < FEW) n = Math.min(MOST, 2 * n);
      else if (!this.ended || changes === this.changes) return;
    }
  }

  #take(items) {
    const have = new Set(this.waiting.map((item) => item.id));
    // What was labeled here and is on its way is none of these.
    this.waiting.push(...items.filter((item) => !this.seen.has(item.id) && !have.has(item.id) && !isUnsaved(item.id)));
  }
}
