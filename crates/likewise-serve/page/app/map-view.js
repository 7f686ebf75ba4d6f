// The map that one moves in: pointer, wheel, fingers and keys; what is drawn over the points.

import { drawing, element } from './element.js';
import { Plane } from './plane.js';
import { Points } from './points.js';

const WHOLE = 0.92;
/** Farthest one can go in and out. */
const NEAREST = 4000;
const FARTHEST = 0.4;
/** Milliseconds of rest after which every point is drawn. */
const REST = 130;
/** Pixels: how near a pointer is to a point, how far a press may move and still be one, a step of an arrow. */
const REACH = 14;
const PRESS = 5;
const STEP = 18;

export class MapView {
  /** `told` hears `hover(row or -1, x, y)`, `press(row)`, `select(rows, how)` and `cross(row, inside)`. */
  constructor(told) {
    this.told = told;
    this.canvas = element('canvas', { class: 'points', 'aria-hidden': 'true' });
    this.marks = { line: drawing('polygon', { class: 'line off' }), ring: drawing('circle', { class: 'ring off' }), circle: drawing('circle', { class: 'brush off' }), cross: drawing('path', { class: 'brush off' }) };
    const over = drawing('svg', { class: 'over', 'aria-hidden': 'true' }, Object.values(this.marks));
    this.element = element('div', { class: 'map-view', tabindex: 0, role: 'application', 'aria-label': 'Map', 'aria-describedby': 'map-keys' }, this.canvas, over);
    this.points = new Points(this.canvas);
    this.camera = { x: 0, y: 0, scale: WHOLE };
    this.cross = { x: 0, y: 0, radius: 30, shown: false };
    this.pointers = new Map();
    this.line = null;
    this.lassoing = false;
    this.hovered = -1;
    this.moved = -Infinity;
    this.travels = false;
    this.wasMoving = false;
    new ResizeObserver(() => this.#resize()).observe(this.element);
    this.element.addEventListener('pointerdown', (event) => this.#down(event));
    this.element.addEventListener('pointermove', (event) => this.#move(event));
    for (const end of ['pointerup', 'pointercancel']) this.element.addEventListener(end, (event) => this.#up(event));
    this.element.addEventListener('pointerleave', () => this.#hover(-1));
    this.element.addEventListener('wheel', (event) => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)), this.#at(event)); }, { passive: false });
    this.element.addEventListener('focus', () => { this.cross.shown = this.element.matches(':focus-visible'); this.#again(); });
    this.element.addEventListener('blur', () => { this.cross.shown = false; this.#again(); });
  }

  /** Shows other places. */
  put(places) {
    this.places = places;
    this.plane = new Plane(places);
    this.points.put(places);
    this.#again();
  }

  /** Draws anew soon. */
  refresh() { this.#again(); }

  /** The whole map. */
  whole() { this.#to({ x: 0, y: 0, scale: WHOLE }); }

  /** Nearer (above 1) or farther, around a place in pixels. */
  zoom(by, around = [this.width / 2, this.height / 2]) {
    const before = this.#world(around);
    this.camera.scale = Math.min(NEAREST, Math.max(FARTHEST, this.camera.scale * by));
    const after = this.#world(around);
    this.#to({ ...this.camera, x: this.camera.x + before[0] - after[0], y: this.camera.y + before[1] - after[1] });
  }

  /** Keys; true where one did something. */
  key(event) {
    const { key, shiftKey } = event;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (key in arrows) {
      const step = (shiftKey ? 4 : 1) * STEP / this.#unit();
      const [dx, dy] = arrows[key].map((d) => d * step);
      if (shiftKey) this.#to({ ...this.camera, x: this.camera.x + dx, y: this.camera.y + dy });
      this.#crossTo(this.cross.x + dx, this.cross.y + dy);
    } else if (key === '+' || key === '=') this.zoom(1.4, this.#pixel([this.cross.x, this.cross.y]));
    else if (key === '-') this.zoom(1 / 1.4, this.#pixel([this.cross.x, this.cross.y]));
    else if (key === 'Home') { this.whole(); this.#crossTo(0, 0); } else if (key === '[' || key === ']') {
      this.cross.radius = Math.min(240, Math.max(8, this.cross.radius * (key === ']' ? 1.25 : 0.8)));
      this.#crossTo(this.cross.x, this.cross.y);
    } else if (key === ' ') this.told.select(this.#inCircle(), 'add');
    else if (key === 'Escape') this.told.select([], 'only');
    else if (key === 'Enter') { const row = this.#nearest([this.cross.x, this.cross.y], 60); if (row >= 0) this.told.press(row); } else return false;
    return true;
  }

  #crossTo(x, y) {
    const [right, top] = this.#world([this.width, 0]);
    const [left, bottom] = this.#world([0, this.height]);
    this.cross = { ...this.cross, shown: true, x: x, y: y };
    if (x < left || x > right || y < bottom || y > top) this.#to({ ...this.camera, x: this.camera.x + Math.min(0, x - left) + Math.max(0, x - right), y: this.camera.y + Math.min(0, y - bottom) + Math.max(0, y - top) });
    this.told.cross(this.#nearest([x, y], this.cross.radius), this.#inCircle());
    this.#again();
  }

  #inCircle() { return this.plane ? this.plane.circle(this.cross.x, this.cross.y, this.cross.radius / this.#unit()) : []; }

  #nearest([x, y], pixels) { return this.plane ? this.plane.nearest(x, y, pixels / this.#unit()) : -1; }

  /** Pixels of a unit of the map. */
  #unit() { return (this.camera.scale * Math.min(this.width, this.height)) / 2; }

  #world([px, py]) { return [this.camera.x + (px - this.width / 2) / this.#unit(), this.camera.y - (py - this.height / 2) / this.#unit()]; }

  #pixel([x, y]) { return [this.width / 2 + (x - this.camera.x) * this.#unit(), this.height / 2 - (y - this.camera.y) * this.#unit()]; }

  #at(event) { const box = this.element.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; }

  #down(event) {
    if (event.button > 0) return;
    this.element.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.#at(event));
    this.pressed = { at: this.#at(event), still: true };
    this.line = this.pointers.size === 1 && (this.lassoing || event.shiftKey) ? [this.#world(this.#at(event))] : null;
    this.#hover(-1);
  }

  #move(event) {
    const now = this.#at(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) { if (event.pointerType !== 'touch') this.#hover(this.#nearest(this.#world(now), REACH), now); return; }
    if (this.pressed.still && Math.hypot(now[0] - this.pressed.at[0], now[1] - this.pressed.at[1]) < PRESS) return;
    this.pressed.still = false;
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = (a, b) => Math.max(1, Math.hypot(a[0] - b[0], a[1] - b[1]));
      this.zoom(apart(now, other) / apart(before, other), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
    } else if (this.line) this.line.push(this.#world(now));
    else this.#to({ ...this.camera, x: this.camera.x - (now[0] - before[0]) / this.#unit(), y: this.camera.y + (now[1] - before[1]) / this.#unit() });
    this.pointers.set(event.pointerId, now);
    this.#again();
  }

  #up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    if (this.line && !this.pressed.still) {
      if (this.line.length > 2 && event.type === 'pointerup' && this.plane) this.told.select(this.plane.lasso(this.line), event.ctrlKey || event.metaKey ? 'add' : 'only');
    } else if (this.pressed.still && event.type === 'pointerup') {
      const row = this.#nearest(this.#world(this.#at(event)), event.pointerType === 'touch' ? 2 * REACH : REACH);
      if (row >= 0) this.told.press(row);
    }
    this.line = null;
    this.#again();
  }

  #hover(row, at = [0, 0]) {
    this.element.classList.toggle('on-point', row >= 0);
    if (row === this.hovered && row < 0) return;
    this.hovered = row;
    this.told.hover(row, ...(row >= 0 ? this.#pixel([this.places[2 * row], this.places[2 * row + 1]]) : at));
    this.#over();
  }

  #to(camera) {
    const limit = (v) => Math.min(1.5, Math.max(-1.5, v));
    this.camera = { ...camera, x: limit(camera.x), y: limit(camera.y) };
    this.travels = true;
    this.#again();
  }

  #resize() {
    const ratio = devicePixelRatio || 1;
    this.width = this.element.clientWidth;
    this.height = this.element.clientHeight;
    if (!this.width || !this.height) return;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.#draw(false);
    this.#over();
  }

  #again() {
    if (this.waiting || !this.width) return;
    this.waiting = true;
    const asked = performance.now();
    requestAnimationFrame(() => {
      this.waiting = false;
      const now = performance.now();
      // By the frames, not by what was asked of them: a frame may come later than the rest would begin.
      const moving = this.travels || now - this.moved < REST;
      if (this.travels) {
        if (this.wasMoving) this.points.took(now - asked);
        this.moved = now;
      }
      this.travels = false;
      this.wasMoving = moving;
      this.#draw(moving);
      this.#over();
      if (moving) { clearTimeout(this.resting); this.resting = setTimeout(() => this.#again(), REST + 10); }
    });
  }

  #draw(moving) { this.points.draw(this.camera, moving); }

  /** What lies over the points: the line that is drawn, the cross and its circle, a ring around what is hovered. */
  #over() {
    const { ring, line, circle, cross } = this.marks;
    const put = (mark, shown, attributes) => {
      mark.classList.toggle('off', !shown);
      if (shown) for (const [name, value] of Object.entries(attributes())) mark.setAttribute(name, value);
    };
    const place = ([cx, cy], r) => ({ cx, cy, r });
    put(ring, this.hovered >= 0, () => place(this.#pixel([this.places[2 * this.hovered], this.places[2 * this.hovered + 1]]), 9));
    put(line, this.line, () => ({ points: this.line.map((each) => this.#pixel(each).map(Math.round).join()).join(' ') }));
    const middle = this.#pixel([this.cross.x, this.cross.y]);
    put(circle, this.cross.shown, () => place(middle, this.cross.radius));
    put(cross, this.cross.shown, () => ({ d: `M${middle[0] - 8} ${middle[1]}h16M${middle[0]} ${middle[1] - 8}v16` }));
  }
}
