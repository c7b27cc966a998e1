// Distributions of a flow of a capture: the share of round trips, delays and times between ACKs up to each value.

import { figure, make } from "studio/dom";
import { draw } from "studio/figure";
import { niceStep } from "studio/reduce";

/** The analysis' summary of values, milliseconds; points of `cdf` are a value and the share up to it. @typedef {{samples: number, median: number, p95: number, cdf: [number, number][]}} Distribution */
/** @typedef {{word: string, ink: number, of: Distribution}} Curve */
/** @typedef {{title: string, isLog: boolean, curves: Curve[]}} Chart */

const HEIGHT = 194;
const LEFT = 50;
const RIGHT = 16;
const TOP = 8;
const BOTTOM = 44;
/** Width of a number below the axis. */
const TICK_PX = 64;
/** Lower end of a logarithmic axis, milliseconds; smaller values are drawn there. */
const LEAST_MS = 0.1;
const SHARES = [0, 0.25, 0.5, 0.75, 1];

/** @type {(word: string, ink: number, of: Distribution | null | undefined) => Curve[]} */
const curve = (word, ink, of) => (of?.samples ? [{ word, ink, of }] : []);

/** The charts of a flow that have values. @param {any} one @param {any} flow @returns {Chart[]} */
function chartsOf(one, flow) {
  const isTcp = Boolean(flow.retransmissions);
  const delays = [
    ...curve("round trip", 0, isTcp ? flow.rtt.forward_ms : one.path_rtt_ms), ...curve("round trip by spin bit", 3, one.spin?.rtt_ms),
    ...curve(isTcp ? "segments, one way" : "one way", 1, flow.path?.data?.delay_ms), ...curve("ACKs, one way", 2, flow.path?.acks?.delay_ms),
  ];
  const charts = [{ title: "Delays", isLog: false, curves: delays }, { title: "Time between ACKs", isLog: true, curves: curve("ACKs", 0, flow.acks?.between_ms) }];
  return charts.filter(({ curves }) => curves.length);
}

/** Shows the distributions of one flow after the other. */
export class Distributions {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    /** @type {{chart: Chart, room: HTMLElement}[]} */
    this.shown = [];
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** @param {any} one @param {any} flow */
  show(one, flow) {
    this.shown = chartsOf(one, flow).map((chart) => ({ chart, room: make("div", { class: "figure-of" }) }));
    this.place.hidden = !this.shown.length;
    this.place.replaceChildren(...this.shown.map(({ chart, room }) => make("figure", { "data-chart": chart.title },
      make("figcaption", {}, make("b", {}, chart.title), " ms", make("ul", {}, ...chart.curves.map(({ word, ink, of }) => make("li", {},
        make("span", { class: `cdf-key ink${ink}` }), `${word}: median ${told(of.median)}, 95 % below ${told(of.p95)}`)))), room)));
    this.draw();
  }

  draw() {
    for (const { chart, room } of this.shown) if (room.clientWidth) room.replaceChildren(drawn(chart, room.clientWidth));
  }
}

/** Milliseconds in three digits. @param {number} ms */
function told(ms) {
  return ms >= 10 ? figure(ms) : ms >= 0.01 || ms === 0 ? String(Number(ms.toPrecision(2))) : "0.01";
}

/** @param {Chart} chart @param {number} width */
function drawn({ title, isLog, curves }, width) {
  const most = Math.max(...curves.map(({ of }) => of.cdf[of.cdf.length - 1][0]), isLog ? 10 * LEAST_MS : 1e-3);
  const across = width - LEFT - RIGHT;
  const toX = (/** @type {number} */ ms) => LEFT + across * (isLog ? Math.log(Math.max(ms, LEAST_MS) / LEAST_MS) / Math.log(most / LEAST_MS) : ms / most);
  const toY = (/** @type {number} */ share) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
  const root = draw("svg", { width, height: HEIGHT, role: "img", "aria-label": `Distribution: ${title}. ${curves.map(({ word, of }) => `${word}: median ${told(of.median)} ms`).join("; ")}.` });
  for (const share of SHARES) {
    root.append(
      draw("line", { x1: LEFT, x2: width - RIGHT, y1: toY(share), y2: toY(share), class: "grid" }),
      draw("text", { x: LEFT - 6, y: toY(share) + 4, "text-anchor": "end" }, `${100 * share} %`),
    );
  }
  for (const tick of isLog ? powers(most) : steps(most, across / TICK_PX)) {
    const word = isLog && tick === LEAST_MS ? `≤ ${tick}` : figure(tick, tick < 1 ? Math.ceil(-Math.log10(tick || 1)) : 0);
    root.append(
      draw("line", { x1: toX(tick), x2: toX(tick), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }),
      draw("text", { x: toX(tick), y: HEIGHT - BOTTOM + 19, "text-anchor": "middle", "data-tick": tick }, word),
    );
  }
  root.append(draw("text", { x: LEFT + across / 2, y: HEIGHT - 6, "text-anchor": "middle", class: "title" }, isLog ? "ms, logarithmic" : "ms"));
  for (const { of: { cdf }, ink, word } of curves) {
    root.append(draw("path", { d: cdf.map(([ms, share], n) => `${n ? "L" : "M"}${toX(ms).toFixed(2)} ${toY(share).toFixed(2)}`).join(""), class: `line ink${ink}`, "data-word": word }));
  }
  return root;
}

/** Round values from zero on, at most so many. @param {number} most @param {number} count */
function steps(most, count) {
  const step = niceStep(most / Math.max(count, 1));
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, n) => n * step);
}

/** Powers of ten up to a value. @param {number} most */
function powers(most) {
  return Array.from({ length: Math.floor(Math.log10(most / LEAST_MS) + 1e-9) + 1 }, (_, n) => Number((LEAST_MS * 10 ** n).toPrecision(1)));
}
