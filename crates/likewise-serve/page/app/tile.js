// An item as a picture or a row of a list; it follows what becomes known of the item.

import { picturePath } from './ask.js';
import { element } from './element.js';
import { isUnsaved } from './labels.js';
import { disc, meter, verdict, verdictLine } from './sign.js';
import { given, learn, percent, store, when } from './store.js';

/** Edge below which a picture is shown in hard pixels. */
const COARSE = 64;

/** The picture of an item, or its id where it has none. */
export function picture(item, edge = 160) {
  const name = () => element('span', { class: 'id' }, item.id);
  const frame = element('span', { class: 'picture' });
  if (item.image === false || !(item.image || store.run.images)) {
    frame.classList.add('none');
    frame.append(name());
    return frame;
  }
  const image = element('img', { src: picturePath(item.id, edge), alt: '', loading: 'lazy', decoding: 'async', draggable: 'false' });
  image.addEventListener('load', () => image.classList.toggle('coarse', Math.max(image.naturalWidth, image.naturalHeight) <= COARSE));
  image.addEventListener('error', () => image.replaceWith(name()));
  frame.append(image);
  return frame;
}

/** A tile that opens what is known of the item; `extra` is said under it, such as how similar it is. */
export function tile(item, { extra = '', open, badge = null, edge = 160 } = {}) {
  learn([item]);
  const facts = element('span', { class: 'facts' });
  const made = element('button', { type: 'button', class: 'tile', 'data-item': item.id, title: item.id, onclick: () => open?.(item.id) },
    element('span', { class: 'unseen' }, `${item.id}: `), picture(item, edge), facts);
  if (badge) made.querySelector('.picture').prepend(element('span', { class: 'badge' }, badge));
  const show = () => {
    const now = store.items.get(item.id);
    const { name, believed } = verdict(now);
    const sure = given(now) === null ? now.confidence ?? null : null;
    facts.replaceChildren(verdictLine(now),
      element('span', { class: 'line' }, element('span', {}, isUnsaved(item.id) ? 'not saved' : sure === null ? '' : [percent(sure), element('span', { class: 'unseen' }, ' sure')]), element('span', { class: 'number' }, extra)),
      meter(believed ? sure ?? 0 : 1, name));
    made.classList.toggle('unsaved', isUnsaved(item.id));
  };
  show();
  when(`item ${item.id}`, () => { show(); flash(made); }, made);
  when('places', show, made);
  return made;
}

/** A row of a table, for those who read. */
export function row(item, { rank, similarity, open }) {
  learn([item]);
  const made = element('tr');
  const show = () => {
    const now = store.items.get(item.id);
    made.replaceChildren(
      element('td', { class: 'number' }, String(rank)),
      element('td', {}, element('button', { type: 'button', class: 'bare cell', 'data-item': item.id, onclick: () => open(item.id) }, picture(item, 36), element('span', { class: 'id' }, item.id))),
      element('td', { class: 'number' }, similarity),
      element('td', {}, given(now) === null ? element('span', { class: 'soft' }, 'none') : verdictLine(now)),
      element('td', {}, now.pseudo_label === null ? '' : element('span', { class: 'line' }, disc(now.pseudo_label, true), now.pseudo_label)),
      element('td', { class: 'number' }, now.confidence === null || now.confidence === undefined ? '' : percent(now.confidence)));
  };
  show();
  when(`item ${item.id}`, () => {
    const focused = made.contains(document.activeElement);
    show();
    if (focused) made.querySelector('button').focus();
    flash(made);
  }, made);
  return made;
}

function flash(made) {
  made.classList.remove('moved');
  void made.offsetWidth;
  made.classList.add('moved');
}

/** Lets arrows go from tile to tile of a list; only one of them is a stop of the tab key. */
export function arrows(list) {
  const tiles = () => [...list.querySelectorAll('[data-item]')];
  const stop = (chosen) => { for (const each of tiles()) each.tabIndex = each === chosen ? 0 : -1; };
  new MutationObserver(() => { if (!tiles().some((each) => each.tabIndex === 0)) stop(tiles()[0]); else stop(tiles().find((each) => each.tabIndex === 0)); })
    .observe(list, { childList: true, subtree: true });
  list.addEventListener('focusin', (event) => { const chosen = event.target.closest('[data-item]'); if (chosen) stop(chosen); });
  list.addEventListener('keydown', (event) => {
    const all = tiles();
    const at = all.indexOf(event.target.closest('[data-item]'));
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const columns = Math.max(1, all.filter((each) => Math.abs(each.offsetTop - all[0].offsetTop) < 4 && each.offsetParent === all[0].offsetParent).length);
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: list.matches('table') ? 1 : columns, ArrowUp: list.matches('table') ? -1 : -columns, Home: -at, End: all.length - 1 - at };
    if (!(event.key in steps)) return;
    event.preventDefault();
    all[Math.min(all.length - 1, Math.max(0, at + steps[event.key]))].focus();
  });
}
