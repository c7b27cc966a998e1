// Where things stand in the animation: a column for each station of the path, two lanes for the two directions. A scenario
// with several cells and ways has a row for each of them; what they have in common stands once, to the left of them.

import { kindOf } from "studio/graph";
import { ownerOf } from "studio/names";

/** @typedef {import("studio/graph").Graph} Graph */
/** @typedef {{top: number, bottom: number}} Lane */
/**
 * The lanes of a row, pixels from the top: titles, downlink, numbers between the lanes if there is room, uplink; `middle` of
 * the words in a station.
 * @typedef {{title: number, down: Lane, between: number | null, up: Lane, middle: number}} Lanes
 */
/** @typedef {"server" | "wire" | "box" | "buffer" | "air" | "receiver" | "ue"} Kind `receiver`: the UE's link layer */
/**
 * @typedef {object} Column
 * @property {Kind} kind
 * @property {number} place on the path
 * @property {string[]} titles wordings of the title, the longest first
 * @property {number} left
 * @property {number} right
 * @property {number} row its own, or the first of the rows that share it
 * @property {Lanes} lanes
 */
/** Columns, and the lines between them: x and y of both ends. @typedef {{columns: Column[], lines: number[][]}} Layout */

/** Names of boxes, short enough for their columns. @type {Record<string, string>} */
const BOXES = {
  ack_regulator: "Ack Regulator", ack_rate_control: "ACK rate ctrl", rnc_feedback: "RNC feedback", snoop: "snoop", split: "split TCP",
  freeze: "freeze", packet_loss: "packet loss", ack_filter: "ACK filter", ack_pacing: "ACK pacing", disturb: "disturb", tap: "tap",
  window_clamp: "window clamp",
};
/** The title of a middlebox, by its name on the path. @param {string} name */
export function boxTitle(name) {
  const kind = kindOf(name).replace("middlebox.", "");
  return BOXES[kind] ?? kind;
}

/** Where the cell's buffer is. @param {string} cell name on the path */
export const stationOf = (cell) => STATIONS[kindOf(cell ?? "")] ?? "RNC";
/** @type {Record<string, string>} */
const STATIONS = { "radio.lte": "eNodeB", "radio.nr": "gNB", "radio.variable": "link" };

/** Widths, pixels: of stations; the rest is shared by weight. */
const WIDE = { server: 88, box: 84, ue: 96 };
const NARROW = { server: 52, box: 38, ue: 56 };
const WEIGHTS = { wire: 0.8, buffer: 1.25, air: 1.65, receiver: 1.3 };
const GAP = 6;
/** A wire that several rows have in common, and a fork. */
const SHARED_PX = 60;
const NARROW_SHARED_PX = 30;
export const FORK_PX = 22;
/** Below this width, without boxes, stations are narrow. */
const NARROW_PX = 560;

/** Whether there is no room for words in the stations. @type {(graph: Graph, width: number) => boolean} */
export function isNarrow(graph, width) {
  const boxes = graph.chains.map((chain) => chain.filter((place) => graph.names[place].startsWith("middlebox.")).length);
  return width - WIDE.box * Math.max(...boxes) < NARROW_PX;
}

/** Sizes of packets by `LOOKS` of the model, pixels, and their colours: places in the theme's inks, as the plots have them. */
export const SIZES = [[8, 18], [8, 18], [8, 18], [4, 11], [7, 14]];
export const INKS = [0, 1, 7, 2, 6];

/** Lanes of the only row. @type {Lanes} */
const LANES = { title: 13, down: { top: 22, bottom: 82 }, between: 99, up: { top: 110, bottom: 152 }, middle: 99 };
const HEIGHT = 156;
/** Lanes of the first of several rows. @type {Lanes} */
const ROW = { title: 12, down: { top: 18, bottom: 48 }, between: null, up: { top: 52, bottom: 78 }, middle: 52 };
const ROW_PX = 84;

/** Height of the picture, pixels. @param {Graph} graph */
export const heightOf = ({ leaves }) => (leaves.length > 1 ? ROW_PX * leaves.length : HEIGHT);

/** Lanes that begin lower by so many pixels. @type {(lanes: Lanes, by: number) => Lanes} */
function lowered({ title, down, up, between, middle }, by) {
  const lower = (/** @type {Lane} */ { top, bottom }) => ({ top: top + by, bottom: bottom + by });
  return { title: title + by, down: lower(down), up: lower(up), between: between === null ? null : between + by, middle: middle + by };
}

/** Middle of a lane. @param {Lane} lane */
export const middleOf = ({ top, bottom }) => (top + bottom) / 2;

/**
 * Columns from the server to the UEs.
 * @param {Graph} graph
 * @param {number} width pixels
 * @param {boolean[]} hasReceiver whether the link layer puts packets together, for each row
 * @returns {Layout}
 */
export function layoutOf(graph, width, hasReceiver) {
  const narrow = isNarrow(graph, width);
  const fixed = /** @type {Record<string, number>} */ (narrow ? NARROW : WIDE);
  const { names, chains } = graph;
  const isTree = chains.length > 1;
  /** @type {Layout} */
  const layout = { columns: [], lines: [] };
  const lanesOf = (/** @type {number[]} */ rows) => (isTree ? lowered(ROW, (ROW_PX * (rows[0] + rows[rows.length - 1])) / 2) : LANES);

  /** The columns that represent a place. @type {(place: number, row: number) => {kind: Kind, place: number, titles: string[]}[]} */
  const kinds = (place, row) => {
    const name = names[place];
    const owner = ownerOf(name);
    if (place === 0) return [{ kind: "server", place, titles: ["server"] }];
    if (name.startsWith("fork")) return [];
    if (name.startsWith("link")) return [{ kind: "wire", place, titles: [owner || "wire"] }];
    if (!name.startsWith("radio.")) return [{ kind: "box", place, titles: [boxTitle(name)] }];
    const station = narrow ? stationOf(name) : `${stationOf(name)} buffer`;
    const air = /** @type {{kind: Kind, place: number, titles: string[]}[]} */ ([{ kind: "buffer", place, titles: owner ? [`${owner}: ${station}`, owner] : [station] }, { kind: "air", place, titles: ["air"] }]);
    return hasReceiver[row] ? [...air, { kind: "receiver", place, titles: narrow ? ["UE"] : ["UE: link layer", "link layer"] }] : air;
  };

  /** Add columns side by side. @type {(own: {kind: Kind, place: number, titles: string[]}[], row: number, lanes: Lanes, from: number, widthOf: (kind: Kind) => number) => number} */
  const add = (own, row, lanes, from, widthOf) => {
    let left = from;
    for (const column of own) {
      const right = left + widthOf(column.kind);
      layout.columns.push({ ...column, left, right, row, lanes });
      left = right + GAP;
    }
    return left;
  };
  const line = (/** @type {number} */ x, /** @type {Lanes} */ from, /** @type {number} */ to, /** @type {Lanes} */ lanes) => {
    for (const way of /** @type {const} */ (["down", "up"])) layout.lines.push([x, middleOf(from[way]), to, middleOf(lanes[way])]);
  };

  /** Lay out rows from a depth of their chains on. @type {(rows: number[], depth: number, left: number) => void} */
  const branch = (rows, depth, left) => {
    const lanes = lanesOf(rows);
    const [row] = rows;
    if (rows.length === 1) {
      const ue = /** @type {const} */ ({ kind: "ue", place: graph.last, titles: isTree ? [] : ["UE: TCP"] });
      const own = [...chains[row].slice(depth).flatMap((place) => kinds(place, row)), ue];
      const weightOf = (/** @type {Kind} */ kind) => /** @type {Record<string, number>} */ (WEIGHTS)[kind] ?? 0;
      const weights = own.reduce((sum, { kind }) => sum + weightOf(kind), 0);
      const stations = own.reduce((sum, { kind }) => sum + (fixed[kind] ?? 0), 0);
      const free = Math.max(width - left - stations - GAP * (own.length - 1), 0);
      line(left, lanes, width, lanes);
      // A way that ends directly at the UE has no column, but the UE is still at the right.
      add(own, row, lanes, weights ? left : width - stations - GAP * (own.length - 1), (kind) => fixed[kind] || (free * weightOf(kind)) / weights);
      return;
    }
    let at = depth;
    let to = left;
    while (new Set(rows.map((own) => chains[own][at])).size === 1) {
      to = add(kinds(chains[row][at], row), row, lanes, to, (kind) => fixed[kind] || (narrow ? NARROW_SHARED_PX : SHARED_PX));
      at += 1;
    }
    line(left, lanes, to, lanes);
    for (const next of new Set(rows.map((own) => chains[own][at]))) {
      const group = rows.filter((own) => chains[own][at] === next);
      line(to, lanes, to + FORK_PX, lanesOf(group));
      branch(group, at, to + FORK_PX);
    }
  };
  branch(chains.map((_, row) => row), 0, 0);
  return layout;
}
