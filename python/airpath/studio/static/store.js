// The only state of the studio. Screens read it, ask it for changes and hear of them; they do not talk to each other.

/** @typedef {{kind: string, row: number}} Place An event. */
/**
 * @typedef {object} State
 * @property {import("studio/source").Run} run
 * @property {import("studio/events").Events} events
 * @property {number[]} flows places of the flows that are shown
 * @property {[number, number]} range seconds
 * @property {number | null} hover instant under the pointer, seconds
 * @property {number | null} at the chosen instant, seconds
 * @property {Place | null} chosen the event there
 * @property {ReadonlySet<string>} folded panels that are closed
 * @property {string} theme "light", "dark" or "" for what the system says
 */

/** Shortest range that is shown, seconds. */
const SHORTEST_S = 1e-4;
/** Ranges to step back to. */
const MOST_STEPS = 100;
/** Changes of the range within this time are one step, milliseconds. */
const STEP_MS = 600;

export class Store {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    this.end = Math.max(state.run.summary.simulated_s, 1e-3);
    /** @type {{keys: (keyof State)[], call: () => void}[]} */
    this.listeners = [];
    /** @type {[number, number][]} */
    this.steps = [];
    this.lastStep = -Infinity;
    /** @type {Set<keyof State>} */
    this.changed = new Set();
  }

  /**
   * Have a function called once in the frame after any of these has changed.
   * @param {(keyof State)[]} keys
   * @param {() => void} call
   */
  on(keys, call) {
    this.listeners.push({ keys, call });
  }

  /** @param {Partial<State>} changes */
  set(changes) {
    const keys = /** @type {(keyof State)[]} */ (Object.keys(changes));
    const fresh = keys.filter((key) => this.state[key] !== changes[key]);
    if (!fresh.length) return;
    Object.assign(this.state, changes);
    if (!this.changed.size) requestAnimationFrame(() => this.tell());
    fresh.forEach((key) => this.changed.add(key));
  }

  tell() {
    const changed = this.changed;
    this.changed = new Set();
    for (const { keys, call } of this.listeners) if (keys.some((key) => changed.has(key))) call();
  }

  /**
   * Show another range of time, within the run.
   * @param {number} from
   * @param {number} to
   */
  show(from, to) {
    const length = Math.min(Math.max(to - from, SHORTEST_S), this.end);
    const middle = (from + to) / 2;
    const begin = Math.min(Math.max(middle - length / 2, 0), this.end - length);
    const [oldFrom, oldTo] = this.state.range;
    if (begin === oldFrom && begin + length === oldTo) return;
    const now = performance.now();
    if (now - this.lastStep > STEP_MS) this.steps = [...this.steps.slice(1 - MOST_STEPS), this.state.range];
    this.lastStep = now;
    this.set({ range: [begin, begin + length] });
  }

  /**
   * Zoom around an instant, which stays where it is on the screen.
   * @param {number} factor below 1 shows less
   * @param {number} [around]
   */
  zoom(factor, around) {
    const [from, to] = this.state.range;
    const { at } = this.state;
    const centre = around ?? (at !== null && at >= from && at <= to ? at : (from + to) / 2);
    const length = Math.min(Math.max((to - from) * factor, SHORTEST_S), this.end);
    const begin = Math.min(Math.max(centre - ((centre - from) / (to - from)) * length, 0), this.end - length);
    this.show(begin, begin + length);
  }

  /** @param {number} share of the range; below 0 goes back in time */
  pan(share) {
    const [from, to] = this.state.range;
    const move = Math.min(Math.max(share * (to - from), -from), this.end - to);
    this.show(from + move, to + move);
  }

  /** Return to the range before the last zoom. */
  back() {
    const range = this.steps.pop();
    this.lastStep = -Infinity;
    if (range) this.set({ range });
  }

  whole() {
    this.show(0, this.end);
  }

  /**
   * Choose an event, and have its instant in the range.
   * @param {Place} place
   */
  choose(place) {
    const table = this.state.events.table(place.kind);
    if (!table) return;
    const at = table.columns.time_ns.values[place.row] / 1e9;
    this.set({ at, chosen: place });
    const [from, to] = this.state.range;
    if (at < from || at > to) this.show(at - (to - from) / 2, at + (to - from) / 2);
  }
}
