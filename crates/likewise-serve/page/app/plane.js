// Which points of the map lie near a place or inside a shape: a grid of cells over typed arrays.

/** Points of a cell on average. */
const CROWD = 4;

export class Plane {
  /** Sorts points (`x, y` of each) into cells. O(n), 8 bytes a point. Points that are not finite are nowhere. */
  constructor(places) {
    this.places = places;
    const count = places.length / 2;
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < count; i += 1) {
      const [x, y] = [places[2 * i], places[2 * i + 1]];
      if (!Number.isFinite(x + y)) continue;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < low) low = y;
      if (y > high) high = y;
    }
    if (left > right) [left, right, low, high] = [0, 1, 0, 1];
    Object.assign(this, { left, right, low, high });
    this.side = Math.min(1024, Math.max(1, Math.ceil(Math.sqrt(count / CROWD))));
    this.width = (right - left || 1) / this.side;
    this.height = (high - low || 1) / this.side;
    this.starts = new Uint32Array(this.side * this.side + 1);
    const cellOf = new Int32Array(count).fill(-1);
    for (let i = 0; i < count; i += 1) {
      const [x, y] = [places[2 * i], places[2 * i + 1]];
      if (!Number.isFinite(x + y)) continue;
      cellOf[i] = this.#row(y) * this.side + this.#column(x);
      this.starts[cellOf[i] + 1] += 1;
    }
    for (let cell = 0; cell < this.side * this.side; cell += 1) this.starts[cell + 1] += this.starts[cell];
    const free = this.starts.slice();
    this.items = new Uint32Array(this.starts[this.side * this.side]);
    for (let i = 0; i < count; i += 1) if (cellOf[i] >= 0) this.items[free[cellOf[i]]++] = i;
  }

  #column(x) { return Math.min(this.side - 1, Math.max(0, Math.floor((x - this.left) / this.width))); }

  #row(y) { return Math.min(this.side - 1, Math.max(0, Math.floor((y - this.low) / this.height))); }

  /** Calls `each(item, x, y)` for the points of all cells that a box touches. */
  #box(left, low, right, high, each) {
    for (let row = this.#row(low); row <= this.#row(high); row += 1) {
      const first = this.starts[row * this.side + this.#column(left)];
      const end = this.starts[row * this.side + this.#column(right) + 1];
      for (let at = first; at < end; at += 1) {
        const item = this.items[at];
        each(item, this.places[2 * item], this.places[2 * item + 1]);
      }
    }
  }

  /** The item nearest to a place within a radius, or -1. */
  nearest(x, y, radius) {
    let best = -1;
    let least = radius * radius;
    this.#box(x - radius, y - radius, x + radius, y + radius, (item, px, py) => {
      const away = (px - x) ** 2 + (py - y) ** 2;
      if (away <= least) [best, least] = [item, away];
    });
    return best;
  }

  /** Items within a radius of a place. */
  circle(x, y, radius) {
    const inside = [];
    this.#box(x - radius, y - radius, x + radius, y + radius, (item, px, py) => {
      if ((px - x) ** 2 + (py - y) ** 2 <= radius * radius) inside.push(item);
    });
    return inside;
  }

  /** Items inside a closed line, `[[x, y], ..]`, by the even-odd rule. */
  lasso(line) {
    const xs = line.map(([x]) => x);
    const ys = line.map(([, y]) => y);
    const inside = [];
    this.#box(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys), (item, x, y) => {
      let odd = false;
      for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
        if ((ys[i] > y) !== (ys[j] > y) && x < ((xs[j] - xs[i]) * (y - ys[i])) / (ys[j] - ys[i]) + xs[i]) odd = !odd;
      }
      if (odd) inside.push(item);
    });
    return inside;
  }
}
