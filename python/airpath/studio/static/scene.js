// Draws the path at an instant: packets in flight, the buffer, TTIs in transmission, the UE's reassembly. It queries the
// model, keeps nothing from frame to frame but its arrays, and remembers what it drew where, so that a click finds it.

import { BLOCKS, drawBlocks, UPLINK_BLOCKS } from "studio/blocks";
import { FORK_PX, INKS, isNarrow, layoutOf, middleOf, SIZES } from "studio/lanes";
import { LOOKS, stopAt } from "studio/model";
import { ueName } from "studio/names";
import { around, OUTCOMES } from "studio/packets";
import { drawQueues } from "studio/queues";
import { boxState, receiverState, senderState } from "studio/standing";
import { cross, drawReceiver, drawSlots, drawTtis } from "studio/tape";

/** @typedef {import("studio/model").Model} Model */
/** @typedef {import("studio/lanes").Column} Column */
/**
 * What to draw: a UE and its flow, at an instant, in nanoseconds; `fall` is for how long drops are seen.
 * @typedef {{ue: number, flow: import("studio/source").Flow | null, now: number, fall: number, followed: number | null}} View
 */
/** A row of the picture: a cell or way, and the UE of it that is shown. @typedef {{columns: Column[], lanes: import("studio/lanes").Lanes, view: View, names: string[], waiting: Int32Array[], waits: number[], kept: number, others: Map<number, number>}} Row */
/** @typedef {{inks: string[], ink: string, quiet: string, grid: string, edge: string, sheet: string, ground: string, pin: string}} Theme */

const DROPPED = OUTCOMES.indexOf("dropped");
const HIT_PX = 9;
/** Between two lines of text. */
const LINE_PX = 13;

export class Scene {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.ink = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    /** @type {Column[]} */
    this.columns = [];
    /** Lines between the columns. @type {number[][]} */
    this.lines = [];
    this.width = 0;
    this.height = 0;
    this.laidFor = "";
    this.isNarrow = false;
    /** @type {Row[]} */
    this.rows = [];
    /** The row of each UE that is shown. @type {Map<number, Row>} */
    this.rowOf = new Map();
    /** The column of each place; of the cell, its buffer. @type {(Column | undefined)[]} */
    this.columnOf = [];
    /** What was drawn: x, y and packet of each; for runs of PDUs their row instead of the packet, below zero. */
    this.drawn = new Float64Array(3 * 256);
    this.count = 0;
    /** Rectangles by look: x and y. */
    this.shapes = SIZES.map(() => ({ at: new Float32Array(512), count: 0 }));
    /** Packets that were dropped a moment ago; of many, the latest. */
    this.falling = new Int32Array(64);
    this.fallCount = 0;
    /** Where names stand. @type {{left: number, right: number, y: number}[]} */
    this.titles = [];
    /** Packets held at each place. */
    this.held = new Uint16Array(64);
  }

  /** Take the size that the page gives. @type {(width: number, height: number) => void} */
  size(width, height) {
    const ratio = devicePixelRatio;
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    [this.width, this.height] = [width, height];
    this.laidFor = "";
  }

  /**
   * @param {Model} model
   * @param {View} view
   * @param {Theme} theme
   */
  draw(model, view, theme) {
    const { ink, width } = this;
    if (!width) return;
    this.lay(model, view);
    ink.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    ink.clearRect(0, 0, width, this.height);
    ink.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    ink.lineWidth = 1;
    this.count = 0;
    this.fallCount = 0;
    this.held.fill(0);
    this.shapes.forEach((shape) => { shape.count = 0; });
    this.stations(theme);
    for (const row of this.rows) this.air(model, row, theme);
    if (model.packets) this.packets(model, view, theme);
    for (const row of this.rows) drawQueues(this, model, row, theme);
    if (this.fallCount) this.falls(model, view, theme);
    this.captions(model, view, theme);
  }

  /** Find out who is where, and lay out the columns if that has changed. @type {(model: Model, view: View) => void} */
  lay(model, view) {
    const { graph } = model;
    const shown = shownIn(model, view);
    const hasReceiver = shown.map(({ view: { ue, now } }) => Boolean(model.bearer(ue, false, now)?.runs.length || model.bearer(ue, true, now)?.runs.length));
    const key = `${graph.names.join()} ${this.width} ${hasReceiver}`;
    if (this.laidFor !== key) {
      const { columns, lines } = layoutOf(graph, this.width, hasReceiver);
      [this.columns, this.lines] = [columns, lines];
      this.columnOf = graph.names.map((_, place) => this.columns.find((own) => own.place === place));
      this.isNarrow = isNarrow(graph, this.width);
      this.held = new Uint16Array(2 * graph.names.length);
      this.laidFor = key;
    }
    this.rows = shown.map((own, n) => {
      const columns = this.columns.filter(({ row }) => row === n);
      const waiting = this.rows[n]?.waiting ?? [new Int32Array(256), new Int32Array(256)];
      return { ...own, columns, lanes: columns[columns.length - 1].lanes, waiting, waits: [0, 0], kept: 0, others: new Map() };
    });
    this.rowOf = new Map(this.rows.map((row) => [row.view.ue, row]));
  }

  /** @type {(row: Row | undefined, kind: Column["kind"]) => Column | undefined} */
  column(row, kind) {
    return row?.columns.find((own) => own.kind === kind);
  }

  /** The sheets of the stations, the lines of the lanes, and the titles. @param {Theme} theme */
  stations(theme) {
    const { ink, columns } = this;
    this.titles = [];
    ink.strokeStyle = theme.grid;
    for (const [fromX, fromY, toX, toY] of this.lines) {
      ink.beginPath();
      ink.moveTo(fromX, Math.round(fromY) + 0.5);
      ink.lineTo(toX, Math.round(toY) + 0.5);
      ink.stroke();
    }
    for (const { kind, titles, left, right, row, lanes } of columns) {
      if (kind !== "wire") {
        for (const { top, bottom } of kind === "air" || kind === "buffer" || kind === "receiver" ? [lanes.down, lanes.up] : [{ top: lanes.down.top, bottom: lanes.up.bottom }]) {
          ink.fillStyle = kind === "air" ? theme.ground : theme.sheet;
          ink.fillRect(left, top, right - left, bottom - top);
          ink.strokeStyle = theme.edge;
          ink.strokeRect(Math.round(left) + 0.5, top + 0.5, Math.round(right - left) - 1, bottom - top - 1);
        }
      }
      ink.fillStyle = theme.quiet;
      ink.textAlign = "center";
      const middle = (left + right) / 2;
      const wordings = titles.length ? titles : this.rows[row].names;
      // Next to a wired link that several rows share there are forks, which have no titles.
      const room = right - left + 4 + (kind === "wire" && this.rows.length > 1 ? 2 * FORK_PX : 0);
      if (!this.text(wordings, middle, lanes.title, room) && kind === "box") this.upwards(wordings[0], middle, (lanes.down.top + lanes.up.bottom) / 2);
    }
  }

  /**
   * The first of several wordings that has room; none at all if none has: half a word tells nothing, and the sentence
   * below the picture says it. At the edges of the picture it moves inwards. Returns whether there was room.
   * @type {(wordings: string[], x: number, y: number, room: number) => boolean}
   */
  text(wordings, x, y, room) {
    const { ink } = this;
    const own = wordings.find((text) => ink.measureText(text).width <= room);
    if (own === undefined) return false;
    const half = ink.measureText(own).width / 2 + 1;
    const middle = Math.min(Math.max(x, half), this.width - half);
    ink.fillText(own, middle, y);
    this.titles.push({ left: middle - half, right: middle + half, y });
    return true;
  }

  /** A text that goes up, in the middle of a box that is too narrow for it. @type {(text: string, x: number, y: number) => void} */
  upwards(text, x, y) {
    const { ink } = this;
    ink.save();
    ink.translate(x, y);
    ink.rotate(-Math.PI / 2);
    ink.fillText(text, 0, 4);
    ink.restore();
  }

  /** Remember what was drawn where. @type {(x: number, y: number, what: number) => void} */
  note(x, y, what) {
    if (3 * this.count === this.drawn.length) {
      const more = new Float64Array(2 * this.drawn.length);
      more.set(this.drawn);
      this.drawn = more;
    }
    this.drawn[3 * this.count] = x;
    this.drawn[3 * this.count + 1] = y;
    this.drawn[3 * this.count + 2] = what;
    this.count += 1;
  }

  /** TTIs, slots and the link layer's reassembly. @type {(model: Model, row: Row, theme: Theme) => void} */
  air(model, row, theme) {
    const { view, lanes } = row;
    const [air, receiver, buffer] = [this.column(row, "air"), this.column(row, "receiver"), this.column(row, "buffer")];
    if (!air || !buffer) return;
    const slots = model.slotsOf(view.ue, view.now);
    for (const isUp of [false, true]) {
      const bearer = model.bearer(view.ue, isUp, view.now);
      if (!bearer) continue;
      const lane = isUp ? lanes.up : lanes.down;
      const own = isUp ? model.slotsOf(view.ue, view.now, true) : bearer.isShared ? slots : null;
      if (own) drawBlocks(this, own, view, theme, air, lane, isUp ? UPLINK_BLOCKS : BLOCKS);
      else if (bearer.runs.length || bearer.status.length) drawTtis(this, model, bearer, view, theme, air, lane);
      else if (bearer.slots.length) drawSlots(this, model, bearer, view, theme, air, lane);
      const end = isUp ? buffer : receiver;
      if (bearer.runs.length && end && !(isUp && slots)) drawReceiver(this, model, bearer, view, theme, end, lane);
    }
    if (model.isOut(view.ue, view.now)) this.outage(air, lanes, theme);
  }

  /** That nothing gets through: between the lanes, or on a sheet over the TTIs. @type {(air: Column, lanes: Row["lanes"], theme: Theme) => void} */
  outage({ left, right }, lanes, theme) {
    const { ink } = this;
    const [x, y] = [(left + right) / 2, lanes.between ?? middleOf(lanes.down) + 4];
    const words = ["outage: nothing gets through", "outage"].find((own) => ink.measureText(own).width <= right - left - 8);
    if (!words) return;
    const wide = ink.measureText(words).width + 8;
    if (lanes.between === null) {
      ink.fillStyle = theme.ground;
      ink.fillRect(x - wide / 2, y - 12, wide, 16);
    }
    ink.fillStyle = theme.ink;
    ink.textAlign = "center";
    ink.fillText(words, x, y);
  }

  /** Packets in flight. @type {(model: Model, view: View, theme: Theme) => void} */
  packets(model, view, theme) {
    const packets = /** @type {import("studio/packets").Packets} */ (model.packets);
    const { table, end, outcome, stops } = packets;
    const { ue, element, direction } = table.columns;
    const upCode = (direction.words ?? []).indexOf("uplink");
    const times = table.columns.time_ns.values;
    const [low, high] = around(packets, view.now - view.fall);
    const [, above] = around(packets, view.now);
    for (let packet = low; packet < Math.max(high, above); packet += 1) {
      const isGone = end[packet] <= view.now;
      if (isGone && (outcome[packet] !== DROPPED || end[packet] + view.fall < view.now)) continue;
      const at = stopAt(packets, packet, view.now);
      if (at < 0) continue;
      const row = stops[at];
      const place = element.values[row];
      const isUp = direction.values[row] === upCode;
      const own = this.rowOf.get(ue.values[row]);
      if (!own) {
        const column = this.columnOf[place];
        if (column?.kind === "buffer" && !isUp && !isGone && this.isWaiting(model, packet, view.now)) {
          const { others } = this.rows[column.row];
          others.set(ue.values[row], (others.get(ue.values[row]) ?? 0) + 1);
        }
        continue;
      }
      if (isGone) this.falling[this.fallCount++ % this.falling.length] = packet;
      else {
        const until = at + 1 < packets.first[packet + 1] ? times[stops[at + 1]] : Infinity;
        this.move(model, packet, place, isUp, times[row], until, view);
      }
    }
    this.paint(theme);
    this.marks(model, view, theme);
  }

  /** Whether a packet at the cell is not sent yet. @type {(model: Model, packet: number, now: number) => boolean} */
  isWaiting({ sdus }, packet, now) {
    const sdu = sdus?.of[packet] ?? -1;
    return sdus !== null && sdu >= 0 && now < Math.min(sdus.left[sdu], sdus.out[sdu]);
  }

  /**
   * A packet between its last stop and the next one.
   * @type {(model: Model, packet: number, place: number, isUp: boolean, came: number, until: number, view: View) => void}
   */
  move(model, packet, place, isUp, came, until, { now }) {
    const column = this.columnOf[place];
    if (!column) return;
    const middle = middleOf(isUp ? column.lanes.up : column.lanes.down);
    if (column.kind === "buffer") {
      const row = this.rows[column.row];
      if (this.isWaiting(model, packet, now)) {
        const way = Number(isUp);
        if (row.waits[way] === row.waiting[way].length) {
          const more = new Int32Array(2 * row.waits[way]);
          more.set(row.waiting[way]);
          row.waiting[way] = more;
        }
        row.waiting[way][row.waits[way]++] = packet;
        return;
      }
      const { sdus } = model;
      const sdu = sdus?.of[packet] ?? -1;
      // PDUs represent the packet; without them the packet itself is drawn on the radio.
      if (!sdus || sdu < 0 || sdus.ended[sdu] >= 0) return;
      const air = this.column(row, "air");
      if (air) this.put(model, packet, air, isUp, (now - sdus.left[sdu]) / (until - sdus.left[sdu]), middle);
      return;
    }
    if (column.kind === "wire") {
      // A packet still in flight when the run ends is assumed to take as long as others.
      const takes = until < Infinity ? until - came : model.transit[place][Number(isUp)];
      this.put(model, packet, column, isUp, (now - came) / takes, middle);
    }
    else if (until > now) {
      // Boxes hold packets: the oldest in front.
      const held = this.held[2 * place + Number(isUp)]++;
      const across = Math.min(held, Math.floor((column.right - column.left - 12) / 6) - 1) * 6 + 8;
      this.place(model, packet, isUp ? column.left + across : column.right - across, middle);
    }
  }

  /** @type {(model: Model, packet: number, column: Column, isUp: boolean, share: number, y: number) => void} */
  put(model, packet, { left, right }, isUp, share, y) {
    const own = Math.min(Math.max(share, 0), 1);
    this.place(model, packet, isUp ? right - own * (right - left) : left + own * (right - left), y);
  }

  /** @type {(model: Model, packet: number, x: number, y: number) => void} */
  place(model, packet, x, y) {
    const shape = this.shapes[model.looks[packet]];
    if (2 * shape.count === shape.at.length) {
      const more = new Float32Array(2 * shape.at.length);
      more.set(shape.at);
      shape.at = more;
    }
    shape.at[2 * shape.count] = x;
    shape.at[2 * shape.count + 1] = y;
    shape.count += 1;
    this.note(x, y, packet);
  }

  /** Paint all packets, one colour after the other. @param {Theme} theme */
  paint(theme) {
    const { ink } = this;
    this.shapes.forEach(({ at, count }, look) => {
      const [width, height] = SIZES[look];
      ink.fillStyle = theme.inks[INKS[look]];
      for (let n = 0; n < count; n += 1) ink.fillRect(at[2 * n] - width / 2, at[2 * n + 1] - height / 2, width, height);
      if (look !== LOOKS.again && look !== LOOKS.late) return;
      // A retransmission has a bar across: one for a fast retransmission, two after a timeout.
      ink.fillStyle = theme.sheet;
      for (let n = 0; n < count; n += 1) {
        ink.fillRect(at[2 * n] - width / 2, at[2 * n + 1] - (look === LOOKS.late ? 4 : 1), width, 2);
        if (look === LOOKS.late) ink.fillRect(at[2 * n] - width / 2, at[2 * n + 1] + 2, width, 2);
      }
    });
  }

  /** Flags on ACKs. @type {(model: Model, view: View, theme: Theme) => void} */
  marks({ packets }, { now }, theme) {
    if (!packets || !packets.hasFlags) return;
    const { ink, drawn } = this;
    ink.fillStyle = theme.inks[5];
    for (let n = 0; n < this.count; n += 1) {
      const packet = drawn[3 * n + 2];
      if (packet < 0 || packets.flagged[packet] < 0) continue;
      const place = packets.table.columns.element.values[packets.stops[Math.max(stopAt(packets, packet, now), 0)]];
      if (place >= packets.flagged[packet]) continue;
      const [x, y] = [drawn[3 * n], drawn[3 * n + 1] - 6];
      ink.beginPath();
      ink.moveTo(x - 2, y);
      ink.lineTo(x + 8, y - 4);
      ink.lineTo(x - 2, y - 8);
      ink.fill();
    }
  }

  /** Packets that were dropped fall out of their lanes. @type {(model: Model, view: View, theme: Theme) => void} */
  falls(model, view, theme) {
    const packets = /** @type {import("studio/packets").Packets} */ (model.packets);
    const { table, stops, first, end, drop } = packets;
    const { element, direction } = table.columns;
    const reasons = model.events.table("dropped")?.columns.reason;
    const { ink } = this;
    for (let n = 0; n < Math.min(this.fallCount, this.falling.length); n += 1) {
      const packet = this.falling[n];
      const row = stops[first[packet + 1] - 1];
      const isUp = direction.words?.[direction.values[row]] === "uplink";
      const reason = reasons?.words?.[reasons.values[drop[packet]]] ?? "";
      const share = Math.min((view.now - end[packet]) / view.fall, 1);
      const column = this.columnOf[element.values[row]];
      if (!column) continue;
      const lane = isUp ? column.lanes.up : column.lanes.down;
      const x = this.edge(column, isUp, reason);
      const y = (lane.top + lane.bottom) / 2 + 16 + share * (lane.bottom - lane.top) * 0.5;
      ink.globalAlpha = 1 - 0.7 * share;
      ink.fillStyle = theme.inks[INKS[model.looks[packet]]];
      ink.fillRect(x - 4, y - 7, 8, 14);
      ink.strokeStyle = ink.fillStyle = theme.inks[1];
      ink.lineWidth = 2;
      cross(ink, x, y, 8);
      ink.lineWidth = 1;
      const words = reason.replaceAll("_", " ");
      const wide = ink.measureText(words).width;
      const left = x > 120 ? x - 12 - wide : x + 12;
      // Not over the name of a wire that several rows have in common.
      const over = this.titles.find((title) => title.left < left + wide && left < title.right && Math.abs(title.y - y - 4) < LINE_PX);
      ink.textAlign = "left";
      ink.fillText(words, left, over ? over.y + LINE_PX : y + 4);
      ink.globalAlpha = 1;
      this.note(x, y, packet);
    }
  }

  /** Where packets fall that are dropped at a place: in front of it, or on the radio. @type {(column: Column, isUp: boolean, reason: string) => number} */
  edge(column, isUp, reason) {
    const isCell = column.kind === "buffer";
    const isOnAir = isCell && (reason === "max_transmissions" || reason === "link_loss");
    const kind = isOnAir ? "air" : isCell && isUp ? "receiver" : null;
    const { left, right } = (kind && this.column(this.rows[column.row], kind)) || column;
    return isUp === isOnAir ? left - 3 : right + 3;
  }

  /** Numbers at the stations, and what is followed. @type {(model: Model, view: View, theme: Theme) => void} */
  captions(model, view, theme) {
    const { ink } = this;
    for (const { kind, left, right, place, row, lanes } of this.columns) {
      const own = kind === "server" ? view : this.rows[row].view;
      const isUp = own.flow?.direction === "uplink";
      const lines = this.isNarrow ? [] : kind === "server" ? (isUp ? receiverState : senderState)(model, own)
        : kind === "ue" ? (own.flow ? (isUp ? senderState : receiverState)(model, own) : [])
          : kind === "box" ? boxState(model, model.path[place], own) : [];
      ink.textAlign = "center";
      ink.fillStyle = theme.ink;
      lines.forEach((line, n) => this.text([line], (left + right) / 2, lanes.middle + 14 * n - 7 * (lines.length - 1), right - left - 6));
    }
    const { followed } = view;
    if (followed === null) return;
    ink.strokeStyle = theme.pin;
    ink.lineWidth = 2;
    for (let n = 0; n < this.count; n += 1) {
      if (this.drawn[3 * n + 2] === followed) ink.strokeRect(this.drawn[3 * n] - 7, this.drawn[3 * n + 1] - 14, 14, 28);
    }
    ink.lineWidth = 1;
  }

  /**
   * What is drawn at a place: a packet, PDUs by their row of `rlc_data`, or a block by that of `block_sent` or `uplink_block`.
   * @type {(x: number, y: number) => {packet: number} | {kind: string, row: number} | null}
   */
  at(x, y) {
    let [best, shortest] = [NaN, HIT_PX ** 2];
    for (let n = 0; n < this.count; n += 1) {
      const distance = (this.drawn[3 * n] - x) ** 2 + ((this.drawn[3 * n + 1] - y) / 1.6) ** 2;
      if (distance <= shortest) [shortest, best] = [distance, this.drawn[3 * n + 2]];
    }
    if (Number.isNaN(best)) return null;
    if (best <= UPLINK_BLOCKS) return { kind: "uplink_block", row: UPLINK_BLOCKS - best };
    if (best <= BLOCKS) return { kind: "block_sent", row: BLOCKS - best };
    return best >= 0 ? { packet: best } : { kind: "rlc_data", row: -best - 1 };
  }
}

/** Whom each row shows: the UE of the view where it is; elsewhere the first one there, with its flow. @type {(model: Model, view: View) => {view: View, names: string[]}[]} */
function shownIn({ graph, run }, view) {
  if (graph.leaves.length === 1) return [{ view, names: [] }];
  const leaves = graph.attached.map((_, ue) => graph.leaf(ue, graph.turn(ue, view.now)));
  return graph.leaves.map((_, leaf) => {
    const there = leaves.flatMap((own, ue) => (own === leaf ? [ue] : []));
    const flowOf = (/** @type {number} */ ue) => (ue === view.ue ? view.flow : run.summary.flows.find((flow) => flow.ue === ue) ?? null);
    const ue = there.includes(view.ue) ? view.ue : there.find(flowOf) ?? there[0] ?? -1;
    const name = ue < 0 ? "" : ueName(run, ue);
    const more = there.length > 1 ? ` + ${there.length - 1}` : "";
    return { view: { ...view, ue, flow: ue < 0 ? null : flowOf(ue) }, names: [name + more, name.replace(/ over .*/, "") + more] };
  });
}
