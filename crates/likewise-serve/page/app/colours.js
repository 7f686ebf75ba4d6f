// Colours of classes: twelve for any common colour blindness, the same as on the maps of a report.

const CLASSES = [
  [0x00, 0x8d, 0xf9], [0xe2, 0x01, 0x34], [0x00, 0x9f, 0x81], [0xff, 0xa8, 0x3b],
  [0x84, 0x00, 0xcd], [0xff, 0x5a, 0xaf], [0xa4, 0x01, 0x22], [0x00, 0xc2, 0xf9],
  [0xff, 0x6e, 0x3a], [0xe0, 0x9a, 0xde], [0x00, 0xd3, 0xa5], [0x9f, 0x01, 0x62],
];
// The darkest three, lighter: on black they would not be seen.
const LIGHTER = { 4: [0xa8, 0x73, 0xff], 6: [0xd9, 0x56, 0x6f], 11: [0xbd, 0x4a, 0x92] };
const NONE = { light: [0xb4, 0xbc, 0xc6], dark: [0x4a, 0x54, 0x61] };
const OUTSIDE = { light: [0x1d, 0x24, 0x30], dark: [0xe6, 0xe9, 0xee] };

/** Colour of the class at a place of the list; grey for none, ink for outside. `[r, g, b]`, 0 to 255. */
export function classColour(place) {
  const dark = window.likewiseTheme.dark();
  if (place === -2) return dark ? OUTSIDE.dark : OUTSIDE.light;
  if (place < 0 || place === null || place === undefined) return dark ? NONE.dark : NONE.light;
  const at = place % CLASSES.length;
  return (dark && LIGHTER[at]) || CLASSES[at];
}

/** From unsure to sure: one hue growing darker on white, lighter on black, so that it also reads in grey. */
export function sureColour(share) {
  const [low, high] = window.likewiseTheme.dark()
    ? [[0x2c, 0x3a, 0x4d], [0x8f, 0xd8, 0xff]]
    : [[0xc9, 0xdc, 0xea], [0x00, 0x3f, 0x73]];
  return low.map((from, i) => Math.round(from + (high[i] - from) * Math.min(1, Math.max(0, share))));
}

/** `[r, g, b]` as CSS says it. */
export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
