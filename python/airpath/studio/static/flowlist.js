// Flows in order: what took longest or carried most comes first, those of a UE stand together, and words find some.

import { figure, make } from "studio/dom";
import { ueName } from "studio/names";

/** @typedef {import("studio/source").Run} Run */
/** @typedef {import("studio/source").Flow} Flow */
/** How flows are listed: by a column of `COLUMNS`, and those whose names have all words. @typedef {{order: string, isUp: boolean, words: string}} Wanted */
/** Flows of a UE, or of all UEs where each has one, in order. @typedef {{name: string, places: number[]}} Group */

/** Bytes that a flow carried. @param {Flow} flow */
export const carried = (flow) => Math.max(flow.bytes_acked ?? 0, flow.bytes_received ?? 0);

/** What a flow acknowledged, MB; null if it is not known, and of datagrams. @param {Flow} flow */
export const megabytesAcked = (flow) => (flow.datagrams || flow.bytes_acked === null ? null : flow.bytes_acked / 1e6);
/** A figure of TCP; null of flows that are not TCP, where results have zero. @type {<T>(flow: Flow, value: T) => T | null} */
export const ofTcp = (flow, value) => (flow.datagrams || flow.quic ? null : value);

/** Duration of a flow, seconds; an incomplete flow lasts to the end of the run. @type {(run: Run, flow: Flow) => number} */
export const took = ({ summary }, flow) => flow.transfer_s ?? Math.max(summary.simulated_s - flow.start_s, 0);

/**
 * The columns of a list of flows, and its orders; the first order is the default.
 * @type {Record<string, {name: string, order: string, of: (run: Run, flow: Flow) => number, told: (run: Run, flow: Flow) => string}>}
 */
export const COLUMNS = {
  took: { name: "took, s", order: "took longest", of: took, told: (run, flow) => `${figure(took(run, flow), 2)}${flow.transfer_s === null ? "+" : ""}` },
  bytes: { name: "MB", order: "most bytes", of: (_, flow) => carried(flow), told: (_, flow) => figure(carried(flow) / 1e6, 3) },
  rate: { name: "kbit/s", order: "fastest", of: (_, flow) => flow.goodput_bps ?? 0, told: (_, flow) => (flow.goodput_bps === null ? "–" : figure(flow.goodput_bps / 1e3)) },
  again: { name: "rexmit", order: "most retransmissions", of: (_, flow) => flow.retransmissions?.total ?? 0, told: (_, flow) => (ofTcp(flow, flow) ? figure(flow.retransmissions?.total ?? 0) : "–") },
  start: { name: "start, s", order: "latest begun", of: (_, flow) => flow.start_s, told: (_, flow) => figure(flow.start_s, 2) },
};

/** @type {WeakMap<Run, string[]>} */
const known = new WeakMap();

/**
 * Names of a run's flows, without what all of them have in common where a UE has several: "flow 7", not
 * "UE 0 flow 7: cubic".
 * @param {Run} run
 */
export function labelsOf(run) {
  const found = known.get(run) ?? shortened(run);
  known.set(run, found);
  return found;
}

/** @param {Run} run */
function shortened({ names, summary }) {
  const { flows } = summary;
  const ues = new Set(flows.map(({ ue }) => ue));
  if (ues.size === flows.length) return names;
  const end = common(names);
  const begin = ues.size === 1 ? `${ueName({ summary }, flows[0].ue)} ` : "";
  return names.map((name) => (name.startsWith(begin) ? name.slice(begin.length) : name).slice(0, end ? -end.length : undefined));
}

/** The text after the colon of all names, including the colon, if they share it. @param {string[]} names */
function common(names) {
  const ends = names.map((name) => (name.includes(": ") ? name.slice(name.indexOf(": ")) : ""));
  return ends.every((end) => end === ends[0]) ? ends[0] : "";
}

/**
 * The flows of a run as they are wanted.
 * @param {Run} run
 * @param {Wanted} wanted
 * @returns {Group[]}
 */
export function arranged(run, { order, isUp, words }) {
  const { names, summary: { flows } } = run;
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const of = (/** @type {number} */ place) => COLUMNS[order].of(run, flows[place]);
  const sign = isUp ? 1 : -1;
  const places = flows.map((_, place) => place).filter((place) => parts.every((part) => names[place].toLowerCase().includes(part)))
    .sort((a, b) => sign * (of(a) - of(b)) || carried(flows[b]) - carried(flows[a]) || a - b);
  /** @type {Map<number, number[]>} */
  const ues = new Map();
  for (const place of places) ues.set(flows[place].ue, [...(ues.get(flows[place].ue) ?? []), place]);
  const hasSeveral = new Set(flows.map(({ ue }) => ue)).size < flows.length;
  if (!hasSeveral) return [{ name: "", places }];
  const end = common(names);
  return [...ues].map(([ue, own]) => {
    const sum = own.reduce((total, place) => total + carried(flows[place]), 0);
    return { name: `${ueName(run, ue)}: ${own.length} ${own.length === 1 ? "flow" : "flows"}${end ? ` of ${end.slice(2)}` : ""}, ${figure(sum / 1e6, 3)} MB`, places: own };
  });
}

/**
 * Groups with so many flows in all.
 * @param {Group[]} groups
 * @param {number} most
 * @returns {Group[]}
 */
export function firstOf(groups, most) {
  let left = most;
  return groups.flatMap(({ name, places }) => {
    const own = places.slice(0, left);
    left -= own.length;
    return own.length ? [{ name, places: own }] : [];
  });
}

/** Rows of a table. */
const MOST_ROWS = 200;
/** Columns of the table, which fit side by side. */
const SHOWN = ["start", "took", "bytes", "rate", "again"];

/** A table of flows. Its headings sort it, and one flow can be selected. */
export class FlowTable {
  /**
   * @param {Run} run
   * @param {Wanted} wanted is kept up to date
   * @param {(place: number) => void} choose
   */
  constructor(run, wanted, choose) {
    this.run = run;
    this.wanted = wanted;
    this.choose = choose;
    this.chosen = -1;
    this.body = make("tbody");
    this.heads = make("tr");
    this.count = make("span", { class: "quiet", "aria-live": "polite" });
    const search = make("input", {
      type: "search", placeholder: "find a flow", "aria-label": "Find a flow in the results", value: wanted.words,
      input: () => {
        wanted.words = search.value;
        this.draw();
      },
    });
    this.root = make("div", { class: "flow-list" }, make("div", { class: "bar" }, search, this.count), make("table", {}, make("thead", {}, this.heads), this.body));
    this.draw();
    const [first] = arranged(run, wanted).flatMap(({ places }) => places);
    if (first !== undefined) this.pick(first);
  }

  /** @param {number} place */
  pick(place) {
    this.chosen = place;
    this.draw();
    this.choose(place);
  }

  draw() {
    const { run, wanted } = this;
    const labels = labelsOf(run);
    const groups = arranged(run, wanted);
    const found = groups.reduce((sum, { places }) => sum + places.length, 0);
    this.count.textContent = found > MOST_ROWS ? `${MOST_ROWS} of ${found}` : `${found}`;
    this.heads.replaceChildren(make("th", { scope: "col" }, "flow"), ...SHOWN.map((name) => {
      const isOrder = wanted.order === name;
      return make("th", { scope: "col", "aria-sort": isOrder ? (wanted.isUp ? "ascending" : "descending") : null }, make("button", {
        type: "button", title: `Order by this: ${COLUMNS[name].order} first`, click: () => this.order(name),
      }, COLUMNS[name].name, isOrder ? make("span", { "aria-hidden": "true" }, wanted.isUp ? " ▴" : " ▾") : null));
    }));
    this.body.replaceChildren(...firstOf(groups, MOST_ROWS).flatMap(({ name, places }) => [
      ...(name ? [make("tr", { class: "group-of" }, make("th", { scope: "rowgroup", colspan: SHOWN.length + 1 }, name))] : []),
      ...places.map((place) => make("tr", { class: place === this.chosen ? "opened" : null },
        make("th", { scope: "row" }, make("button", { type: "button", class: "link", "aria-pressed": String(place === this.chosen), "aria-label": `${labels[place]} in detail`, click: () => this.pick(place) }, labels[place])),
        ...SHOWN.map((column) => make("td", {}, COLUMNS[column].told(run, run.summary.flows[place]))))),
    ]));
  }

  /** @param {string} name */
  order(name) {
    const { wanted } = this;
    wanted.isUp = wanted.order === name && !wanted.isUp;
    wanted.order = name;
    this.draw();
    /** @type {HTMLElement | null} */ (this.heads.querySelectorAll("button")[SHOWN.indexOf(name)])?.focus();
  }
}
