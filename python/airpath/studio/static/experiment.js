// Settings of the variants as they are edited, and the runs that they lead to: each valid change is run, the latest wins,
// and the last good picture stays until there is a better one.

import { Events } from "studio/events";
import { changed, keyOf } from "studio/settings";
import { NAMES } from "studio/store";

/** @typedef {import("studio/source").Problem} Problem */
/** @typedef {import("studio/source").Settings} Settings */
/** @typedef {import("studio/store").Made} Made */
/** @typedef {{key: string, begun: number, result: Promise<Made>, cancel(): void}} Job */
/** @typedef {{settings: Settings[], shown: number}} Step */

/** A younger run is not stopped for a newer one: so something is to be seen while a slider moves. Milliseconds. */
const PATIENCE_MS = 250;
/** The run has priority: delay before the form gets the core's answer, and interval of checks whether the run is there. */
const FIRST_MS = 60;
const AGAIN_MS = 30;
/** Runs that take longer than this show how far they are. */
const LONG_MS = 200;
/** Changes of one field within this time are one step to undo. */
const STEP_MS = 900;
const MOST_STEPS = 200;
/** Runs that are kept, so that an undone change is there at once; and how many events they may have. */
const MOST_KEPT = 8;
const MOST_KEPT_EVENTS = 300_000;

export class Experiment {
  /**
   * @param {import("studio/store").Store} store
   * @param {import("studio/source").Engine} engine
   */
  constructor(store, engine) {
    this.store = store;
    this.engine = engine;
    /** @type {(Job | null)[]} */
    this.jobs = [];
    /** @type {Map<string, Made>} */
    this.kept = new Map();
    /** @type {Map<string, Promise<any>>} Values of bases without changes. */
    this.origins = new Map();
    /** @type {Step[]} */
    this.past = [];
    /** @type {Step[]} */
    this.future = [];
    this.last = { field: "", time: -Infinity };
    this.turn = 0;
    this.waits = 0;
    this.checks = 0;
    store.state.variants.forEach((own) => this.keep(own));
    store.set({ wanted: store.state.variants.map(({ settings }) => /** @type {Settings} */ (settings)) });
    store.on(["shown"], () => void this.check());
    void this.check();
  }

  /** Settings of the shown variant. */
  get settings() {
    return this.store.state.wanted[this.store.state.shown];
  }

  /**
   * Edit the shown variant.
   * @param {Settings} settings
   * @param {string} [field] what is being edited: changes of the same field in short time are one step
   * @param {number} [wait] milliseconds, if more may come
   */
  edit(settings, field = "", wait = 0) {
    const { shown, wanted } = this.store.state;
    if (keyOf(settings) === keyOf(wanted[shown])) return;
    this.remember(field);
    this.want(wanted.map((own, n) => (n === shown ? settings : own)), wait);
  }

  /** Change a key of the shown variant, or take the change back. @type {(key: string, value: string | null, wait?: number) => void} */
  change(key, value, wait) {
    this.edit(changed(this.settings, key, value), key, wait);
  }

  /** All variants have the same seed, and so the same channel. @param {number} seed */
  reseed(seed) {
    this.remember("seed");
    this.want(this.store.state.wanted.map((own) => ({ ...own, seed })), 0);
  }

  /** @param {string} field */
  remember(field) {
    const now = performance.now();
    const { wanted, shown } = this.store.state;
    const isSame = field && field === this.last.field && now - this.last.time < STEP_MS;
    if (!isSame) this.past = [...this.past.slice(1 - MOST_STEPS), { settings: wanted, shown }];
    this.last = { field, time: now };
    this.future = [];
  }

  /** @param {Settings[]} wanted @param {number} wait */
  want(wanted, wait) {
    this.store.set({ wanted, stale: false, given: new Set() });
    clearTimeout(this.waits);
    const begin = () => {
      wanted.forEach((_, n) => this.advance(n));
      clearTimeout(this.checks);
      const { shown } = this.store.state;
      const job = this.jobs[shown];
      const look = () => {
        const isYoung = job && this.jobs[shown] === job && performance.now() - job.begun < LONG_MS;
        if (isYoung) this.checks = window.setTimeout(look, AGAIN_MS);
        else void this.check();
      };
      this.checks = window.setTimeout(look, job ? FIRST_MS : 0);
    };
    if (wait) this.waits = window.setTimeout(begin, wait);
    else begin();
  }

  undo() {
    this.step(this.past, this.future);
  }

  redo() {
    this.step(this.future, this.past);
  }

  /** @param {Step[]} from @param {Step[]} to */
  step(from, to) {
    const step = from.pop();
    if (!step) return;
    to.push({ settings: this.store.state.wanted, shown: this.store.state.shown });
    this.last = { field: "", time: -Infinity };
    void this.load(step.settings, step.shown);
  }

  /** Copy the shown variant as a new one, and edit that. */
  copy() {
    const { variants, shown, wanted } = this.store.state;
    if (variants.length >= NAMES.length) return;
    this.remember("");
    this.store.put(variants.length, variants[shown]);
    this.store.set({ wanted: [...wanted, wanted[shown]] });
    this.store.speakOf(variants.length);
  }

  /** @param {number} place */
  remove(place) {
    const { wanted } = this.store.state;
    if (wanted.length < 2) return;
    this.remember("");
    this.stop();
    this.store.remove(place);
    this.want(wanted.filter((_, n) => n !== place), 0);
  }

  /**
   * Run several settings, and show them when all are there.
   * @param {Settings[]} all
   * @param {number} shown
   * @returns {Promise<Problem | null>} the error, if any; then nothing has changed
   */
  async load(all, shown) {
    const { wanted } = this.store.state;
    this.stop();
    this.jobs = all.map((settings) => this.begin(settings));
    const { jobs } = this;
    try {
      const made = await Promise.all(jobs.map((job) => /** @type {Job} */ (job).result));
      if (jobs !== this.jobs) return null;
      this.jobs = [];
      this.store.putAll(made, shown);
      this.store.set({ wanted: all, stale: false, given: new Set() });
      void this.check();
      return null;
    } catch (problem) {
      if (jobs !== this.jobs) return null;
      this.jobs = [];
      this.store.set({ wanted, problem: /** @type {Problem} */ (problem) });
      return /** @type {Problem} */ (problem);
    } finally {
      this.tell();
    }
  }

  /** Show a run that was chosen elsewhere, alone. @param {Settings} settings */
  open(settings) {
    this.remember("");
    return this.load([settings], 0);
  }

  /** Have the core look at the shown variant's settings. */
  async check() {
    const { settings } = this;
    const turn = (this.turn += 1);
    const [origin, answer] = await Promise.all([this.origin(settings.base), this.engine.resolve(settings)]);
    if (turn !== this.turn) return;
    if ("error" in answer) this.store.set({ problem: answer.error });
    else this.store.set({ problem: null, resolved: { settings, ...answer, origin } });
  }

  /** What the core makes of settings. @param {Settings} settings */
  resolved(settings) {
    const { resolved } = this.store.state;
    return resolved && keyOf(resolved.settings) === keyOf(settings) ? Promise.resolve(resolved) : this.engine.resolve(settings);
  }

  /** The values of a base without changes; null if it is not valid. @param {string} base */
  origin(base) {
    const known = this.origins.get(base) ?? this.engine.resolve({ base, set: [] }).then((own) => ("error" in own ? null : own.values));
    this.origins.set(base, known);
    return known;
  }

  /** Settings that are not tried again. @param {string[]} keys */
  giveUp(keys) {
    this.store.set({ given: new Set([...this.store.state.given, ...keys]) });
  }

  /** Whether a variant's run is an older one, as its settings gave none. @param {number} n */
  isOld(n) {
    const { wanted, variants, given } = this.store.state;
    const { settings } = variants[n] ?? {};
    return Boolean(wanted[n] && settings) && keyOf(/** @type {Settings} */ (settings)) !== keyOf(wanted[n]) && given.has(keyOf(wanted[n]));
  }

  /** Have the picture of a variant become what its settings say. @param {number} n */
  advance(n) {
    const { wanted, variants } = this.store.state;
    const job = this.jobs[n];
    if (!wanted[n]) return;
    const key = keyOf(wanted[n]);
    if (job?.key === key) return;
    if (job) {
      const left = job.begun + PATIENCE_MS - performance.now();
      if (left > 0 && !this.kept.has(key)) {
        setTimeout(() => this.jobs[n] === job && this.advance(n), left);
        return;
      }
      this.jobs[n] = null;
      job.cancel();
    }
    const { settings } = variants[n];
    if ((settings && keyOf(settings) === key) || this.store.state.given.has(key)) return this.tell();
    const own = (this.jobs[n] = this.begin(wanted[n]));
    own.result.then((made) => {
      if (this.jobs[n] !== own) return;
      this.jobs[n] = null;
      this.store.put(n, made);
      if (n === this.store.state.shown) this.store.set({ problem: null });
      this.advance(n);
    }, (problem) => {
      if (this.jobs[n] !== own) return;
      this.jobs[n] = null;
      this.giveUp([key]);
      // The core's message about the settings is already shown.
      if (n === this.store.state.shown && !this.store.state.problem) this.store.set({ problem });
      this.advance(n);
    }).finally(() => this.tell());
  }

  /** @param {Settings} settings @returns {Job} */
  begin(settings) {
    const key = keyOf(settings);
    const known = this.kept.get(key);
    const begun = performance.now();
    if (known) return { key, begun, result: Promise.resolve(known), cancel() {} };
    const events = new Events();
    /** @type {import("studio/source").Run | null} */
    let run = null;
    let cancel = () => {};
    let isOver = false;
    let give = () => {};
    const result = /** @type {Promise<Made>} */ (new Promise((done, failed) => {
      give = () => failed({ path: "run", message: "it was stopped", hint: "run it again" });
      cancel = this.engine.run(settings, {
        run: (own) => (run = own),
        events: (chunk) => events.add(chunk),
        progress: (progress) => {
          const since = performance.now() - begun;
          if (!isOver && since > LONG_MS) this.store.set({ progress: { ...progress, since } });
        },
        ended: () => {
          isOver = true;
          if (run) done(this.keep({ run, events, settings }));
          else failed({ path: "run", message: "it ended without a result", hint: "run it again" });
        },
        error: (problem) => {
          isOver = true;
          failed(problem);
        },
      }).cancel;
    }));
    setTimeout(() => !isOver && this.jobs.some((job) => job?.result === result) && this.store.set({ progress: this.store.state.progress ?? { share: 0, now_s: 0, since: 0 } }), LONG_MS);
    return {
      key, begun, result, cancel: () => {
        isOver = true;
        cancel();
        give();
      },
    };
  }

  /** Keep a run for when it is wanted again. @param {Made} made */
  keep(made) {
    const { settings, events } = made;
    if (!settings) return made;
    const rows = events.kinds.reduce((sum, kind) => sum + (events.table(kind)?.rows ?? 0), 0);
    if (rows > MOST_KEPT_EVENTS) return made;
    this.kept.delete(keyOf(settings));
    this.kept.set(keyOf(settings), { run: made.run, events, settings });
    if (this.kept.size > MOST_KEPT) this.kept.delete([...this.kept.keys()][0]);
    return made;
  }

  /** Stop what runs: the picture stays as it is. */
  cancel() {
    this.giveUp(this.jobs.flatMap((job) => job?.key ?? []));
    this.stop();
    this.store.set({ stale: true });
    this.tell();
  }

  /** Stop all runs; their results are no longer needed. */
  stop() {
    const { jobs } = this;
    this.jobs = [];
    jobs.forEach((job) => job?.cancel());
  }

  /** Run what was stopped. */
  again() {
    this.want(this.store.state.wanted.slice(), 0);
  }

  /** Tell whether something runs. */
  tell() {
    if (!this.jobs.some(Boolean)) this.store.set({ progress: null });
  }
}
