// Report: how good each model is, and the report of the run.

import { ask } from './ask.js';
import { startRefit } from './header.js';
import { button, element, fill, icon } from './element.js';
import { store, when, whole } from './store.js';
import { toast } from './words.js';

/** Numbers of a model that are shown, and what they are called. */
const SHOWN = [['map_at_r', 'MAP@R'], ['r_precision', 'R-precision'], ['recall@1', 'R@1'], ['map50', 'mAP@50']];

/** Builds the room. */
export function report() {
  const models = element('div', { class: 'scroll' });
  const frame = element('iframe', { class: 'report', title: 'Report of the run', sandbox: '', src: 'report.html' });
  const made = element('section', { class: 'room report-room', 'aria-label': 'Report' },
    element('div', { class: 'head' }, element('h2', { class: 'grow' }, 'Models'), store.run.labels ? button('Refit with all labels', startRefit, { icon: 'refit' }) : null), models,
    element('div', { class: 'head second' }, element('h2', { class: 'grow' }, 'Report'), element('a', { class: 'button', href: 'report.html', target: '_blank', rel: 'noopener' }, icon('report'), element('span', {}, 'In a tab of its own'))), frame);
  when('model', () => { if (!made.hidden) { show(); frame.src = 'report.html'; } });

  async function show() {
    try {
      list(await ask('models'));
    } catch (error) {
      fill(models, element('p', { class: 'failed' }, error.message));
    }
  }

  function list({ models: all }) {
    const columns = SHOWN.filter(([key]) => all.some((model) => Number.isFinite(model.metrics?.[key])));
    const best = Object.fromEntries(columns.map(([key]) => [key, Math.max(...all.map((model) => model.metrics?.[key] ?? -Infinity))]));
    fill(models, element('table', { class: 'models' }, element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'Model'), element('th', { scope: 'col', class: 'number' }, 'Labels'),
      columns.map(([, words]) => element('th', { scope: 'col', class: 'number' }, words)), element('th', { scope: 'col', class: 'made' }, 'Made'), element('th', { scope: 'col' }, element('span', { class: 'unseen' }, 'Use')))),
    element('tbody', {}, all.map((model) => element('tr', { class: model.current ? 'now' : null },
      element('th', { scope: 'row' }, model.recipe ? `${model.number} · ${model.recipe}` : `${model.number}`, model.damaged ? element('p', { class: 'failed' }, model.damaged) : ''), element('td', { class: 'number' }, model.labels === null ? '' : whole(model.labels)),
      columns.map(([key]) => { const value = model.metrics?.[key]; return element('td', { class: 'number' }, Number.isFinite(value) ? element(value === best[key] && all.length > 1 ? 'strong' : 'span', {}, value.toFixed(3)) : ''); }),
      element('td', { class: 'soft made' }, model.made ? new Date(model.made).toLocaleString() : ''),
      element('td', {}, model.current ? element('span', { class: 'badge' }, 'answers now') : button('Restore', () => restore(model.number), { 'aria-label': `Restore model ${model.number}` })))))));
  }

  async function restore(number) {
    try {
      list(await ask(`models/${number}/restore`, { body: {} }));
      toast(`Model ${number} answers again. Labels stay as they are.`);
    } catch (error) {
      toast(`${error.message} ${error.hint ?? ''}`, { bad: true });
    }
  }

  return { element: made, show, key: () => false };
}
