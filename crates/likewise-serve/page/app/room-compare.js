// Before and after: the same question asked of the features, of earlier models and of this one, side by side.

import { ask } from './ask.js';
import { button, element, fill, icon } from './element.js';
import { disc, verdict } from './sign.js';
import { store, when } from './store.js';
import { arrows, tile } from './tile.js';

/** Answers in each column. */
const ANSWERS = 12;

/** Builds the room; `open` shows what is known of an item. */
export function compare(open) {
  const input = element('input', { type: 'search', id: 'compared', autocomplete: 'off', spellcheck: 'false', placeholder: 'Id of an item', 'aria-label': 'Item to compare by' });
  const form = element('form', { class: 'ask', role: 'search' }, element('div', { class: 'ask-field' }, icon('search'), input), button('Compare', () => {}, { class: 'first', type: 'submit' }), button('Any item', any));
  const asked = element('div', { class: 'asked' });
  const columns = element('div', { class: 'columns' });
  const said = element('p', { class: 'verdict', role: 'status', hidden: true });
  const made = element('section', { class: 'room compare', 'aria-label': 'Before and after' },
    element('div', { class: 'head' }, element('h2', {}, 'Before and after')), form, said, element('div', { class: 'found' }, asked, columns));
  let last = null;
  let turn = 0;

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const id = input.value.trim();
    if (!id) return;
    const here = `#/compare?id=${encodeURIComponent(id)}`;
    if (location.hash === here) byId(id); else location.hash = here;
  });
  for (const change of ['model', 'anew', 'labels', 'heard']) when(change, () => { if (last !== null && !made.hidden) byId(last); });

  /** What one view asks of another was never compared by features: they are not of one kind. */
  function acrossViews() {
    form.hidden = true;
    fill(columns, element('div', { class: 'empty' }, element('p', {}, 'This run searches across views, and features of different views cannot be compared: there is no “before” to show.')));
  }

  async function any() {
    const at = Math.floor(Math.random() * store.run.items);
    const { items } = await ask(`items?limit=1&offset=${at}`);
    location.hash = `#/compare?id=${encodeURIComponent(items[0].id)}`;
  }

  async function byId(id) {
    last = id;
    input.value = id;
    const now = ++turn;
    try {
      const [item, sides] = await Promise.all([ask(`items/${encodeURIComponent(id)}`), sidesOf()]);
      const answers = await Promise.allSettled(sides.map((side) => ask('search', { body: { id, k: ANSWERS, items: true, ...side.ask } })));
      if (now !== turn) return;
      fill(asked, tile(item, { open: () => open(id), edge: 220 }));
      const name = verdict(item).name;
      const shown = sides.map((side, i) => ({ ...side, answer: answers[i].value && { hits: answers[i].value.hits.map((hit) => ({ ...hit, ...hit.item })) }, error: answers[i].reason }));
      fill(columns, shown.map((side, i) => column(side, shown[i - 1], name, open)));
      tellAll(shown, name, verdict(item).believed);
    } catch (error) {
      if (now !== turn) return;
      said.hidden = true;
      fill(asked);
      fill(columns, element('div', { class: 'empty', role: 'alert' }, element('p', { class: 'failed' }, error.message), error.hint ? element('p', {}, error.hint) : null));
    }
  }

  function tellAll(shown, name, believed) {
    const able = shown.filter((side) => side.answer);
    said.hidden = false;
    said.classList.remove('good');
    if (able.length < 2) { said.textContent = 'Only this model answers: the data of the run have gone, or it is a network. Refit it with your labels, and both are shown here side by side.'; return; }
    if (name === null) { said.textContent = 'Nothing is known of this item yet: label it, and the answers are counted.'; return; }
    const [first, final] = [able[0], able.at(-1)].map((side) => right(side.answer.hits, name));
    said.classList.toggle('good', final > first);
    said.textContent = `${first} of its ${ANSWERS} nearest ${first === 1 ? 'is' : 'are'} ${believed ? 'believed ' : ''}like it in “${able[0].words}”, ${final} in “${able.at(-1).words}”.`;
  }

  return {
    element: made,
    show(wanted) {
      const id = wanted.get('id');
      if (store.run.views.length) acrossViews();
      else if (id !== null && id !== last) byId(id);
      else if (last === null) any().catch((error) => fill(columns, element('p', { class: 'failed' }, error.message)));
    },
    key(event) {
      if (event.key !== '/') return false;
      input.focus();
      input.select();
      return true;
    },
  };
}

/** What stands before anything was learned. */
const BEFORE = [
  { words: 'Features', note: 'as they are', ask: { space: 'raw' } },
  { words: 'Whitened', note: 'features, without labels', ask: { space: 'whitened' } },
];

/** What can be asked: the features, the last models before this one, and this one. */
async function sidesOf() {
  const { models, current } = await ask('models');
  const earlier = models.filter((model) => model.number !== current).slice(-2).map((model) => ({ words: `Model ${model.number}`, note: madeOf(model), ask: { model: model.number } }));
  const now = models.find((model) => model.number === current);
  return [...BEFORE, ...earlier, { words: `Model ${current}, now`, note: now ? madeOf(now) : '', ask: {} }];
}

const madeOf = ({ recipe, labels }) => [recipe, labels === null ? null : `${labels} labels`].filter(Boolean).join(', ');

const right = (hits, name) => hits.filter((hit) => (hit.label ?? hit.pseudo_label) === name).length;

const named = (name) => (name === 'outside' ? 'none of the classes' : name);

function column({ words, note, answer, error }, before, name, open) {
  const head = element('div', { class: 'column-head' }, element('h3', {}, words), element('p', { class: 'soft small' }, note));
  if (error) return element('section', { class: 'column', 'aria-label': words }, head, element('p', { class: 'failed' }, error.message), error.hint ? element('p', { class: 'soft small' }, error.hint) : null);
  const old = new Set(before?.answer?.hits.map((hit) => hit.id));
  const around = answer.hits.map((hit) => hit.id);
  const tiles = element('ul', { class: 'tiles small-tiles' }, answer.hits.map((hit) => element('li', {}, tile(hit, { extra: hit.similarity.toFixed(2), open: (id) => open(id, around), edge: 110, badge: before?.answer && !old.has(hit.id) ? 'new' : null }))));
  arrows(tiles);
  const share = right(answer.hits, name);
  return element('section', { class: 'column', 'aria-label': words }, head,
    name === null ? null : element('p', { class: 'score number' }, element('strong', {}, `${share} of ${answer.hits.length}`), share === 1 ? 'is' : 'are', disc(name), named(name)), tiles);
}
