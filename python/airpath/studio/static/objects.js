// The lists of packets and of PDUs, and the life of the packet that is followed.

import { byId, figure, make } from "studio/dom";
import { download } from "studio/files";
import { causeOf, lifeOf, nameOf } from "studio/life";
import { modelOf } from "studio/model";
import { ueName } from "studio/names";
import { begin, OUTCOMES } from "studio/packets";
import { eventsAsParquet } from "studio/parquet";
import { pcapng } from "studio/pcapng";
import { lowerBound } from "studio/reduce";
import { Rows } from "studio/rows";
import { elementName, whose } from "studio/words";

/** @typedef {import("studio/store").Store} Store */
/** @typedef {import("studio/model").Model} Model */

/** What a filter lets through besides. */
const AGAIN = "again";
const FIRST = "first";

export class ObjectList {
  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    /** Packets, or rows of `rlc_data`. */
    this.listed = new Uint32Array(0);
    this.isStale = true;
    this.what = /** @type {HTMLSelectElement} */ (byId("what"));
    this.cause = /** @type {HTMLSelectElement} */ (byId("cause"));
    this.outcome = /** @type {HTMLSelectElement} */ (byId("outcome"));
    this.ranged = /** @type {HTMLInputElement} */ (byId("ranged"));
    this.rows = new Rows(byId("object-list"), byId("objects"), (place) => this.row(place));
    this.rows.listen((way, steps) => this.step(way, steps));
    this.what.addEventListener("change", () => this.offer());
    for (const own of [this.cause, this.outcome, this.ranged]) own.addEventListener("change", () => this.filter());
    byId("save-packets").addEventListener("click", () => this.save());
    byId("unfollow").addEventListener("click", () => store.set({ followed: null }));
    store.on(["flows", "variants", "shown"], () => this.offer());
    store.on(["range"], () => this.ranged.checked && this.filter());
    store.on(["followed", "variants", "shown"], () => this.tell());
    store.on(["chosen", "at"], () => this.reveal());
    this.offer();
  }

  /** The model, which is made when the list is first seen or something was chosen. */
  get model() {
    return modelOf(this.store.state.variants[this.store.state.shown]);
  }

  get isPdus() {
    return this.what.value === "pdus";
  }

  /** The list is to be seen now. */
  ready() {
    if (this.isStale) this.offer();
    this.reveal();
  }

  /** Offer the causes and outcomes that occur. */
  offer() {
    this.isStale = !this.rows.isSeen;
    if (this.isStale) return;
    const { model } = this;
    const causes = model.events.table("segment_sent")?.columns.cause.words ?? [];
    const list = this.isPdus ? [[FIRST, "new"], [AGAIN, "retransmitted"]]
      : [[FIRST, "new data"], [AGAIN, "retransmissions"], ["ack", "ACKs"], ...causes.map((word) => [word, word.replaceAll("_", " ")])];
    fill(this.cause, [["", "all"], ...list]);
    const drops = model.events.table("dropped")?.columns.reason.words ?? [];
    fill(this.outcome, [["", "any outcome"], ...(this.isPdus ? [["1", "received"], ["2", "lost"]]
      : [...OUTCOMES.map((word, n) => [String(n), word]), ...drops.map((word) => [word, `dropped: ${word.replaceAll("_", " ")}`])])]);
    this.filter();
  }

  filter() {
    const { state } = this.store;
    const { summary } = this.store.run;
    const flows = new Set(state.flows.map((place) => summary.flows[place]).filter(Boolean).map(({ ue, flow }) => ue * 65536 + flow));
    const ues = new Set([...flows].map((key) => Math.floor(key / 65536)));
    const [from, to] = this.ranged.checked ? state.range.map((time) => time * 1e9) : [0, Infinity];
    this.listed = this.isPdus ? pdusOf(this.model, ues, from, to, this.cause.value, this.outcome.value)
      : packetsOf(this.model, flows, from, to, this.cause.value, this.outcome.value);
    byId("object-count").textContent = figure(this.listed.length);
    const save = /** @type {HTMLButtonElement} */ (byId("save-packets"));
    save.disabled = !this.listed.length;
    save.textContent = this.isPdus ? "Save Parquet" : "Save pcapng";
    this.rows.set(this.listed.length);
    this.reveal();
  }

  /** @type {(place: number) => import("studio/rows").Row} */
  row(place) {
    const { model } = this;
    const own = this.listed[place];
    if (this.isPdus) return this.pduRow(model, own);
    const packets = /** @type {import("studio/packets").Packets} */ (model.packets);
    const { direction } = packets.table.columns;
    const row = packets.stops[packets.first[own]];
    const cause = causeOf(model, own);
    const arrow = direction.words?.[direction.values[row]] === "uplink" ? "↑" : "↓";
    const outcome = packets.outcome[own] === 1 ? "" : OUTCOMES[packets.outcome[own]];
    return {
      look: `event packet outcome-${packets.outcome[own]}`, isChosen: this.store.state.followed === own,
      cells: [
        ["time", (begin(packets, own) / 1e9).toFixed(4)], ["kind", `${arrow} ${nameOf(model, own)}`], ["whose", whose(model.run, packets.table, row)],
        ["what", [cause.replaceAll("_", " "), outcome].filter(Boolean).join(", ")],
      ],
      click: () => this.choose(own),
    };
  }

  /** @type {(model: Model, row: number) => import("studio/rows").Row} */
  pduRow(model, row) {
    const columns = /** @type {import("studio/events").Table} */ (model.events.table("rlc_data")).columns;
    const of = (/** @type {string} */ name) => columns[name].values[row];
    const isUp = columns.direction.words?.[of("direction")] === "uplink";
    const bearer = model.bearer(of("ue"), isUp, of("time_ns"));
    const [first, last] = [0, of("pdus") - 1].map((at) => (of("first_sn") + at) % (bearer?.modulo ?? 1));
    const { chosen } = this.store.state;
    return {
      look: `event packet outcome-${of("lost") ? 2 : 1}`, isChosen: chosen?.kind === "rlc_data" && chosen.row === row,
      cells: [
        ["time", (of("time_ns") / 1e9).toFixed(4)], ["kind", `${isUp ? "↑" : "↓"} PDU ${first}${of("pdus") > 1 ? ` to ${last}` : ""}`],
        ["whose", ueName(model.run, of("ue"))], ["what", `TTI ${model.tti(bearer, of("time_ns"))}${of("lost") ? ", lost" : ""}${of("poll") ? ", poll" : ""}`],
      ],
      click: () => this.store.choose({ kind: "rlc_data", row }),
    };
  }

  /** Follow a packet, and go to where it begins. @param {number} packet */
  choose(packet) {
    const { packets } = this.model;
    if (!packets) return;
    this.store.set({ followed: packet });
    this.store.choose({ kind: "packet", row: packets.stops[packets.first[packet]] });
  }

  /** @type {(way: 1 | -1, steps: number) => void} */
  step(way, steps) {
    const { chosen, followed } = this.store.state;
    const here = this.isPdus ? (chosen?.kind === "rlc_data" ? chosen.row : 0) : followed ?? 0;
    const near = lowerBound(this.listed, here);
    const next = this.listed[Math.min(Math.max(near + way * steps, 0), this.listed.length - 1)];
    if (next === undefined) return;
    if (this.isPdus) this.store.choose({ kind: "rlc_data", row: next });
    else this.choose(next);
  }

  /** Have what is chosen in view. */
  reveal() {
    const { followed, chosen, playing } = this.store.state;
    if (playing || !this.rows.isSeen) return;
    const wanted = this.isPdus ? (chosen?.kind === "rlc_data" ? chosen.row : null) : followed;
    if (wanted === null) this.rows.draw();
    else this.rows.reveal(lowerBound(this.listed, wanted));
  }

  /** Tell the life of the packet that is followed. */
  tell() {
    const { followed } = this.store.state;
    byId("life").hidden = followed === null;
    if (followed === null) return this.reveal();
    const { model } = this;
    const stops = lifeOf(model, followed, (place) => elementName(model.run, place));
    byId("life-of").textContent = nameOf(model, followed);
    byId("stops").replaceChildren(...stops.map(({ at, text, kind, row }, n) => make("li", {}, make("button", {
      type: "button", click: () => this.store.choose({ kind, row }),
    },
    make("span", { class: "time" }, (at / 1e9).toFixed(4)),
    make("span", { class: "after" }, n ? `+${figure((at - stops[n - 1].at) / 1e6, 1)} ms` : ""), make("span", { class: "what" }, text)))));
    this.reveal();
  }

  /** Write what is listed into a file: packets for Wireshark, PDUs as events. */
  save() {
    const { model, listed } = this;
    const { title } = this.store.run;
    const table = model.events.table("rlc_data");
    if (!this.isPdus) download(`${title}.pcapng`, pcapng(model, listed));
    else if (table) download(`${title}-pdus.parquet`, eventsAsParquet({ kinds: ["rlc_data"], tables: [table], listed: { kinds: new Uint8Array(listed.length), rows: listed } }));
  }
}

/** @type {(select: HTMLSelectElement, options: string[][]) => void} */
function fill(select, options) {
  const { value } = select;
  select.replaceChildren(...options.map(([name, words]) => make("option", { value: name }, words)));
  select.value = options.some(([name]) => name === value) ? value : "";
}

/** @type {(model: Model, flows: Set<number>, from: number, to: number, cause: string, outcome: string) => Uint32Array<ArrayBuffer>} */
function packetsOf(model, flows, from, to, cause, outcome) {
  const { packets, looks } = model;
  if (!packets) return new Uint32Array(0);
  const { ue, flow } = packets.table.columns;
  const reasons = model.events.table("dropped")?.columns.reason;
  const found = new Uint32Array(packets.count);
  let count = 0;
  for (let packet = 0; packet < packets.count; packet += 1) {
    const row = packets.stops[packets.first[packet]];
    if (!flows.has(ue.values[row] * 65536 + flow.values[row]) || begin(packets, packet) > to || packets.end[packet] < from) continue;
    const look = looks[packet];
    if (cause === FIRST ? look !== 0 : cause === AGAIN ? look !== 1 && look !== 2 : cause === "ack" ? look !== 3 : cause && causeOf(model, packet) !== cause) continue;
    const reason = packets.drop[packet] < 0 ? "" : reasons?.words?.[reasons.values[packets.drop[packet]]] ?? "";
    if (outcome && String(packets.outcome[packet]) !== outcome && reason !== outcome) continue;
    found[count++] = packet;
  }
  return found.slice(0, count);
}

/** @type {(model: Model, ues: Set<number>, from: number, to: number, cause: string, outcome: string) => Uint32Array<ArrayBuffer>} */
function pdusOf(model, ues, from, to, cause, outcome) {
  const table = model.events.table("rlc_data");
  if (!table) return new Uint32Array(0);
  const { lost, time_ns } = table.columns;
  /** @type {number[]} */
  const found = [];
  for (const bearer of model.bearers.values()) {
    if (!ues.has(bearer.ue)) continue;
    bearer.runs.forEach((row, at) => {
      const isAgain = bearer.number[at] < (at > 0 ? bearer.next[at - 1] : 0);
      if (time_ns.values[row] < from || time_ns.values[row] > to || (cause && (cause === AGAIN) !== isAgain)) return;
      if (!outcome || (outcome === "2") === Boolean(lost.values[row])) found.push(row);
    });
  }
  return Uint32Array.from(found).sort();
}
