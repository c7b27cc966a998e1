// Slots of a shared downlink: their length is what divides the times of all blocks.

/** @typedef {import("studio/events").Events} Events */
/**
 * The slots of a cell: rows of its blocks in `block_sent`, their length and when the first began, nanoseconds, and the most
 * units that a slot had.
 * @typedef {{table: import("studio/events").Table, rows: Uint32Array, length: number, phase: number, units: number}} Slots
 */

/**
 * Slots by the places of their cells.
 * @param {Events} events
 * @param {import("studio/graph").Graph} graph
 * @returns {Map<number, Slots>}
 */
export function slotsOf(events, graph) {
  const table = events.table("block_sent");
  if (!table?.rows) return new Map();
  const { ue, time_ns } = table.columns;
  const [first] = graph.cells;
  if (graph.cells.length < 2) return new Map([[first, inCell(table, Uint32Array.from({ length: table.rows }, (_, row) => row))]]);
  /** @type {Map<number, number[]>} */
  const rows = new Map();
  for (let row = 0; row < table.rows; row += 1) {
    const cell = graph.cellOf(ue.values[row], time_ns.values[row]);
    const own = rows.get(cell);
    if (own) own.push(row);
    else rows.set(cell, [row]);
  }
  return new Map([...rows].map(([cell, own]) => [cell, inCell(table, Uint32Array.from(own))]));
}

/** @type {(table: import("studio/events").Table, rows: Uint32Array) => Slots} */
function inCell(table, rows) {
  const times = table.columns.time_ns.values;
  let [length, units, sum] = [0, 0, 0];
  for (let at = 0; at < rows.length; at += 1) {
    const apart = at ? times[rows[at]] - times[rows[at - 1]] : 0;
    sum = (apart ? 0 : sum) + table.columns.units.values[rows[at]];
    units = Math.max(units, sum);
    for (let other = apart; other > 0; ) [length, other] = other > length ? [other, length] : [other, length % other];
  }
  return { table, rows, length, phase: times[rows[0]], units };
}
