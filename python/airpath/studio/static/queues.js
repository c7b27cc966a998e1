// Draws buffers: what waits, what was sent and is kept, and what waits for other UEs of the cell.

import { drawWaits } from "studio/blocks";
import { INKS, LANES } from "studio/lanes";
import { LOOKS } from "studio/model";
import { ueName } from "studio/names";
import { buffered } from "studio/standing";
import { receiving } from "studio/tape";

/** @typedef {import("studio/scene").Scene} Scene */
/** @typedef {import("studio/model").Model} Model */
/** @typedef {import("studio/lanes").Column} Column */
/** @typedef {import("studio/scene").View} View */
/** @typedef {import("studio/scene").Theme} Theme */

/** Cells of a buffer, pixels. */
const CELL_PX = 7;
const MOST_ROWS = 4;
/** Queues of other UEs that have room, and their heights, pixels. */
const MOST_UES = 3;
const OTHER_PX = 13;

/** The buffers of the cell and of the UE: first what is next. @type {(scene: Scene, model: Model, view: View, theme: Theme) => void} */
export function drawQueues(scene, model, view, theme) {
  const [buffer, receiver] = [scene.column("buffer"), scene.column("receiver") ?? scene.column("ue")];
  if (!buffer || !receiver || !model.sdus) return;
  drawQueue(scene, model, view, theme, false, buffer, LANES.down);
  drawQueue(scene, model, view, theme, true, receiver, LANES.up);
  between(scene, model, view, theme);
  if (model.slots) drawWaits(scene, new Map([...model.ues.map((ue) => /** @type {[number, number]} */ ([ue, 0])), ...scene.others, [view.ue, scene.waits[0]]]), view, theme, buffer, LANES.up);
  else if (scene.others.size && !model.bearer(view.ue, true)?.runs.length) drawOthers(scene, model, theme, buffer);
}

/** What waits for other UEs of the cell. @type {(scene: Scene, model: Model, theme: Theme, buffer: Column) => void} */
function drawOthers(scene, model, theme, buffer) {
  const { ink } = scene;
  const ues = [...scene.others].sort(([a], [b]) => a - b);
  ues.slice(0, MOST_UES).forEach(([ue, count], n) => {
    const y = LANES.up.top + 2 + n * OTHER_PX;
    if (n === MOST_UES - 1 && ues.length > MOST_UES) {
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
    const room = Math.floor((buffer.right - buffer.left - 46) / 4);
    for (let k = 0; k < Math.min(count, room); k += 1) ink.fillRect(buffer.right - 6 - 4 * k, y + 2, 3, OTHER_PX - 5);
    ink.globalAlpha = 1;
  });
}

/** @type {(scene: Scene, model: Model, view: View, theme: Theme, isUp: boolean, column: Column, lane: {top: number, bottom: number}) => void} */
function drawQueue(scene, model, view, theme, isUp, column, lane) {
  const { ink } = scene;
  const way = Number(isUp);
  const waits = scene.waits[way];
  const kept = buffered(model, view, isUp)?.kept ?? 0;
  if (!isUp) scene.kept = kept;
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
    const packet = n < kept ? -1 : scene.waiting[way][n - kept];
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

/** Numbers between the lanes: what waits in the buffer, and at the UE behind holes. @type {(scene: Scene, model: Model, view: View, theme: Theme) => void} */
function between(scene, model, view, theme) {
  const { ink } = scene;
  const [buffer, receiver] = [scene.column("buffer"), scene.column("receiver")];
  const bearer = model.bearer(view.ue, false);
  ink.fillStyle = theme.quiet;
  ink.textAlign = "center";
  if (buffer) {
    const { waits: [waits], kept } = scene;
    const short = kept ? `${waits} + ${kept}` : String(waits);
    if (waits + kept) scene.text([`${waits} wait${kept ? `, ${kept} kept` : ""}`, short, String(waits)], (buffer.left + buffer.right) / 2, LANES.between, buffer.right - buffer.left);
  }
  if (!receiver || !bearer?.resends || scene.isNarrow) return;
  const { holes, waiting } = receiving(model, bearer, view.now);
  const told = `${holes} ${holes === 1 ? "hole" : "holes"}`;
  if (holes) scene.text([`${waiting} wait, ${told}`, told], (receiver.left + receiver.right) / 2, LANES.between, receiver.right - receiver.left);
}
