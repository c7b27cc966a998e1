// Slots of a shared downlink.

/** @typedef {import("studio/events").Events} Events */
/**
 * The slots of a cell: their length and when the first began, nanoseconds, and the most units that a slot had.
 * @typedef {{table: import("studio/events").Table, length: number, phase: number, units: number}} Slots
 */

/** @type {(events: Events, bearers: import("studio/source").BearerRow[]) => Slots | null} */
export function slotsOf(events, bearers) {
  const table = events.table("block_sent");
  const cell = bearers.find(({ shared }) => shared);
  if (!table?.rows || !cell) return null;
  const { slot, units: own } = table.columns;
  let [units, sum] = [0, 0];
  for (let row = 0; row < table.rows; row += 1) {
    sum = (row && slot.values[row] === slot.values[row - 1] ? sum : 0) + own.values[row];
    units = Math.max(units, sum);
  }
  return { table, length: cell.slot_ns, phase: cell.phase_ns, units };
}
