// Shows a lesson: loads what it runs, opens the panels it speaks of, zooms, and says what to look at.

import { figuresOf } from "studio/compare";
import { byId, figure, make } from "studio/dom";
import { LESSONS } from "studio/lessons";
import { valueAt } from "studio/settings";
import { shown } from "studio/schema";

/** @typedef {import("studio/lessons").Lesson} Lesson */
/** @typedef {{n: (column: string) => number, word: (column: string) => string}} Row `time` is in seconds. */

/** What lessons quote of the runs. */
export class Facts {
  /** @param {import("studio/store").Store} store @param {any[]} values those of each variant's scenario */
  constructor(store, values) {
    this.store = store;
    this.values = values;
    this.length = store.state.variants.length;
    this.figures = new Map(figuresOf(store).map((own) => [own.name, own]));
  }

  /** A figure of the table that compares variants. @param {string} name @param {number} variant */
  of(name, variant) {
    const own = this.figures.get(name);
    const value = own?.values[variant];
    return value === null || value === undefined ? "–" : figure(value, own?.digits);
  }

  /** The time of the first event of a kind, seconds. @type {(kind: string, choose?: (row: Row) => boolean) => number | null} */
  time(kind, choose) {
    const table = this.store.state.variants[0].events.table(kind);
    for (let row = 0; table && row < table.rows; row += 1) {
      const { columns } = table;
      const time = columns.time_ns.values[row] / 1e9;
      const own = {
        n: (/** @type {string} */ name) => (name === "time" ? time : columns[name]?.values[row] ?? 0),
        word: (/** @type {string} */ name) => columns[name]?.words?.[columns[name].values[row]] ?? "",
      };
      if (!choose || choose(own)) return time;
    }
    return null;
  }

  /** The first value of a column. @param {string} kind @param {string} column @param {number} parts */
  first(kind, column, parts) {
    const value = this.store.state.variants[0].events.table(kind)?.columns[column]?.values[0];
    return value === undefined ? "–" : figure(value / parts);
  }

  /** A value of a variant's scenario. @param {string} key @param {number} [variant] */
  value(key, variant = 0) {
    return shown(valueAt(this.values[variant], key)) || "–";
  }

  /** @param {number | null} time */
  seconds(time) {
    return time === null ? "no time" : `${time.toFixed(2)} s`;
  }
}

export class Lessons {
  /**
   * @param {import("studio/store").Store} store
   * @param {import("studio/experiment").Experiment} experiment
   */
  constructor(store, experiment) {
    this.store = store;
    this.experiment = experiment;
    this.place = byId("lesson");
    /** @type {Lesson | null} */
    this.lesson = null;
    this.step = 0;
    this.turn = 0;
    /** How many variants of the lesson are there. */
    this.loaded = 0;
    this.folded = store.state.folded;
    const dialog = /** @type {HTMLDialogElement} */ (byId("lessons"));
    byId("teach").addEventListener("click", () => dialog.showModal());
    byId("lesson-list").replaceChildren(...LESSONS.map((lesson) => make("li", {}, make("button", {
      type: "button", click: () => {
        dialog.close();
        void this.begin(lesson);
      },
    }, make("b", {}, lesson.title), make("span", {}, lesson.about)))));
    store.on(["variants", "shown", "flows"], () => void this.tell());
  }

  /** @param {Lesson} lesson */
  async begin(lesson) {
    this.experiment.remember("");
    if (!this.lesson) this.folded = this.store.state.folded;
    this.lesson = lesson;
    this.loaded = 0;
    await this.go(0);
    this.place.querySelector("button")?.focus();
  }

  /** @param {number} step */
  async go(step) {
    if (!this.lesson) return;
    this.step = step;
    const { panels, variants, range } = this.lesson.steps[step];
    const all = ["window", "rtt", "buffer", "rate", "sequence", "rlc", "slots", "held"];
    this.store.set({ folded: new Set(all.filter((name) => !panels.includes(name))), at: null, chosen: null });
    if (variants !== this.loaded) {
      this.loaded = variants;
      const { seed } = this.experiment.settings;
      await this.experiment.load(this.lesson.settings.slice(0, variants).map((own) => ({ ...own, seed })), variants - 1);
    }
    const facts = await this.facts();
    const found = range?.(facts);
    if (found) this.store.show(...found);
    else this.store.whole();
    // An instant in the middle: there is something on the path then.
    const [from, to] = this.store.state.range;
    this.store.set({ at: (from + to) / 2 });
    await this.tell();
  }

  end() {
    this.lesson = null;
    this.place.hidden = true;
    this.store.set({ folded: this.folded });
    byId("teach").focus();
  }

  async facts() {
    const { variants } = this.store.state;
    const answers = await Promise.all(variants.map(({ settings }) => settings && this.experiment.resolved(settings)));
    return new Facts(this.store, answers.map((answer) => (answer && !("error" in answer) ? answer.values : null)));
  }

  async tell() {
    const { lesson, step } = this;
    const turn = (this.turn += 1);
    if (!lesson) return;
    const facts = await this.facts();
    if (turn !== this.turn) return;
    const { title, say } = lesson.steps[step];
    const last = lesson.steps.length - 1;
    const held = this.place.contains(document.activeElement) && document.activeElement?.id;
    this.place.hidden = false;
    this.place.replaceChildren(
      make("div", { class: "bar" }, make("b", {}, lesson.title), make("span", { class: "grow" }), make("span", { class: "quiet" }, `${step + 1} of ${last + 1}`),
        make("button", { id: "lesson-end", type: "button", class: "small", title: "End the lesson", "aria-label": "End the lesson", click: () => this.end() }, "×")),
      make("div", { class: "said", "aria-live": "polite" }, make("h3", {}, title), ...say(facts).map((text) => make("p", {}, text))),
      make("div", { class: "bar" },
        make("button", { id: "lesson-back", type: "button", disabled: step === 0, click: () => void this.go(step - 1) }, "Back"), make("span", { class: "grow" }),
        step < last ? make("button", { id: "lesson-next", type: "button", class: "main", click: () => void this.go(step + 1) }, "Next")
          : make("button", { id: "lesson-next", type: "button", class: "main", click: () => this.end() }, "Done")));
    if (held) document.getElementById(held)?.focus();
  }
}
