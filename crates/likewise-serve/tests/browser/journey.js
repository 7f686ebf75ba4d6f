// What a person does in an hour, in a minute: search, see why, label by keyboard, undo, lose the server,
// refit, compare, come back. `node journey.js ADDRESS` talks to a server that serves a run; with SHOTS, a
// folder, each room is also taken a picture of.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { serious, start, until } from './browser.js';

const base = process.argv[2];
const shots = process.env.SHOTS;
const ROOMS = ['search', 'map', 'review', 'compare', 'classes', 'report'];
const failures = [];
const { open, close } = await start(base, failures);
const server = async (path, body) => (await fetch(new URL(path, base), body ? { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) } : {})).json();
const labeledOnServer = async () => { const { classes, outside } = await server('classes'); return classes.reduce((sum, { labeled }) => sum + labeled, outside); };
const labelsShown = async (page) => Number((await page.textContent('.labels')).replace(/\D.*/, '').replace(/,/g, ''));
const go = async (page, room) => { await page.goto(new URL(`#/${room}`, base).href); await page.waitForSelector(`section.room:not([hidden])`); };

async function step(name, does) {
  const began = Date.now();
  await does();
  console.log(`ok ${name} (${Date.now() - began} ms)`);
}

const page = await open();
const first = (await server('items?limit=1&labeled=false')).items[0];
const run = await server('run');

try {
  await step('the page opens and is live', async () => {
    await page.goto(base);
    await page.waitForSelector('.dot:not(.lost)');
    assert.equal(await page.textContent('#run'), run.name);
    assert.equal(await labelsShown(page), await labeledOnServer());
  });

  await step('a search by id shows the nearest and why', async () => {
    await page.goto(new URL('#/search', base).href);
    await page.keyboard.press('/');
    await page.keyboard.type(first.id);
    await page.keyboard.press('Enter');
    await until('24 answers', async () => (await page.locator('.answers .tiles [data-item]').count()) === 24 && (await page.locator('.asked [data-item]').getAttribute('data-item')) === first.id);
    const { hits } = await server('search', { id: first.id, k: 24 });
    const shown = await page.locator('.answers [data-item]').evaluateAll((all) => all.map((each) => each.dataset.item));
    assert.deepEqual(shown, hits.map((hit) => hit.id));
    await page.locator('.answers [data-item]').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog.panel .source');
    const why = (await server(`items/${encodeURIComponent(hits[1].id)}`)).why;
    assert.equal(await page.locator('dialog.panel .source').count(), why.sources.length);
    await serious(page, 'the panel', failures);
    // The key that asks for a class by name is no letter of that name.
    await page.keyboard.press('l');
    await page.waitForSelector('dialog.picker input:focus');
    assert.equal(await page.inputValue('dialog.picker input'), '');
    await page.keyboard.type('no lab');
    assert.deepEqual(await page.locator('dialog.picker .names .name').allTextContents(), ['no label', 'add the class no lab']);
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog.picker', { state: 'detached' });
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog.panel', { state: 'detached' });
    await page.getByRole('button', { name: 'Rows' }).click();
    await page.waitForSelector('table.hits tbody tr');
    await serious(page, 'rows', failures);
    await page.getByRole('button', { name: 'Pictures' }).click();
  });

  await step('a vector of the wrong length is refused before it is sent', async () => {
    await page.getByRole('button', { name: 'Vector' }).click();
    await page.fill('#vector', '1, 2');
    await page.locator('dialog').getByRole('button', { name: 'Search' }).click();
    assert.match(await page.textContent('dialog [role=alert]'), new RegExp(`^${run.dimensions} finite numbers`));
    await page.keyboard.press('Escape');
  });

  await step('the review begins with what is most telling', async () => {
    await go(page, 'review');
    assert.equal(await page.locator('.review .choice [aria-pressed=true]').textContent(), 'Most telling');
    const { items } = await server('queue?kind=informative&n=1');
    await until('its first item', async () => (await page.locator('.looked .id').last().textContent({ timeout: 2000 }).catch(() => null)) === items[0].id);
  });

  await step('what more labels are worth is told where somebody asks', async () => {
    await page.locator('.worth summary').click();
    await until('the answer', async () => /of 100 beliefs right/.test(await page.textContent('.worth p')), 60_000);
    const { curve } = await server('advise?budget=50&curve=true');
    assert.ok((await page.textContent('.worth p')).includes(`${curve.now.labels} labels set ${Math.round(100 * curve.now.right.value)} of 100`));
    assert.equal(/of harder items than most/.test(await page.textContent('.worth p')), curve.asked_for);
    await serious(page, 'the review with what labels are worth', failures);
    await page.locator('.worth summary').click();
  });

  const given = [];
  await step('ten items are labeled by keyboard, and beliefs follow', async () => {
    await go(page, 'review');
    const before = await labeledOnServer();
    let changed = 0;
    for (let i = 0; i < 10; i += 1) {
      const id = await until('an item', async () => { const text = await page.locator('.looked .id').last().textContent({ timeout: 2000 }).catch(() => null); return text && !given.some((each) => each.id === text) ? text : null; });
      const { name, key } = await page.locator('.deciding .name-button').nth(i % 3).evaluate((button) => ({ name: button.querySelector('.name').textContent, key: button.querySelector('kbd').textContent }));
      const answer = page.waitForResponse((response) => response.url().endsWith('/label'));
      await page.keyboard.press(key);
      changed += (await (await answer).json()).changed;
      given.push({ id, name });
    }
    assert.ok(changed > 0, 'ten labels changed no belief');
    await until('the count of labels', async () => (await labelsShown(page)) === before + 10);
    assert.equal(await labeledOnServer(), before + 10);
    for (const { id, name } of given) assert.equal((await server(`items/${encodeURIComponent(id)}`)).label, name);
  });

  await step('the last label is taken back', async () => {
    const before = await labeledOnServer();
    const { id } = given.pop();
    await page.keyboard.press('u');
    await until('one label fewer', async () => (await labeledOnServer()) === before - 1 && (await labelsShown(page)) === before - 1);
    assert.equal((await server(`items/${encodeURIComponent(id)}`)).label, null);
    await until('the item is back', async () => (await page.locator('.looked .id').last().textContent()) === id);
  });

  await step('a label that is not acknowledged is shown so, kept over a reload, and saved later', async () => {
    page.expected.push('Failed to load resource', 'ERR_FAILED');
    await page.route('**/label', (route) => route.abort());
    const before = await labeledOnServer();
    const id = await page.locator('.looked .id').last().textContent();
    const key = await page.locator('.deciding .name-button kbd').first().textContent();
    await page.keyboard.press(key);
    await page.waitForSelector('.badge.bad');
    assert.match(await page.textContent('.badge.bad'), /1 not saved/);
    assert.equal(await labeledOnServer(), before);
    await page.reload();
    await page.waitForSelector('.badge.bad');
    await page.unroute('**/label');
    await page.waitForSelector('.badge.bad', { state: 'detached' });
    assert.equal(await labeledOnServer(), before + 1);
    assert.notEqual((await server(`items/${encodeURIComponent(id)}`)).label, null);
  });

  /** Labels the item that is under review by its first key; answers its id. */
  const labelShown = async (at) => {
    const id = await until('an item', () => at.locator('.looked .id').last().textContent({ timeout: 2000 }).catch(() => null));
    await at.keyboard.press(await at.locator('.deciding .name-button kbd').first().textContent());
    return id;
  };
  const labelOnServer = async (id) => (await server(`items/${encodeURIComponent(id)}`)).label;

  await step('a label that the server failed on is sent again, and one that was too slow is looked for first', async () => {
    let sent = 0;
    for (const status of [500, 408]) {
      await page.route('**/label', async (route) => {
        sent += 1;
        if (status === 408) await route.fetch();
        await route.fulfill({ status, json: { error: 'a test', hint: null } });
      }, { times: 1 });
      const id = await labelShown(page);
      await page.waitForSelector('.badge.bad');
      const again = [];
      const count = (request) => { if (request.url().endsWith('/label')) again.push(request); };
      page.on('request', count);
      await page.waitForSelector('.badge.bad', { state: 'detached' });
      page.off('request', count);
      assert.equal(again.length, status === 500 ? 1 : 0);
      assert.notEqual(await labelOnServer(id), null);
    }
    assert.equal(sent, 2);
  });

  await step('an item stays in sight where no more can be asked of it, so that no key labels one unseen', async () => {
    await page.route('**/items/*', (route) => route.abort());
    await labelShown(page);
    await page.waitForSelector('.review .because [role=alert]');
    assert.ok(await page.locator('.review .deciding .name-button').count());
    const seen = await labelShown(page);
    await until('its label', async () => (await labelOnServer(seen)) !== null);
    await page.unroute('**/items/*');
  });

  await step('unsaved labels of a tab that is gone are saved by another, and those of other data are not', async () => {
    const context = page.context();
    const foreign = JSON.stringify([{ ids: [first.id], label: 'no such class', at: 1 }]);
    await page.evaluate((words) => localStorage.setItem('likewise.unsaved.another.1', words), foreign);
    await context.route('**/label', (route) => route.abort());
    const other = await context.newPage();
    await go(other, 'review?kind=outside');
    await go(other, 'review?kind=uncertain');
    await until('an item', () => other.locator('.looked .id').count());
    await other.keyboard.press(' ');
    const ids = [await labelShown(page)];
    // Both tabs may have come to the same item.
    await until('another item', async () => {
      if (!ids.includes(await other.locator('.looked .id').last().textContent())) return true;
      await other.keyboard.press(' ');
      return false;
    });
    ids.push(await labelShown(other));
    for (const each of [page, other]) await each.waitForSelector('.badge.bad');
    await other.close();
    await page.reload();
    await until('both labels', async () => /^2 not saved/.test(await page.textContent('.badge.bad', { timeout: 2000 }).catch(() => '')));
    await context.unroute('**/label');
    await page.waitForSelector('.badge.bad', { state: 'detached' });
    for (const id of ids) assert.notEqual(await labelOnServer(id), null);
    assert.equal(await page.evaluate(() => localStorage.getItem('likewise.unsaved.another.1')), foreign);
    await page.evaluate(() => localStorage.removeItem('likewise.unsaved.another.1'));
    assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('likewise.unsaved.'))), []);
  });

  await step('what an undo leaves is said', async () => {
    await page.route('**/undo', (route) => route.fulfill({ json: { sequence: 0, changed: 0, items: [], undone: 1, kept: 2 } }));
    // What else is said at that moment, as of labels that are saved by now, takes its place.
    await until('the word of it', async () => {
      await page.keyboard.press('u');
      await page.waitForTimeout(100);
      return (await page.textContent('#spoken')).includes('2 items keep a label that was given later.');
    });
    await page.unroute('**/undo');
  });

  await step('a batch of the most telling can be skipped, and a label brings another', async () => {
    await go(page, 'review?kind=informative');
    const { total } = await server('queue?kind=informative');
    const seen = new Set();
    for (;;) {
      const shown = await until('an item, or the end', () => page.evaluate((before) => {
        if (document.querySelector('.stage .empty')) return 'end';
        const id = document.querySelector('.stage:not([aria-busy]) .looked .id:last-of-type')?.textContent;
        return id && id !== before ? { id } : null;
      }, [...seen].at(-1) ?? ''));
      if (shown === 'end') break;
      assert.ok(!seen.has(shown.id), `${shown.id} was skipped and is shown again`);
      seen.add(shown.id);
      await page.keyboard.press(' ');
    }
    assert.equal(seen.size, total);
    assert.equal(await page.textContent('.stage .empty h2'), 'This batch is through');
    const label = (await server('classes')).classes[0].name;
    await server('label', { id: [...seen][0], label, who: 'somebody else' });
    const left = (await server('queue?kind=informative&n=500')).items.filter((item) => !seen.has(item.id));
    if (left.length) await until('a new batch', async () => (await page.locator('.looked').count()) === 1);
    await go(page, 'review?kind=uncertain');
  });

  await step('what another person labels appears', async () => {
    const item = (await server('items?limit=1&labeled=false')).items[0];
    const name = (await server('classes')).classes[0].name;
    const before = await until('the counts agree', async () => { const shown = await labelsShown(page); return shown === await labeledOnServer() && shown; });
    await server('label', { id: item.id, label: name, who: 'somebody else' });
    await until('the word of it', async () => (await page.locator('.toast').allTextContents()).some((words) => words.includes('somebody else')));
    await until('the count', async () => (await labelsShown(page)) === before + 1);
  });

  await step('an item that another person labels meanwhile says so, and those to come are left out', async () => {
    await go(page, 'review?kind=uncertain');
    const shown = () => page.locator('.stage:not([aria-busy]) .looked .id').last().textContent({ timeout: 2000 }).catch(() => null);
    const now = await until('an item', shown);
    const label = (await server('classes')).classes[0].name;
    const { items } = await server('queue?kind=uncertain&n=20');
    const [next] = items.filter((item) => item.id !== now);
    await server('label', { id: next.id, label, who: 'somebody else' });
    await server('label', { id: now, label, who: 'somebody else' });
    await until('the word of it', async () => (await page.textContent('.deciding .is')).includes('labeled by somebody else'));
    assert.equal(await shown(), now);
    for (let i = 0; i < 4; i += 1) {
      const last = await until('an item', shown);
      await page.keyboard.press(' ');
      assert.notEqual(await until('another item', async () => { const id = await shown(); return id !== last && id; }), next.id);
    }
  });

  await step('a class is added, renamed and merged', async () => {
    await go(page, 'classes');
    await page.fill('#class-name', 'zebra <b>');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('button', { name: 'Rename zebra <b>' }).click();
    await page.locator('dialog input').fill('zebra');
    await page.locator('dialog').getByRole('button', { name: 'Rename' }).click();
    // It came last, and took nobody's colour or key.
    const classes = await until('the new name', async () => { const all = (await server('classes')).classes; return all.some(({ name }) => name === 'zebra') && all; });
    assert.equal(classes.find(({ name }) => name === 'zebra').place, classes.length - 1);
    await page.getByRole('button', { name: 'Merge zebra into another' }).click();
    await page.waitForSelector('dialog.picker');
    const offered = await page.locator('dialog.picker .names .name').allTextContents();
    assert.deepEqual(offered, classes.map(({ name }) => name).filter((name) => name !== 'zebra'));
    await page.keyboard.press('Enter');
    await until('the class is gone', async () => !(await server('classes')).classes.some(({ name }) => name.startsWith('zebra')));
  });

  await step('a class that another person renames is called so in sight, and the key means it', async () => {
    await go(page, 'review?kind=uncertain');
    const shown = () => page.locator('.stage:not([aria-busy]) .looked .id').last().textContent({ timeout: 2000 }).catch(() => null);
    const belief = () => page.locator('.deciding .is strong').textContent({ timeout: 2000 }).catch(() => null);
    const id = await until('an item', shown);
    const name = await belief();
    await server('classes', { rename: { from: name, to: 'renamed' }, who: 'somebody else' });
    await until('the new name', async () => (await belief()) === 'renamed');
    assert.equal(await shown(), id);
    await page.keyboard.press('Enter');
    await until('the label', async () => (await server(`items/${id}`)).label === 'renamed');
    await server('classes', { rename: { from: 'renamed', to: name }, who: 'somebody else' });
    await until('the old name', async () => (await server(`items/${id}`)).label === name);
  });

  await step('the map shows all items, and a circle chooses by keyboard', async () => {
    await go(page, 'map');
    await page.waitForSelector('.legend li');
    const counts = await page.locator('.legend li .number').allTextContents();
    assert.equal(counts.reduce((sum, words) => sum + Number(words.replace(/,/g, '')), 0), run.items);
    await page.locator('.map-view').focus();
    for (let i = 0; i < 14; i += 1) await page.keyboard.press(']');
    await page.keyboard.press(' ');
    await page.waitForSelector('.chosen h3');
    assert.match(await page.textContent('.chosen h3'), /^[\d,]+ chosen$/);
    for (const colour of ['Label', 'Confidence', 'Part', 'Belief']) await page.getByRole('button', { name: colour, exact: true }).click();
    await serious(page, 'the map with a choice', failures);
    await page.locator('.map-view').focus();
    await page.keyboard.press('Escape');
  });

  await step('a refit can be cancelled, and another goes through', async () => {
    const { model } = await server('run');
    await page.locator('.refit').click();
    // A small run may be learned before anybody can cancel.
    await page.locator('.notice').getByRole('button', { name: 'Cancel' }).click({ timeout: 2000 }).catch(() => {});
    await until('it is cancelled or done', async () => (await server('refit')).state !== 'running');
    const between = (await server('run')).model;
    assert.equal(between > model, (await server('refit')).state === 'done');
    await page.locator('.refit').click();
    await until('the new model', async () => (await server('run')).model > between, 240_000);
    await until('the word of it', async () => /has learned|Learning/.test(await page.locator('.notice:not([hidden])').first().textContent()));
    assert.equal((await server('refit')).state, 'done');
  });

  await step('before and after stand side by side', async () => {
    await page.goto(new URL(`#/compare?id=${encodeURIComponent(first.id)}`, base).href);
    await until('four columns', async () => (await page.locator('.columns .column').count()) >= 4);
    assert.deepEqual((await page.locator('.columns h3').allTextContents()).slice(0, 2), ['Features', 'Whitened']);
    for (const column of await page.locator('.columns .column').all()) assert.equal(await column.locator('[data-item]').count(), 12);
    // A badge covers no id.
    const covered = () => [...document.querySelectorAll('.tile .badge + .id')].filter((id) => id.previousSibling.getBoundingClientRect().bottom > id.getBoundingClientRect().top + 1).length;
    assert.ok(await page.locator('.columns .badge').count() > 0);
    assert.equal(await page.evaluate(covered), 0);
    assert.equal(await page.locator('.columns .failed').count(), 0);
  });

  await step('after a reload nothing is lost', async () => {
    const before = await labeledOnServer();
    await page.reload();
    await page.waitForSelector('.dot:not(.lost)');
    assert.equal(await labelsShown(page), before);
    for (const { id, name } of given) assert.equal((await server(`items/${encodeURIComponent(id)}`)).label, name);
  });

  await step('the server is missed, and found again', async () => {
    page.expected.push('ERR_INTERNET_DISCONNECTED', 'ERR_NETWORK');
    await page.context().setOffline(true);
    await page.waitForSelector('.dot.lost');
    await page.waitForSelector('.notice.bad:not([hidden])');
    await page.context().setOffline(false);
    await page.waitForSelector('.dot:not(.lost)');
  });

  await step('a server that cannot write says so, and that it can again', async () => {
    page.expected.push('Failed to load resource');
    await page.route('**/healthz', (route) => route.fulfill({ status: 503, json: { error: 'the disk is full', hint: 'make room' } }));
    await page.waitForSelector('.notice.bad:not([hidden])');
    assert.match(await page.textContent('.notice.bad'), /the disk is full. make room/);
    // It is there, all the same.
    await page.waitForSelector('.dot:not(.lost)');
    await page.unroute('**/healthz');
    await page.waitForSelector('.notice.bad', { state: 'hidden' });
  });

  await step('where a run cannot be fitted again, the button says why', async () => {
    const other = await open();
    const why = { error: 'the fit hid labels', hint: 'fit with none hidden' };
    await other.route('**/run', async (route) => { const answer = await route.fetch(); await route.fulfill({ json: { ...await answer.json(), no_refit: why } }); });
    // The line to the server says what the run is as well.
    other.expected.push('Failed to load resource', 'ERR_FAILED');
    await other.route('**/events', (route) => route.abort());
    await go(other, 'report');
    assert.ok(await other.locator('.refit').isDisabled());
    const said = /^No refit here: the fit hid labels. To learn from the labels, fit with none hidden.$/;
    assert.match(await other.getAttribute('.refit', 'title'), said);
    assert.match(await other.textContent('.no-refit'), said);
    assert.ok(await other.getByRole('button', { name: 'Refit with all labels' }).isDisabled());
    await other.context().close();
  });

  await step('every room, light and dark, desk and phone, is without serious findings and no wider than the screen', async () => {
    if (shots) mkdirSync(shots, { recursive: true });
    for (const [size, viewport] of [['desk', { width: 1280, height: 800 }], ['phone', { width: 390, height: 844 }]]) {
      for (const colorScheme of ['light', 'dark']) {
        const other = await open({ viewport, colorScheme, hasTouch: size === 'phone' });
        for (const room of ROOMS) {
          await go(other, ['search', 'compare'].includes(room) ? `${room}?id=${encodeURIComponent(first.id)}` : room);
          await until(`${room} is there`, () => other.evaluate(() => !document.querySelector('[aria-busy=true]') && document.querySelector('main .room:not([hidden])').innerText.length > 40));
          await other.waitForTimeout(250);
          const width = await other.evaluate(() => document.documentElement.scrollWidth);
          if (width > viewport.width) failures.push(`${room} is ${width} pixels wide on ${viewport.width}`);
          await serious(other, `${room}, ${size}, ${colorScheme}`, failures);
          if (shots) await other.screenshot({ path: `${shots}/${room}-${size}-${colorScheme}.png` });
        }
        await other.keyboard.press('?');
        await other.waitForSelector('dialog.help');
        await serious(other, `the help, ${size}, ${colorScheme}`, failures);
        await other.context().close();
      }
    }
  });
} catch (error) {
  failures.push(error.stack);
  if (shots) await page.screenshot({ path: `${shots}/failed.png` });
}
await close();
for (const failure of failures) console.error(`FAILED ${failure}`);
process.exitCode = failures.length ? 1 : 0;
