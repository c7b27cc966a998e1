// A run as objects with times: packets, SDUs, PDUs and their outcomes. The animation, lists and sentences query its
// state at an instant. Times are nanoseconds here.

import { bearerKey, bearersOf } from "studio/bearers";
import { graphOf } from "studio/graph";
import { lowerBound } from "studio/reduce";
import { packetsOf } from "studio/packets";
import { slotsOf } from "studio/slots";

/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/bearers").Bearer} Bearer */

/** What a packet carries, and so how it looks. */
export const LOOKS = { data: 0, again: 1, late: 2, ack: 3, other: 4 };
/** Causes of segments that answer a timeout. */
const LATE = new Set(["timeout", "go_back_n"]);
/** Causes of segments that are sent for the first time. */
const FRESH = new Set(["handshake", "new", "window_probe", "limited_transmit"]);
/** Flags of TCP. */
export const [FIN, SYN, RST, ACK] = [1, 2, 4, 16];
/** Longer packets have data, whatever options are in their headers: where no `segment_sent` says so. */
const LONGEST_ACK = 120;
/** How far back the last event of a flow is looked for. */
const LOOK_BACK = 20_000;

/** A run in progress has its model rebuilt at most after this multiple of the build time, milliseconds. */
const REST = 4;
const LEAST_REST_MS = 500;

/**
 * Models that were made before, by the events of their runs: of how many events, when, and in what time.
 * @type {WeakMap<object, {model: Model, rows: number, at: number, took: number}>}
 */
const made = new WeakMap();

/** The model of a run. @param {import("studio/store").Made} variant */
export function modelOf({ run, events }) {
  const known = made.get(events);
  const { rows } = events;
  const now = performance.now();
  if (known && (known.rows === rows || now - known.at < Math.max(LEAST_REST_MS, REST * known.took))) return known.model;
  const model = new Model(run, events);
  made.set(events, { model, rows, at: performance.now(), took: performance.now() - now });
  return model;
}

/** Whether the model of a run is made already: a large one takes a while. @param {import("studio/store").Made} variant */
export function hasModel(variant) {
  return made.has(variant.events);
}

export class Model {
  /**
   * @param {import("studio/source").Run} run
   * @param {import("studio/events").Events} events
   */
  constructor(run, events) {
    this.run = run;
    this.events = events;
    this.graph = graphOf(run);
    this.path = this.graph.names;
    this.last = this.graph.last;
    this.end = Math.max(run.summary.simulated_s * 1e9, ...events.kinds.map((kind) => events.table(kind)?.columns.time_ns.values.at(-1) ?? 0));
    this.packets = packetsOf(events, this.graph, this.end);
    const { bearers, sdus } = bearersOf(events, this.packets, run.bearers);
    this.bearers = bearers;
    /** Slots of shared downlinks, and of uplinks that the network schedules, by the places of their cells. */
    this.slots = slotsOf(events, run.bearers, run.values ?? {}, false);
    this.upSlots = slotsOf(events, run.bearers, run.values ?? {}, true);
    this.sdus = sdus;
    this.looks = this.packets ? looksOf(this.packets, events.table("segment_sent")) : new Uint8Array(0);
    /** The shortest time from each place to the next, down and up. */
    this.transit = this.packets ? transitOf(this.packets, this.path.length) : [];
    this.missing = missing(this, run);
  }

  /** The bearer that a UE has at an instant. @type {(ue: number, isUp: boolean, now: number) => Bearer | null} */
  bearer(ue, isUp, now) {
    return this.bearers.get(bearerKey(this.graph.cellOf(ue, now), ue, isUp)) ?? null;
  }

  /** Slots of the cell in which a UE is; null if UEs do not share its blocks in this direction. @type {(ue: number, now: number, isUp?: boolean) => import("studio/slots").Slots | null} */
  slotsOf(ue, now, isUp = false) {
    return (isUp ? this.upSlots : this.slots).get(this.graph.cellOf(ue, now)) ?? null;
  }

  /** Number of the TTI of an instant, from 0; null where there are none. @type {(bearer: Bearer | null, now: number) => number | null} */
  tti(bearer, now) {
    if (!bearer?.tti) return null;
    return Math.floor((now - (bearer.phase % bearer.tti)) / bearer.tti + 1e-6);
  }

  /**
   * The last row of a kind up to an instant that is of a UE, and of a flow if the kind tells; -1 if there is none.
   * @type {(kind: string, ue: number, flow: number | null, now: number, direction?: string) => number}
   */
  latest(kind, ue, flow, now, direction) {
    const table = this.events.table(kind);
    if (!table) return -1;
    const { columns } = table;
    const way = direction === undefined ? -1 : (columns.direction?.words ?? []).indexOf(direction);
    const above = lowerBound(columns.time_ns.values, now + 1);
    for (let row = above - 1; row >= Math.max(0, above - LOOK_BACK); row -= 1) {
      if (columns.ue.values[row] !== ue || (flow !== null && columns.flow && columns.flow.values[row] !== flow)) continue;
      if (way < 0 || columns.direction.values[row] === way) return row;
    }
    return -1;
  }

  /** Whether a UE is out of reach. @type {(ue: number, now: number) => boolean} */
  isOut(ue, now) {
    const row = this.latest("outage", ue, null, now);
    const phase = this.events.table("outage")?.columns.phase;
    return row >= 0 && phase?.words?.[phase.values[row]] === "began";
  }

  /** UEs with a bearer that are in a cell at an instant, ascending. @type {(cell: number, now: number) => number[]} */
  uesIn(cell, now) {
    const all = [...new Set([...this.bearers.values()].map(({ ue }) => ue))].sort((a, b) => a - b);
    return all.filter((ue) => this.graph.cellOf(ue, now) === cell);
  }
}

/** @type {(packets: import("studio/packets").Packets, segments: Table | null) => Uint8Array} */
function looksOf({ count, table, first, stops, sent }, segments) {
  const { flags, len_bytes } = table.columns;
  const cause = segments?.columns.cause;
  const ofCause = (cause?.words ?? []).map((word) => (LATE.has(word) ? LOOKS.late : FRESH.has(word) ? LOOKS.data : LOOKS.again));
  const looks = new Uint8Array(count);
  for (let packet = 0; packet < count; packet += 1) {
    const row = stops[first[packet]];
    const own = flags.values[row];
    if (cause && sent[packet] >= 0) looks[packet] = ofCause[cause.values[sent[packet]]];
    else if (!(own & ACK) || own & (SYN | FIN | RST)) looks[packet] = LOOKS.other;
    else looks[packet] = len_bytes.values[row] > LONGEST_ACK ? LOOKS.data : LOOKS.ack;
  }
  return looks;
}

/** The shortest time from each place to the next, down and up. @type {(packets: import("studio/packets").Packets, places: number) => number[][]} */
function transitOf({ count, table, first, stops }, places) {
  const { element, direction, time_ns } = table.columns;
  const least = Array.from({ length: places }, () => [Infinity, Infinity]);
  for (let packet = 0; packet < count; packet += 1) {
    for (let at = first[packet]; at < first[packet + 1] - 1; at += 1) {
      const way = Number(direction.words?.[direction.values[stops[at]]] === "uplink");
      const own = least[element.values[stops[at]]];
      own[way] = Math.min(own[way], time_ns.values[stops[at + 1]] - time_ns.values[stops[at]]);
    }
  }
  return least;
}

/** What of the path cannot be shown, in words. @type {(model: Model, run: import("studio/source").Run) => string[]} */
function missing({ packets, events, bearers, sdus }, { left_out }) {
  const why = (/** @type {string} */ kind) => (kind in left_out ? "no room on this page" : "not recorded");
  const told = [];
  if (!packets) told.push(`Packets are not shown: ${why("packet")}.`);
  if (!sdus) told.push(`The buffer is not shown: ${why("bearer_enqueued")}.`);
  const hasPdus = [...bearers.values()].some(({ runs }) => runs.length);
  if (hasPdus && !events.table("rlc_sdu")?.rows) told.push(`Which PDUs carry a packet is not shown: ${why("rlc_sdu")}.`);
  if (!hasPdus && "rlc_data" in left_out) told.push(`PDUs are not shown: ${why("rlc_data")}.`);
  return told;
}

/** Where a packet is at an instant: the place in `stops` of its last stop; -1 before the first. @type {(packets: import("studio/packets").Packets, packet: number, now: number) => number} */
export function stopAt({ table, first, stops }, packet, now) {
  const times = table.columns.time_ns.values;
  let at = first[packet + 1] - 1;
  while (at >= first[packet] && times[stops[at]] > now) at -= 1;
  return at < first[packet] ? -1 : at;
}
