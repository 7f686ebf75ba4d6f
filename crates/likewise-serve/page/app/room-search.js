// Search: by an item, a picture, a vector, or words; the answers as pictures or rows.

import { ask } from './ask.js';
import { button, element, field, fill, icon } from './element.js';
import { keep, kept, store, when, whole } from './store.js';
import { arrows, row, tile } from './tile.js';

/** Milliseconds without a key after which ids are completed. */
const PAUSE = 180;

/** Builds the room; `open` shows what is known of an item. */
export function search(open) {
  const { takes, views } = store.run;
  const input = element('input', { type: 'search', id: 'query', list: 'ids', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', placeholder: takes.includes('text') ? 'Words, or the id of an item' : 'Id of an item', 'aria-label': 'What to search for' });
  const ids = element('datalist', { id: 'ids' });
  const file = element('input', { type: 'file', accept: 'image/*', class: 'unseen', tabindex: -1, 'aria-hidden': 'true' });
  const many = element('select', { id: 'many' }, [12, 24, 48, 96].map((k) => element('option', { value: k }, `${k}`)));
  many.value = String(kept('many', 24));
  const [from, to] = views.length > 1 ? [choiceOfView('From', views, views[0]), choiceOfView('To', views, views[1])] : [null, null];
  const asked = element('div', { class: 'asked' });
  const answers = element('div', { class: 'answers', 'aria-live': 'off' });
  const form = element('form', { class: 'ask', role: 'search' }, element('div', { class: 'ask-field' }, icon('search'), input), ids, button('Search', () => {}, { class: 'first', type: 'submit' }),
    takes.includes('image') ? button('Picture', () => file.click(), { icon: 'picture' }) : null, file,
    takes.includes('vector') ? button('Vector', () => vectorDialog(bySomething), { icon: 'vector' }) : null);
  const head = element('div', { class: 'head' }, element('div', { class: 'grow' }), from?.field, to?.field,
    element('div', { class: 'field beside' }, element('label', { for: 'many' }, 'Answers'), many), shapes(() => again()));
  const made = element('section', { class: 'room search', 'aria-label': 'Search' }, form, head, element('div', { class: 'found' }, asked, answers));
  let last = null;
  let turn = 0;
  let typing = null;

  form.addEventListener('submit', (event) => { event.preventDefault(); if (input.value.trim()) byField(input.value.trim()); });
  input.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(complete, PAUSE); });
  file.addEventListener('change', () => { if (file.files[0]) byPicture(file.files[0]); file.value = ''; });
  many.addEventListener('change', () => { keep('many', Number(many.value)); again(); });
  made.addEventListener('dragover', (event) => { if (takes.includes('image')) event.preventDefault(); });
  made.addEventListener('drop', (event) => {
    const [dropped] = event.dataTransfer.files;
    if (dropped && takes.includes('image')) { event.preventDefault(); byPicture(dropped); }
  });
  made.addEventListener('paste', (event) => {
    const [pasted] = event.clipboardData.files;
    if (pasted && takes.includes('image')) byPicture(pasted);
  });
  for (const change of ['model', 'anew', 'renamed']) when(change, () => { if (!made.hidden) again(); });

  async function complete() {
    const text = input.value.trim();
    if (!text) return;
    try {
      const { items } = await ask(`items?limit=12&text=${encodeURIComponent(text)}`);
      fill(ids, items.map((item) => element('option', { value: item.id })));
    } catch { /* completion is a convenience */ }
  }

  async function byField(text) {
    if (takes.includes('id')) {
      const here = `#/search?id=${encodeURIComponent(text)}`;
      if (!takes.includes('text')) { if (location.hash === here) byId(text); else location.hash = here; return; }
      const there = await ask(`items/${encodeURIComponent(text)}`).catch(() => null);
      if (there) { location.hash = here; return; }
    }
    bySomething({ text, from: from?.select.value, to: to?.select.value }, () => [element('p', { class: 'quoted' }, text)]);
  }

  function byId(id) {
    input.value = id;
    bySomething({ id, from: from?.select.value, to: to?.select.value }, async () => {
      const item = await ask(`items/${encodeURIComponent(id)}`);
      return [tile(item, { open: () => open(id), edge: 220 })];
    });
  }

  function byPicture(blob) {
    if (!blob.type.startsWith('image/')) { refuse(`${blob.name} is no picture.`, 'Choose one, such as a PNG or JPEG.'); return; }
    const address = URL.createObjectURL(blob);
    const shown = element('img', { src: address, alt: 'The picture that was searched for' });
    shown.addEventListener('load', () => URL.revokeObjectURL(address));
    bySomething(blob, () => [element('span', { class: 'picture' }, shown)]);
  }

  async function bySomething(question, show) {
    last = [question, show];
    const now = ++turn;
    made.setAttribute('aria-busy', 'true');
    try {
      const k = Number(many.value);
      const started = performance.now();
      const [answer, query] = await Promise.all([
        question instanceof Blob ? ask(`search?k=${k}&items=true`, { body: question }) : ask('search', { body: { ...question, k, items: true } }), show()]);
      if (now !== turn) return;
      fill(asked, element('h2', { class: 'unseen' }, 'Asked for'), query);
      list(answer.hits.map((hit) => ({ ...hit, ...hit.item })), performance.now() - started);
    } catch (error) {
      if (now !== turn) return;
      const isUnknown = error.state === 404 && question.id !== undefined;
      refuse(error.message, isUnknown ? 'Type a part of an id: those that have it are offered.' : error.hint);
    } finally {
      if (now === turn) made.removeAttribute('aria-busy');
    }
  }

  function refuse(message, hint) {
    fill(asked);
    fill(answers, element('div', { class: 'empty', role: 'alert' }, element('p', { class: 'failed' }, message), hint ? element('p', {}, hint) : null));
  }

  function again() { if (last) bySomething(...last); }

  function list(hits, took) {
    const around = hits.map((hit) => hit.id);
    const opened = (id) => open(id, around);
    const words = element('p', { class: 'soft small number', role: 'status' }, `${whole(hits.length)} nearest, ${Math.round(took)} ms`);
    if (kept('shape', 'pictures') === 'rows') {
      const body = element('tbody', {}, hits.map((hit) => row(hit, { rank: hit.rank, similarity: hit.similarity.toFixed(4), open: opened })));
      const table = element('table', { class: 'hits' }, element('thead', {}, element('tr', {},
        element('th', { class: 'number', scope: 'col' }, '#'), element('th', { scope: 'col' }, 'Item'), element('th', { class: 'number', scope: 'col' }, 'Similarity'), element('th', { scope: 'col' }, 'Label'), element('th', { scope: 'col' }, 'Believed'), element('th', { class: 'number', scope: 'col' }, 'Sure'))), body);
      arrows(table);
      fill(answers, words, element('div', { class: 'scroll' }, table));
    } else {
      const tiles = element('ul', { class: 'tiles' }, hits.map((hit) => element('li', {}, tile(hit, { extra: hit.similarity.toFixed(3), open: opened }))));
      arrows(tiles);
      fill(answers, words, tiles);
    }
  }

  async function begin() {
    const { items, total } = await ask('items?limit=24');
    if (last) return;
    const tiles = element('ul', { class: 'tiles' }, items.map((item) => element('li', {}, tile(item, { open: (id) => open(id, items.map((each) => each.id)) }))));
    arrows(tiles);
    fill(asked);
    fill(answers, element('p', { class: 'soft' }, `${whole(total)} items. Search for one by its id${takes.includes('image') ? ', drop a picture here' : ''}, or open one of these.`), tiles);
  }

  return {
    element: made,
    show(wanted) {
      const id = wanted.get('id');
      if (id !== null && !(last && last[0].id === id)) byId(id);
      else if (!last) begin().catch((error) => fill(answers, element('p', { class: 'failed' }, error.message)));
    },
    key(event) {
      if (event.key !== '/') return false;
      input.focus();
      input.select();
      return true;
    },
  };
}

function choiceOfView(words, views, first) {
  const select = element('select', {}, views.map((name) => element('option', { value: name }, name)));
  select.value = first;
  return { select, field: field(words, select, { class: 'field beside' }) };
}

function shapes(changed) {
  const of = (name, words) => element('button', { type: 'button', 'aria-pressed': String(kept('shape', 'pictures') === name), onclick: (event) => {
    keep('shape', name);
    for (const each of event.currentTarget.parentElement.children) each.setAttribute('aria-pressed', String(each === event.currentTarget));
    changed();
  } }, icon(name === 'rows' ? 'rows' : 'grid'), element('span', {}, words));
  return element('div', { class: 'choice', role: 'group', 'aria-label': 'Answers as' }, of('pictures', 'Pictures'), of('rows', 'Rows'));
}

/** Asks for numbers, pasted or from a file, and searches with them. */
function vectorDialog(searched) {
  const text = element('textarea', { id: 'vector', placeholder: '0.12, -0.03, ...', spellcheck: 'false' });
  const said = element('p', { class: 'failed small', role: 'alert' });
  const file = element('input', { type: 'file', id: 'vector-file', accept: '.csv,.txt,.json,.npy', onchange: async () => {
    try { text.value = (await numbersOf(file.files[0])).join(', '); said.textContent = ''; } catch (error) { said.textContent = error.message; }
  } });
  const dialog = element('dialog', { 'aria-labelledby': 'vector-title' },
    element('div', { class: 'head' }, element('h2', { class: 'grow', id: 'vector-title' }, 'Search with a vector'),
      element('button', { type: 'button', class: 'bare', 'aria-label': 'Close', onclick: () => dialog.close() }, icon('close'))),
    element('p', { class: 'soft' }, `${store.run.dimensions} numbers: features as this run was fitted on${store.run.view ? ` (${store.run.view})` : ''}.`),
    field('Numbers', text), field('Or a file (.csv, .json, .npy)', file), said,
    element('div', { class: 'row' }, button('Search', () => {
      const vector = numbers(text.value);
      if (vector.length !== store.run.dimensions || vector.some((x) => !Number.isFinite(x))) {
        said.textContent = `${store.run.dimensions} finite numbers are needed; these are ${vector.filter(Number.isFinite).length}.`;
        return;
      }
      dialog.close();
      searched({ vector }, () => [element('p', { class: 'quoted number' }, `a vector: ${vector.slice(0, 4).map((x) => x.toPrecision(3)).join(', ')} ...`)]);
    }, { class: 'first' })));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  text.focus();
}

const numbers = (text) => text.split(/[\s,;[\]]+/).filter(Boolean).map(Number);

/** The first row of numbers in a file. */
async function numbersOf(file) {
  if (!file.name.endsWith('.npy')) return numbers((await file.text()).trim().split(/\n(?=\s*[-\d.])/)[0]);
  const bytes = await file.arrayBuffer();
  const view = new DataView(bytes);
  const long = view.getUint8(6) > 1;
  const start = (long ? 12 : 10) + (long ? view.getUint32(8, true) : view.getUint16(8, true));
  const head = new TextDecoder('latin1').decode(bytes.slice(0, start));
  const kind = /'descr': *'<(f[48])'/.exec(head)?.[1];
  if (!kind || /'fortran_order': *True/.test(head)) throw new Error('Of .npy files, rows of float32 or float64 can be read.');
  const Kind = kind === 'f4' ? Float32Array : Float64Array;
  return [...new Kind(bytes.slice(start, start + store.run.dimensions * Kind.BYTES_PER_ELEMENT))];
}
