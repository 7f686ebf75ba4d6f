// What more labels are worth. It takes a while to measure, so it is measured when somebody asks.

import { ask } from './ask.js';
import { element } from './element.js';
import { say } from './words.js';

/** Labels that are spoken of. */
const MORE = 50;

/** A line that opens, and says then what more labels are worth beside those that there are. */
export function worth() {
  const said = element('p');
  const made = element('details', { class: 'worth small' }, element('summary', {}, `What are ${MORE} more labels worth?`), said);
  made.addEventListener('toggle', async () => {
    if (!made.open) return;
    said.textContent = 'Measuring by the labels that there are ...';
    const words = await measured(() => made.open);
    if (words === null) return;
    said.textContent = words;
    say(words);
  });
  return made;
}

/** The answer in words; null where nobody waits for it any more. */
async function measured(waits) {
  for (;;) {
    try {
      const { curve, notes } = await ask(`advise?budget=${MORE}&curve=true`);
      return curve ? inWords(curve) : `${notes.join('. ')}.`;
    } catch (error) {
      if (error.state !== 408) return `${error.message} ${error.hint ?? ''}`;
      // The server goes on measuring.
      if (!waits()) return null;
    }
  }
}

const hundred = (share) => Math.round(100 * share);
const points = (share) => (100 * share).toFixed(1);

function inWords({ now, gain, few, asked_for: askedFor }) {
  const { value, low, high } = now.right;
  const mind = `${few ? ' There are fewer than three labels a class, so that both are likely more.' : ''}${askedFor ? ' Labels that are given here are of harder items than most, so that the truth is likely better, and the share may fall while it rises.' : ''}`;
  return `By the features alone, before anything is learned, ${now.labels} labels set ${hundred(value)} of 100 beliefs right (${hundred(low)} to ${hundred(high)}); ${MORE} more, drawn at random, set ${points(gain.value)} more of them right (${points(gain.low)} to ${points(gain.high)}). What this page believes is often better.${mind}`;
}
