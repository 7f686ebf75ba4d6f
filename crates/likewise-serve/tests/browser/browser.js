// A browser for the journey: what it complains of, whom it asks, and what axe finds are kept as failures.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Drawn by the processor, so that WebGL is there on machines without a graphics card. */
const SWITCHES = ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];

/** Starts Chromium; `failures` collects what must not happen. */
export async function start(base, failures) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: SWITCHES });
  const open = async (how = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...how });
    // As long as a machine takes that builds and fits beside it.
    context.setDefaultTimeout(90_000);
    const page = await context.newPage();
    page.expected = [];
    page.on('console', (message) => {
      if (message.type() === 'error' && !page.expected.some((words) => message.text().includes(words))) failures.push(`console: ${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => failures.push(`exception: ${error.stack}`));
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (origin !== new URL(base).origin && !['data:', 'blob:', 'about:'].includes(protocol)) failures.push(`asked another host: ${request.url()}`);
    });
    return page;
  };
  return { open, close: () => browser.close() };
}

/** Serious findings of axe on what is shown now. */
export async function serious(page, where, failures) {
  // By the protocol of the debugger, which the policy of the page does not bind.
  await page.evaluate(AXE);
  // What is still coming in is half transparent: looked at when it has come.
  await until(`what moves in ${where} stands`, () => page.evaluate(() => document.getAnimations().every(({ effect, playState }) => playState !== 'running' || effect.getComputedTiming().endTime === Infinity)));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  for (const { id, impact, nodes } of violations) {
    if (['serious', 'critical'].includes(impact)) failures.push(`axe in ${where}: ${id} (${impact}): ${nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')}`);
  }
}

/** Fails where something holds no longer than `patience` allows. */
export async function until(what, holds, patience = 15_000) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}
