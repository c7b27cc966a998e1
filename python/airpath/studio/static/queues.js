// Draws buffers: queued SDUs, SDUs sent but kept, and the queues of other UEs of the cell.

import { drawWaits } from "studio/blocks";
import { INKS } from "studio/lanes";
import { LOOKS } from "studio/model";
import { ueName } from "studio/names";
import { buffered } from "studio/standing";
import { receiving } from "studio/tape";

/** @typedef {import("studio/scene").Scene} Scene */
/** @typedef {import("studio/model").Model} Model */
/** @typedef {import("studio/lanes").Column} Column */
/** @typedef {import("studio/scene").Row} Row */
/** @typedef {import("studio/scene").Theme} Theme */

/** Cells of a buffer, pixels. */
const CELL_PX = 7;
const MOST_ROWS = 4;
/** Queues of other UEs that have room, and their heights, pixels. */
const MOST_UES = 3;
const OTHER_PX = 13;

/** The buffers of the cell and of the UE: first what is next. @type {(scene: Scene, model: Model, row: Row, theme: Theme) => void} */
export function drawQueues(scene, model, row, theme) {
  const { view, lanes } = row;
  const [buffer, receiver] = [scene.column(row, "buffer"), scene.column(row, "receiver") ?? scene.column(row, "ue")];
  if (!buffer || !receiver || !model.sdus) return;
  drawQueue(scene, model, row, theme, false, buffer, lanes.down);
  drawQueue(scene, model, row, theme, true, receiver, lanes.up);
  between(scene, model, row, theme);
  if (model.slots.has(buffer.place)) {
    const ues = model.uesIn(buffer.place, view.now).map((ue) => /** @type {[number, number]} */ ([ue, 0]));
    drawWaits(scene, new Map([...ues, ...row.others, ...(view.ue < 0 ? [] : [/** @type {[number, number]} */ ([view.ue, row.waits[0]])])]), view, theme, buffer, lanes.up);
  } else if (row.others.size && !model.bearer(view.ue, true, view.now)?.runs.length) drawOthers(scene, model, row, theme, buffer);
}

/** The queues of other UEs of the cell. @type {(scene: Scene, model: Model, row: Row, theme: Theme, buffer: Column) => void} */
function drawOthers(scene, model, { others, lanes: { up } }, theme, buffer) {
  const { ink } = scene;
  const room = Math.min(MOST_UES, Math.floor((up.bottom - up.top) / OTHER_PX));
  const ues = [...others].sort(([a], [b]) => a - b);
  ues.slice(0, room).forEach(([ue, count], n) => {
    const y = up.top + 2 + n * OTHER_PX;
    if (n === room - 1 && ues.length > room) {
      const rest = ues.slice(n).reduce((sum, [, own]) => sum + own, 0);
      ink.fillStyle = theme.quiet;
      ink.textAlign = "left";
      scene.text([`${ues.length - n} more UEs: ${rest}`, `+ ${ues.length - n}: ${rest}`], buffer.left + 4, y + 10, buffer.right - buffer.left - 8);
      return;
    }
    ink.fillStyle = theme.quiet;
    ink.textAlign = "left";
    ink.fillText(ueName(model.run, ue), buffer.left + 4, y + 10);
    ink.globalAlpha = 0.55;
    ink.fillStyle = theme.inks[0];
    const most = Math.floor((buffer.right - buffer.left - 46) / 4);
    for (let k = 0; k < Math.min(count, most); k += 1) ink.fillRect(buffer.right - 6 - 4 * k, y + 2, 3, OTHER_PX - 5);
    ink.globalAlpha = 1;
  });
}

/** @type {(scene: Scene, model: Model, row: Row, theme: Theme, isUp: boolean, column: Column, lane: {top: number, bottom: number}) => void} */
function drawQueue(scene, model, row, theme, isUp, column, lane) {
  const { ink } = scene;
  const { view } = row;
  const way = Number(isUp);
  const waits = row.waits[way];
  const kept = buffered(model, view, isUp)?.kept ?? 0;
  if (!isUp) row.kept = kept;
  const total = waits + kept;
  if (!total) return;
  const room = column.right - column.left - 8;
  let rows = 1;
  while (rows < MOST_ROWS && Math.ceil(total / rows) * CELL_PX > room) rows += 1;
  const pitch = Math.min(CELL_PX, room / Math.ceil(total / rows));
  const height = (Math.min(lane.bottom - lane.top, 44) - 10) / rows;
  const top = (lane.top + lane.bottom) / 2 - (height * rows) / 2;
  for (let n = 0; n < total; n += 1) {
    const across = (Math.floor(n / rows) + 1) * pitch;
    const x = isUp ? column.left + 4 + across - pitch : column.right - 4 - across;
    const y = top + (n % rows) * height;
    const packet = n < kept ? -1 : row.waiting[way][n - kept];
    const look = packet < 0 ? (isUp === (view.flow?.direction === "uplink") ? LOOKS.data : LOOKS.ack) : model.looks[packet];
    const [wide, high] = [Math.max(pitch - 1.5, 1), (look === LOOKS.ack ? 0.6 : 1) * (height - 2)];
    const under = y + (height - 2 - high) / 2;
    if (packet < 0) {
      // Sent, and kept until the other side confirms it.
      ink.strokeStyle = theme.inks[INKS[look]];
      ink.globalAlpha = 0.7;
      ink.strokeRect(x + 0.5, under + 0.5, Math.max(wide - 1, 0.5), high - 1);
      ink.globalAlpha = 1;
      continue;
    }
    ink.fillStyle = theme.inks[INKS[look]];
    ink.fillRect(x, under, wide, high);
    ink.fillStyle = theme.sheet;
    if (look === LOOKS.again || look === LOOKS.late) ink.fillRect(x, under + high / 2 - 1, wide, 2);
    scene.note(x + wide / 2, under + high / 2, packet);
  }
}

/** Numbers between the lanes: packets queued in the buffer, and waiting behind gaps at the UE. @type {(scene: Scene, model: Model, row: Row, theme: Theme) => void} */
function between(scene, model, row, theme) {
  const { ink } = scene;
  const { view, lanes } = row;
  if (lanes.between === null) return;
  const [buffer, receiver] = [scene.column(row, "buffer"), scene.column(row, "receiver")];
  const bearer = model.bearer(view.ue, false, view.now);
  ink.fillStyle = theme.quiet;
  ink.textAlign = "center";
  if (buffer) {
    const { waits: [waits], kept } = row;
    const short = kept ? `${waits} + ${kept}` : String(waits);
    if (waits + kept) scene.text([`${waits} wait${kept ? `, ${kept} kept` : ""}`, short, String(waits)], (buffer.left + buffer.right) / 2, lanes.between, buffer.right - buffer.left);
  }
  if (!receiver || !bearer?.retransmits || scene.isNarrow) return;
  const { holes, waiting } = receiving(model, bearer, view.now);
  const told = `${holes} ${holes === 1 ? "hole" : "holes"}`;
  if (holes) scene.text([`${waiting} wait, ${told}`, told], (receiver.left + receiver.right) / 2, lanes.between, receiver.right - receiver.left);
}
