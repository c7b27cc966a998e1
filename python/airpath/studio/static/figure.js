// A figure of points: axes, lines through the points of a series, intervals. Each point is a button.

import { figure as number } from "studio/dom";

/**
 * An axis: numbers, with ticks where there are few, or words at 0, 1, 2 ...
 * @typedef {{title: string, words: string[] | null, ticks: number[] | null}} Axis
 */
/**
 * @typedef {object} Point
 * @property {number} x
 * @property {number} y
 * @property {[number, number] | null} across interval of x
 * @property {[number, number] | null} along interval of y
 * @property {string} label description for screen readers
 * @property {number} place which of the sweep it is
 */
/** @typedef {{name: string, points: Point[]}} Series */
/** @typedef {{choose: (place: number) => void, point: (place: number | null) => void}} Ask */

/** A namespace name; nothing is fetched from it. */
const SVG = "http://www.w3.org/2000/svg";
const INKS = 8;
const LEFT = 62;
const RIGHT = 18;
const TOP = 10;
const BOTTOM = 46;
/** More numbers than this have round ticks instead. */
const FEW = 10;
/** Width of words below the axis: where there is less room, some are left out. */
const WIDE_PX = 76;
/** Shapes of points by series, in a square from -1 to 1. */
const SHAPES = [
  "M1 0A1 1 0 1 1 -1 0A1 1 0 1 1 1 0Z", "M-.85-.85H.85V.85H-.85Z", "M0-1.15L1.05.75H-1.05Z", "M0-1.25L1.1 0L0 1.25L-1.1 0Z",
  "M0 1.15L1.05-.75H-1.05Z", "M-.35-1.1H.35V-.35H1.1V.35H.35V1.1H-.35V.35H-1.1V-.35H-.35Z", "M-1-.5H1V.5H-1Z", "M-.5-1H.5V1H-.5Z",
];
const SIZE = 5;

/** @type {(tag: string, attributes?: Record<string, string | number>, ...children: (Node | string)[]) => SVGElement} */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** The mark of a series, for a legend. @param {number} n */
export function mark(n) {
  const path = draw("path", { d: SHAPES[n % SHAPES.length], transform: `translate(7 7) scale(${SIZE})`, class: `ink${n % INKS}` });
  return draw("svg", { class: "mark-of", width: 14, height: 14, "aria-hidden": "true" }, path);
}

/**
 * Draw a figure.
 * @param {{width: number, height: number, x: Axis, y: Axis, series: Series[], opened: number | null}} wanted
 * @param {Ask} ask
 */
export function figureOf({ width, height, x, y, series, opened }, ask) {
  const all = series.flatMap(({ points }) => points);
  const toX = scale(x, all.flatMap((own) => [own.x, ...(own.across ?? [])]), LEFT, width - RIGHT, false);
  const toY = scale(y, all.flatMap((own) => [own.y, ...(own.along ?? [])]), height - BOTTOM, TOP, true);
  const root = draw("svg", { width, height, role: "group", "aria-label": `${y.title} over ${x.title}` });
  const each = Math.ceil((toX.ticks.length * WIDE_PX) / Math.max(width - LEFT - RIGHT, 1));
  toX.ticks.forEach((tick, n) => {
    const at = toX.at(tick);
    root.append(draw("line", { x1: at, x2: at, y1: TOP, y2: height - BOTTOM, class: "grid" }));
    if (n % (x.words ? each : 1) === 0) root.append(draw("text", { x: at, y: height - BOTTOM + 16, "text-anchor": "middle" }, toX.word(tick)));
  });
  for (const tick of toY.ticks) {
    const at = toY.at(tick);
    root.append(draw("line", { x1: LEFT, x2: width - RIGHT, y1: at, y2: at, class: "grid" }));
    root.append(draw("text", { x: LEFT - 8, y: at + 4, "text-anchor": "end" }, toY.word(tick)));
  }
  root.append(
    draw("text", { x: (LEFT + width - RIGHT) / 2, y: height - 8, "text-anchor": "middle", class: "title" }, x.title),
    draw("text", { transform: `translate(14 ${(TOP + height - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle", class: "title" }, y.title),
  );
  series.forEach(({ points }, n) => {
    const line = points.map((own, k) => `${k ? "L" : "M"}${toX.at(own.x)} ${toY.at(own.y)}`).join("");
    root.append(draw("path", { d: line, class: `line ink${n % INKS}`, ...(n >= INKS ? { "stroke-dasharray": "6 3" } : {}) }));
    root.append(...points.map((own) => button(own, n, own.place === opened)));
  });
  return root;

  /** @param {Point} own @param {number} n @param {boolean} isOpened */
  function button(own, n, isOpened) {
    const [px, py] = [toX.at(own.x), toY.at(own.y)];
    const bars = [];
    if (own.along) bars.push(`M${px} ${toY.at(own.along[0])}V${toY.at(own.along[1])}M${px - 3} ${toY.at(own.along[0])}h6M${px - 3} ${toY.at(own.along[1])}h6`);
    if (own.across) bars.push(`M${toX.at(own.across[0])} ${py}H${toX.at(own.across[1])}`);
    const group = draw(
      "g", { role: "button", tabindex: 0, "aria-label": own.label, "data-place": own.place, class: `point ink${n % INKS}${isOpened ? " opened" : ""}` },
      draw("path", { d: bars.join(""), class: "bar-of" }),
      draw("circle", { cx: px, cy: py, r: 11, class: "reach" }),
      draw("path", { d: SHAPES[n % SHAPES.length], transform: `translate(${px} ${py}) scale(${SIZE})`, class: "shape" }),
    );
    group.addEventListener("click", () => ask.choose(own.place));
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      ask.choose(own.place);
    });
    for (const kind of ["pointerenter", "focus"]) group.addEventListener(kind, () => ask.point(own.place));
    return group;
  }
}

/**
 * Places on the screen for an axis, and its ticks.
 * @param {Axis} axis
 * @param {number[]} values
 * @param {number} from
 * @param {number} to
 * @param {boolean} isUp
 */
function scale({ words, ticks: own }, values, from, to, isUp) {
  if (words) {
    const step = (to - from) / Math.max(words.length, 1);
    return { at: (/** @type {number} */ n) => from + (n + 0.5) * step, ticks: words.map((_, n) => n), word: (/** @type {number} */ n) => words[n] };
  }
  const known = values.filter(Number.isFinite);
  let [low, high] = [Math.min(...known), Math.max(...known)];
  if (!known.length) [low, high] = [0, 1];
  const isLog = !isUp && low > 0 && high / low >= 8;
  if (isLog) {
    const [begin, end] = [Math.log(low) - 0.1, Math.log(high) + 0.1];
    const ticks = own && own.length <= FEW ? own : Array.from({ length: 40 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** (power - 20))).flat().filter((tick) => tick >= low * 0.95 && tick <= high * 1.05);
    return { at: (/** @type {number} */ value) => from + ((Math.log(value) - begin) / (end - begin)) * (to - from), ticks, word: wordFor(ticks) };
  }
  if (isUp && low >= 0 && low < 0.6 * high) low = 0;
  const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  [low, high] = [low === 0 ? 0 : low - margin, high + margin];
  const raw = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5].find((own) => own * power >= raw) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9);
  const ticks = own && own.length <= FEW ? own : Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, n) => (first + n) * step);
  return { at: (/** @type {number} */ value) => from + ((value - low) / (high - low)) * (to - from), ticks, word: wordFor(ticks) };
}

/** @param {number[]} ticks @returns {(tick: number) => string} */
function wordFor(ticks) {
  const digits = Math.max(0, ...ticks.map((tick) => (String(Number(tick.toPrecision(6))).split(".")[1] ?? "").length));
  return (tick) => number(tick, Math.min(digits, 6)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}
