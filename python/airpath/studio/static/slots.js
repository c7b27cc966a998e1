// Slots of shared cells, in either direction.

/** @typedef {import("studio/events").Events} Events */
/**
 * The slots of a cell in a direction: rows of its blocks in `block_sent` or `uplink_block`, their length and when the first began, nanoseconds, and the most
 * units that a slot had; the TDD pattern of D, S and U, empty without one.
 * @typedef {{table: import("studio/events").Table, rows: Uint32Array, length: number, phase: number, units: number, frame: string}} Slots
 */

/**
 * Slots by the places of their cells. `values` are those of the scenario; the TDD pattern comes with the downlink.
 * @type {(events: Events, bearers: import("studio/source").BearerRow[], values: Record<string, any>, isUp: boolean) => Map<number, Slots>}
 */
export function slotsOf(events, bearers, values, isUp) {
  const pattern = values.radio?.nr?.frame;
  const frame = typeof pattern === "string" && pattern !== "FDD" && !isUp ? pattern : "";
  const table = events.table(isUp ? "uplink_block" : "block_sent");
  /** @type {Map<number, number[]>} */
  const rows = new Map();
  for (let row = 0; table && row < table.rows; row += 1) {
    const cell = bearers[table.columns.bearer?.values[row]]?.node;
    if (cell === undefined) continue;
    const own = rows.get(cell);
    if (own) own.push(row);
    else rows.set(cell, [row]);
  }
  const found = new Map();
  for (const [cell, own] of rows) {
    const shared = bearers.find(({ node, shared: isShared }) => node === cell && isShared);
    if (table && shared) found.set(cell, { table, rows: Uint32Array.from(own), length: shared.slot_ns, phase: shared.phase_ns, units: mostUnits(table, own), frame });
  }
  return found;
}

/** The most units in a slot. @type {(table: import("studio/events").Table, rows: number[]) => number} */
function mostUnits({ columns: { slot, units: own } }, rows) {
  let [most, sum] = [0, 0];
  for (let at = 0; at < rows.length; at += 1) {
    sum = (at && slot.values[rows[at]] === slot.values[rows[at - 1]] ? sum : 0) + own.values[rows[at]];
    most = Math.max(most, sum);
  }
  return most;
}
