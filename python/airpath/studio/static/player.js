// Time that passes: plays the run by moving the time cursor, faster or slower than it was, and steps by TTI.

import { byId, figure, make } from "studio/dom";

/** @typedef {import("studio/store").Store} Store */

/** Speeds: 1 is real time. */
export const SPEEDS = [1 / 1000, 1 / 100, 1 / 20, 1 / 5, 1, 5, 20, 100, 1000];
/** A step where there are no TTIs, nanoseconds. */
const STEP_NS = 1e7;
/** Position of the cursor, as a share of the range, after the range has followed it. */
const BEHIND = 0.1;
/** With reduced motion: pictures a second. */
const CALM_HZ = 4;

/** @param {number} speed */
function wordOf(speed) {
  return speed < 1 ? `1/${Math.round(1 / speed)}` : figure(speed);
}

export class Player {
  /**
   * @param {Store} store
   * @param {() => {length: number, phase: number} | null} grid TTIs of what is shown, nanoseconds
   */
  constructor(store, grid) {
    this.store = store;
    this.grid = grid;
    this.last = NaN;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    /** The time that has passed and is not shown yet, seconds: with reduced motion. */
    this.saved = 0;
    this.play = byId("play");
    this.speed = /** @type {HTMLSelectElement} */ (byId("speed"));
    this.speed.append(...SPEEDS.map((speed) => make("option", { value: speed }, `${wordOf(speed)} ×`)));
    this.speed.addEventListener("change", () => store.set({ speed: Number(this.speed.value) }));
    this.play.addEventListener("click", () => this.toggle());
    byId("tti-before").addEventListener("click", () => this.step(-1));
    byId("tti-after").addEventListener("click", () => this.step(1));
    store.on(["playing"], () => this.playing());
    store.on(["speed"], () => this.tell());
    this.tell();
  }

  toggle() {
    const { playing, at, range } = this.store.state;
    if (!playing && (at === null || at >= this.store.end)) this.store.set({ at: at === null ? range[0] : this.store.begin, chosen: null });
    this.store.set({ playing: !playing });
  }

  /** Play faster or slower. @param {1 | -1} way */
  change(way) {
    const near = SPEEDS.findIndex((speed) => speed >= this.store.state.speed * 0.999);
    this.store.set({ speed: SPEEDS[Math.min(Math.max(near + way, 0), SPEEDS.length - 1)] });
  }

  tell() {
    const { playing, speed } = this.store.state;
    this.play.textContent = playing ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", playing ? "Pause" : "Play");
    this.speed.value = String(speed);
  }

  playing() {
    this.tell();
    this.last = NaN;
    if (this.store.state.playing) requestAnimationFrame((now) => this.frame(now));
  }

  /** @param {number} now milliseconds */
  frame(now) {
    const { playing, speed, at } = this.store.state;
    if (!playing) return;
    // A page that was not seen does not catch up.
    const passed = Number.isNaN(this.last) ? 0 : Math.min(now - this.last, 100) / 1000;
    this.last = now;
    this.saved += passed * speed;
    if (!this.calm.matches || this.saved > speed / CALM_HZ) {
      const next = this.calm.matches ? this.onGrid((at ?? 0) + this.saved) : (at ?? 0) + this.saved;
      this.saved = 0;
      this.move(next);
    }
    requestAnimationFrame((later) => this.frame(later));
  }

  /** The begin of the TTI of an instant, seconds. @param {number} time */
  onGrid(time) {
    const grid = this.grid();
    if (!grid) return time;
    const { length, phase } = grid;
    return (Math.floor(((time * 1e9 - phase) / length) + 1e-6) * length + phase) / 1e9;
  }

  /** Move the cursor; the range follows when it leaves it. @param {number} to seconds */
  move(to) {
    const { range: [from, until], playing } = this.store.state;
    const { begin: first, end } = this.store;
    const at = Math.min(Math.max(to, first), end);
    this.store.set({ at, chosen: null });
    if (at >= end && playing) this.store.set({ playing: false });
    if (at >= from && at <= until) return;
    const length = until - from;
    const begin = Math.min(Math.max(at - BEHIND * length, first), end - length);
    this.store.set({ range: [begin, begin + length] });
  }

  /** The TTI before, or the next one. @param {1 | -1} way */
  step(way) {
    const { at, range } = this.store.state;
    const now = (at ?? range[0]) * 1e9;
    const { length, phase } = this.grid() ?? { length: STEP_NS, phase: 0 };
    const number = (now - phase) / length;
    const next = way > 0 ? Math.floor(number + 1e-6) + 1 : Math.ceil(number - 1e-6) - 1;
    this.store.set({ playing: false });
    this.move((next * length + phase) / 1e9);
  }
}
