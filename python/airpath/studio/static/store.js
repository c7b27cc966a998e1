// The only state of the studio. Screens read it, request changes and are notified of them; they do not call each other.

/** @typedef {{kind: string, row: number}} Place An event of the shown variant. */
/** @typedef {import("studio/source").Run} Run */
/** @typedef {import("studio/events").Events} Events */
/** @typedef {{run: Run, events: Events, settings: import("studio/source").Settings | null}} Made A run that was made. */
/** @typedef {Made & {name: string}} Variant One of the compared runs. */
/** A scenario with every default: `origin` is its base without changes. @typedef {{settings: import("studio/source").Settings, scenario: string, values: any, origin: any}} Resolved */
/**
 * @typedef {object} State
 * @property {Variant[]} variants runs that are drawn over each other: one, or A, B and so on
 * @property {number} shown place of the variant that words, lists and tables speak of
 * @property {number[]} flows places of the flows that are shown
 * @property {[number, number]} range seconds
 * @property {number | null} hover instant under the pointer, seconds
 * @property {number | null} at the chosen instant, seconds
 * @property {Place | null} chosen the event there
 * @property {boolean} playing whether `at` moves by itself
 * @property {number} speed of that: 1 is real time
 * @property {number | null} followed a packet of the shown variant, by its place in the model
 * @property {ReadonlySet<string>} folded panels that are closed
 * @property {string} theme "light", "dark" or "" for what the system says
 * @property {import("studio/source").Settings[]} wanted settings of each variant as they are being edited, if a source can run them
 * @property {Resolved | null} resolved the shown variant's scenario, from the last settings that were valid
 * @property {import("studio/source").Problem | null} problem what is wrong with the settings of the shown variant
 * @property {ReadonlySet<string>} given settings that are not tried again: they failed, or were stopped
 * @property {{share: number, now_s: number, since: number} | null} progress of a run that takes long: it began `since` milliseconds ago
 * @property {boolean} stale whether a run was stopped, so that the picture is not what the settings say
 */

/** Names of variants, and so how many there may be. */
export const NAMES = ["A", "B", "C", "D"];
/** Shortest range that is shown, seconds. */
const SHORTEST_S = 1e-4;
/** Ranges to step back to. */
const MOST_STEPS = 100;
/** Changes of the range within this time are one step, milliseconds. */
const STEP_MS = 600;

export class Store {
  /** @param {Made} made The first run. */
  constructor(made) {
    /** @type {State} */
    this.state = {
      variants: [{ ...made, name: NAMES[0] }], shown: 0, flows: firstFlows(made.run), range: [0, lengthOf(made.run)], hover: null,
      at: null, chosen: null, playing: false, speed: 1 / 20, followed: null, folded: new Set(), theme: "",
      wanted: [], resolved: null, problem: null, given: new Set(), progress: null, stale: false,
    };
    /** @type {{keys: (keyof State)[], call: () => void}[]} */
    this.listeners = [];
    /** @type {[number, number][]} */
    this.steps = [];
    this.lastStep = -Infinity;
    /** @type {Set<keyof State>} */
    this.changed = new Set();
  }

  /** The shown variant's run. */
  get run() {
    return this.state.variants[this.state.shown].run;
  }

  /** The shown variant's events. */
  get events() {
    return this.state.variants[this.state.shown].events;
  }

  /** Where the time axis ends, seconds: with the longest run. */
  get end() {
    return Math.max(...this.state.variants.map(({ run }) => lengthOf(run)));
  }

  /** Its start, seconds: a run in progress discards its oldest events. */
  get begin() {
    return Math.min(...this.state.variants.map(({ events }) => events.from));
  }

  /** How long it is, seconds. */
  get length() {
    return this.end - this.begin;
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
   * Replace all runs. Range, instant and panels stay.
   * @param {Made[]} all
   * @param {number} shown
   */
  putAll(all, shown) {
    this.arrange(all.map((made, n) => ({ ...made, name: NAMES[n] })), shown);
  }

  /**
   * Replace a variant's run, or append it. Range, instant and panels stay.
   * @param {number} place
   * @param {Made} made
   */
  put(place, made) {
    const variants = this.state.variants.slice();
    variants[place] = { ...made, name: NAMES[place] };
    this.arrange(variants, this.state.shown);
  }

  /** Remove a variant; later ones move up. @param {number} place */
  remove(place) {
    const { shown } = this.state;
    const variants = this.state.variants.filter((_, n) => n !== place).map((own, n) => ({ ...own, name: NAMES[n] }));
    if (variants.length) this.arrange(variants, Math.min(shown > place ? shown - 1 : shown, variants.length - 1));
  }

  /** Have words, lists and tables speak of another variant. @param {number} place */
  speakOf(place) {
    if (place !== this.state.shown && this.state.variants[place]) this.set({ shown: place, chosen: null, followed: null });
  }

  /** @type {(variants: Variant[], shown: number) => void} */
  arrange(variants, shown) {
    const { length, state } = this;
    const isSame = variants[shown].events === state.variants[state.shown].events;
    const wasWhole = state.range[1] - state.range[0] >= length;
    // Another scenario has other flows.
    const isOther = variants.length === 1 && variants[0].run.names.join() !== this.run.names.join();
    const flows = isOther ? [] : state.flows.filter((place) => variants.some(({ run }) => place < run.summary.flows.length));
    this.set({
      variants, shown, chosen: isSame ? state.chosen : null, followed: isSame ? state.followed : null,
      flows: !flows.length ? firstFlows(variants[shown].run) : flows.length < state.flows.length ? flows : state.flows,
    });
    if (wasWhole) this.set({ range: [this.begin, this.end] });
    else if (state.range[1] > this.end) {
      const shorter = Math.min(state.range[1] - state.range[0], this.length);
      this.set({ range: [this.end - shorter, this.end] });
    }
  }

  /**
   * The run has progressed: its variant has more events, and perhaps lacks the oldest. A view of its end, or of the
   * whole run, follows.
   * @param {Run} run
   * @param {number} most seconds that are shown at first
   */
  grow(run, most) {
    const { state, length: before, end: oldEnd, run: old } = this;
    const [from, to] = state.range;
    const isFirst = state.flows.join() === firstFlows(old).join();
    const whose = state.flows.map((place) => old.summary.flows[place]);
    const kept = whose.map((own) => run.summary.flows.findIndex(({ ue, flow }) => ue === own.ue && flow === own.flow)).filter((place) => place >= 0);
    const flows = isFirst || !kept.length ? firstFlows(run) : kept;
    this.set({ variants: [{ ...state.variants[0], run }], flows: flows.join() === state.flows.join() ? state.flows : flows });
    if (to >= oldEnd) {
      const isWhole = to - from >= before && !(before < most && this.length >= most);
      const length = isWhole ? this.length : Math.min(to - from >= before ? most : to - from, this.length);
      this.set({ range: [this.end - length, this.end] });
    } else if (from < this.begin) {
      this.set({ range: [this.begin, Math.min(this.begin + to - from, this.end)] });
    }
  }

  /** Fold a panel, or open it. @param {string} name */
  fold(name) {
    const folded = new Set(this.state.folded);
    if (!folded.delete(name)) folded.add(name);
    this.set({ folded });
  }

  /**
   * Show another range of time, within the run.
   * @param {number} from
   * @param {number} to
   */
  show(from, to) {
    const length = Math.min(Math.max(to - from, SHORTEST_S), this.length);
    const middle = (from + to) / 2;
    const begin = Math.min(Math.max(middle - length / 2, this.begin), this.end - length);
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
    const length = Math.min(Math.max((to - from) * factor, SHORTEST_S), this.length);
    const begin = Math.min(Math.max(centre - ((centre - from) / (to - from)) * length, this.begin), this.end - length);
    this.show(begin, begin + length);
  }

  /** @param {number} share of the range; below 0 goes back in time */
  pan(share) {
    const [from, to] = this.state.range;
    const move = Math.min(Math.max(share * (to - from), this.begin - from), this.end - to);
    this.show(from + move, to + move);
  }

  /** Return to the range before the last zoom. */
  back() {
    const range = this.steps.pop();
    this.lastStep = -Infinity;
    if (range) this.set({ range });
  }

  whole() {
    this.show(this.begin, this.end);
  }

  /**
   * Choose an event, and have its instant in the range.
   * @param {Place} place
   */
  choose(place) {
    const table = this.events.table(place.kind);
    if (!table) return;
    const at = table.columns.time_ns.values[place.row] / 1e9;
    this.set({ at, chosen: place });
    const [from, to] = this.state.range;
    if (at < from || at > to) this.show(at - (to - from) / 2, at + (to - from) / 2);
  }
}

/** The time that a run took, seconds. @param {Run} run */
function lengthOf(run) {
  return Math.max(run.summary.simulated_s, 1e-3);
}

/** @type {(run: Run) => number[]} */
function firstFlows({ chosen, summary }) {
  if (chosen.length) return chosen;
  return summary.flows.length ? [0] : [];
}
