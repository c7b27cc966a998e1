// The lines and marks of a flow, made from events: the lines of `airpath/runs/lines.py`, and a few more.

import { graphOf, kindOf } from "studio/graph";
import { lowerBound } from "studio/reduce";

/** @typedef {import("studio/events").Events} Events */
/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/events").Values} Values */
/** @typedef {import("studio/source").Flow} Flow */
/**
 * Points over time: `x` in seconds, ascending; `rows` are those of the events of `kind` that they show. At `cuts`, times of
 * points, the line restarts: there the UE has another bearer, in another cell.
 * @typedef {{kind: string, x: Float64Array, y: Values, rows: Uint32Array, cuts?: number[]}} Line
 */

/** Slow start thresholds from here on mean: none yet. */
const UNLIMITED_SSTHRESH = 2 ** 31 - 1;
/** Retransmissions by cause. */
export const CAUSES = {
  fast: ["fast_retransmit", "partial_ack", "sack", "wireless_fast_retransmit"],
  late: ["timeout", "go_back_n"],
  probe: ["tail_loss_probe"],
  unknown: ["retransmission"],
};
const AGAIN = Object.values(CAUSES).flat();

/** The lines of a flow in a variant. @typedef {{variant: number, flow: number, from: Flow, run: import("studio/source").Run, lines: Known}} Curves */
/** @typedef {Pick<Lines, "has" | "get">} Known */
/** Lines that were made before. @type {WeakMap<object, Map<number, Known>>} */
const made = new WeakMap();

/**
 * The lines of the shown flows in all variants; `flow` is the place among the shown ones.
 * @param {{variants: import("studio/store").Variant[], flows: number[]}} state
 * @returns {Curves[]}
 */
export function curvesOf({ variants, flows }) {
  return variants.flatMap((own, variant) => flows.flatMap((place, flow) => {
    const from = own.run.summary.flows[place];
    if (!from) return [];
    const known = made.get(own) ?? new Map();
    made.set(own, known);
    const lines = known.get(place) ?? new Lines(own.events, from, inNr(own.run));
    known.set(place, lines);
    return [{ variant, flow, from, run: own.run, lines }];
  }));
}

/** Have a flow of a variant without events show these lines. @type {(variant: import("studio/store").Variant, place: number, lines: Known) => void} */
export function give(variant, place, lines) {
  made.set(variant, new Map([[place, lines]]));
}

/** @typedef {(table: Table, row: number) => boolean} Choice */
/**
 * @typedef {{of: string, up?: string, column?: string, scale?: number, read?: (value: number) => number, choose?: (table: Table, flow: Flow, isNr: IsNr) => Choice, sum?: number, like?: string}} Recipe
 * What a line shows: events of a kind, for an uplink flow those of `up` where it has any; `read` takes its value from the column, `sum` adds its values up, on that scale; it has the times of the
 * line that it is `like`. */
/** Whether a bearer, by its index, is in a cell of NR. @typedef {(bearer: number) => boolean} IsNr */

/** @type {(run: import("studio/source").Run) => IsNr} */
function inNr(run) {
  const { names } = graphOf(run);
  return (bearer) => kindOf(names[run.bearers[bearer]?.node] ?? "") === "radio.nr";
}

/** Row of the CQI table, in NR the MCS, of a block. @type {(cqi: number) => number} */
export const rowIn = (cqi) => cqi % 32;
/** Layers of a block. @type {(cqi: number) => number} */
export const layersIn = (cqi) => 1 + Math.floor(cqi / 32);

/** @type {(column: string, words: (flow: Flow) => string[], not?: boolean) => (table: Table, flow: Flow) => Choice} */
const oneOf = (name, words, not = false) => (table, flow) => {
  const column = table.columns[name];
  const codes = (column.words ?? []).map((word) => words(flow).includes(word) !== not);
  return (_, row) => codes[column.values[row]];
};
const along = oneOf("direction", (flow) => [flow.direction]);
const against = oneOf("direction", (flow) => [flow.direction], true);
/** @type {(causes: string[], not?: boolean) => Recipe} */
const segments = (causes, not) => ({
  of: "segment_sent", column: "seq", scale: 1e-6, choose: oneOf("cause", () => causes, not),
});

/** Zero stands for what is not known. @type {(column: string) => Choice} */
const known = (column) => ({ columns }, row) => columns[column].values[row] > 0;

/** A frame that can be decoded later than this is late, nanoseconds: `frames_late` of the results. */
const LATE_NS = 4e8;

/** Events in the flow's direction that fit. @type {(isWanted: Choice) => (table: Table, flow: Flow) => Choice} */
const framesThat = (isWanted) => (table, flow) => {
  const isAlong = along(table, flow);
  return (own, row) => isAlong(own, row) && isWanted(own, row);
};

/** @type {Choice} */
const isLost = ({ columns }, row) => columns.lost.values[row] > 0;

/** Blocks have an MCS in cells of NR, and a CQI elsewhere. @type {(isWanted: boolean) => Recipe["choose"]} */
const ofNr = (isWanted) => (_, flow, isNr) => ({ columns }, row) => isNr(columns.bearer.values[row]) === isWanted;

/** @type {Record<string, Recipe>} Units: segments, ms, SDUs, MB; marks without a column lie at zero. */
const RECIPES = {
  window: { of: "tcp_state", column: "send_window" },
  cwnd: { of: "tcp_state", column: "tcpi_snd_cwnd" },
  ssthresh: {
    of: "tcp_state", column: "tcpi_snd_ssthresh",
    choose: () => (table, row) => table.columns.tcpi_snd_ssthresh.values[row] < UNLIMITED_SSTHRESH,
  },
  flight: { of: "tcp_state", column: "tcpi_unacked" },
  rto: { of: "tcp_state", column: "tcpi_rto", scale: 1e-3 },
  acked: { of: "tcp_state", column: "snd_una", scale: 1e-6 },
  rtt: { of: "rtt_sample", column: "rtt_us", scale: 1e-3 },
  pacing: { of: "tcp_path", column: "pacing_bps", scale: 1e-3, choose: () => known("pacing_bps") },
  bandwidth: { of: "tcp_path", column: "bandwidth_bps", scale: 1e-3, choose: () => known("bandwidth_bps") },
  minRtt: { of: "tcp_path", column: "min_rtt_us", scale: 1e-3, choose: () => known("min_rtt_us") },
  timeout: { of: "segment_sent", choose: oneOf("cause", () => ["timeout"]) },
  sent: segments(AGAIN, true),
  fast: segments(CAUSES.fast),
  late: segments(CAUSES.late),
  probe: segments(CAUSES.probe),
  unknown: segments(CAUSES.unknown),
  queued: { of: "bearer_enqueued", column: "queued_sdus", choose: along },
  queuedBack: { of: "bearer_enqueued", column: "queued_sdus", choose: against },
  dropped: { of: "dropped" },
  delivered: { of: "bearer_delivered", column: "len_bytes", choose: along, sum: 1e-6 },
  slotSent: { of: "slot_ended", column: "pdus_sent", choose: along },
  slotSentSum: { of: "slot_ended", column: "pdus_sent", choose: along, sum: 1, like: "slotSent" },
  slotLost: { of: "slot_ended", column: "pdus_lost", choose: along, like: "slotSent" },
  slotLostSum: { of: "slot_ended", column: "pdus_lost", choose: along, sum: 1, like: "slotSent" },
  frame: { of: "video_frame", column: "delay_ns", scale: 1e-6, choose: along },
  frameBack: { of: "video_frame", column: "delay_ns", scale: 1e-6, choose: against },
  framePlayout: { of: "video_frame", column: "playout_delay_ns", scale: 1e-6, choose: along, like: "frame" },
  frameKey: { of: "video_frame", column: "delay_ns", scale: 1e-6, choose: framesThat(({ columns }, row) => columns.key.values[row] > 0) },
  frameLate: { of: "video_frame", column: "delay_ns", scale: 1e-6, choose: framesThat(({ columns }, row) => columns.delay_ns.values[row] > LATE_NS) },
  segmentRate: { of: "video_segment", column: "rate_bps", scale: 1e-3 },
  block: { of: "block_sent", up: "uplink_block", column: "bits", scale: 1e-3, choose: () => ({ columns }, row) => columns.transmission.values[row] === 1 && !columns.lost.values[row] },
  blockAgain: { of: "block_sent", up: "uplink_block", column: "bits", scale: 1e-3, choose: () => ({ columns }, row) => columns.transmission.values[row] > 1 },
  blockLost: { of: "block_sent", up: "uplink_block", column: "bits", scale: 1e-3, choose: () => isLost },
  blockLostSum: { of: "block_sent", up: "uplink_block", column: "bits", choose: () => isLost, sum: 1e-3, like: "blockLost" },
  blockSum: { of: "block_sent", up: "uplink_block", column: "bits", choose: () => (table, row) => !isLost(table, row), sum: 1e-3 },
  units: { of: "block_sent", up: "uplink_block", column: "units", choose: ofNr(true) },
  cqi: { of: "block_sent", up: "uplink_block", column: "cqi", read: rowIn, choose: ofNr(false) },
  mcs: { of: "block_sent", up: "uplink_block", column: "cqi", read: rowIn, choose: ofNr(true) },
  // Where no block has several layers, there is nothing to show.
  layers: { of: "block_sent", up: "uplink_block", column: "cqi", read: layersIn, choose: ({ columns }) => (columns.cqi.values.some((own) => layersIn(own) > 1) ? () => true : () => false) },
  held: { of: "ack_regulator", column: "held_acks" },
  heldRate: { of: "ack_rate_control", column: "held_acks" },
};

/** The lines of a flow, each made when it is first asked for: many flows are drawn with few of them. */
export class Lines {
  /**
   * @param {Events} events
   * @param {Flow} flow
   * @param {IsNr} isNr
   */
  constructor(events, flow, isNr) {
    this.flow = flow;
    this.isNr = isNr;
    /** The current tables: a run in progress replaces them. @type {Map<string, Table | null>} */
    this.tables = new Map(events.kinds.map((kind) => [kind, events.table(kind)]));
    /** @type {Map<string, Line | null>} */
    this.made = new Map();
    /** Lines of the same events share their times. @type {Map<string, ReturnType<typeof ofFlow>>} */
    this.shared = new Map();
  }

  /** Whether a line has a point. @param {string} name */
  has(name) {
    return this.get(name) !== null;
  }

  /** A line; null if it has no point. @param {string} name @returns {Line | null} */
  get(name) {
    const known = this.made.get(name);
    if (known !== undefined) return known;
    if (name === "playerBuffer") this.made.set(name, drained(this.tables.get("video_segment"), this.flow));
    else if (name in RECIPES) this.made.set(name, this.line(name, RECIPES[name]));
    else Object.entries(linkLayer(this.tables, this.flow)).forEach(([own, line]) => this.made.set(own, line));
    if (!this.made.has(name)) this.made.set(name, null);
    return this.made.get(name) ?? null;
  }

  /** @type {(name: string, recipe: Recipe) => Line | null} */
  line(name, { of: down, up, column, scale, read, choose, sum, like = name }) {
    const of = up && this.flow.direction === "uplink" && this.tables.get(up)?.rows ? up : down;
    const table = this.tables.get(of);
    if (!table) return null;
    const key = choose ? like : of;
    const own = this.shared.get(key) ?? ofFlow(table, this.flow, choose?.(table, this.flow, this.isNr));
    this.shared.set(key, own);
    if (!own.rows.length) return null;
    const y = column ? picked(table.columns[column].values, own.rows, scale) : new Uint8Array(own.rows.length);
    if (read) for (let at = 0; at < y.length; at += 1) y[at] = read(y[at]);
    return { kind: of, ...own, y: sum ? summed(y, sum) : y };
  }
}

/**
 * Playing time in a player's buffer, seconds: it grows with each segment, and drains while the player plays.
 * @type {(table: Table | null | undefined, flow: Flow) => Line | null}
 */
function drained(table, flow) {
  if (!table) return null;
  const own = ofFlow(table, flow);
  if (!own.rows.length) return null;
  const { buffer_ns, player } = table.columns;
  const [x, y, rows] = [[], [], []].map((list) => /** @type {number[]} */ (list));
  const point = (/** @type {number} */ time, /** @type {number} */ level, /** @type {number} */ row) => {
    x.push(time);
    y.push(level);
    rows.push(row);
  };
  point(own.x[0], 0, own.rows[0]);
  own.rows.forEach((row, n) => {
    const [from, next, level] = [own.x[n], own.x[n + 1] ?? Infinity, buffer_ns.values[row] / 1e9];
    point(from, level, row);
    const plays = player.words?.[player.values[row]] === "playing";
    if (plays && from + level < next) point(from + level, 0, row);
    if (next < Infinity) point(next, plays ? Math.max(level - (next - from), 0) : level, row);
  });
  return { kind: "video_segment", x: Float64Array.from(x), y: Float64Array.from(y), rows: Uint32Array.from(rows) };
}

/**
 * Rows and times of a flow's events, and where its bearer changes; events without a flow are those of its UE.
 * @param {Table} table
 * @param {Flow} flow
 * @param {Choice} [chosen]
 * @returns {{x: Float64Array, rows: Uint32Array, cuts?: number[]}}
 */
function ofFlow(table, flow, chosen) {
  const { ue, flow: number, bearer, time_ns } = table.columns;
  const rows = new Uint32Array(table.rows);
  let count = 0;
  for (let row = 0; row < table.rows; row += 1) {
    if (ue.values[row] !== flow.ue || (number && number.values[row] !== flow.flow)) continue;
    if (!chosen || chosen(table, row)) rows[count++] = row;
  }
  const own = timed(time_ns.values, rows.slice(0, count));
  if (!bearer) return own;
  /** @type {number[]} */
  const cuts = [];
  for (let at = 1; at < count; at += 1) {
    if (bearer.values[rows[at]] !== bearer.values[rows[at - 1]]) cuts.push(own.x[at]);
  }
  return cuts.length ? { ...own, cuts } : own;
}

/** Place of the value that holds at a time; -1 if none does, as between two bearers. @type {(line: {x: ArrayLike<number>, cuts?: number[]}, time: number) => number} */
export function placeAt({ x, cuts }, time) {
  const place = lowerBound(x, time + 1e-9) - 1;
  return cuts?.includes(x[place + 1]) ? -1 : place;
}

/** Values of rows; as narrow as they were, if they are not scaled. @type {(values: Values, rows: Uint32Array, scale?: number) => Values} */
function picked(values, rows, scale) {
  const y = new (scale ? Float64Array : /** @type {new (n: number) => Values} */ (values.constructor))(rows.length);
  for (let at = 0; at < y.length; at += 1) y[at] = values[rows[at]] * (scale ?? 1);
  return y;
}

/** @type {(ns: ArrayLike<number>, rows: Uint32Array) => {x: Float64Array, rows: Uint32Array}} */
function timed(ns, rows) {
  const x = new Float64Array(rows.length);
  for (let at = 0; at < x.length; at += 1) x[at] = ns[rows[at]] / 1e9;
  return { x, rows };
}

/** The sum of all values up to each. @type {(y: Values, scale: number) => Float64Array} */
function summed(y, scale) {
  const sums = new Float64Array(y.length);
  let sum = 0;
  for (let at = 0; at < y.length; at += 1) sums[at] = sum += scale * y[at];
  return sums;
}

/**
 * PDUs of a UE's bearers in the flow's direction, by their number, not reduced by the modulus: first transmissions,
 * retransmissions, lost ones, and what a STATUS PDU confirms (which goes the other way). A UE that changes its cell has a
 * bearer in each, whose numbers begin at zero.
 * @param {Map<string, Table | null>} tables
 * @param {Flow} flow
 * @returns {Record<string, Line>}
 */
function linkLayer(tables, flow) {
  const data = tables.get("rlc_data");
  if (!data) return {};
  const own = ofFlow(data, flow, along(data, flow));
  const status = tables.get("rlc_status");
  const back = status && ofFlow(status, flow, against(status, flow));
  const y = Float64Array.from(own.rows, (row) => data.columns.first_sn.values[row]);
  if (!y.length) return {};
  /** @type {Record<string, number[]>} */
  const places = { pdu: [], pduAgain: [], pduLost: [] };
  const sums = { pduSum: new Uint16Array(y.length), pduAgainSum: new Uint16Array(y.length), pduLostSum: new Uint16Array(y.length) };
  // With HARQ of a shared cell PDUs overtake each other: only their numbers identify retransmissions.
  const isShared = tables.get("block_sent")?.rows && flow.direction === "downlink";
  /** @type {Map<number, {next: number, told: Set<number> | null}>} */
  const bearers = new Map();
  for (let at = 0; at < y.length; at += 1) {
    const row = own.rows[at];
    const pdus = data.columns.pdus.values[row];
    const isGone = data.columns.lost.values[row];
    const number = data.columns.bearer.values[row];
    const bearer = bearers.get(number) ?? { next: -Infinity, told: isShared ? new Set() : null };
    bearers.set(number, bearer);
    const { next, told } = bearer;
    const isAgain = told ? told.has(y[at]) : y[at] < next;
    for (let pdu = y[at]; told && pdu < y[at] + pdus; pdu += 1) told.add(pdu);
    if (isGone) places.pduLost.push(at);
    else places[isAgain ? "pduAgain" : "pdu"].push(at);
    sums.pduSum[at] = pdus;
    if (isAgain) sums.pduAgainSum[at] = pdus;
    if (isGone) sums.pduLostSum[at] = pdus;
    bearer.next = Math.max(next, y[at] + pdus);
  }
  /** @type {Record<string, Line>} */
  const lines = {};
  for (const [name, at] of Object.entries(places)) {
    if (!at.length) continue;
    lines[name] = {
      kind: "rlc_data", x: Float64Array.from(at, (n) => own.x[n]), y: Float64Array.from(at, (n) => y[n]),
      rows: Uint32Array.from(at, (n) => own.rows[n]),
    };
  }
  for (const [name, sum] of Object.entries(sums)) lines[name] = { kind: "rlc_data", ...own, y: summed(sum, 1) };
  if (status && back) {
    const confirmed = Float64Array.from(back.rows, (row) => status.columns.lsn.values[row]);
    if (back.rows.length) lines.status = { kind: "rlc_status", ...back, y: confirmed };
  }
  return lines;
}
