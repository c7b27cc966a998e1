// Packets of a run, made from its events, which name them by number: where each came, and what became of it.

/** @typedef {import("studio/events").Events} Events */
/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/graph").Graph} Graph */
/**
 * Packets in the order in which they were sent. Times are nanoseconds.
 * @typedef {object} Packets
 * @property {number} count
 * @property {Table} table of `packet`
 * @property {Uint32Array} first place in `stops` of each packet's first, and at the end their number
 * @property {Uint32Array} stops rows of the table, packet by packet and in order of time
 * @property {Uint32Array} of the packet of each row
 * @property {Uint8Array} outcome index of the outcome in `OUTCOMES`
 * @property {Float64Array} end when it was delivered, dropped or absorbed; Infinity if it is in flight at the end
 * @property {Int32Array} drop its row of `dropped`, or -1
 * @property {Int32Array} sent its row of `segment_sent`, or -1
 * @property {Int16Array} flagged the place where a middlebox flagged it, or -1
 * @property {boolean} hasFlags whether a box has flagged one
 * @property {(id: number) => number} place the packet with a number of events, or -1
 * @property {Uint32Array} alive by parts of `PART_NS`: the first packet in flight then
 */

/** How packets end. `taken`: a middlebox absorbed it, as one that responds for a host does. */
export const OUTCOMES = ["in flight", "delivered", "dropped", "absorbed by a middlebox"];
const [ARRIVED, DROPPED, TAKEN] = [1, 2, 3];
/** Objects are found by parts of the time, nanoseconds. */
export const PART_NS = 1e8;
/** The flag with which the RNC marks an ACK in transit to report a radio loss. */
export const AE = 0x100;

/**
 * Make the packets, or null where no `packet` events were recorded.
 * @param {Events} events
 * @param {Graph} graph
 * @param {number} end of the run, nanoseconds
 * @returns {Packets | null}
 */
export function packetsOf(events, graph, end) {
  const table = events.table("packet");
  if (!table) return null;
  const packets = gathered(table);
  const { outcome, end: ends, first, stops, drop, sent } = packets;
  const { element, time_ns } = table.columns;
  for (let packet = 0; packet < packets.count; packet += 1) {
    const row = stops[first[packet + 1] - 1];
    if (element.values[row] !== 0 && element.values[row] !== graph.last) continue;
    [outcome[packet], ends[packet]] = [ARRIVED, time_ns.values[row]];
  }
  each(packets, events.table("dropped"), (packet, row, time) => {
    [outcome[packet], ends[packet], drop[packet]] = [DROPPED, time, row];
  });
  each(packets, events.table("kept"), (packet, _, time) => {
    [outcome[packet], ends[packet]] = [TAKEN, time];
  });
  each(packets, events.table("segment_sent"), (packet, row) => {
    sent[packet] = row;
  });
  packets.hasFlags = findFlagged(packets);
  packets.alive = aliveBy(packets, end);
  return packets;
}

/** Gather the stops of each packet: packets in the order of their first ones. @param {Table} table @returns {Packets} */
function gathered(table) {
  const { rows } = table;
  const ids = table.columns.packet?.values ?? new Uint32Array(0);
  let [least, most] = [Infinity, 0];
  for (let row = 0; row < rows; row += 1) [least, most] = [Math.min(least, ids[row]), Math.max(most, ids[row])];
  const places = new Int32Array(rows ? most - least + 1 : 0).fill(-1);
  const of = new Uint32Array(rows);
  let count = 0;
  for (let row = 0; row < rows; row += 1) {
    if (places[ids[row] - least] < 0) places[ids[row] - least] = count++;
    of[row] = places[ids[row] - least];
  }
  const first = new Uint32Array(count + 1);
  for (let row = 0; row < rows; row += 1) first[of[row] + 1] += 1;
  for (let packet = 0; packet < count; packet += 1) first[packet + 1] += first[packet];
  const stops = new Uint32Array(rows);
  const filled = first.slice();
  for (let row = 0; row < rows; row += 1) stops[filled[of[row]]++] = row;
  return {
    count, table, first, stops, of, outcome: new Uint8Array(count), end: new Float64Array(count).fill(Infinity),
    drop: new Int32Array(count).fill(-1), sent: new Int32Array(count).fill(-1), flagged: new Int16Array(count).fill(-1),
    hasFlags: false, alive: new Uint32Array(0), place: (id) => places[id - least] ?? -1,
  };
}

/**
 * Call a function with each packet that a table names, its row and its time.
 * @type {(packets: Packets, table: Table | null, call: (packet: number, row: number, time: number) => void) => void}
 */
function each({ place }, table, call) {
  const ids = table?.columns.packet?.values;
  if (!table || !ids) return;
  for (let row = 0; row < table.rows; row += 1) {
    const packet = place(ids[row]);
    if (packet >= 0) call(packet, row, table.columns.time_ns.values[row]);
  }
}

/** Find the places where middleboxes flagged packets. Returns whether there is one. @param {Packets} packets */
function findFlagged({ count, table, first, stops, flagged }) {
  const { flags, element } = table.columns;
  let hasFlags = false;
  for (let packet = 0; packet < count; packet += 1) {
    for (let at = first[packet] + 1; at < first[packet + 1]; at += 1) {
      if (!(~flags.values[stops[at - 1]] & flags.values[stops[at]] & AE)) continue;
      flagged[packet] = element.values[stops[at - 1]];
      hasFlags = true;
    }
  }
  return hasFlags;
}

/**
 * The first packet in flight in each part of the time, so one lookup finds all packets of an instant.
 * @param {Packets} packets
 * @param {number} end
 */
function aliveBy({ count, table, first, stops, end: ends }, end) {
  const times = table.columns.time_ns.values;
  const parts = Math.floor(end / PART_NS) + 1;
  const alive = new Uint32Array(parts).fill(count);
  // The first one of a part is written last.
  for (let packet = count - 1; packet >= 0; packet -= 1) {
    const last = Math.min(Math.floor(ends[packet] / PART_NS), parts - 1);
    alive.fill(packet, Math.floor(times[stops[first[packet]]] / PART_NS), last + 1);
  }
  return alive;
}

/** When a packet came to its first place. @type {(packets: Packets, packet: number) => number} */
export function begin({ table, stops, first }, packet) {
  return table.columns.time_ns.values[stops[first[packet]]];
}

/**
 * Packets that may be in flight at an instant: from the first on, below the second.
 * @param {Packets} packets
 * @param {number} now
 * @returns {[number, number]}
 */
export function around(packets, now) {
  const part = Math.min(Math.max(Math.floor(now / PART_NS), 0), packets.alive.length - 1);
  let [low, high] = [0, packets.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begin(packets, middle) <= now) low = middle + 1;
    else high = middle;
  }
  return [Math.min(packets.alive[part] ?? 0, low), low];
}
