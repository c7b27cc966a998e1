// Bearers of a run: SDUs in the buffer, the PDUs that carry them, the TTIs that transmit them, and STATUS PDUs. Times
// are nanoseconds; PDU numbers are not reduced by the modulo.

/** @typedef {import("studio/events").Events} Events */
/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/packets").Packets} Packets */
/**
 * One direction of a UE in a cell.
 * @typedef {object} Bearer
 * @property {number} cell its place
 * @property {number} ue
 * @property {string} direction
 * @property {Uint32Array} sdus rows of `bearer_enqueued`: the SDU k is the k-th
 * @property {Uint32Array} runs rows of `rlc_data`: PDUs that were transmitted together
 * @property {Float64Array} number of the first PDU of each run
 * @property {number} modulo modulus of its transmitted sequence numbers; 1 without any
 * @property {Float64Array} next one more than the highest number sent, after each run
 * @property {Float64Array} arrived when each PDU arrived; Infinity if it did not
 * @property {Float64Array} complete when each PDU and all before it had arrived
 * @property {Float64Array} starts the first PDU of each SDU whose end was sent, ascending
 * @property {Uint32Array} status rows of `rlc_status` that go in this direction
 * @property {Uint32Array} slots rows of `slot_ended`
 * @property {number} tti length of a TTI or slot; 0 without them
 * @property {number} phase when the first TTI began
 * @property {number} delay from the begin of a TTI until it arrives
 * @property {boolean} isShared whether HARQ of a shared cell lets its PDUs overtake each other
 * @property {boolean} retransmits whether its link layer retransmits PDUs
 */
/**
 * SDUs of all bearers, by their rows of `bearer_enqueued`.
 * @typedef {object} Sdus
 * @property {Table} table
 * @property {Int32Array} packet that the SDU is, or -1
 * @property {Int32Array} of the SDU of each packet, or -1
 * @property {Int32Array} ended row of `rlc_sdu`, or -1
 * @property {Float64Array} first the first PDU's number, if `ended` is known
 * @property {Float64Array} left when it was sent: its last PDU, or all of it; Infinity if it was not
 * @property {Float64Array} out when it came to the place behind the cell; Infinity if it did not
 * @property {Float64Array} confirmed when its sender was done with it
 * @property {Map<number, number>} rows of `bearer_enqueued` by the numbers of their packets
 */

/** @typedef {import("studio/source").BearerRow} BearerRow */

/** @type {(cell: number, ue: number, isUp: boolean) => number} */
export const bearerKey = (cell, ue, isUp) => 2 * (65536 * cell + ue) + Number(isUp);
/** @param {BearerRow} row */
const keyOf = ({ node, ue, direction }) => bearerKey(node, ue, direction === "uplink");

/**
 * @param {Events} events
 * @param {Packets | null} packets
 * @param {BearerRow[]} rows of the table of bearers
 * @returns {{bearers: Map<number, Bearer>, sdus: Sdus | null}}
 */
export function bearersOf(events, packets, rows) {
  const sdus = events.table("bearer_enqueued");
  const data = events.table("rlc_data");
  const slots = events.table("slot_ended");
  const status = events.table("rlc_status");
  const [ofSdus, ofData, ofSlots, ofStatus] = [sdus, data, slots, status].map((table) => rowsByBearer(table));
  /** @type {Map<number, Bearer>} */
  const bearers = new Map();
  const none = new Uint32Array(0);
  /** Numbers of bearers by what they are. */
  // Of several bearers of a UE the first is shown: it is set last.
  const numbers = new Map(/** @type {[number, number][]} */ (rows.map((row, place) => [keyOf(row), place])).reverse());
  /** The other direction, whose STATUS PDUs go in this one. @param {number} place */
  const other = (place) => numbers.get(bearerKey(rows[place].node, rows[place].ue, rows[place].direction !== "uplink")) ?? -1;
  for (const place of new Set([...ofSdus.keys(), ...ofData.keys(), ...ofSlots.keys(), ...[...ofStatus.keys()].map(other)])) {
    const known = rows[place];
    if (!known || numbers.get(keyOf(known)) !== place) continue;
    const empty = new Float64Array(0);
    const tti = known.slot_ns;
    bearers.set(keyOf(known), {
      cell: known.node, ue: known.ue, direction: known.direction, sdus: ofSdus.get(place) ?? none, runs: ofData.get(place) ?? none,
      number: empty, next: empty, modulo: known.sequence_numbers || 1, arrived: empty, complete: empty, starts: empty,
      status: ofStatus.get(other(place)) ?? none, slots: ofSlots.get(place) ?? none, tti,
      phase: known.phase_ns, delay: tti + known.delay_ns, isShared: known.shared, retransmits: known.retransmits,
    });
  }
  const made = sdus && sdusOf(sdus, events, packets, rows);
  for (const bearer of bearers.values()) {
    if (data && bearer.runs.length) number(bearer, data);
  }
  if (made && data) {
    carry(made, events, rows);
    for (const bearer of bearers.values()) if (bearer.runs.length) follow(bearer, data, made, events, packets);
  }
  return { bearers, sdus: made };
}

/** Rows of a table by the numbers of bearers. @type {(table: Table | null) => Map<number, Uint32Array<ArrayBuffer>>} */
function rowsByBearer(table) {
  const found = new Map();
  if (!table?.columns.bearer) return found;
  const { values } = table.columns.bearer;
  /** By bearer: how many rows it has, and then how many are filled in. @type {number[]} */
  const counts = [];
  /** @type {Uint32Array[]} */
  const lists = [];
  for (const isCounting of [true, false]) {
    for (let row = 0; row < table.rows; row += 1) {
      const key = values[row];
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

/** Note the numbers of a bearer's PDUs. @type {(bearer: Bearer, data: Table) => void} */
function number(bearer, data) {
  const { runs } = bearer;
  const { first_sn, pdus } = data.columns;
  bearer.number = Float64Array.from(runs, (row) => first_sn.values[row]);
  bearer.next = new Float64Array(runs.length);
  let highest = 0;
  for (let at = 0; at < runs.length; at += 1) bearer.next[at] = highest = Math.max(highest, bearer.number[at] + pdus.values[runs[at]]);
}

/**
 * SDUs with their packets, and when they left the buffer where they are sent whole.
 * @type {(table: Table, events: Events, packets: Packets | null, bearers: BearerRow[]) => Sdus}
 */
function sdusOf(table, events, packets, bearers) {
  const { rows } = table;
  /** @type {Sdus} */
  const sdus = {
    table, packet: new Int32Array(rows).fill(-1), of: new Int32Array(packets?.count ?? 0).fill(-1), ended: new Int32Array(rows).fill(-1),
    first: new Float64Array(rows), left: new Float64Array(rows).fill(Infinity), out: new Float64Array(rows).fill(Infinity),
    confirmed: new Float64Array(rows).fill(Infinity), rows: rowsByPacket(table),
  };
  const { packet: ids, bearer } = table.columns;
  for (let sdu = 0; packets && sdu < rows; sdu += 1) {
    const packet = packets.place(ids?.values[sdu] ?? 0);
    if (packet < 0) continue;
    sdus.packet[sdu] = packet;
    sdus.of[packet] = sdu;
    const { first, stops, table: { columns } } = packets;
    const cell = bearers[bearer.values[sdu]]?.node;
    for (let at = first[packet]; at < first[packet + 1] - 1; at += 1) {
      if (columns.element.values[stops[at]] === cell) sdus.out[sdu] = columns.time_ns.values[stops[at + 1]];
    }
  }
  // When SDUs were sent, or had arrived.
  eachSdu(sdus, events.table("bearer_delivered"), (sdu, _, now) => {
    sdus.left[sdu] = now;
  });
  return sdus;
}

/** Rows of `bearer_enqueued` by the numbers of their packets. @param {Table} table @returns {Map<number, number>} */
function rowsByPacket({ rows, columns: { packet } }) {
  const found = new Map();
  for (let row = 0; packet && row < rows; row += 1) found.set(packet.values[row], row);
  return found;
}

/**
 * Call a function with each SDU whose packet a table names, the row there and its time.
 * @type {(sdus: Sdus, table: Table | null, call: (sdu: number, row: number, now: number) => void) => void}
 */
function eachSdu(sdus, table, call) {
  for (let row = 0; table?.columns.packet && row < table.rows; row += 1) {
    const sdu = sdus.rows.get(table.columns.packet.values[row]);
    if (sdu !== undefined) call(sdu, row, table.columns.time_ns.values[row]);
  }
}

/** SDUs with their PDUs, and when their senders were done with them. @type {(sdus: Sdus, events: Events, bearers: BearerRow[]) => void} */
function carry(sdus, events, bearers) {
  const { bearer } = sdus.table.columns;
  const ended = events.table("rlc_sdu");
  eachSdu(sdus, ended, (sdu, row, now) => {
    sdus.ended[sdu] = row;
    sdus.first[sdu] = ended?.columns.first_sn.values[row] ?? 0;
    sdus.left[sdu] = now + (bearers[bearer.values[sdu]]?.slot_ns ?? 0);
  });
  eachSdu(sdus, events.table("rlc_confirmed"), (sdu, _, now) => {
    sdus.confirmed[sdu] = now;
  });
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
