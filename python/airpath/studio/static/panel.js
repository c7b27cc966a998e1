// A panel of the plots. uPlot makes axes, grid and the shared pointer; lines are painted here, from as many points as there
// are pixels. Variants are drawn over each other.

import { figure, make } from "studio/dom";
import { lookOf, paintBand, paintInstant, paintLine, paintMarks, paintSpan, swatch } from "studio/paint";
import { lowerBound, spaced, rates, reduce, spread } from "studio/reduce";
import { placeAt } from "studio/series";

/** @typedef {import("studio/panels").Panel} Panel */
/** @typedef {import("studio/panels").Trail} Trail */
/** @typedef {import("studio/series").Curves} Curves */
/** @typedef {import("studio/series").Line} Line */
/** @typedef {import("studio/store").Store} Store */
/**
 * A line as it is drawn: points at `places`; with `low` and `high`, means in a band.
 * @typedef {{trail: Trail, line: Line, curves: Curves, x: ArrayLike<number>, y: ArrayLike<number>, places: number[],
 *   low?: number[], high?: number[]}} Drawn
 */

/** @type {typeof import("uplot")} */
const UPlot = /** @type {any} */ (globalThis).uPlot;

/** Width of the axes' numbers, pixels: equal for all panels, so their time axes align. */
const AXIS_PX = 54;
const RIGHT_PX = 20;
/** Lines with more points than this for each pixel are drawn as a band with their mean, in parts of this many pixels. */
const DENSE = 4;
const PART_PX = 5;
/** Distances of ticks where there are no parts of one. */
const WHOLE = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
/** Width of a mark, pixels. */
const MARK_PX = 6;
/** How near to a point a click has to be, pixels. */
const REACH_PX = 24;

export class PanelView {
  /**
   * @param {import("studio/plots").Plots} plots
   * @param {Panel} panel
   * @param {number} number
   * @param {boolean} folded
   */
  constructor(plots, panel, number, folded) {
    this.plots = plots;
    this.store = plots.store;
    this.panel = panel;
    this.folded = folded;
    /** @type {import("uplot") | null} */
    this.plot = null;
    /** @type {Drawn[]} */
    this.drawn = [];
    this.unit = make("span", { class: "unit" });
    this.legend = make("ul", { class: "legend" });
    /** @type {Trail[]} */
    this.trails = [];
    /** @type {HTMLElement[]} */
    this.values = [];
    const fold = make("button", {
      class: "fold", "aria-expanded": String(!folded), title: `Fold or open (key ${number})`,
      click: () => this.store.fold(panel.name),
    }, make("kbd", { "aria-hidden": "true" }, String(number)), panel.title, this.unit);
    this.canvas = make("div", { class: "canvas", role: "img" });
    const head = make("div", { class: "head" }, make("h2", {}, fold), folded ? null : this.legend);
    this.root = make("section", { class: "panel", "data-panel": panel.name, "aria-label": panel.title }, head, folded ? null : this.canvas);
    this.line = make("div", { class: "pin", hidden: true });
    /** @type {boolean | null} */
    this.isFar = null;
    this.legendFor = "";
    this.look(false);
  }

  /** Choose the lines to show: the panel's own, or the coarse ones for long ranges. @param {boolean} isFar */
  look(isFar) {
    if (this.isFar === isFar) return;
    this.isFar = isFar;
    const { panel, plots } = this;
    const { curves } = plots;
    const { trails } = isFar && panel.afar ? panel.afar : panel;
    this.trails = trails.filter((trail) => !(trail.detail && plots.isBrief) && curves.some(({ lines }) => lines.has(trail.line)));
    const legend = [curves.length > 1, ...this.trails.map(({ word }) => word)].join();
    if (legend === this.legendFor) return;
    this.legendFor = legend;
    this.values = this.trails.map(() => make("b"));
    this.legend.replaceChildren(...this.trails.map((trail, n) => make("li", {},
      swatch(trail, curves.length > 1 ? plots.colours.quiet : plots.colours.inks[trail.ink]), trail.word, " ", this.values[n])));
  }

  /** Look at the lines of other runs. */
  renew() {
    const { isFar } = this;
    this.isFar = null;
    this.look(isFar ?? false);
    for (const value of this.values) value.textContent = "";
  }

  /** Whether the range has more points than pixels. @type {(from: number, to: number, columns: number) => boolean} */
  isAfar(from, to, columns) {
    const line = this.panel.afar?.trails[0].line;
    if (!line) return false;
    const points = this.plots.curves.map(({ lines }) => {
      const x = lines.get(line)?.x ?? [];
      return lowerBound(x, to) - lowerBound(x, from);
    });
    return Math.max(...points) > columns;
  }

  /**
   * @param {number} width
   * @param {number} height
   * @param {boolean} last whether the times stand below this panel
   */
  size(width, height, last) {
    if (this.plot && this.last === last) {
      if (this.plot.width !== width || this.plot.height !== height) this.plot.setSize({ width, height });
      return;
    }
    this.plot?.destroy();
    this.last = last;
    const { grid, quiet } = this.plots.colours;
    const axis = { stroke: quiet, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const plot = new UPlot({
      width, height,
      padding: [7, RIGHT_PX, last ? 0 : 4, 0],
      legend: { show: false },
      cursor: {
        y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 5 },
        sync: { key: "airpath", scales: ["x", null] },
      },
      scales: {
        x: { time: false, range: () => this.store.state.range },
        y: { range: () => this.extent() },
      },
      axes: [
        { ...axis, size: last ? 26 : 0, gap: 4, space: 70, values: last ? (_, ticks) => times(ticks) : () => [] },
        { ...axis, ...(this.panel.digits ? {} : { incrs: WHOLE }), size: AXIS_PX, gap: 6, space: 20, values: (_, ticks) => ticks.map((tick) => figure(tick, decimals(ticks))) },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [() => this.paint()],
        setCursor: [(own) => this.hover(own)],
        setSelect: [(own) => this.select(own)],
      },
    }, [[0, 1], [0, 1]], this.canvas);
    this.plot = plot;
    plot.over.append(this.line);
    plot.over.addEventListener("click", (event) => this.click(event));
  }

  /** The lowest and highest value of the axis. @type {() => [number, number]} */
  extent() {
    let [low, high, soft] = [Infinity, -Infinity, -Infinity];
    for (const { trail, y, places, ...band } of this.drawn) {
      for (const at of places) {
        if (trail.soft) soft = Math.max(soft, y[at]);
        else {
          low = Math.min(low, (band.low ?? y)[at]);
          high = Math.max(high, (band.high ?? y)[at]);
        }
      }
    }
    high = Math.max(high, Math.min(soft, high > 0 ? 2 * high : soft));
    if (!Number.isFinite(high)) return [0, 1];
    if (this.panel.fromZero || this.isFar) return [0, high > 0 ? high * 1.08 : 1];
    if (!Number.isFinite(low)) low = 0;
    const margin = (high - low) * 0.06 || 1;
    return [low - margin, high + margin];
  }

  draw() {
    const { plot } = this;
    if (!plot) return;
    const [from, to] = this.store.state.range;
    const columns = Math.max(1, Math.round(plot.bbox.width));
    this.look(this.isAfar(from, to, columns));
    let window = 0;
    this.drawn = this.plots.curves.flatMap((curves) => this.trails.flatMap((trail) => {
      const line = curves.lines.get(trail.line);
      if (!line) return [];
      if (trail.shape === "rate") {
        const { start_s, transfer_s } = curves.from;
        const found = rates(line.x, line.y, from, to, transfer_s === null ? curves.run.summary.simulated_s : start_s + transfer_s);
        window = found.window;
        // The last value holds until the end of its window.
        const x = [...found.x, (found.x.at(-1) ?? 0) + found.window];
        const y = [...found.y, found.y.at(-1) ?? 0].map((value) => value * (trail.scale ?? 1));
        return { trail, line, curves, x, y, places: found.x.length ? [...x.keys()] : [] };
      }
      const points = lowerBound(line.x, to) - lowerBound(line.x, from);
      if (trail.shape === "steps" && this.panel.fromZero && points > DENSE * columns) {
        const { x, low, high, mean } = spread(line.x, line.y, from, to, Math.ceil(plot.bbox.width / devicePixelRatio / PART_PX));
        return { trail, line, curves, x, y: mean, low, high, places: [...x.keys()] };
      }
      const isLine = trail.shape === "steps" || trail.shape === "slope" || trail.shape === "dots";
      const places = isLine ? reduce(line.x, line.y, from, to, columns) : this.marks(line, from, to, columns);
      return { trail, line, curves, x: line.x, y: line.y, places };
    }));
    const { unit } = this.isFar && this.panel.afar ? this.panel.afar : this.panel;
    const means = window ? `, mean of ${Number(window.toPrecision(6))} s` : this.drawn.some(({ low }) => low) ? ", means and extremes" : "";
    this.unit.textContent = unit + means;
    plot.setData([[from, to], [0, 1]]);
    this.canvas.setAttribute("aria-label", this.described());
    this.pin();
  }

  /**
   * Marks on the time axis that do not hide each other. Marks with a height, such as lost PDUs, are treated as lines.
   * @type {(line: Line, from: number, to: number, columns: number) => number[]}
   */
  marks(line, from, to, columns) {
    if (line.kind === "dropped" || this.panel.name === "window") return spaced(line.x, from, to, columns / (MARK_PX / 2));
    return reduce(line.x, line.y, from, to, columns).filter((at) => line.x[at] >= from && line.x[at] <= to);
  }

  paint() {
    const { plot } = this;
    if (!plot) return;
    const { ctx: ink, bbox } = plot;
    const ratio = devicePixelRatio;
    const [from, to] = this.store.state.range;
    const { min, max } = plot.scales.y;
    if (min == null || max == null) return;
    const toX = (/** @type {number} */ x) => bbox.left + ((x - from) / (to - from)) * bbox.width;
    const toY = (/** @type {number} */ y) => bbox.top + (1 - (y - min) / (max - min)) * bbox.height;
    const { state } = this.store;
    const several = this.plots.curves.length > 1;
    ink.save();
    ink.beginPath();
    // Marks at zero stand on the axis, and reach a little below it.
    ink.rect(bbox.left, bbox.top - 3 * ratio, bbox.width, bbox.height + 7 * ratio);
    ink.clip();
    ink.lineJoin = "round";
    for (const { from: begin, to: end, word, isFollowed, next, panel } of this.plots.spans) {
      if (end < from || begin > to || (panel && panel !== this.panel.name)) continue;
      const { quiet, pin } = this.plots.colours;
      const place = { left: toX(Math.max(begin, from)), right: toX(Math.min(end, to)), top: bbox.top, height: bbox.height };
      if (next !== undefined) paintInstant(ink, place, quiet, word, ratio, toX(Math.min(next, to)));
      else paintSpan(ink, place, isFollowed ? pin : quiet, word, ratio);
    }
    for (const { trail, line: { cuts }, curves: { variant, flow }, x, y, places, low, high } of this.drawn) {
      // Flows differ by their colours; without others, variants do too.
      const look = lookOf(variant);
      ink.globalAlpha = trail.opacity ?? 1;
      ink.strokeStyle = ink.fillStyle = this.plots.colours.inks[!several ? trail.ink : state.flows.length > 1 ? flow : look.ink];
      ink.setLineDash((variant ? look.dash : trail.dash ?? []).map((length) => length * ratio));
      if (low && high) {
        ink.globalAlpha *= several ? 0.1 : 0.2;
        paintBand(ink, x, low, high, toX, toY, cuts);
        ink.globalAlpha = trail.opacity ?? 1;
      }
      if (trail.shape === "steps" || trail.shape === "slope" || trail.shape === "rate") {
        ink.lineWidth = (trail.width ?? 1) * ratio;
        paintLine(ink, x, y, places, toX, toY, !low && trail.shape !== "slope", trail.shape === "rate" ? [] : cuts);
      } else {
        ink.lineWidth = 1.25 * ratio;
        const isCrowded = places.length > bbox.width / ratio / MARK_PX;
        const [crowded, apart] = trail.shape === "dots" ? [1.9, 2.7] : [2.2, 3.2];
        const onAxis = trail.shape !== "dots" && this.panel.fromZero;
        const up = onAxis ? (/** @type {number} */ value) => toY(value) - look.above * ratio : toY;
        paintMarks(ink, trail.shape, (isCrowded ? crowded : apart) * ratio, x, y, places, toX, up, variant);
      }
    }
    ink.restore();
  }

  /** @param {import("uplot")} own */
  hover(own) {
    // The others follow this one's pointer, and need not tell.
    if (own.cursor.event === null) return;
    const { left } = own.cursor;
    this.store.set({ hover: left == null || left < 0 ? null : own.posToVal(left, "x") });
  }

  /** @param {import("uplot")} own */
  select(own) {
    const { left, width } = own.select;
    if (width < 5) return;
    this.store.show(own.posToVal(left, "x"), own.posToVal(left + width, "x"));
    own.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  /** Choose the event nearest to a click. @param {MouseEvent} event */
  click(event) {
    const { plot } = this;
    if (!plot) return;
    const { left, top } = plot.over.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    /** @type {{kind: string, row: number} | null} */
    let best = null;
    let [shortest, variant] = [Infinity, 0];
    for (const { trail, line, curves, places, low } of this.drawn) {
      const own = trail.shape === "rate" || low ? nearTo(line.x, plot.posToVal(x, "x")) : places;
      for (const at of own) {
        const across = plot.valToPos(line.x[at], "x") - x;
        if (Math.abs(across) > REACH_PX && shortest < Infinity) continue;
        const up = trail.shape === "rate" ? 0 : plot.valToPos(line.y[at], "y") - y;
        // Points aside come after all within reach.
        const distance = Math.abs(across) > REACH_PX ? 1e6 + Math.abs(across) : Math.hypot(across, 0.7 * up);
        if (distance < shortest) [shortest, variant, best] = [distance, curves.variant, { kind: line.kind, row: line.rows[at] }];
      }
    }
    if (!best) return;
    this.store.speakOf(variant);
    this.store.choose(best);
  }

  /** Move the line of the chosen instant. */
  pin() {
    const { at, range: [from, to] } = this.store.state;
    const share = at === null ? -1 : (at - from) / (to - from);
    this.line.hidden = share < 0 || share > 1;
    this.line.style.left = `${100 * share}%`;
  }

  /** Write the values at the pointer, or at the chosen instant, next to the legend. */
  tell() {
    const { hover, at, flows, variants } = this.store.state;
    const time = hover ?? at;
    this.trails.forEach((trail, n) => {
      const values = time === null || flows.length !== 1 ? [] : variants.map((_, variant) => this.valueAt(trail, variant, time));
      const told = values.map((value) => (value === null ? "–" : figure(value, this.panel.digits)));
      const text = values.every((value) => value === null) ? "" : told.join(" | ");
      if (this.values[n].textContent !== text) this.values[n].textContent = text;
    });
  }

  /** @type {(trail: Trail, variant: number, time: number) => number | null} */
  valueAt(trail, variant, time) {
    const drawn = this.drawn.find((own) => own.trail === trail && own.curves.variant === variant);
    if (!drawn || !(trail.shape === "steps" || trail.shape === "slope" || trail.shape === "rate" || trail.line === "rtt")) return null;
    const line = trail.shape === "rate" ? { x: drawn.x, y: drawn.y } : drawn.line;
    const place = placeAt(line, time);
    if (place < 0 || trail.shape !== "slope" || place + 1 >= line.x.length) return place < 0 ? null : line.y[place];
    const share = (time - line.x[place]) / Math.max(line.x[place + 1] - line.x[place], 1e-9);
    return line.y[place] + Math.min(Math.max(share, 0), 1) * (line.y[place + 1] - line.y[place]);
  }

  /** Description of the panel for screen readers. */
  described() {
    const [from, to] = this.store.state.range;
    const parts = this.trails.map((trail) => {
      let [least, most] = [Infinity, -Infinity];
      for (const { trail: own, places, y, low, high } of this.drawn) {
        for (let n = 0; own === trail && n < places.length; n += 1) {
          least = Math.min(least, (low ?? y)[places[n]]);
          most = Math.max(most, (high ?? y)[places[n]]);
        }
      }
      if (least > most) return `${trail.word}: nothing`;
      const { digits } = this.panel;
      return most === 0 ? trail.word : `${trail.word}: ${least.toFixed(digits)} to ${most.toFixed(digits)}`;
    });
    return `${this.panel.title} in ${this.unit.textContent}, ${from.toFixed(3)} to ${to.toFixed(3)} s. ${parts.join("; ")}.`;
  }
}

/** @type {(x: Float64Array, time: number) => number[]} */
function nearTo(x, time) {
  const place = lowerBound(x, time);
  return [place - 1, place].filter((at) => at >= 0 && at < x.length);
}

/** Times as text, with as many decimals as their distance needs. @param {number[]} ticks */
function times(ticks) {
  return ticks.map((tick) => `${figure(tick, decimals(ticks))} s`);
}

/** Digits that all ticks need behind the point. @param {number[]} ticks */
function decimals(ticks) {
  const isExact = (/** @type {number} */ digits) => ticks.every((tick) => Math.abs(tick - Number(tick.toFixed(digits))) < 1e-9);
  return [0, 1, 2, 3, 4, 5].find(isExact) ?? 6;
}
