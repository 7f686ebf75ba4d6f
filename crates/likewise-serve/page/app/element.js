// Building the page. Text goes in as text, never as HTML: names of items and classes are data.

/** An element with attributes, listeners (`onclick: f`) and children; `null` children are left out. */
export function element(name, attributes = {}, ...children) {
  return dress(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function drawing(name, attributes = {}, ...children) {
  return dress(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function dress(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (key === 'value') made.value = value;
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** An icon of the sheet in `icons.svg`; for eyes only, what it means is said beside it. */
export function icon(name) {
  const use = drawing('use', { href: `page/icons.svg#${name}` });
  return drawing('svg', { class: 'icon', 'aria-hidden': 'true', focusable: 'false' }, use);
}

/** A button with words, and an icon before them where one is named. */
export function button(words, onclick, { icon: sign, ...attributes } = {}) {
  return element('button', { type: 'button', onclick, ...attributes }, sign ? icon(sign) : null, element('span', {}, words));
}

/** Puts children in the place of all that an element has. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

let numbers = 0;

/** A label and its field, tied together. */
export function field(words, input, attributes = {}) {
  if (!input.id) input.id = `field-${++numbers}`;
  return element('div', { class: 'field', ...attributes }, element('label', { for: input.id }, words), input);
}
