// Packets of a run, made from its `packet` events. An event says that a packet arrived at a place of the path; which
// packet it was, follows from its header: equal ones leave a place in the order in which they came there.

/** @typedef {import("studio/events").Events} Events */
/** @typedef {import("studio/graph").Graph} Graph */
/** @typedef {import("studio/events").Table} Table */
/**
 * Packets in the order in which they were sent. Times are nanoseconds.
 * @typedef {object} Packets
 * @property {number} count
 * @property {Table} table of `packet`
 * @property {Uint32Array} first place in `stops` of each packet's first, and at the end their number
 * @property {Uint32Array} stops rows of the table, packet by packet and in order of time
 * @property {Uint32Array} of the packet of each row
 * @property {Uint8Array} fate one of `FATES`
 * @property {Float64Array} end when it arrived, was dropped or was taken; Infinity if it is under way at the end
 * @property {Int32Array} drop its row of `dropped`, or -1
 * @property {Int32Array} sent its row of `segment_sent`, or -1
 * @property {Int16Array} flagged the place at which a box flagged it, or -1
 * @property {boolean} hasFlags whether a box has flagged one
 * @property {Uint32Array} alive by parts of `PART_NS`: the first packet that was under way then
 */

/** How packets end. `taken`: a box kept it, as one that answers for a host does; `left`: its UE went to another cell. */
export const FATES = ["under way", "arrived", "dropped", "taken by a box", "lost at a hand-over"];
const [UNDER_WAY, ARRIVED, DROPPED, TAKEN, LEFT] = [0, 1, 2, 3, 4];
/** Objects are found by parts of the time, nanoseconds. */
export const PART_NS = 1e8;
/** The flag by which the RNC tells of losses on the radio; an ACK gets it on its way. */
export const AE = 0x100;
/** A box that has let none through for this long has kept them, nanoseconds. */
const KEPT_NS = 5e9;
/** How far back a packet is looked for that was dropped after it had come, rows. */
const LOOK_BACK = 20_000;
/** Room for so many packets at first, and by what it grows. */
const FIRST_ROOM = 4096;
const MORE_ROOM = 1.5;

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
  const packets = new Linker(table, graph).link(events.table("dropped"));
  nameCauses(packets, events.table("segment_sent"));
  findTaken(packets, graph.names, end);
  if (graph.moves.size) findLeft(packets, graph);
  packets.alive = aliveBy(packets, end);
  return packets;
}

/** Follows packets from place to place: through a table of hashes of where a packet is and what its header says. */
class Linker {
  /**
   * @param {Table} table
   * @param {Graph} graph
   */
  constructor(table, graph) {
    this.table = table;
    this.last = graph.last;
    /** Places from which a packet may have come to each: of those to the UE, of those to the server. */
    this.before = [false, true].map((isUp) => graph.names.map((_, place) => graph.before(place, isUp)));
    const { rows, columns } = table;
    const bits = Math.max(10, Math.ceil(Math.log2(rows + 1)) - 1);
    this.mask = 2 ** bits - 1;
    /** Chains of packets by hash: oldest first. */
    this.heads = new Int32Array(this.mask + 1).fill(-1);
    this.tails = new Int32Array(this.mask + 1).fill(-1);
    this.of = new Uint32Array(rows);
    this.count = 0;
    // How many packets there are is not known yet: these grow.
    this.next = new Int32Array(FIRST_ROOM);
    /** The last row of each packet. */
    this.latest = new Uint32Array(FIRST_ROOM);
    this.fate = new Uint8Array(FIRST_ROOM);
    this.ends = new Float64Array(FIRST_ROOM);
    this.drop = new Int32Array(FIRST_ROOM);
    this.flagged = new Int16Array(FIRST_ROOM);
    const isUp = (columns.direction.words ?? []).map((word) => word === "uplink");
    /** 1 for packets to the server. */
    this.up = new Uint8Array(rows);
    for (let row = 0; row < rows; row += 1) this.up[row] = Number(isUp[columns.direction.values[row]]);
    this.ue = columns.ue.values;
    this.flow = columns.flow.values;
    this.element = columns.element.values;
    this.seq = columns.seq.values;
    this.ack = columns.ack.values;
    this.len = columns.len_bytes.values;
    this.flags = columns.flags.values;
    this.time = columns.time_ns.values;
  }

  /** @param {Table | null} dropped @returns {Packets} */
  link(dropped) {
    const { table: { rows }, time } = this;
    const drops = dropped?.columns.seq ? dropped : null;
    const dropTimes = drops?.columns.time_ns.values;
    for (let row = 0, drop = 0; row <= rows; row += 1) {
      const now = row < rows ? time[row] : Infinity;
      for (; drops && dropTimes && drop < drops.rows && dropTimes[drop] < now; drop += 1) this.dropAt(drops, drop, row);
      if (row < rows) this.arrive(row);
    }
    return this.packed();
  }

  /** @type {(row: number, place: number, flags: number) => number} */
  hash(row, place, flags) {
    let hash = Math.imul(this.ue[row] * 2 + this.up[row], 0x9e3779b1) ^ Math.imul(this.flow[row] * 32 + place, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35) ^ Math.imul(this.seq[row] | 0, 0x27d4eb2f);
    hash = Math.imul(hash ^ (hash >>> 13), 0x165667b1) ^ Math.imul(this.ack[row] | 0, 0x9e3779b1) ^ (this.len[row] * 64 + flags);
    return (Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 7) & this.mask;
  }

  /** @param {number} row */
  arrive(row) {
    const before = this.before[this.up[row]][this.element[row]] ?? [];
    let packet = this.takeFrom(row, before, this.flags[row]);
    if (packet < 0 && this.flags[row] & AE) {
      packet = this.takeFrom(row, before, this.flags[row] ^ AE);
      if (packet >= 0) this.flagged[packet] = this.element[this.latest[packet]];
    }
    if (packet < 0) packet = this.begin();
    this.of[row] = packet;
    this.latest[packet] = row;
    const place = this.element[row];
    if (place === 0 || place === this.last) {
      this.fate[packet] = ARRIVED;
      this.ends[packet] = this.time[row];
      return;
    }
    const hash = this.hash(row, place, this.flags[row]);
    this.next[packet] = -1;
    if (this.heads[hash] < 0) this.heads[hash] = packet;
    else this.next[this.tails[hash]] = packet;
    this.tails[hash] = packet;
  }

  /** A packet that was not seen before. */
  begin() {
    const packet = this.count++;
    if (packet === this.next.length) {
      for (const name of /** @type {const} */ (["next", "latest", "fate", "ends", "drop", "flagged"])) {
        const less = this[name];
        const more = new /** @type {any} */ (less.constructor)(Math.ceil(MORE_ROOM * packet));
        more.set(less);
        this[name] = more;
      }
    }
    this.ends[packet] = Infinity;
    this.drop[packet] = this.flagged[packet] = -1;
    return packet;
  }

  /** A packet at one of several places: of two, the one that came later; after a hand-over the old cell keeps others. @type {(row: number, places: number[], flags: number) => number} */
  takeFrom(row, places, flags) {
    if (places.length === 1) return this.take(row, places[0], flags);
    let [best, latest] = [-1, -Infinity];
    for (const place of places) {
      const packet = this.find(row, place, flags);
      if (packet >= 0 && this.time[this.latest[packet]] > latest) [best, latest] = [place, this.time[this.latest[packet]]];
    }
    return best < 0 ? -1 : this.take(row, best, flags);
  }

  /** The oldest packet at a place with the header of a row, which stays there; -1 if there is none. @type {(row: number, place: number, flags: number) => number} */
  find(row, place, flags) {
    let packet = this.heads[this.hash(row, place, flags)];
    while (packet >= 0 && (this.fate[packet] !== UNDER_WAY || !this.isSame(row, this.latest[packet], place, flags))) packet = this.next[packet];
    return packet;
  }

  /**
   * The oldest packet at a place with the header of a row; it leaves its chain. -1 if there is none.
   * @type {(row: number, place: number, flags: number) => number}
   */
  take(row, place, flags) {
    const hash = this.hash(row, place, flags);
    for (let before = -1, packet = this.heads[hash]; packet >= 0; packet = this.next[packet]) {
      const isGone = this.fate[packet] !== UNDER_WAY;
      if (isGone || this.isSame(row, this.latest[packet], place, flags)) {
        if (before < 0) this.heads[hash] = this.next[packet];
        else this.next[before] = this.next[packet];
        if (this.tails[hash] === packet) this.tails[hash] = before;
        if (!isGone) return packet;
      } else before = packet;
    }
    return -1;
  }

  /** @type {(row: number, other: number, place: number, flags: number) => boolean} */
  isSame(row, other, place, flags) {
    return this.element[other] === place && this.seq[other] === this.seq[row] && this.ack[other] === this.ack[row] &&
      this.len[other] === this.len[row] && this.flags[other] === flags && this.up[other] === this.up[row] &&
      this.flow[other] === this.flow[row] && this.ue[other] === this.ue[row];
  }

  /**
   * A packet was dropped: one that has just come, else the oldest that is there.
   * @param {Table} drops
   * @param {number} drop
   * @param {number} until the first row that is later
   */
  dropAt(drops, drop, until) {
    const of = (/** @type {string} */ name) => drops.columns[name].values[drop];
    const isUp = Number(drops.columns.direction.words?.[of("direction")] === "uplink");
    const [ue, flow, place, seq, len, now] = ["ue", "flow", "element", "seq", "len_bytes", "time_ns"].map(of);
    let found = -1;
    for (let row = until - 1; row >= Math.max(0, until - LOOK_BACK); row -= 1) {
      // What has just come goes first; of what came before, the oldest.
      if (found >= 0 && this.time[this.latest[found]] === now) break;
      if (this.seq[row] !== seq || this.element[row] !== place || this.len[row] !== len || this.up[row] !== isUp) continue;
      if (this.flow[row] !== flow || this.ue[row] !== ue) continue;
      const packet = this.of[row];
      if (this.latest[packet] === row && this.fate[packet] === UNDER_WAY) found = packet;
    }
    if (found < 0) return;
    this.fate[found] = DROPPED;
    this.ends[found] = now;
    this.drop[found] = drop;
  }

  /** @returns {Packets} */
  packed() {
    const { table, of, count } = this;
    const first = new Uint32Array(count + 1);
    for (let row = 0; row < of.length; row += 1) first[of[row] + 1] += 1;
    for (let packet = 0; packet < count; packet += 1) first[packet + 1] += first[packet];
    const stops = new Uint32Array(of.length);
    const filled = first.slice();
    for (let row = 0; row < of.length; row += 1) stops[filled[of[row]]++] = row;
    const flagged = this.flagged.slice(0, count);
    return {
      count, table, first, stops, of, fate: this.fate.slice(0, count), end: this.ends.slice(0, count),
      drop: this.drop.slice(0, count), flagged, sent: new Int32Array(count).fill(-1),
      hasFlags: flagged.some((place) => place >= 0), alive: new Uint32Array(0),
    };
  }
}

/**
 * Find the packet of each segment that was sent: it comes to its first place at the same instant.
 * @param {Packets} packets
 * @param {Table | null} segments
 */
function nameCauses({ table, of, first, stops, sent }, segments) {
  if (!segments) return;
  const { time_ns, ue, flow, seq, len_bytes } = table.columns;
  const own = segments.columns;
  /** Sequence numbers of headers minus those of the stream, by flow. @type {Map<number, number>} */
  const offsets = new Map();
  let begin = 0;
  for (let segment = 0; segment < segments.rows; segment += 1) {
    const now = own.time_ns.values[segment];
    while (begin < table.rows && time_ns.values[begin] < now) begin += 1;
    const whose = own.ue.values[segment] * 65536 + own.flow.values[segment];
    const offset = offsets.get(whose);
    for (let row = begin; row < table.rows && time_ns.values[row] === now; row += 1) {
      const packet = of[row];
      if (sent[packet] >= 0 || stops[first[packet]] !== row || len_bytes.values[row] <= own.payload_bytes.values[segment]) continue;
      if (ue.values[row] * 65536 + flow.values[row] !== whose) continue;
      const found = (seq.values[row] - (own.seq.values[segment] % 2 ** 32)) >>> 0;
      if (offset !== undefined && found !== offset) continue;
      offsets.set(whose, found);
      sent[packet] = segment;
      break;
    }
  }
}

/**
 * Packets that a box has kept without a word: those behind them have gone on.
 * @param {Packets} packets
 * @param {string[]} path
 * @param {number} end
 */
function findTaken({ count, table, first, stops, fate, end: ends }, path, end) {
  const { time_ns, ue, flow, element, direction } = table.columns;
  /** The latest arrival at each place of those that have gone on, by flow and direction. @type {Map<number, number>} */
  const gone = new Map();
  const key = (/** @type {number} */ row) =>
    ((ue.values[row] * 65536 + flow.values[row]) * 1024 + element.values[row]) * 2 + direction.values[row];
  for (let packet = 0; packet < count; packet += 1) {
    for (let at = first[packet]; at < first[packet + 1] - 1; at += 1) {
      const own = key(stops[at]);
      gone.set(own, Math.max(gone.get(own) ?? -1, time_ns.values[stops[at]]));
    }
  }
  for (let packet = 0; packet < count; packet += 1) {
    if (fate[packet] !== UNDER_WAY) continue;
    const row = stops[first[packet + 1] - 1];
    const came = time_ns.values[row];
    if (!path[element.values[row]]?.startsWith("middlebox.")) continue;
    if (came < (gone.get(key(row)) ?? end - KEPT_NS)) {
      fate[packet] = TAKEN;
      ends[packet] = came;
    }
  }
}

/** Packets that were in a cell when their UE left it: nothing is forwarded. @type {(packets: Packets, graph: Graph) => void} */
function findLeft({ count, table, first, stops, fate, end }, graph) {
  const { time_ns, ue, element, direction } = table.columns;
  for (let packet = 0; packet < count; packet += 1) {
    const row = stops[first[packet + 1] - 1];
    if (fate[packet] !== UNDER_WAY || !graph.cells.includes(element.values[row])) continue;
    const isUp = direction.words?.[direction.values[row]] === "uplink";
    const move = graph.moves.get(ue.values[row])?.[graph.arrivalTurn(ue.values[row], time_ns.values[row], isUp)];
    if (!move) continue;
    fate[packet] = LEFT;
    end[packet] = Math.max(move.serves, time_ns.values[row]);
  }
}

/**
 * The first packet under way in each part of the time, so that one look finds all of an instant.
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
 * Packets that may be under way at an instant: from the first on, below the second.
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
