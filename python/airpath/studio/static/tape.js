// Draws the link layer at an instant: the latest TTIs, newest right, and the receiver's reassembly.

import { firstFrom, placeOf } from "studio/reduce";

/** @typedef {import("studio/model").Model} Model */
/** @typedef {import("studio/bearers").Bearer} Bearer */
/** @typedef {import("studio/lanes").Column} Column */
/** @typedef {{top: number, bottom: number}} Lane */
/** @typedef {{ink: CanvasRenderingContext2D, note(x: number, y: number, what: number): void, text(wordings: string[], x: number, y: number, room: number): boolean}} Sheet */
/** @typedef {{now: number, ue: number, followed: number | null}} View */
/** @typedef {{inks: string[], ink: string, quiet: string, grid: string, edge: string, sheet: string, pin: string}} Theme */

/** Width of a TTI, pixels. */
const TTI_PX = 15;
const NARROW_TTI_PX = 9;
/** Greatest height of a PDU, pixels. */
const PDU_PX = 11;
/** Cells of PDUs at the receiver, pixels. */
const CELL_PX = 7;
const LEAST_CELL_PX = 3;

/** Most PDUs of a TTI, by bearer. @type {WeakMap<Bearer, number>} */
const most = new WeakMap();

/**
 * TTIs of a direction with their PDUs, and STATUS PDUs that go with them.
 * @type {(sheet: Sheet, model: Model, bearer: Bearer, view: View, theme: Theme, column: Column, lane: Lane) => void}
 */
export function drawTtis(sheet, model, bearer, view, theme, column, lane) {
  const { ink } = sheet;
  const { left, right } = column;
  const { now } = view;
  const step = right - left < 150 ? NARROW_TTI_PX : TTI_PX;
  const from = now - (Math.ceil((right - left) / step) + 1) * bearer.tti;
  const toX = (/** @type {number} */ time) => right - 3 - ((now - time) / bearer.tti) * step;
  ink.save();
  ink.beginPath();
  ink.rect(left + 1, lane.top + 1, right - left - 2, lane.bottom - lane.top - 2);
  ink.clip();
  const data = model.events.table("rlc_data");
  if (data && bearer.runs.length) {
    const { time_ns, pdus, lost } = data.columns;
    const high = most.get(bearer) ?? mostOf(bearer, time_ns.values, pdus.values);
    most.set(bearer, high);
    const unit = Math.min(PDU_PX, (lane.bottom - lane.top - 8) / high);
    const [first, last] = marked(model, bearer, view);
    let [filled, tti] = [0, NaN];
    const { runs, number, next } = bearer;
    for (let at = firstFrom(time_ns.values, runs, from); at < runs.length && time_ns.values[runs[at]] <= now; at += 1) {
      const row = runs[at];
      const begin = time_ns.values[row];
      if (begin !== tti) [filled, tti] = [0, begin];
      const count = pdus.values[row];
      const again = Math.min(Math.max((at > 0 ? next[at - 1] : 0) - number[at], 0), count);
      const x = toX(begin);
      const bottom = lane.bottom - 4 - filled * unit;
      drawRun(ink, theme, x + 1, bottom, step - 2, unit, count, again, lost.values[row] > 0);
      if (last > number[at] && first < number[at] + count) {
        ink.strokeStyle = theme.pin;
        ink.strokeRect(x + 0.5, bottom - count * unit - 0.5, step - 1, count * unit);
      }
      sheet.note(x + step / 2, bottom - (count * unit) / 2, -row - 1);
      filled += count;
    }
  }
  const status = model.events.table("rlc_status");
  if (status && bearer.tti) {
    const { time_ns, lost } = status.columns;
    for (let at = firstFrom(time_ns.values, bearer.status, from); at < bearer.status.length; at += 1) {
      const row = bearer.status[at];
      if (time_ns.values[row] > now) break;
      drawStatus(ink, theme, toX(time_ns.values[row]) + step / 2, lane.top + 8, lost.values[row] > 0);
    }
  }
  ink.restore();
}

/** PDUs transmitted together: retransmitted ones below, in their colour and with a dot; a cross if they are lost. @type {(ink: CanvasRenderingContext2D, theme: Theme, x: number, bottom: number, width: number, unit: number, count: number, again: number, isLost: boolean) => void} */
function drawRun(ink, theme, x, bottom, width, unit, count, again, isLost) {
  const gap = unit >= 4 ? 1 : 0;
  ink.globalAlpha = isLost ? 0.28 : 1;
  for (let pdu = 0; pdu < count; pdu += 1) {
    ink.fillStyle = theme.inks[pdu < again ? 2 : 0];
    ink.fillRect(x, bottom - (pdu + 1) * unit, width, unit - gap);
  }
  ink.globalAlpha = 1;
  const top = bottom - count * unit;
  if (again) {
    ink.fillStyle = theme.sheet;
    ink.fillRect(x + width / 2 - 1.5, bottom - (again * unit) / 2 - 1.5, 3, 3);
  }
  if (!isLost) return;
  ink.strokeStyle = theme.inks[1];
  ink.lineWidth = 1.6;
  ink.beginPath();
  ink.moveTo(x, top);
  ink.lineTo(x + width, bottom - gap);
  ink.moveTo(x, bottom - gap);
  ink.lineTo(x + width, top);
  ink.stroke();
  ink.lineWidth = 1;
}

/** @type {(ink: CanvasRenderingContext2D, theme: Theme, x: number, y: number, isLost: boolean) => void} */
function drawStatus(ink, theme, x, y, isLost) {
  ink.fillStyle = theme.inks[3];
  ink.beginPath();
  ink.moveTo(x, y - 5);
  ink.lineTo(x + 5, y);
  ink.lineTo(x, y + 5);
  ink.lineTo(x - 5, y);
  ink.fill();
  if (!isLost) return;
  ink.strokeStyle = theme.inks[1];
  ink.lineWidth = 1.6;
  cross(ink, x, y, 5);
  ink.lineWidth = 1;
}

/** @type {(bearer: Bearer, times: ArrayLike<number>, pdus: ArrayLike<number>) => number} */
function mostOf({ runs }, times, pdus) {
  let [high, sum, tti] = [1, 0, NaN];
  for (const row of runs) {
    if (times[row] !== tti) [sum, tti] = [0, times[row]];
    sum += pdus[row];
    high = Math.max(high, sum);
  }
  return high;
}

/** PDUs of the packet that is followed: from the first, below the second. @type {(model: Model, bearer: Bearer, view: View) => [number, number]} */
function marked({ sdus, events }, bearer, { followed }) {
  const sdu = followed === null ? -1 : sdus?.of[followed] ?? -1;
  const pdus = events.table("rlc_sdu")?.columns.pdus;
  if (!sdus || !pdus || sdu < 0 || sdus.ended[sdu] < 0 || placeOf(bearer.sdus, sdu) < 0) return [0, 0];
  return [sdus.first[sdu], sdus.first[sdu] + pdus.values[sdus.ended[sdu]]];
}

/**
 * Slots of a link layer that does not number its PDUs: as high as PDUs were sent, and the lost of them crossed.
 * @type {(sheet: Sheet, model: Model, bearer: Bearer, view: View, theme: Theme, column: Column, lane: Lane) => void}
 */
export function drawSlots(sheet, model, bearer, view, theme, column, lane) {
  const { ink } = sheet;
  const { left, right } = column;
  const table = model.events.table("slot_ended");
  if (!table || !bearer.tti) return;
  const { time_ns, pdus_sent, pdus_lost } = table.columns;
  const { slots, tti } = bearer;
  const high = most.get(bearer) ?? slots.reduce((least, row) => Math.max(least, pdus_sent.values[row]), 1);
  most.set(bearer, high);
  const unit = Math.min(PDU_PX, (lane.bottom - lane.top - 8) / high);
  ink.save();
  ink.beginPath();
  ink.rect(left + 1, lane.top + 1, right - left - 2, lane.bottom - lane.top - 2);
  ink.clip();
  const from = view.now - (Math.ceil((right - left) / TTI_PX) + 1) * tti;
  for (let at = firstFrom(time_ns.values, slots, from); at < slots.length; at += 1) {
    const row = slots[at];
    const begin = time_ns.values[row] - tti;
    if (begin > view.now) break;
    const x = right - 3 - ((view.now - begin) / tti) * TTI_PX;
    const [sent, lost] = [pdus_sent.values[row], pdus_lost.values[row]];
    drawRun(ink, theme, x + 1, lane.bottom - 4, TTI_PX - 2, unit, sent - lost, 0, false);
    if (lost) drawRun(ink, theme, x + 1, lane.bottom - 4 - (sent - lost) * unit, TTI_PX - 2, unit, lost, 0, true);
  }
  ink.restore();
}

/**
 * PDUs that have arrived and wait for others, from the first SDU on that is not whole; holes between them are crossed.
 * @type {(sheet: Sheet, model: Model, bearer: Bearer, view: View, theme: Theme, column: Column, lane: Lane) => void}
 */
export function drawReceiver(sheet, model, bearer, view, theme, column, lane) {
  const { ink } = sheet;
  const state = receiving(model, bearer, view.now);
  const count = state.high - state.low;
  if (count <= 0) return;
  const [width, height] = [column.right - column.left - 8, lane.bottom - lane.top - 8];
  let cell = CELL_PX;
  while (cell > LEAST_CELL_PX && Math.floor(width / cell) * Math.floor(height / cell) < count) cell -= 1;
  const rows = Math.floor(height / cell);
  const shown = Math.min(count, rows * Math.floor(width / cell));
  const [first, last] = marked(model, bearer, view);
  for (let n = 0; n < shown; n += 1) {
    const pdu = state.low + n;
    const x = column.left + 4 + Math.floor(n / rows) * cell;
    const y = lane.top + 4 + (n % rows) * cell;
    const side = cell - 1.5;
    ink.fillStyle = ink.strokeStyle = theme.inks[0];
    if (bearer.arrived[pdu] <= view.now) ink.fillRect(x, y, side, side);
    else if (pdu >= state.air || bearer.arrived[pdu] <= view.now + bearer.delay) {
      ink.globalAlpha = 0.6;
      ink.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
      ink.globalAlpha = 1;
    } else {
      ink.strokeStyle = theme.inks[1];
      cross(ink, x + side / 2, y + side / 2, side / 2);
    }
    if (pdu >= first && pdu < last) {
      ink.strokeStyle = theme.pin;
      ink.strokeRect(x - 0.5, y - 0.5, side + 1, side + 1);
    }
  }
}

/**
 * A receiver's view of a bearer's PDUs: from `low`, the first of an incomplete SDU, to `high`, the highest sent; from
 * `air` on they are in their first transmission. `holes` have not arrived, `waiting` have.
 * @type {(model: Model, bearer: Bearer, now: number) => {low: number, air: number, high: number, edge: number, holes: number, waiting: number}}
 */
export function receiving(model, bearer, now) {
  const data = model.events.table("rlc_data");
  const none = { low: 0, air: 0, high: 0, edge: 0, holes: 0, waiting: 0 };
  if (!data || !bearer.complete.length) return none;
  const times = data.columns.time_ns.values;
  const { runs, next } = bearer;
  const sent = firstFrom(times, runs, now + 1) - 1;
  if (sent < 0) return none;
  const landed = firstFrom(times, runs, now - bearer.delay + 1) - 1;
  const high = next[sent];
  let [low, above] = [0, bearer.complete.length];
  while (low < above) {
    const middle = (low + above) >> 1;
    if (bearer.complete[middle] <= now) low = middle + 1;
    else above = middle;
  }
  const edge = Math.min(low, high);
  const air = landed < 0 ? 0 : next[landed];
  let [holes, waiting] = [0, 0];
  for (let pdu = edge; pdu < Math.min(air, high); pdu += 1) {
    if (bearer.arrived[pdu] <= now) waiting += 1;
    else holes += 1;
  }
  return { low: Math.min(startOf(bearer, edge), edge), air, high, edge, holes, waiting };
}

/** The first PDU of the SDU that a PDU belongs to. @type {(bearer: Bearer, pdu: number) => number} */
function startOf({ starts }, pdu) {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= pdu) low = middle + 1;
    else high = middle;
  }
  return low ? starts[low - 1] : pdu;
}

/** @type {(ink: CanvasRenderingContext2D, x: number, y: number, half: number) => void} */
export function cross(ink, x, y, half) {
  ink.beginPath();
  ink.moveTo(x - half, y - half);
  ink.lineTo(x + half, y + half);
  ink.moveTo(x - half, y + half);
  ink.lineTo(x + half, y - half);
  ink.stroke();
}
