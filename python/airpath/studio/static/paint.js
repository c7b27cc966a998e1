// Paints lines and marks on a canvas, from points that `reduce.js` has chosen.

import { make } from "studio/dom";

/** @typedef {(value: number) => number} Scale a value to a pixel of the canvas */

/**
 * Paint a line through points; with steps, each value holds until the next point.
 * @param {CanvasRenderingContext2D} ink
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} y
 * @param {Iterable<number>} places of the points
 * @param {Scale} toX
 * @param {Scale} toY
 * @param {boolean} steps
 * @param {number[]} [cuts] where the line restarts
 */
export function paintLine(ink, x, y, places, toX, toY, steps, cuts = []) {
  ink.beginPath();
  let before = NaN;
  let cut = 0;
  for (const at of places) {
    const across = toX(x[at]);
    const up = toY(y[at]);
    for (; cuts[cut] <= x[at]; cut += 1) before = NaN;
    if (Number.isNaN(before)) ink.moveTo(across, up);
    else {
      if (steps) ink.lineTo(across, before);
      ink.lineTo(across, up);
    }
    before = up;
  }
  ink.stroke();
}

/**
 * Paint the area between two lines.
 * @param {CanvasRenderingContext2D} ink
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} low
 * @param {ArrayLike<number>} high
 * @param {Scale} toX
 * @param {Scale} toY
 * @param {number[]} [cuts] where it restarts
 */
export function paintBand(ink, x, low, high, toX, toY, cuts = []) {
  let begin = 0;
  for (const cut of [...cuts, Infinity]) {
    let end = begin;
    while (end < x.length && x[end] < cut) end += 1;
    ink.beginPath();
    for (let at = begin; at < end; at += 1) ink.lineTo(toX(x[at]), toY(high[at]));
    for (let at = end - 1; at >= begin; at -= 1) ink.lineTo(toX(x[at]), toY(low[at]));
    ink.fill();
    begin = end;
  }
}

/** Line styles of the variants, in addition to colour. */
const DASHES = [[], [7, 3], [2, 2], [8, 2, 2, 2]];
/** Width and height of its dots: square, lying, standing, large. */
const DOTS = [[1, 1], [2.2, 0.6], [0.6, 2.2], [1.6, 1.6]];
/** Height of a variant's marks above the axis, pixels, so that none hides another's. */
const ABOVE_PX = 7;

/**
 * The look of a variant: its place among the inks, its dash, the height of its marks on the axis.
 * @param {number} variant
 */
export function lookOf(variant) {
  return { ink: variant, dash: DASHES[variant], above: ABOVE_PX * variant };
}

/** @typedef {{inks: string[], grid: string, quiet: string, pin: string}} Colours */
/** Colours that were read, by theme. @type {Map<string, Colours>} */
const known = new Map();

/** Colours of the theme, as defined in `studio.css`; reading them forces the browser to recompute styles. @returns {Colours} */
export function colours() {
  const theme = [document.documentElement.dataset.theme, ...QUERIES.map((query) => matchMedia(query).matches)].join();
  const found = known.get(theme) ?? read();
  known.set(theme, found);
  return found;
}

/** The system preferences that `studio.css` queries. */
const QUERIES = ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"];

/** @returns {Colours} */
function read() {
  const style = getComputedStyle(document.documentElement);
  const value = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return { inks: Array.from({ length: 8 }, (_, n) => value(`--c${n}`)), grid: value("--grid"), quiet: value("--quiet"), pin: value("--pin") };
}

/**
 * Mark a stretch of time: its ground, where it begins, and its word where there is room.
 * @param {CanvasRenderingContext2D} ink
 * @param {{left: number, right: number, top: number, height: number}} place pixels of the canvas
 * @param {string} colour
 * @param {string} word
 * @param {number} ratio
 */
export function paintSpan(ink, { left, right, top, height }, colour, word, ratio) {
  ink.fillStyle = colour;
  ink.globalAlpha = 0.13;
  ink.fillRect(left, top, Math.max(right - left, ratio), height);
  ink.globalAlpha = 0.5;
  ink.fillRect(left, top, ratio, height);
  ink.globalAlpha = 1;
  ink.font = `${11 * ratio}px system-ui, sans-serif`;
  ink.textAlign = "left";
  if (word && ink.measureText(word).width < right - left - 8 * ratio) ink.fillText(word, left + 4 * ratio, top + 11 * ratio);
}

/** An instant behind the lines, with its word where there is room before `end`. @type {(ink: CanvasRenderingContext2D, place: {left: number, top: number, height: number}, colour: string, word: string, ratio: number, end: number) => void} */
export function paintInstant(ink, { left, top, height }, colour, word, ratio, end) {
  ink.fillStyle = colour;
  ink.globalAlpha = 0.8;
  for (let y = top; y < top + height; y += 6 * ratio) ink.fillRect(left, y, ratio, 3 * ratio);
  ink.globalAlpha = 1;
  ink.font = `${11 * ratio}px system-ui, sans-serif`;
  ink.textAlign = "left";
  if (ink.measureText(word).width < end - left - 8 * ratio) ink.fillText(word, left + 4 * ratio, top + 22 * ratio);
}

/** Paths of the marks, in a square from -1 to 1. @type {Record<string, (ink: CanvasPath) => void>} */
const SHAPES = {
  dots: (ink) => ink.rect(-0.45, -0.45, 0.9, 0.9),
  cross: (ink) => strokes(ink, [-1, -1, 1, 1], [-1, 1, 1, -1]),
  plus: (ink) => strokes(ink, [-1, 0, 1, 0], [0, -1, 0, 1]),
  ring: (ink) => {
    ink.moveTo(1, 0);
    ink.arc(0, 0, 1, 0, 2 * Math.PI);
  },
  triangle: (ink) => closed(ink, -1, -0.9, 1, -0.9, 0, 1),
  diamond: (ink) => closed(ink, 0, -1.1, 1.1, 0, 0, 1.1, -1.1, 0),
  square: (ink) => ink.rect(-0.85, -0.85, 1.7, 1.7),
};
/** Shapes that are filled; others are drawn by a stroke. */
const FILLED = new Set(["dots", "triangle", "diamond"]);

/** @type {(ink: CanvasPath, ...lines: number[][]) => void} */
function strokes(ink, ...lines) {
  for (const [x, y, toX, toY] of lines) {
    ink.moveTo(x, y);
    ink.lineTo(toX, toY);
  }
}

/** @type {(ink: CanvasPath, ...corners: number[]) => void} */
function closed(ink, ...corners) {
  ink.moveTo(corners[0], corners[1]);
  for (let at = 2; at < corners.length; at += 2) ink.lineTo(corners[at], corners[at + 1]);
  ink.closePath();
}

/** Pictures of marks that were painted before. @type {Map<string, OffscreenCanvas>} */
const marks = new Map();

/** @type {(shape: string, radius: number, look: CanvasRenderingContext2D) => OffscreenCanvas} */
function markOf(shape, radius, { strokeStyle, lineWidth }) {
  const key = [shape, radius, strokeStyle, lineWidth].join();
  const known = marks.get(key);
  if (known) return known;
  const half = Math.ceil(1.3 * radius + lineWidth);
  const mark = new OffscreenCanvas(2 * half, 2 * half);
  const ink = mark.getContext("2d");
  if (!ink) return mark;
  ink.fillStyle = ink.strokeStyle = strokeStyle;
  ink.setTransform(radius, 0, 0, radius, half, half);
  ink.lineWidth = lineWidth / radius;
  ink.beginPath();
  SHAPES[shape](ink);
  if (FILLED.has(shape)) ink.fill();
  else ink.stroke();
  marks.set(key, mark);
  return mark;
}

/**
 * Paint marks of one shape.
 * @param {CanvasRenderingContext2D} ink
 * @param {string} shape
 * @param {number} radius in pixels of the canvas
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} y
 * @param {Iterable<number>} places
 * @param {Scale} toX
 * @param {Scale} toY
 * @param {number} [variant] whose dots they are
 */
export function paintMarks(ink, shape, radius, x, y, places, toX, toY, variant = 0) {
  if (shape === "dots") {
    // Rectangles without a path: there may be many.
    const [wide, high] = DOTS[variant].map((share) => Math.max(1, Math.round(1.1 * share * radius)));
    for (const at of places) ink.fillRect(toX(x[at]) - wide / 2, toY(y[at]) - high / 2, wide, high);
    return;
  }
  // One picture of the mark is copied to all places; one that would hide another, two pixels aside, is not.
  const mark = markOf(shape, radius, ink);
  const half = mark.width / 2;
  const taken = new Set();
  for (const at of places) {
    const [across, up] = [Math.round(toX(x[at])), Math.round(toY(y[at]))];
    const cell = (across >> 1) * 65536 + (up >> 1);
    if (taken.has(cell)) continue;
    taken.add(cell);
    ink.drawImage(mark, across - half, up - half);
  }
}

/**
 * The look of a line, for the legend.
 * @param {Pick<import("studio/panels").Trail, "shape" | "opacity" | "width" | "dash">} trail
 * @param {string} colour
 */
export function swatch(trail, colour) {
  const canvas = make("canvas", { class: "swatch", width: 36, height: 24, "aria-hidden": "true" });
  const ink = canvas.getContext("2d");
  if (!ink) return canvas;
  ink.strokeStyle = ink.fillStyle = colour;
  ink.globalAlpha = Math.max(trail.opacity ?? 1, 0.4);
  if (trail.shape in SHAPES) {
    const path = new Path2D();
    SHAPES[trail.shape](path);
    const all = new Path2D();
    all.addPath(path, { a: 7, b: 0, c: 0, d: 7, e: 18, f: 12 });
    ink.lineWidth = 3;
    if (FILLED.has(trail.shape)) ink.fill(all);
    else ink.stroke(all);
  } else {
    ink.lineWidth = 2 * (trail.width ?? 1);
    ink.setLineDash(trail.dash?.map((length) => 1.5 * length) ?? []);
    ink.beginPath();
    ink.moveTo(0, 12);
    ink.lineTo(36, 12);
    ink.stroke();
  }
  return canvas;
}

/** @type {Map<string, string>} */
const readable = new Map();

/**
 * Black or white: what can be read on a colour that lets a ground shine through.
 * @param {string} colour of the form #rrggbb
 * @param {number} alpha
 * @param {string} ground of the form #rrggbb
 */
export function readableOn(colour, alpha, ground) {
  const key = `${colour} ${alpha} ${ground}`;
  const known = readable.get(key);
  if (known) return known;
  const parts = (/** @type {string} */ text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16) / 255);
  const below = parts(ground);
  // WCAG 2.2, relative luminance: at 0.179 black and white have the same contrast.
  const [r, g, b] = parts(colour).map((own, n) => alpha * own + (1 - alpha) * below[n]).map((own) => (own <= 0.04045 ? own / 12.92 : ((own + 0.055) / 1.055) ** 2.4));
  const found = 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
  readable.set(key, found);
  return found;
}
