// Bearers of a run: SDUs in the buffer, the PDUs that carry them, the TTIs in which these went on the air, and STATUS
// PDUs. Times are nanoseconds; numbers of PDUs are without the modulo.

import { FATES } from "studio/packets";
import { firstFrom } from "studio/reduce";
import { moduloOf, nearest } from "studio/series";

/** @typedef {import("studio/events").Events} Events */
/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/packets").Packets} Packets */
/** @typedef {import("studio/graph").Graph} Graph */
/**
 * One direction of a UE's bearer.
 * @typedef {object} Bearer
 * @property {number} ue
 * @property {number} turn how often the UE had changed its cell
 * @property {string} direction
 * @property {Uint32Array} sdus rows of `bearer_enqueued`: the SDU k is the k-th
 * @property {Uint32Array} runs rows of `rlc_data`: PDUs that went on the air together
 * @property {Float64Array} number of the first PDU of each run
 * @property {number} modulo by which its numbers count on the air
 * @property {Float64Array} next the number behind the highest that was sent, after each run
 * @property {Float64Array} arrived when each PDU arrived; Infinity if it did not
 * @property {Float64Array} complete when each PDU and all before it had arrived
 * @property {Float64Array} starts the first PDU of each SDU whose end was sent, ascending
 * @property {Uint32Array} status rows of `rlc_status` that go in this direction
 * @property {Uint32Array} slots rows of `slot_ended`
 * @property {number} tti length of a TTI or slot; 0 without them
 * @property {number} phase when the first TTI began
 * @property {number} delay from the begin of a TTI until it arrives
 * @property {boolean} isShared whether HARQ of a shared cell lets its PDUs overtake each other
 * @property {boolean} resends whether its link layer sends PDUs again
 */
/**
 * SDUs of all bearers, by their rows of `bearer_enqueued`.
 * @typedef {object} Sdus
 * @property {Table} table
 * @property {Int32Array} packet that the SDU is, or -1
 * @property {Int32Array} of the SDU of each packet, or -1
 * @property {Int32Array} ended row of `rlc_sdu`, or -1
 * @property {Int32Array} first the number of its first PDU, as far as `ended` is known
 * @property {Float64Array} left when it was sent: its last PDU, or all of it; Infinity if it was not
 * @property {Float64Array} out when it came to the place behind the cell; Infinity if it did not
 * @property {Float64Array} confirmed when its sender was done with it
 */

const DROPPED = FATES.indexOf("dropped");

/** More than there are of a UE's bearers, by their keys. */
const KEYS = 2 * 65536;
/** A UE has another bearer in each cell: `turn` counts them. @type {(ue: number, isUp: boolean, turn: number) => number} */
export const bearerKey = (ue, isUp, turn) => 2 * ue + Number(isUp) + KEYS * turn;

/**
 * @param {Events} events
 * @param {Packets | null} packets
 * @param {Graph} graph
 * @param {Map<number, unknown>} shared places of cells whose UEs share the downlink
 * @returns {{bearers: Map<number, Bearer>, sdus: Sdus | null}}
 */
export function bearersOf(events, packets, graph, shared) {
  const sdus = events.table("bearer_enqueued");
  const data = events.table("rlc_data");
  const slots = events.table("slot_ended");
  const status = events.table("rlc_status");
  const served = graph.turn.bind(graph);
  const ofSdus = rowsByBearer(sdus, graph.arrivalTurn.bind(graph));
  const [ofData, ofSlots, ofStatus] = [data, slots, status].map((table) => rowsByBearer(table, served));
  /** @type {Map<number, Bearer>} */
  const bearers = new Map();
  const none = new Uint32Array(0);
  for (const key of new Set([...ofSdus.keys(), ...ofData.keys(), ...ofSlots.keys(), ...ofStatus.keys()])) {
    const runs = ofData.get(key) ?? none;
    const own = ofSlots.get(key) ?? none;
    const starts = (runs.length ? data : slots)?.columns.time_ns.values;
    const tti = !starts ? 0 : runs.length ? gridOf(starts, runs) : shortestStep(starts, own);
    const empty = new Float64Array(0);
    bearers.set(key, {
      ue: (key % KEYS) >> 1, turn: Math.floor(key / KEYS), direction: key & 1 ? "uplink" : "downlink", sdus: ofSdus.get(key) ?? none, runs, number: empty, next: empty, modulo: 1,
      arrived: empty, complete: empty, starts: empty, status: ofStatus.get(key) ?? none, slots: own, tti,
      phase: starts && runs.length ? starts[runs[0]] : starts && own.length ? starts[own[0]] - tti : 0, delay: tti, isShared: !(key & 1) && shared.has(graph.cellIn(graph.leaf((key % KEYS) >> 1, Math.floor(key / KEYS)))), resends: false,
    });
  }
  const made = sdus && sdusOf(sdus, events, bearers, packets, graph);
  for (const [key, bearer] of bearers) {
    if (data && bearer.runs.length) number(bearer, data, status, bearers.get(key % 2 ? key - 1 : key + 1));
  }
  if (made && data) {
    carry(made, events, bearers, packets, served);
    for (const bearer of bearers.values()) if (bearer.runs.length) follow(bearer, data, made, events, packets);
  }
  return { bearers, sdus: made };
}

/** Rows of a table by bearer: `turn` tells that of a UE at an instant; only those at cells, if these are named. @type {(table: Table | null, turn: (ue: number, now: number, isUp: boolean) => number, cells?: Set<number> | null) => Map<number, Uint32Array<ArrayBuffer>>} */
function rowsByBearer(table, turn, cells = null) {
  const found = new Map();
  if (!table) return found;
  const { ue, direction, time_ns, element: places } = table.columns;
  const isUp = (direction.words ?? []).map((word) => word === "uplink");
  /** By bearer: how many rows it has, and then how many are filled in. @type {number[]} */
  const counts = [];
  /** @type {Uint32Array[]} */
  const lists = [];
  for (const isCounting of [true, false]) {
    for (let row = 0; row < table.rows; row += 1) {
      if (cells && !cells.has(places.values[row])) continue;
      const own = isUp[direction.values[row]];
      const key = bearerKey(ue.values[row], own, turn(ue.values[row], time_ns.values[row], own));
      if (isCounting) counts[key] = (counts[key] ?? 0) + 1;
      else {
        if (!lists[key]) {
          found.set(key, (lists[key] = new Uint32Array(counts[key])));
          counts[key] = 0;
        }
        lists[key][counts[key]++] = row;
      }
    }
  }
  return found;
}

/** The distance of TTIs, which lie on a grid: what divides all times between them. @type {(times: ArrayLike<number>, rows: Uint32Array) => number} */
function gridOf(times, rows) {
  let step = 0;
  for (let at = 1; at < rows.length; at += 1) {
    for (let other = times[rows[at]] - times[rows[at - 1]]; other > 0; ) [step, other] = other > step ? [other, step] : [other, step % other];
  }
  return step;
}

/** The shortest time between two slots: those of a bearer without a grid follow each other. @type {(times: ArrayLike<number>, rows: Uint32Array) => number} */
function shortestStep(times, rows) {
  let least = Infinity;
  for (let at = 1; at < rows.length; at += 1) {
    const step = times[rows[at]] - times[rows[at - 1]];
    if (step > 0 && step < least) least = step;
  }
  return Number.isFinite(least) ? least : 0;
}

/**
 * Number the PDUs of a bearer without the modulo. After a RESET they begin anew, beyond all before: a number that the
 * other side has confirmed is never sent again.
 * @type {(bearer: Bearer, data: Table, status: Table | null, back: Bearer | undefined) => void}
 */
function number(bearer, data, status, back) {
  const { runs } = bearer;
  const { first_sn, pdus, time_ns } = data.columns;
  const reports = back?.status ?? new Uint32Array(0);
  const modulo = moduloOf(runs, first_sn.values, reports.length > 0, bearer.isShared);
  const numbers = new Float64Array(runs.length);
  const after = new Float64Array(runs.length);
  let [highest, confirmed, report] = [0, 0, 0];
  for (let at = 0; at < runs.length; at += 1) {
    const row = runs[at];
    for (; status && back && report < reports.length; report += 1) {
      const { lsn, lost, time_ns: told } = status.columns;
      if (told.values[reports[report]] + back.delay > time_ns.values[row]) break;
      if (!lost.values[reports[report]]) confirmed = Math.max(confirmed, nearest(lsn.values[reports[report]], highest, modulo));
    }
    let own = nearest(first_sn.values[row], highest, modulo);
    if (own < confirmed - modulo / 4 || (own < confirmed && first_sn.values[row] === 0)) {
      own = first_sn.values[row] + modulo * Math.ceil((highest - first_sn.values[row]) / modulo);
      confirmed = own;
    }
    if (own < highest && !bearer.isShared) bearer.resends = true;
    numbers[at] = own;
    highest = after[at] = Math.max(highest, own + pdus.values[row]);
  }
  if (reports.length) bearer.resends = true;
  [bearer.number, bearer.next, bearer.modulo] = [numbers, after, modulo];
}

/**
 * SDUs with their packets, and when they left the buffer where they are sent whole.
 * @type {(table: Table, events: Events, bearers: Map<number, Bearer>, packets: Packets | null, graph: Graph) => Sdus}
 */
function sdusOf(table, events, bearers, packets, graph) {
  const rows = table.rows;
  /** @type {Sdus} */
  const sdus = {
    table, packet: new Int32Array(rows).fill(-1), of: new Int32Array(packets?.count ?? 0).fill(-1), ended: new Int32Array(rows).fill(-1),
    first: new Int32Array(rows), left: new Float64Array(rows).fill(Infinity), out: new Float64Array(rows).fill(Infinity),
    confirmed: new Float64Array(rows).fill(Infinity),
  };
  const arrivals = rowsByBearer(packets?.table ?? null, graph.arrivalTurn.bind(graph), new Set(graph.cells));
  const delivered = events.table("bearer_delivered");
  const ofDelivered = rowsByBearer(delivered, graph.turn.bind(graph));
  for (const [key, bearer] of bearers) {
    if (packets) pair(sdus, bearer, packets, arrivals.get(key) ?? new Uint32Array(0));
    const out = ofDelivered.get(key);
    if (delivered && out) leave(sdus, bearer, delivered, out);
  }
  return sdus;
}

/** Pair SDUs with the packets that came to the cell at the same instant. @type {(sdus: Sdus, bearer: Bearer, packets: Packets, arrivals: Uint32Array) => void} */
function pair(sdus, bearer, { table, of, first, stops, fate, end }, arrivals) {
  const [into, came] = [sdus.table.columns, table.columns];
  let at = 0;
  for (const sdu of bearer.sdus) {
    const now = into.time_ns.values[sdu];
    while (at < arrivals.length && came.time_ns.values[arrivals[at]] < now) at += 1;
    for (let near = at; near < arrivals.length && came.time_ns.values[arrivals[near]] === now; near += 1) {
      const row = arrivals[near];
      const packet = of[row];
      if (came.flow.values[row] !== into.flow.values[sdu] || came.len_bytes.values[row] !== into.len_bytes.values[sdu]) continue;
      // One that was dropped as it came is no SDU.
      if (sdus.of[packet] >= 0 || (fate[packet] === DROPPED && end[packet] === now)) continue;
      sdus.packet[sdu] = packet;
      sdus.of[packet] = sdu;
      const next = stops.indexOf(row, first[packet]) + 1;
      if (next < first[packet + 1]) sdus.out[sdu] = came.time_ns.values[stops[next]];
      break;
    }
  }
}

/**
 * When SDUs were sent, by `bearer_delivered`: its delay is the time from the buffer to the other side, which is the
 * instant of the event, or lies behind it.
 * @type {(sdus: Sdus, bearer: Bearer, delivered: Table, rows: Uint32Array) => void}
 */
function leave(sdus, bearer, delivered, rows) {
  const into = sdus.table.columns;
  const { time_ns, len_bytes, flow, delay_ns } = delivered.columns;
  let head = 0;
  for (const row of rows) {
    const now = time_ns.values[row];
    while (head < bearer.sdus.length && sdus.left[bearer.sdus[head]] < Infinity) head += 1;
    for (let at = head; at < bearer.sdus.length; at += 1) {
      const sdu = bearer.sdus[at];
      const came = into.time_ns.values[sdu];
      if (came > now) break;
      if (sdus.left[sdu] < Infinity || came + delay_ns.values[row] < now) continue;
      if (into.len_bytes.values[sdu] !== len_bytes.values[row] || into.flow.values[sdu] !== flow.values[row]) continue;
      sdus.left[sdu] = now;
      break;
    }
  }
}

/** SDUs with their PDUs, and when their senders were done with them. @type {(sdus: Sdus, events: Events, bearers: Map<number, Bearer>, packets: Packets | null, turn: (ue: number, now: number) => number) => void} */
function carry(sdus, events, bearers, packets, turn) {
  const ended = events.table("rlc_sdu");
  const confirmed = events.table("rlc_confirmed");
  const sent = /** @type {Table} */ (events.table("rlc_data")).columns.time_ns.values;
  const ofConfirmed = rowsByBearer(confirmed, turn);
  for (const [key, rows] of rowsByBearer(ended, turn)) {
    const bearer = bearers.get(key);
    if (!ended || !bearer) continue;
    const { sdu, first_sn, time_ns, pdus } = ended.columns;
    let least = Infinity;
    for (const row of rows) {
      const own = bearer.sdus[sdu.values[row]];
      if (own === undefined) continue;
      sdus.ended[own] = row;
      const near = bearer.next[Math.max(0, firstFrom(sent, bearer.runs, time_ns.values[row] + 1) - 1)] - pdus.values[row];
      sdus.first[own] = nearest(first_sn.values[row], near, bearer.modulo);
      sdus.left[own] = time_ns.values[row] + bearer.tti;
      least = Math.min(least, sdus.out[own] - time_ns.values[row]);
    }
    // The quickest SDU was handed up when the TTI of its end arrived.
    if (Number.isFinite(least)) bearer.delay = least;
  }
  for (const [key, rows] of ofConfirmed) {
    const bearer = bearers.get(key);
    if (confirmed && bearer) confirm(sdus, bearer, confirmed, rows, packets);
  }
}

/** The sender is done with SDUs: with the oldest of that flow and length. @type {(sdus: Sdus, bearer: Bearer, confirmed: Table, rows: Uint32Array, packets: Packets | null) => void} */
function confirm(sdus, bearer, confirmed, rows, packets) {
  const into = sdus.table.columns;
  const { time_ns, len_bytes, flow } = confirmed.columns;
  let head = 0;
  for (const row of rows) {
    const now = time_ns.values[row];
    while (head < bearer.sdus.length && sdus.confirmed[bearer.sdus[head]] < Infinity) head += 1;
    for (let at = head; at < bearer.sdus.length && into.time_ns.values[bearer.sdus[at]] <= now; at += 1) {
      const sdu = bearer.sdus[at];
      if (sdus.confirmed[sdu] < Infinity) continue;
      // Of one that was evicted nothing is told.
      if (packets && sdus.packet[sdu] >= 0 && sdus.ended[sdu] < 0 && packets.end[sdus.packet[sdu]] < now) continue;
      if (into.len_bytes.values[sdu] !== len_bytes.values[row] || into.flow.values[sdu] !== flow.values[row]) continue;
      sdus.confirmed[sdu] = now;
      break;
    }
  }
}

/** When each PDU arrived, and each with all before it. @type {(bearer: Bearer, data: Table, sdus: Sdus, events: Events, packets: Packets | null) => void} */
function follow(bearer, data, sdus, events, packets) {
  const { runs, number: numbers, next, delay } = bearer;
  const { pdus, lost, time_ns } = data.columns;
  const arrived = new Float64Array(next[next.length - 1]).fill(Infinity);
  let sent = 0;
  for (let at = 0; at < runs.length; at += 1) {
    const row = runs[at];
    const now = time_ns.values[row];
    // After a RESET: numbers that were never sent, and all before them, are done with.
    if (numbers[at] > sent + (bearer.isShared ? bearer.modulo / 4 : 0)) for (let pdu = 0; pdu < numbers[at]; pdu += 1) arrived[pdu] = Math.min(arrived[pdu], now);
    sent = Math.max(sent, next[at]);
    if (lost.values[row]) continue;
    for (let pdu = numbers[at]; pdu < numbers[at] + pdus.values[row]; pdu += 1) arrived[pdu] = Math.min(arrived[pdu], now + delay);
  }
  // PDUs of an SDU that was given up are not waited for any more.
  const ended = events.table("rlc_sdu");
  for (const sdu of bearer.sdus) {
    const packet = sdus.packet[sdu];
    if (!packets || !ended || packet < 0 || packets.drop[packet] < 0 || sdus.ended[sdu] < 0) continue;
    const count = ended.columns.pdus.values[sdus.ended[sdu]];
    for (let pdu = sdus.first[sdu]; pdu < sdus.first[sdu] + count; pdu += 1) arrived[pdu] = Math.min(arrived[pdu], packets.end[packet]);
  }
  bearer.starts = Float64Array.from(bearer.sdus.filter((sdu) => sdus.ended[sdu] >= 0), (sdu) => sdus.first[sdu]).sort();
  const complete = new Float64Array(arrived.length);
  let latest = 0;
  for (let pdu = 0; pdu < arrived.length; pdu += 1) complete[pdu] = latest = Math.max(latest, arrived[pdu]);
  [bearer.arrived, bearer.complete] = [arrived, complete];
}
