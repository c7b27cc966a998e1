// A sweep: a figure of what was measured over what was varied, and its points as a list. Both open runs.

import { figure as number, make } from "studio/dom";
import { figureOf, mark } from "studio/figure";

/** @typedef {{mean: number, low: number | null, high: number | null, n: number}} Estimate */
/**
 * What `airpath/studio/sweeps.py` reads of a sweep's folder.
 * @typedef {object} Sweep
 * @property {"sweep"} kind
 * @property {string} name
 * @property {string} title
 * @property {string} scenario as the sweep's file says
 * @property {number} confidence
 * @property {{key: string, label: string, unit: string, words: string[], numbers: number[] | null}[]} axes with a value for each point
 * @property {{key: string, label: string, unit: string}[]} metrics
 * @property {{base: string | null, set: string[] | null, runs: number, seeds: number[], estimates: (Estimate | null)[]}[]} points
 * @property {string[]} warnings
 */
/** @typedef {(settings: import("studio/source").Settings) => Promise<void>} Open */

/** Most lines of a figure. */
const MOST_LINES = 24;

export class SweepView {
  /**
   * @param {HTMLElement} place
   * @param {Sweep} sweep
   * @param {Open} open
   */
  constructor(place, sweep, open) {
    this.sweep = sweep;
    this.open = open;
    /** @type {number | null} */
    this.opened = null;
    this.varied = sweep.axes.filter(({ words }) => new Set(words).size > 1);
    const numbers = this.varied.filter((axis) => axis.numbers);
    const x = numbers.toSorted((a, b) => new Set(b.words).size - new Set(a.words).size)[0] ?? this.varied[0];
    const lines = this.varied.find((axis) => axis !== x && new Set(axis.words).size <= MOST_LINES);
    const axes = this.varied.map(({ key, label }) => /** @type {[string, string]} */ ([key, label]));
    const metrics = sweep.metrics.map(({ key, label }) => /** @type {[string, string]} */ ([key, label]));
    this.x = select("across", [...axes, ...metrics], x?.key ?? metrics[0]?.[0]);
    this.y = select("up", metrics, metrics[0]?.[0]);
    this.lines = select("lines", [["", "none"], ...axes], lines?.key ?? "");
    this.only = this.varied.map((axis) => ({
      axis, field: select(axis.label, [["", "all"], ...[...new Set(axis.words)].map((word) => /** @type {[string, string]} */ ([word, word]))], ""),
    }));
    this.canvas = make("div", { class: "figure-of" });
    this.legend = make("ul", { class: "legend-of", "aria-label": "Lines" });
    this.list = make("tbody");
    this.heading = make("tr");
    this.said = make("p", { class: "quiet", "aria-live": "polite" });
    const fields = make("div", { class: "fields-of" }, this.x, this.y, this.lines);
    const others = this.only.filter(() => this.varied.length > 2).map(({ field }) => field);
    const table = make("div", { class: "list-of", tabindex: 0, role: "group", "aria-label": "Points" }, make("table", {}, make("thead", {}, this.heading), this.list));
    place.append(
      make("h2", {}, `${sweep.title}: `, make("span", { class: "quiet" }, this.about())),
      ...sweep.warnings.map((text) => make("p", { class: "note" }, text)),
      ...(sweep.points.some(({ set }) => !set) ? [make("p", { class: "note" }, this.why())] : []),
      make("div", { class: "sweep-of" }, make("div", {}, fields, others.length ? make("div", { class: "fields-of" }, make("span", { class: "quiet" }, "only"), ...others) : null, this.canvas, this.legend, this.said), table),
    );
    for (const field of [this.x, this.y, this.lines, ...others]) field.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.draw();
  }

  about() {
    const { points, scenario, confidence } = this.sweep;
    const runs = points.map((own) => own.runs);
    const each = runs.length && Math.min(...runs) === Math.max(...runs) ? `${runs[0]}` : `${Math.min(...runs)} to ${Math.max(...runs)}`;
    return `${scenario}, ${points.length} points with ${each} runs; means with intervals at ${number(100 * confidence)} %. A point opens its first run.`;
  }

  why() {
    const { points, scenario, name } = this.sweep;
    if (points.some(({ base }) => base === null)) return `To open the points' runs, name the scenario's file too: airpath studio ${name} ${scenario}`;
    return "Points whose scenario is no longer what it was when the sweep was made cannot be opened.";
  }

  /** Places of the points that are shown. */
  get places() {
    return this.sweep.points.map((_, place) => place).filter((place) => this.only.every(({ axis, field }) => !value(field) || axis.words[place] === value(field)));
  }

  /** What stands on an axis: a parameter or a metric. @param {string} key */
  dimension(key) {
    const axis = this.sweep.axes.find((own) => own.key === key);
    if (axis) {
      const words = [...new Set(axis.words)];
      return {
        title: titled(axis), words: axis.numbers ? null : words, ticks: axis.numbers && [...new Set(axis.numbers)],
        at: (/** @type {number} */ place) => (axis.numbers ? axis.numbers[place] : words.indexOf(axis.words[place])), ends: () => null,
      };
    }
    const n = Math.max(this.sweep.metrics.findIndex((own) => own.key === key), 0);
    const { label, unit } = this.sweep.metrics[n];
    const of = (/** @type {number} */ place) => this.sweep.points[place].estimates[n];
    return {
      title: titled({ label, unit }), words: null, ticks: null, at: (/** @type {number} */ place) => of(place)?.mean ?? NaN,
      ends: (/** @type {number} */ place) => {
        const known = of(place);
        return known && known.low !== null && known.high !== null ? /** @type {[number, number]} */ ([known.low, known.high]) : null;
      },
    };
  }

  draw() {
    const [x, y] = [this.dimension(value(this.x)), this.dimension(value(this.y))];
    const by = this.sweep.axes.find(({ key }) => key === value(this.lines));
    const places = this.places.filter((place) => Number.isFinite(x.at(place)) && Number.isFinite(y.at(place)));
    const names = by ? [...new Set(by.words)] : [""];
    const series = names.map((name) => ({
      name,
      points: places.filter((place) => !by || by.words[place] === name).sort((a, b) => this.order(a) - this.order(b)).map((place) => ({
        x: x.at(place), y: y.at(place), across: x.ends(place), along: y.ends(place), place, label: this.label(place),
      })),
    }));
    const box = this.canvas.getBoundingClientRect();
    if (box.width > 0) {
      const ask = { choose: (/** @type {number} */ place) => void this.choose(place), point: (/** @type {number | null} */ place) => this.point(place) };
      this.canvas.replaceChildren(figureOf({ width: box.width, height: Math.max(box.height, 200), x, y, series, opened: this.opened }, ask));
    }
    this.legend.replaceChildren(...(by ? series.map(({ name }, n) => make("li", {}, mark(n), name)) : []));
    this.tabulate(by ? series.flatMap(({ points }) => points.map(({ place }) => place)) : places);
  }

  /** Lines go through their points in the order of the first number that was varied. @param {number} place */
  order(place) {
    const axis = this.sweep.axes.find(({ key, numbers }) => key === value(this.x) && numbers) ?? this.varied.find(({ key, numbers }) => numbers && key !== value(this.lines));
    return axis?.numbers?.[place] ?? place;
  }

  /** @param {number} place */
  label(place) {
    const { axes, metrics, points } = this.sweep;
    const what = axes.map(({ label, words, numbers, unit }) => `${label} ${numbers ? `${short(numbers[place])} ${unit}`.trimEnd() : words[place]}`);
    const known = metrics.map(({ label, unit }, n) => `${label} ${told(points[place].estimates[n])} ${unit}`.trimEnd());
    return `${what.join(", ")}: ${known.join(", ")}; ${points[place].runs} runs`;
  }

  /** @param {number[]} places */
  tabulate(places) {
    const { metrics, points } = this.sweep;
    const n = Math.max(metrics.findIndex(({ key }) => key === value(this.y)), 0);
    const { label, unit } = metrics[n];
    const names = [...this.varied.map((axis) => (axis.numbers ? titled(axis) : axis.label)), titled({ label, unit }), "run"];
    this.heading.replaceChildren(...names.map((text) => make("th", { scope: "col" }, text)));
    this.list.replaceChildren(...places.map((place) => {
      const own = points[place];
      const seed = make("select", { "aria-label": "Seed" }, ...own.seeds.map((one) => make("option", { value: one }, `seed ${one}`)));
      return make("tr", { "data-place": place, class: place === this.opened ? "opened" : null, pointerenter: () => this.point(place) },
        ...this.varied.map(({ words, numbers }) => make("td", { class: numbers ? "number" : null }, numbers ? short(numbers[place]) : words[place])), make("td", { class: "number" }, told(own.estimates[n])),
        make("td", {}, own.set && own.seeds.length ? make("span", { class: "opens" }, seed, make("button", { type: "button", class: "small", "aria-label": `Open ${this.label(place)}`, click: () => void this.choose(place, Number(seed.value)) }, "Open")) : "–"));
    }));
  }

  /** Say what a point is, and mark it in the list. @param {number | null} place */
  point(place) {
    this.said.textContent = place === null ? "" : this.label(place);
    for (const own of [...this.list.children, ...this.canvas.querySelectorAll(".point")]) own.classList.toggle("pointed", own.getAttribute("data-place") === String(place));
  }

  /** @param {number} place @param {number} [seed] */
  async choose(place, seed) {
    const { base, set, seeds } = this.sweep.points[place];
    if (base === null || !set || !seeds.length) {
      this.said.textContent = this.why();
      return;
    }
    this.opened = place;
    await this.open({ base, set, seed: seed ?? seeds[0] });
    this.draw();
  }
}

/** @param {{label: string, unit: string}} axis */
function titled({ label, unit }) {
  return unit ? `${label} (${unit})` : label;
}

/** As many digits as it has, six at most. @param {number} value */
function short(value) {
  return String(Number(value.toPrecision(6)));
}

/** @param {Estimate | null} known */
function told(known) {
  if (!known) return "not measured";
  const digits = Math.max(0, 3 - Math.ceil(Math.log10(Math.abs(known.mean) || 1)));
  const ends = known.low === null || known.high === null ? "" : ` (${number(known.low, digits)} – ${number(known.high, digits)})`;
  return `${number(known.mean, digits)}${ends}`;
}

/**
 * A field to choose from, with its name.
 * @param {string} name
 * @param {[string, string][]} options
 * @param {string} chosen
 */
function select(name, options, chosen) {
  return make("label", {}, make("span", { class: "quiet" }, name), make("select", {}, ...options.map(([key, word]) => make("option", { value: key, selected: key === chosen }, word))));
}

/** @param {HTMLElement} field */
function value(field) {
  return field.querySelector("select")?.value ?? "";
}
