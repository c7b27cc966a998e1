// Variants compared in numbers, and the event where two of them first differ.

import { byId, figure, make } from "studio/dom";
import { differencesOf } from "studio/differences";
import { megabytesAcked, ofTcp } from "studio/flowlist";
import { curvesOf } from "studio/series";
import { sentence } from "studio/words";

/** @typedef {import("studio/events").Events} Events */
/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/store").Place} Place */
/** @typedef {import("studio/store").Store} Store */
/** @typedef {import("studio/store").Variant} Variant */
/** @typedef {import("studio/source").Flow} Flow */
/** Where two runs part: the first event of each that the other has not. @typedef {{time: number, a: Place | null, b: Place | null}} Parting */
/** @typedef {{flows: Flow[], rtt: ArrayLike<number>[], variant: Variant}} Measured The shown flows of a variant. */
/** @typedef {{name: string, digits: number, of: (own: Measured) => number | null}} Figure */

/** How much time before and after the first difference is shown, seconds. */
const AROUND_S = 1.5;
/** Most differences that are listed: of two scenarios that have little in common there would be dozens. */
const MOST_DIFFERENCES = 12;

/** @type {(flows: Flow[], of: (flow: Flow) => number | null | undefined) => number | null} */
function sum(flows, of) {
  const values = flows.map(of).filter((value) => value !== null && value !== undefined);
  return values.length ? values.reduce((a, b) => a + b, 0) : null;
}

/** @type {(name: string, cause: string) => Figure} */
const again = (name, cause) => ({ name, digits: 0, of: ({ flows }) => sum(flows, (flow) => ofTcp(flow, flow.retransmissions[cause])) });
/** @type {(name: string, share: number) => Figure} */
const rtt = (name, share) => ({
  name, digits: 0, of: (own) => {
    const all = Float64Array.from(own.rtt.flatMap((part) => Array.from(part))).sort();
    return all.length ? all[Math.min(Math.floor(share * all.length), all.length - 1)] : null;
  },
});

/** @type {Figure[]} */
const FIGURES = [
  { name: "goodput, kbit/s", digits: 1, of: ({ flows }) => sum(flows, (flow) => flow.goodput_bps === null ? null : flow.goodput_bps / 1e3) },
  { name: "acknowledged, MB", digits: 3, of: ({ flows }) => sum(flows, (flow) => megabytesAcked(flow)) },
  {
    name: "all complete after, s", digits: 2,
    of: ({ flows }) => (flows.length && flows.every(({ transfer_s }) => transfer_s !== null) ? Math.max(...flows.map((flow) => flow.start_s + (flow.transfer_s ?? 0))) : null),
  },
  {
    name: "RTT mean, ms", digits: 0, of: ({ flows }) => {
      const samples = sum(flows, (flow) => flow.rtt_ms?.samples);
      return samples ? (sum(flows, (flow) => (flow.rtt_ms?.mean ?? 0) * (flow.rtt_ms?.samples ?? 0)) ?? 0) / samples : null;
    },
  },
  rtt("RTT median, ms", 0.5),
  rtt("RTT p95, ms", 0.95),
  { name: "segments sent", digits: 0, of: ({ flows }) => sum(flows, (flow) => ofTcp(flow, flow.segments_sent)) },
  again("retransmissions", "total"),
  again("\u2003fast", "fast_retransmit"),
  again("\u2003partial ACK", "partial_ack"),
  again("\u2003SACK", "sack"),
  again("\u2003timeout", "timeout"),
  again("\u2003go-back-N", "go_back_n"),
  again("\u2003probe", "tail_loss_probe"),
  { name: "timeouts", digits: 0, of: ({ flows }) => sum(flows, (flow) => ofTcp(flow, flow.timeouts)) },
  { name: "packets dropped, all flows", digits: 0, of: ({ variant }) => variant.events.table("dropped")?.rows ?? (variant.run.left_out.dropped === undefined ? 0 : null) },
  { name: "largest buffer, SDUs", digits: 0, of: ({ variant }) => greatest(bearers(variant).map((own) => own.peak_queued_sdus)) },
  {
    name: "PDUs lost, %", digits: 1, of: ({ variant }) => {
      const [sent, lost] = ["pdus_sent", "pdus_lost"].map((name) => bearers(variant).reduce((total, own) => total + (own[name] ?? 0), 0));
      return sent ? (100 * lost) / sent : null;
    },
  },
];

/** Numbers of all bearers of a run's cell. @param {Variant} variant @returns {any[]} */
function bearers({ run }) {
  const cells = run.summary.elements.filter(({ element }) => String(element).startsWith("radio."));
  return cells.flatMap(({ ues = [] }) => ues.flatMap((/** @type {any} */ ue) => ["downlink", "uplink"].map((way) => ue[way]).filter(Boolean)));
}

/** @param {(number | null | undefined)[]} values */
function greatest(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length ? known.reduce((a, b) => Math.max(a, b)) : null;
}

/**
 * The figures of all variants, over the shown flows, without figures that do not apply.
 * @param {Store} store
 * @returns {{name: string, digits: number, values: (number | null)[]}[]}
 */
export function figuresOf({ state }) {
  const curves = curvesOf(state);
  const measured = state.variants.map((variant, n) => {
    const own = curves.filter((one) => one.variant === n);
    return { variant, flows: own.map(({ from }) => from), rtt: own.map(({ lines }) => lines.get("rtt")?.y ?? []) };
  });
  return FIGURES.map(({ name, digits, of }) => ({ name, digits, values: measured.map(of) })).filter(({ name, values }) =>
    values.some((value) => value !== null && (value !== 0 || !name.startsWith("\u2003"))));
}

/**
 * The figures as a table, each with its difference from the first variant's.
 * @param {Store} store
 * @param {string[]} names of the variants
 * @param {string[] | null} [chosen] names of the figures; all if absent
 */
export function figureTable(store, names, chosen = null) {
  const figures = figuresOf(store).filter(({ name }) => !chosen || chosen.includes(name));
  return make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ""), ...names.map((name, n) => make("th", { scope: "col", title: store.state.variants[n]?.run.what ?? "" }, name)))),
    make("tbody", {}, ...figures.map(({ name, digits, values }) => make("tr", {}, make("th", { scope: "row" }, name),
      ...values.map((value, n) => make("td", {}, value === null ? "–" : figure(value, digits), n ? make("small", {}, apart(values[0], value, digits)) : null))))));
}

/**
 * The first event of either run that the other has not, or not so.
 * @param {Variant} a
 * @param {Variant} b
 * @returns {Parting | null}
 */
export function parting(a, b) {
  /** @type {Parting | null} */
  let first = null;
  // With one box more, places have other numbers, and packets come to other places: that is no difference yet.
  const isAlike = a.run.path.join() === b.run.path.join();
  for (const kind of new Set([...a.events.kinds, ...b.events.kinds])) {
    const [own, other] = [a.events.table(kind), b.events.table(kind)];
    // What only one of them recorded is no difference.
    if (!own || !other || (kind === "packet" && !isAlike)) continue;
    const row = firstUnlike(own, other, isAlike);
    if (row < 0) continue;
    const times = [own, other].map((table) => (row < table.rows ? table.columns.time_ns.values[row] / 1e9 : Infinity));
    const time = Math.min(...times);
    if (first && time >= first.time) continue;
    first = { time, a: row < own.rows ? { kind, row } : null, b: row < other.rows ? { kind, row } : null };
  }
  return first;
}

/** @param {Table} a @param {Table} b @param {boolean} withPlaces */
function firstUnlike(a, b, withPlaces) {
  const names = Object.keys(a.columns).filter((name) => name in b.columns && (withPlaces || name !== "element"));
  const pairs = names.map((name) => [a.columns[name], b.columns[name]]);
  const rows = Math.min(a.rows, b.rows);
  // Words have codes of their own in each run.
  const codes = pairs.map(([own, other]) => own.words && other.words && other.words.map((word) => own.words?.indexOf(word) ?? -1));
  for (let row = 0; row < rows; row += 1) {
    for (let n = 0; n < pairs.length; n += 1) {
      const [own, other] = pairs[n];
      const value = other.values[row];
      if (own.values[row] !== (codes[n]?.[value] ?? value)) return row;
    }
  }
  return a.rows === b.rows ? -1 : rows;
}

export class Compare {
  /**
   * @param {Store} store
   * @param {(tab: string) => void} open a tab
   */
  constructor(store, open) {
    this.store = store;
    this.open = open;
    this.length = store.state.variants.length;
    store.on(["variants", "shown", "flows"], () => this.tell());
    byId("parting").addEventListener("click", () => this.part());
    this.tell();
  }

  /** The two variants that are compared: A and the shown one, or A and B. */
  get pair() {
    const { variants, shown } = this.store.state;
    return [variants[0], variants[shown || 1]];
  }

  tell() {
    const { variants } = this.store.state;
    const isOne = variants.length < 2;
    byId("t-compare").hidden = isOne;
    if (isOne && !byId("tab-compare").hidden) this.open("results");
    if (variants.length > this.length) this.open("compare");
    this.length = variants.length;
    if (isOne) return;
    const [a, b] = this.pair;
    byId("differing").replaceChildren(...this.differing());
    byId("parting-told").replaceChildren(...this.told(a, b));
    byId("figures").replaceChildren(figureTable(this.store, variants.map(({ name }) => name)));
  }

  /** What was set otherwise. */
  differing() {
    const { variants } = this.store.state;
    const found = differencesOf(variants.map(({ run }) => run));
    if (!found.length) return [make("p", {}, "Nothing: all have the same settings and seed.")];
    const rows = found.slice(0, MOST_DIFFERENCES).map(({ key, values }) =>
      make("tr", {}, make("th", { scope: "row" }, key), ...values.map((value) => make("td", {}, value))));
    const more = found.length - rows.length;
    return [
      make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ""), ...variants.map(({ name }) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...rows)),
      ...(more ? [make("p", { class: "quiet" }, `and ${more} more`)] : []),
    ];
  }

  /** @param {Variant} a @param {Variant} b @returns {Node[]} */
  told(a, b) {
    const found = a.events === b.events ? null : parting(a, b);
    /** @type {HTMLButtonElement} */ (byId("parting")).disabled = !found;
    if (!found) return [make("p", {}, `${a.name} and ${b.name} are the same run${a.events === b.events ? ": change something in one of them" : ""}.`)];
    const line = (/** @type {Variant} */ own, /** @type {Place | null} */ place) => {
      const table = place && own.events.table(place.kind);
      const time = table && place ? `at ${(table.columns.time_ns.values[place.row] / 1e9).toFixed(6)} s. ${sentence(own.run, place.kind, table, place.row)}` : "has no such event any more.";
      return make("p", {}, make("b", {}, own.name), ` ${time}`);
    };
    return [make("p", {}, `Both are the same up to ${found.time.toFixed(6)} s. Then:`), line(a, found.a), line(b, found.b)];
  }

  /** Go to where they part. */
  part() {
    const { state } = this.store;
    const [a, b] = this.pair;
    const found = parting(a, b);
    if (!found) return;
    const place = (state.shown ? found.b : found.a) ?? found.a ?? found.b;
    const variant = place === found.a ? 0 : state.variants.indexOf(b);
    this.store.speakOf(variant);
    this.store.show(found.time - AROUND_S, found.time + AROUND_S);
    if (place) this.store.choose(place);
  }
}

/** The difference of two values, with its sign. @type {(from: number | null, to: number | null, digits: number) => string} */
function apart(from, to, digits) {
  if (from === null || to === null) return "";
  const by = to - from;
  const text = figure(Math.abs(by), digits);
  if (Number(by.toFixed(digits)) === 0) return "=";
  const share = from && Math.abs(by / from) < 10 ? `, ${by > 0 ? "+" : "−"}${figure(Math.abs((100 * by) / from))} %` : "";
  return `${by > 0 ? "+" : "−"}${text}${share}`;
}
