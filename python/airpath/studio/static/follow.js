// A live run in progress: new events are shown, the oldest are discarded, and time advances with the run.

/** @typedef {import("studio/store").Store} Store */
/** @typedef {import("studio/source").Run} Run */

/** Most events that are kept, and the share of the time that stays when there are more. */
const MOST_ROWS = 300_000;
const KEPT = 0.75;
/** Seconds of the run that are shown, unless the user chooses. */
const SHOWN_S = 30;
/** Events come in parts, so what is played lies behind their end, seconds: so far at least, and at most. */
const BEHIND_S = 0.7;
const MOST_BEHIND_S = 3;
/** Drawing takes at most one part in so many of the time. */
const REST = 4;

/** When the last part was drawn, and how long that took, milliseconds. */
let drawn = { at: -Infinity, took: 0 };

/**
 * Show the arrived events; a part is skipped if the browser is busy, since the next part contains it too.
 * @param {Store} store
 * @param {Run} run
 */
export function follow(store, run) {
  const begun = performance.now();
  if (run.goes_on && begun - drawn.at < REST * drawn.took) return;
  const { end: before, events, state: { at, chosen, playing } } = store;
  const wasPlayed = playing || (at !== null && at >= before);
  if (events.rows > MOST_ROWS) forget(store);
  store.grow(run, SHOWN_S);
  const { end } = store;
  if (run.goes_on && wasPlayed && !chosen) {
    const isFar = at === null || at >= before || end - at > MOST_BEHIND_S;
    store.set({ playing: true, ...(isFar ? { at: Math.max(end - BEHIND_S, store.begin, at ?? 0) } : {}) });
  }
  requestAnimationFrame(() => setTimeout(() => {
    const now = performance.now();
    drawn = { at: now, took: now - begun };
  }));
}

/** Begin to play a run in progress. @param {Store} store */
export function begin(store) {
  store.set({ at: Math.max(store.end - BEHIND_S, 0), speed: 1, playing: true });
}

/** Let the oldest events go. @param {Store} store */
function forget(store) {
  const { chosen } = store.state;
  const gone = store.events.letGo(store.end - KEPT * store.length);
  if (!chosen) return;
  const row = chosen.row - gone[chosen.kind];
  store.set({ chosen: row < 0 ? null : { ...chosen, row }, followed: null });
}
