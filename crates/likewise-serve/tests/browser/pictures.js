// The pictures of docs/serve.md: `node pictures.js ADDRESS ITEM FOLDER`, of a run of photos; made small afterwards by
// `pngquant --ext .png --force --nofs 160 FOLDER/serve-*.png`, and 96 for `serve-search.png`. It labels two items, so serve a copy of the run.

import { start, until } from './browser.js';

const [base, item, folder] = process.argv.slice(2);
const failures = [];
const { open, close } = await start(base, failures);
const page = await open({ viewport: { width: 1280, height: 720 }, colorScheme: 'light' });
const settled = async () => {
  await until('all pictures', () => page.evaluate(() => !document.querySelector('[aria-busy=true]') && [...document.images].every((image) => image.loading === 'lazy' || image.complete)));
  await page.waitForTimeout(900);
};
const take = (name) => page.screenshot({ path: `${folder}/serve-${name}.png` });

await page.goto(new URL('#/review?kind=uncertain', base).href);
for (let i = 0; i < 2; i += 1) {
  await page.waitForSelector('.why .source');
  await page.keyboard.press('Enter');
  await settled();
}
await page.waitForTimeout(2000);
await take('review');

await page.goto(new URL(`#/search?id=${encodeURIComponent(item)}`, base).href);
await page.waitForSelector('.answers [data-item]');
await settled();
await take('search');

await page.goto(new URL('#/map', base).href);
await page.waitForSelector('.legend li');
const { x, y, width, height } = await page.locator('.map-view').boundingBox();
const at = (across, down) => page.mouse.move(x + width * across, y + height * down, { steps: 6 });
await page.keyboard.down('Shift');
await at(0.62, 0.6);
await page.mouse.down();
for (const [across, down] of [[0.68, 0.57], [0.725, 0.62], [0.727, 0.72], [0.68, 0.77], [0.62, 0.7]]) await at(across, down);
await page.mouse.up();
await page.keyboard.up('Shift');
await page.evaluate(() => document.activeElement.blur());
await settled();
await take('map');

await close();
for (const failure of failures) console.error(`FAILED ${failure}`);
process.exitCode = failures.length ? 1 : 0;
