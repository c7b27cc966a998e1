// Blocks of a shared cell: who has which slot, and how much of it. A slot is a column, as high as its codes or
// resource blocks; a retransmitted block has a bar across, one that the receiver cannot decode yet is crossed. Of several layers
// a block has a dot each at its foot.

import { figure } from "studio/dom";
import { kindOf } from "studio/graph";
import { ueName } from "studio/names";
import { readableOn } from "studio/paint";
import { firstFrom } from "studio/reduce";
import { layersIn } from "studio/series";
import { cross } from "studio/tape";
import { formatOf } from "studio/words";

/** @typedef {import("studio/model").Model} Model */
/** @typedef {import("studio/lanes").Column} Column */
/** @typedef {import("studio/scene").Scene} Scene */
/** @typedef {import("studio/scene").View} View */
/** @typedef {import("studio/scene").Theme} Theme */
/** @typedef {import("studio/slots").Slots} Slots */

/** Height of the line with the slots of a TDD pattern, pixels. */
const FRAME_PX = 12;
/** Width of a slot, pixels. */
const SLOT_PX = 15;
/** Least height of a block that has room for its UE's number, pixels. */
const WORD_PX = 11;
/** Height of the dots that are a block's layers, pixels. */
const DOT_PX = 2;
/** What is drawn of blocks is noted below these numbers, so that a click knows them from PDUs. */
export const BLOCKS = -(2 ** 40);
export const UPLINK_BLOCKS = -(2 ** 41);

/** The colour of a UE. @type {(theme: Theme, ue: number) => string} */
export const inkOf = ({ inks }, ue) => inks[ue % inks.length];

/** @type {(scene: Scene, slots: Slots, view: View, theme: Theme, column: Column, lane: {top: number, bottom: number}, base: number) => void} */
export function drawBlocks(scene, slots, view, theme, column, lane, base) {
  const [{ ink }, { table, rows, length, units }, { left, right }, { top }] = [scene, slots, column, lane];
  const { time_ns, ue, units: own, transmission, lost, cqi } = table.columns;
  const bottom = lane.bottom - (slots.frame ? FRAME_PX : 0);
  const unit = (bottom - top - 8) / units;
  const from = view.now - (Math.ceil((right - left) / SLOT_PX) + 1) * length;
  ink.save();
  ink.beginPath();
  ink.rect(left + 1, top + 1, right - left - 2, lane.bottom - top - 2);
  ink.clip();
  if (slots.frame) drawFrame(scene, slots, view, theme, column, lane.bottom);
  let [filled, slot] = [0, NaN];
  for (let at = firstFrom(time_ns.values, rows, from); at < rows.length && time_ns.values[rows[at]] <= view.now; at += 1) {
    const row = rows[at];
    const begin = time_ns.values[row];
    if (begin !== slot) [filled, slot] = [0, begin];
    const height = own.values[row] * unit;
    const x = right - 3 - ((view.now - begin) / length) * SLOT_PX;
    const y = bottom - 4 - filled * unit - height;
    filled += own.values[row];
    const [wide, high, middle] = [SLOT_PX - 2, Math.max(height - 1, 1), y + height / 2];
    ink.fillStyle = inkOf(theme, ue.values[row]);
    const alpha = lost.values[row] ? 0.3 : ue.values[row] === view.ue ? 1 : 0.6;
    ink.globalAlpha = alpha;
    ink.fillRect(x + 1, y, wide, high);
    ink.globalAlpha = 1;
    scene.note(x + SLOT_PX / 2, middle, base - row);
    if (transmission.values[row] > 1) {
      // As many notches as times that it was sent before.
      ink.fillStyle = theme.ink;
      for (let n = 1; n < transmission.values[row]; n += 1) ink.fillRect(x + 1, y + 3 * (n - 1), wide, 2);
    }
    const layers = layersIn(cqi.values[row]);
    if (layers > 1 && high >= DOT_PX + 4) {
      ink.fillStyle = readableOn(inkOf(theme, ue.values[row]), alpha, theme.ground);
      const pitch = Math.min(wide / layers, DOT_PX + 1);
      for (let n = 0; n < layers; n += 1) ink.fillRect(x + 1 + wide / 2 + (n - layers / 2) * pitch, y + high - DOT_PX - 1, pitch - 1, DOT_PX);
    }
    if (lost.values[row]) {
      ink.strokeStyle = theme.inks[1];
      ink.lineWidth = 1.6;
      cross(ink, x + SLOT_PX / 2, middle, Math.min(5, Math.max(high / 2, 2)));
      ink.lineWidth = 1;
    } else if (x > left && x + SLOT_PX <= right + 4 && high >= WORD_PX + 3 * (transmission.values[row] - 1)) {
      ink.fillStyle = readableOn(inkOf(theme, ue.values[row]), alpha, theme.ground);
      ink.textAlign = "center";
      ink.fillText(String(ue.values[row]), x + SLOT_PX / 2, middle + 4);
    }
  }
  ink.restore();
}

/**
 * The letters of a TDD pattern below its slots: D, S and U, those with an uplink on a ground of their own.
 * @type {(scene: Scene, slots: Slots, view: View, theme: Theme, column: Column, bottom: number) => void}
 */
function drawFrame({ ink }, { table, rows, length, frame }, view, theme, { left, right }, bottom) {
  if (!rows.length) return;
  const { time_ns, slot } = table.columns;
  // A slot is decided on, and told of, before it is on the air.
  const lead = slot.values[rows[0]] - Math.round(time_ns.values[rows[0]] / length);
  ink.textAlign = "center";
  for (let at = Math.floor(view.now / length); at >= 0; at -= 1) {
    const x = right - 3 - (view.now / length - at) * SLOT_PX;
    if (x + SLOT_PX < left) break;
    const letter = frame[(at + lead) % frame.length];
    ink.fillStyle = letter === "D" ? theme.quiet : theme.inks[letter === "U" ? 2 : 0];
    ink.globalAlpha = letter === "D" ? 0.15 : 0.3;
    ink.fillRect(x + 1, bottom - FRAME_PX, SLOT_PX - 2, FRAME_PX - 2);
    ink.globalAlpha = 1;
    ink.fillStyle = theme.ink;
    ink.fillText(letter, x + SLOT_PX / 2, bottom - 3);
  }
}

/**
 * What waits for each UE of the cell: a bar each, over its number.
 * @type {(scene: Scene, waits: Map<number, number>, view: View, theme: Theme, column: Column, lane: {top: number, bottom: number}) => void}
 */
export function drawWaits(scene, waits, view, theme, { left, right }, { top, bottom }) {
  const { ink } = scene;
  const pitch = Math.min((right - left - 8) / Math.max(waits.size, 1), 28);
  const most = Math.max(1, ...waits.values());
  const room = bottom - top - 18;
  ink.textAlign = "center";
  [...waits.keys()].sort((a, b) => a - b).forEach((ue, n) => {
    const x = left + 4 + n * pitch;
    const height = ((waits.get(ue) ?? 0) / most) * room;
    ink.fillStyle = inkOf(theme, ue);
    ink.globalAlpha = ue === view.ue ? 1 : 0.6;
    ink.fillRect(x + 1, bottom - 14 - height, Math.max(pitch - 3, 1), height);
    ink.globalAlpha = 1;
    ink.fillStyle = ue === view.ue ? theme.ink : theme.quiet;
    if (pitch >= 8) ink.fillText(String(ue), x + pitch / 2, bottom - 3);
  });
}

/** The slot of an instant in words. @type {(slots: Slots, model: Model, now: number) => string} */
export function slotWords({ table, rows, length, phase }, { graph, run }, now) {
  const { time_ns, ue, units, bits, transmission, lost, cqi } = table.columns;
  const begin = phase + Math.floor((now - phase) / length + 1e-6) * length;
  const kind = kindOf(graph.names[graph.cellOf(ue.values[rows[0]], time_ns.values[rows[0]])] ?? "");
  const thing = kind === "radio.hsdpa" ? "codes" : "PRBs";
  const told = [];
  for (let at = firstFrom(time_ns.values, rows, begin - 1); at < rows.length && time_ns.values[rows[at]] < now + 1; at += 1) {
    const row = rows[at];
    const again = transmission.values[row] > 1 ? `, transmission ${transmission.values[row]}` : "";
    told.push(`${ueName(run, ue.values[row])} has ${units.values[row]} ${thing}, ${formatOf(kind, cqi.values[row])}, ${figure(bits.values[row])} bits${again}${lost.values[row] ? ", lost" : ""}`);
  }
  return told.length ? `This slot: ${told.join("; ")}.` : "This slot is empty.";
}
