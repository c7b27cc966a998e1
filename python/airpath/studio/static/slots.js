// Slots of a shared downlink: their length is what divides the times of all blocks.

/** @typedef {import("studio/events").Events} Events */
/**
 * The slots of a cell: their length and when the first began, nanoseconds, and the most units that a slot had.
 * @typedef {{table: import("studio/events").Table, length: number, phase: number, units: number}} Slots
 */

/** @param {Events} events @returns {Slots | null} */
export function slotsOf(events) {
  const table = events.table("block_sent");
  if (!table?.rows) return null;
  const times = table.columns.time_ns.values;
  let [length, units, sum] = [0, 0, 0];
  for (let row = 0; row < table.rows; row += 1) {
    const apart = row ? times[row] - times[row - 1] : 0;
    sum = (apart ? 0 : sum) + table.columns.units.values[row];
    units = Math.max(units, sum);
    for (let other = apart; other > 0; ) [length, other] = other > length ? [other, length] : [other, length % other];
  }
  return { table, length, phase: times[0], units };
}
