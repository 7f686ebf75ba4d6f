// How soon the page follows a key, and how smoothly its map moves, as one line of JSON:
//
//     node pace.js ADDRESS [--labels 100] [--peer FOLDER]
//
// It labels items of the run that is served, so serve a copy. A label counts from the key to the frame after the page names
// what followed from it. The map is turned by the wheel, one step a frame; a frame counts from the one before it. FOLDER is one
// after `npm install regl-scatterplot regl pub-sub-es esbuild`: regl-scatterplot then moves over the same points in the same
// browser, which draws without a graphics card, on a page of its own, a canvas as large as ours and in dots as large. It draws all points in each frame, our map as many as are in time, and all when it rests.

import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { start, until } from './browser.js';

const { values: given, positionals: [base] } = parseArgs({ allowPositionals: true, options: { labels: { type: 'string', default: '100' }, peer: { type: 'string' } } });
const STEPS = 120;
const failures = [];
const { open, close } = await start(base, failures);
const percentiles = (times) => { const sorted = times.toSorted((a, b) => a - b); return [0.5, 0.99].map((share) => Math.round(10 * sorted[Math.floor(share * (sorted.length - 1))]) / 10); };

const page = await open({ bypassCSP: true });
const keyed = await keys(Number(given.labels));
const { size, ...mapped } = await map();
await page.close();
const measured = { keys: keyed, ...mapped };
if (given.peer) measured.peer = await peer(given.peer, size);
await close();
if (failures.length) throw new Error(failures.join('\n'));
console.log(JSON.stringify(measured));

/** Milliseconds from a key that labels to the changed page, median and 99th percentile. */
async function keys(labels) {
  await page.goto(new URL('#/review?kind=uncertain', base).href);
  await page.waitForSelector('.deciding .name-button');
  await page.evaluate(() => {
    window.pace = [];
    let pressed = null;
    addEventListener('keydown', (event) => { pressed = event.timeStamp; }, true);
    new MutationObserver(() => {
      if (pressed === null) return;
      const since = pressed;
      pressed = null;
      // The frame is painted by the time that the one after it begins.
      requestAnimationFrame(() => requestAnimationFrame((now) => window.pace.push(now - since)));
    }).observe(document.querySelector('.followed'), { childList: true });
  });
  for (let i = 0; i < labels; i += 1) {
    await page.waitForSelector('.review .stage:not([aria-busy]) .deciding .name-button kbd');
    const key = await page.locator('.deciding .name-button kbd').nth(i % 2).textContent();
    await page.keyboard.press(key);
    await until('the page', () => page.evaluate((count) => window.pace.length === count, i + 1), 60_000);
  }
  return percentiles(await page.evaluate(() => window.pace));
}

/** Milliseconds to the map with all points, and of a frame while it moves. */
async function map() {
  const began = Date.now();
  await page.goto(new URL('#/map', base).href);
  await page.waitForSelector('.legend li', { timeout: 120_000 });
  await page.waitForSelector('canvas.points');
  const opened = Date.now() - began;
  const size = await page.evaluate(() => { const { width, height } = document.querySelector('canvas.points').getBoundingClientRect(); return { width, height }; });
  return { opened, size, frames: percentiles(await turned(page, '.map-view')) };
}

/** The same of regl-scatterplot: its frames alone. */
async function peer(folder, size) {
  const page = await open({ bypassCSP: true });
  await page.goto(base);
  const code = execFileSync(`${folder}/node_modules/.bin/esbuild`, ['--bundle', '--format=iife', '--log-level=error'], { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26, input: "import create from 'regl-scatterplot'; window.scatterplot = create;" });
  await page.evaluate(code);
  await page.evaluate(async ({ width, height }) => {
    const bytes = await (await fetch('/map')).arrayBuffer();
    const length = new DataView(bytes).getUint32(0, true);
    const { items, sections } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
    const of = (name, Kind) => new Kind(bytes, sections[name].offset, items);
    const scaled = (values) => { const low = values.reduce((a, b) => Math.min(a, b)); const high = values.reduce((a, b) => Math.max(a, b)); return values.map((value) => 2 * (value - low) / (high - low) - 1); };
    document.body.replaceChildren();
    const canvas = document.createElement('canvas');
    canvas.id = 'peer';
    document.body.append(canvas);
    // As app/points.js has it.
    const pointSize = Math.min(9, Math.max(1.5, Math.sqrt(width * height / items) * 0.33));
    const plot = window.scatterplot({ canvas, width, height, pointSize, colorBy: 'valueA', pointColor: ['#d55e00', '#0072b2', '#009e73', '#cc79a7'] });
    await plot.draw({ x: scaled(of('x', Float32Array)), y: scaled(of('y', Float32Array)), valueA: of('belief', Int32Array).map((belief) => Math.max(0, belief) % 4) });
  }, size);
  return { frames: percentiles(await turned(page, '#peer')) };
}

/** Milliseconds of each frame while the wheel turns over something, in and out again. */
function turned(page, selector) {
  return page.evaluate(async ([at, steps]) => {
    const turn = document.querySelector(at);
    const box = turn.getBoundingClientRect();
    const where = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true, cancelable: true };
    const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); });
    const times = [];
    let before = await frame();
    for (let step = 0; step < steps; step += 1) {
      turn.dispatchEvent(new WheelEvent('wheel', { ...where, deltaY: step % 40 < 20 ? -30 : 30 }));
      const now = await frame();
      times.push(now - before);
      before = now;
    }
    return times;
  }, [selector, STEPS]);
}
