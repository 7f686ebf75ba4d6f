// Asking the server: JSON in, JSON out, errors as `Refusal`.

/** Milliseconds after which a question counts as lost: the server itself gives up, and says so, at 30,000. */
const PATIENCE = 35_000;
/** How often, and after how many milliseconds, a server that is busy is asked again; it has done nothing then. */
const TRIES = 5;
const BUSY = 1000;

/** What the server said no to, or (`state` 0) that it cannot be reached. */
export class Refusal extends Error {
  constructor(state, message, hint) {
    super(message);
    this.state = state;
    this.hint = hint;
  }

  /** Whether the same question may be answered later: nobody there, too slow, or too much at once. */
  get passing() { return this.state === 0 || this.state === 408 || this.state >= 500; }
}

/** Asks; `body` makes it a POST of JSON, or of the bytes where it is a `Blob`. */
export async function ask(path, { body, signal, patience = PATIENCE, times = TRIES } = {}) {
  const late = AbortSignal.timeout(patience);
  const request = { signal: signal ? AbortSignal.any([signal, late]) : late, headers: {}, credentials: 'same-origin' };
  if (body instanceof Blob) {
    Object.assign(request, { method: 'POST', body });
    request.headers['Content-Type'] = body.type;
  } else if (body !== undefined) {
    Object.assign(request, { method: 'POST', body: JSON.stringify(body) });
    request.headers['Content-Type'] = 'application/json';
  }
  let answer;
  try {
    for (let tries = 1; ; tries += 1) {
      answer = await fetch(path, request);
      if (answer.status !== 503 || tries >= times) break;
      await new Promise((resolve) => { setTimeout(resolve, BUSY); });
    }
    if (answer.ok && answer.headers.get('Content-Type')?.startsWith('application/json')) return await answer.json();
    if (answer.ok) return await answer.arrayBuffer();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(0, 'The server cannot be reached.', 'Is `likewise serve` still running?');
  }
  const said = await answer.json().catch(() => ({}));
  throw new Refusal(answer.status, said.error ?? `The server answered ${answer.status}.`, said.hint ?? null);
}

/** Path of what an item is asked by. */
export const itemPath = (id) => `items/${encodeURIComponent(id)}`;

/** Address of the picture of an item, no edge longer than so many pixels of the screen. */
export const picturePath = (id, edge) => `${itemPath(id)}/image?edge=${Math.min(1024, Math.round(edge * Math.min(2, devicePixelRatio || 1)))}`;
