// What is known of one item and why: the labeled items that its belief comes from, how much, and by which way.

import { ask, itemPath } from './ask.js';
import { button, element, fill, icon } from './element.js';
import { forPage, labelOf } from './keys.js';
import { give, isUnsaved, undo } from './labels.js';
import { classButtons, pick } from './picker.js';
import { disc, meter, sureWords, toned, verdict } from './sign.js';
import { given, learn, percent, store, when } from './store.js';
import { picture } from './tile.js';

/** Most classes that are named beside their shares. */
const SHARES = 4;

/** Opens an item over the page; `around` are the ids that the arrows go through. */
export function openItem(id, around = [id]) {
  const body = element('div', { class: 'panel-body' });
  const title = element('h2', { class: 'grow id', id: 'panel-title' });
  const step = (by) => { const at = around.indexOf(id) + by; if (around[at]) show(around[at]); };
  const back = element('button', { type: 'button', class: 'bare', 'aria-label': 'Item before', onclick: () => step(-1) }, icon('back'));
  const on = element('button', { type: 'button', class: 'bare', 'aria-label': 'Next item', onclick: () => step(1) }, icon('on'));
  const close = element('button', { type: 'button', class: 'bare', 'aria-label': 'Close', onclick: () => dialog.close() }, icon('close'));
  const dialog = element('dialog', { class: 'panel', 'aria-labelledby': 'panel-title' }, element('div', { class: 'head' }, title, back, on, close), body);
  let ask_ = 0;

  async function show(next) {
    id = next;
    const turn = ++ask_;
    title.textContent = id;
    back.disabled = !around[around.indexOf(id) - 1];
    on.disabled = !around[around.indexOf(id) + 1];
    try {
      const item = await ask(itemPath(id));
      if (turn !== ask_) return;
      learn([item]);
      fill(body, known(item, label), store.run.labels ? why(item, show) : null);
    } catch (error) {
      if (turn === ask_) fill(body, element('p', { class: 'failed' }, error.message), element('p', { class: 'soft' }, error.hint ?? ''));
    }
  }
  function label(name) { give([id], name); }

  dialog.addEventListener('keydown', (event) => {
    if (!forPage(event)) return;
    const name = labelOf(event.key);
    if (event.key === 'ArrowLeft') step(-1);
    else if (event.key === 'ArrowRight') step(1);
    else if (event.key === 'u') undo();
    else if (event.key === 'Delete') label(null);
    else if (event.key === 'l') pick(`Which class is ${id}?`).then((chosen) => { if (chosen !== undefined) label(chosen); });
    else if (name) label(name);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  when('labels', () => show(id), body);
  when('heard', () => show(id), body);
  when('renamed', () => show(id), body);
  when('unsaved', () => body.classList.toggle('unsaved', isUnsaved(id)), body);
  const from = document.activeElement;
  // Another room has keys of its own.
  const leave = () => dialog.close();
  addEventListener('hashchange', leave);
  dialog.addEventListener('close', () => { removeEventListener('hashchange', leave); dialog.remove(); from?.focus?.(); });
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
  show(id);
}

function known(item, label) {
  const { name, words, believed } = verdict(item);
  const go = (room) => { document.querySelector('dialog.panel').close(); location.hash = `#/${room}?id=${encodeURIComponent(item.id)}`; };
  return element('section', { class: 'known', 'aria-label': 'What is known' },
    element('div', { class: 'big' }, picture(item, 360)),
    element('div', {},
      element('p', { class: 'is' }, disc(name, believed), element('strong', {}, words), element('span', { class: 'soft' }, name === null ? '' : believed ? ` believed, ${sureWords(item)}` : ' labeled')),
      element('dl', { class: 'facts' },
        given(item) !== null && item.pseudo_label !== null ? fact('Believed', item.pseudo_label) : null,
        item.split ? fact('Part', item.split) : null,
        item.hidden ? fact('Label', `${item.label}, kept back from the fit to score it`) : null,
        item.words ? fact('Text', item.words) : null),
      element('div', { class: 'row' },
        button('Find like this', () => go('search'), { icon: 'search' }),
        button('Before and after', () => go('compare'), { icon: 'compare' }))),
    store.run.labels ? element('div', { class: 'labeling' }, element('h3', {}, 'Label'),
      element('div', { class: 'names-row' }, classButtons(label, given(item) ?? undefined)),
      given(item) === null ? null : button('Take the label away', () => label(null), { class: 'bare' })) : null);
}

function fact(term, words) { return [element('dt', {}, term), element('dd', {}, words)]; }

/** Why an item is believed to be what it is, as `/items/{id}` says. */
export function why(item, open) {
  const head = element('h3', {}, 'Why');
  if (!item.why) return element('section', { class: 'why' }, head, element('p', { class: 'soft' }, 'No label reaches this item through the graph: it stands apart from all labeled ones.'));
  const { sources, others, classes = [], pseudo_label: believed, confidence } = item.why;
  const sum = given(item) !== null ? 'It has a label. What the labels around say, its own among them:' : believed === null ? 'The labels say nothing of it.' : `${given(item) === null && item.pseudo_label !== null && item.pseudo_label !== believed ? `The fit says ${item.pseudo_label}, by more than the labels around. These alone say: ` : 'As the labels stand: '}${believed}${confidence === null ? '' : `, ${percent(confidence)} sure`}. It comes from:`;
  return element('section', { class: 'why', 'aria-label': 'Why' }, head, element('p', { class: 'soft small' }, sum), shares(classes),
    element('ul', { class: 'sources' }, sources.map((source) => element('li', {}, sourceButton(source, open), way(source, open)))),
    others > 0.005 ? element('p', { class: 'soft small' }, `${percent(others)} from other labeled items.`) : null);
}

/** How the belief is shared among classes, as one bar. */
function shares(classes) {
  if (classes.length < 2) return null;
  const part = ({ class: name, share }) => { const made = toned(element('span', {}), name); made.style.setProperty('--share', `${100 * share}%`); return made; };
  return [element('div', { class: 'shares', 'aria-hidden': 'true' }, classes.map(part)),
    element('ul', { class: 'share-names' }, classes.slice(0, SHARES).map(({ class: name, share }) => element('li', {}, disc(name), element('span', { class: 'name' }, name), element('span', { class: 'soft number' }, percent(share)))))];
}

function sourceButton(source, open) {
  return element('button', { type: 'button', class: 'source', onclick: () => open(source.id) },
    picture(source, 48),
    element('span', { class: 'said' },
      element('span', { class: 'line' }, disc(source.label), element('span', { class: 'name labeled' }, source.label), element('span', { class: 'number soft' }, percent(source.share))),
      meter(source.share, source.label), element('span', { class: 'id soft small' }, source.id)));
}

function way({ path }, open) {
  if (!path || path.length < 3) return null;
  const steps = path.slice(1, -1).map((id) => element('li', {}, element('button', { type: 'button', class: 'bare step', title: id, 'aria-label': `Item ${id}`, onclick: () => open(id) }, picture({ id }, 32))));
  return element('details', { class: 'way' }, element('summary', { class: 'small' }, `by ${steps.length} item${steps.length === 1 ? '' : 's'} between`), element('ol', {}, steps));
}
