// Report: how good each model is, and the report of the run.

import { ask } from './ask.js';
import { noRefitWords, startRefit } from './header.js';
import { who } from './labels.js';
import { button, element, fill, icon } from './element.js';
import { store, when, whole } from './store.js';
import { toast } from './words.js';

/** Numbers of a model that are shown, and what they are called. */
const SHOWN = [['map_at_r', 'MAP@R'], ['r_precision', 'R-precision'], ['recall@1', 'R@1'], ['map50', 'mAP@50']];

/** Says that labels are kept which the model that answers cannot show. */
const unseenWords = (items) => `${whole(items)} labeled item${items === 1 ? ' is' : 's are'} not in this model: ${items === 1 ? 'its label is' : 'their labels are'} kept, and not shown.`;

/** Builds the room. */
export function report() {
  const models = element('div', { class: 'scroll' });
  const frame = element('iframe', { class: 'report', title: 'Report of the run', sandbox: '', src: 'report.html' });
  const refit = store.run.labels ? button('Refit with all labels', startRefit, { icon: 'refit' }) : null;
  const made = element('section', { class: 'room report-room', 'aria-label': 'Report' },
    element('div', { class: 'head' }, element('h2', { class: 'grow' }, 'Models'), refit), models,
    element('div', { class: 'head second' }, element('h2', { class: 'grow' }, 'Report'), element('a', { class: 'button', href: 'report.html', target: '_blank', rel: 'noopener' }, icon('report'), element('span', {}, 'In a tab of its own'))), frame);
  const off = element('p', { class: 'soft no-refit' });
  const showRefit = () => {
    const why = store.run.no_refit;
    if (refit) refit.disabled = Boolean(why);
    off.hidden = !why || !refit;
    off.textContent = why ? noRefitWords(why) : '';
  };
  made.querySelector('.head').after(off);
  showRefit();
  for (const change of ['model', 'connection', 'run']) when(change, showRefit);
  when('model', () => { if (!made.hidden) { show(); frame.src = 'report.html'; } });

  async function show() {
    try {
      list(await ask('models'));
    } catch (error) {
      fill(models, element('p', { class: 'failed' }, error.message));
    }
  }

  function list({ models: all, unseen_labels: unseen }) {
    const columns = SHOWN.filter(([key]) => all.some((model) => Number.isFinite(model.metrics?.[key])));
    fill(models, element('table', { class: 'models' }, element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'Model'), element('th', { scope: 'col', class: 'number' }, 'Labels'),
      columns.map(([, words]) => element('th', { scope: 'col', class: 'number' }, words)), element('th', { scope: 'col', class: 'made' }, 'Made'), element('th', { scope: 'col' }, element('span', { class: 'unseen' }, 'Use')))),
    element('tbody', {}, all.map((model) => element('tr', { class: model.current ? 'now' : null },
      element('th', { scope: 'row' }, model.recipe ? `${model.number} · ${model.recipe}` : `${model.number}`, model.damaged ? element('p', { class: 'failed' }, model.damaged) : ''), element('td', { class: 'number' }, model.labels === null ? '' : whole(model.labels)),
      columns.map(([key]) => { const value = model.metrics?.[key]; return element('td', { class: 'number' }, Number.isFinite(value) ? value.toFixed(3) : ''); }),
      element('td', { class: 'soft made' }, model.made ? new Date(model.made).toLocaleString() : ''),
      element('td', {}, model.current ? element('span', { class: 'badge' }, 'answers now') : button('Restore', () => restore(model.number), { 'aria-label': `Restore model ${model.number}` })))))),
    all.length > 1 ? element('p', { class: 'soft small' }, 'Each model was measured on the labels that it had: their numbers do not compare models that learned from other labels.') : null,
    unseen ? element('p', { class: 'unseen-labels' }, unseenWords(unseen)) : null);
  }

  async function restore(number) {
    try {
      const now = await ask(`models/${number}/restore`, { body: { who: who() } });
      list(now);
      toast(`Model ${number} answers again. Labels that were given stay as they are. ${now.unseen_labels ? unseenWords(now.unseen_labels) : ''}`);
    } catch (error) {
      toast(`${error.message} ${error.hint ?? ''}`, { bad: true });
    }
  }

  return { element: made, show, key: () => false };
}
