// A capture explained: a waterfall of its connections, findings of `airpath analyze` as figures, and plots of a flow. The
// report is written into the page by the command, or made in the page, which keeps the capture.

import { Distributions } from "studio/distributions";
import { byId, figure, make } from "studio/dom";
import { Events } from "studio/events";
import { sentenceOf } from "studio/field";
import { hostOf, rowOf, sharesOf } from "studio/phases";
import { Plots } from "studio/plots";
import { lowerBound } from "studio/reduce";
import { give } from "studio/series";
import { sourceOf, unpacked } from "studio/source";
import { Store } from "studio/store";
import { Waterfall } from "studio/waterfall";

/** @typedef {import("studio/series").Line} Line */
/** Means over time. @typedef {{time_s: number[], mean: number[]}} Curve */
/** A direction of data, and its connection or conversation. @typedef {{one: any, flow: any, key: string}} Found */

/** Larger files are for the command. */
const MOST_BYTES = 500e6;
/** Connections that are described, and rows of a table. */
const MOST = 100;
const PANELS = ["rate", "rtt", "flight", "delay", "sequence"];
/** Causes of retransmissions by the line that shows them. */
const AGAIN = { fast: ["fast_retransmit", "partial_ack", "sack"], late: ["timeout", "go_back_n"], probe: ["tail_probe"], unknown: ["other"] };
const WORDS = {
  fast_retransmit: "fast", partial_ack: "partial ACK", sack: "SACK", timeout: "timeout", go_back_n: "go-back-N", tail_probe: "tail probe", other: "other",
};
const PLACES = { sender: "at the sender", receiver: "at the receiver", between: "between the ends", unknown: "not known where" };

/** The state, once a flow is shown: for tests. @type {Store | null} */
export let store = null;
/** The flows of the capture, longest first. @type {Found[]} */
let flows = [];

/** The other direction of the flow that is shown. @type {Found | null} */
let other = null;

const waterfall = new Waterfall(byId("waterfall"), (row) => {
  const [connection] = row.key.split("/");
  const own = flows.find(({ key }) => key === connection);
  if (!own) return;
  show(own, [row.start - own.one.start_s, row.end - own.one.start_s]);
  waterfall.mark(row.key);
  byId("flow").scrollIntoView({ block: "start" });
});
const spread = new Distributions(byId("spread"));
const { engine } = sourceOf(document);
const drop = byId("drop");
drop.hidden = !engine;
const input = /** @type {HTMLInputElement} */ (byId("file"));
input.addEventListener("change", () => input.files && void take(input.files[0]));
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    if (!engine) return;
    event.preventDefault();
    drop.classList.toggle("over", kind === "dragover");
    const file = /** @type {DragEvent} */ (event).dataTransfer?.files[0];
    if (kind === "drop" && file) void take(file);
  });
}
byId("theme").addEventListener("click", () => {
  const { theme } = document.documentElement.dataset;
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  store?.set({ theme: isDark ? "light" : "dark" });
});
byId("out").addEventListener("click", () => store?.whole());
byId("turn").addEventListener("click", () => other && show(other));
const written = document.querySelector('script[data-of="report"]');
if (written) void read(written);
else document.documentElement.dataset.ready = "page";

/** Tell the report that is written into the page. @param {Element} block */
async function read(block) {
  const { name, notes, report } = JSON.parse(new TextDecoder().decode(await unpacked(block)));
  block.remove();
  byId("said").textContent = about(name, report);
  byId("notes").replaceChildren(...notes.map((/** @type {string} */ line) => make("li", { class: "note" }, line)));
  tell(report);
  document.documentElement.dataset.ready = "page";
}

/** @param {File | undefined} file */
async function take(file) {
  if (!file) return;
  const said = byId("said");
  for (const id of ["flow-table", "udp"]) byId(id).replaceChildren();
  for (const id of ["flow", "waterfall", "tcp-head", "udp-head"]) byId(id).hidden = true;
  said.textContent = `${file.name} is read …`;
  try {
    if (file.size > MOST_BYTES) throw { message: `more than ${MOST_BYTES / 1e6} MB are too much for a page`, hint: "use airpath analyze" };
    const report = await engine?.analyze(await file.arrayBuffer(), MOST);
    said.textContent = about(file.name, report);
    tell(report);
  } catch (problem) {
    const { message, hint } = /** @type {import("studio/source").Problem} */ (problem);
    said.textContent = `${file.name}: ${message ?? problem}. ${sentenceOf(hint ?? "")}`;
  }
}

/** @type {(name: string, report: any) => string} */
function about(name, { file, duration_s: seconds, connections_seen: tcp, conversations_seen: udp }) {
  const counted = (/** @type {number} */ count, /** @type {string} */ noun) => `${figure(count)} ${noun}${count === 1 ? "" : "s"}`;
  const parts = [`${counted(file.records, "packet")} in ${figure(seconds, 3)} s`, counted(tcp, "TCP connection")];
  if (udp) parts.push(counted(udp, "UDP conversation"));
  if (file.unreadable_bytes) parts.push(`${figure(file.unreadable_bytes)} bytes cannot be read`);
  if (file.ends_within_record) parts.push("it ends within a packet");
  return `${name}: ${parts.join(", ")}.`;
}

/** Bytes of a flow. @param {Found} own */
function sizeOf({ flow }) {
  return Math.max(flow.bytes_acked ?? 0, flow.bytes_known ?? flow.bytes);
}

/** Seconds in which something was wanted. @param {any} one */
function active(one) {
  return one.phases ? one.phases.active_s : one.duration_s;
}

/** The flows of a list of connections, longest first. @type {(all: any[], kind: string) => Found[]} */
function found(all, kind) {
  return all.flatMap((one) => one.flows.map((/** @type {any} */ flow) => ({ one, flow, key: kind + one.number })))
    .sort((/** @type {Found} */ a, /** @type {Found} */ b) => active(b.one) - active(a.one) || sizeOf(b) - sizeOf(a));
}

/** @param {Found} own */
function label({ one, flow }) {
  const ends = flow.sender === "client" ? `${one.client} > ${one.server}` : `${one.server} > ${one.client}`;
  return one.name ? `${ends} (${one.name})` : ends;
}

/** @type {(value: number | null | undefined, digits?: number, scale?: number) => string} */
const shown = (value, digits = 0, scale = 1) => (value === null || value === undefined ? "–" : figure(value * scale, digits));

/** @type {(heads: string[], rows: (Node | string)[][]) => HTMLElement} */
function table(heads, rows) {
  return make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map(([first, ...cells]) => make("tr", {}, make("th", { scope: "row" }, first), ...cells.map((cell) => make("td", {}, cell))))));
}

/** A table whose rows lead to their flows. @type {(own: Found[], heads: string[], cells: (own: Found) => string[]) => HTMLElement} */
function tableOf(own, heads, cells) {
  return table(["from > to", ...heads], own.map((flow) => {
    const button = make("button", { type: "button", "data-key": flow.key, click: () => show(flow) }, label(flow));
    return [button, ...cells(flow)];
  }));
}

/** @param {any} report */
function tell(report) {
  const all = [found(report.connections, "t"), found(report.conversations, "u")];
  flows = all.flat();
  // The main direction of each; the other is a button away.
  const [tcp, udp] = all.map((own) => own.filter(({ key }, n) => own.findIndex((first) => first.key === key) === n).slice(0, MOST));
  const rows = [
    ...report.connections.map((/** @type {any} */ one) => rowOf(one, `t${one.number}`, `#${one.number} ${one.name ? `${one.name}, ` : ""}${one.client} > ${one.server}`, one.name ?? hostOf(one.server))),
    ...report.conversations.map((/** @type {any} */ one) => rowOf(one, `u${one.number}`, `${one.quic ? "QUIC" : "UDP"} #${one.number} ${one.client} > ${one.server}`, hostOf(one.server))),
  ];
  byId("waterfall").hidden = !rows.length;
  const went = sharesOf(rows);
  byId("went").textContent = went.length ? `Time with a request outstanding, all connections: ${went.join(", ")}.` : "";
  if (rows.length) waterfall.fill(rows);
  byId("tcp-head").hidden = !tcp.length;
  byId("udp-head").hidden = !udp.length;
  if (tcp.length) {
    byId("flow-table").replaceChildren(tableOf(tcp, ["active, s", "goodput, kbit/s", "RTT min, ms", "RTT median, ms", "segments", "lost", "retransmitted", "spurious", "limited by"], ({ one, flow }) => [
      shown(active(one), 3), shown(flow.goodput_bps, 1, 1e-3), shown(flow.rtt.min_ms, 1), shown(flow.rtt.forward_ms?.median, 1), shown(flow.counters.segments),
      shown(flow.path?.data?.lost), shown(flow.retransmissions.total), shown(flow.retransmissions.spurious.total), flow.verdict.limited_by,
    ]));
  }
  if (udp.length) {
    byId("udp").replaceChildren(tableOf(udp, ["protocol", "rate, kbit/s", "datagrams", "lost", "delay median, ms", "RTT by spin bit, ms"], ({ one, flow }) => [
      one.quic ? `QUIC ${one.quic}` : "UDP", shown(flow.rate_bps, 1, 1e-3), shown(flow.datagrams),
      shown(flow.path?.data?.lost), shown(flow.path?.data?.delay_ms?.median, 1), shown(one.spin?.rtt_ms?.median, 1),
    ]));
  }
  if (flows.length) show(flows[0]);
}

/** Describe a flow and draw it, its whole time or a range. @type {(own: Found, range?: [number, number]) => void} */
function show(own, range) {
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#tables [data-key]"))) {
    button.closest("tr")?.classList.toggle("opened", button.dataset.key === own.key);
  }
  waterfall.mark(own.key);
  other = flows.find(({ key, flow }) => key === own.key && flow !== own.flow) ?? null;
  byId("turn").hidden = !other;
  describe(own);
  draw(own, range);
  spread.show(own.one, own.flow);
}

/** Shares of the time per limit of the sender, largest first. @param {Record<string, number> | null} shares */
function timeOf(shares) {
  const parts = Object.entries(shares ?? {}).filter(([, share]) => share >= 0.005).sort((a, b) => b[1] - a[1]);
  return parts.map(([name, share]) => `${name.replace("_", " ")} ${figure(100 * share)} %`).join(", ") || "–";
}

/** Describe a flow. @param {Found} own */
function describe(own) {
  const { one, flow } = own;
  byId("flow").hidden = false;
  byId("title").textContent = label(own);
  byId("verdict").textContent = flow.verdict ? `Limited by ${flow.verdict.limited_by}: ${flow.verdict.because}.` : "";
  const facts = flow.verdict ? factsOf(flow) : factsOfDatagrams(own);
  byId("then").replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  byId("unknown").replaceChildren(...(one.not_known ?? []).map((/** @type {string} */ line) => make("li", { class: "quiet" }, `Not known: ${line}.`)));
  byId("words").hidden = !flow.says;
  byId("says").replaceChildren(...(flow.says ?? []).map((/** @type {string} */ line) => make("li", {}, line)));
}

/** @param {any} flow @returns {[string, string][]} */
function factsOf(flow) {
  const { retransmissions: again, loss_episodes: episodes, flight, rtt } = flow;
  const causes = Object.entries(again.by_cause).filter(([, count]) => count).map(([name, count]) => `${count} ${WORDS[/** @type {keyof typeof WORDS} */ (name)]}`);
  return [
    ["seen", PLACES[/** @type {keyof typeof PLACES} */ (flow.viewpoint)]], ["time limited by", timeOf(flow.verdict.shares)],
    ["retransmitted", `${again.total}${causes.length ? `: ${causes.join(", ")}` : ""}`], ["loss episodes", `${episodes.events}, ${episodes.timeout} with a timeout`],
    ["duplicate ACKs", shown(flow.counters.dupacks)], ["overtaken", shown(flow.reordering.late_segments)],
    ["in flight, mean", `${shown(flight.mean_bytes, 1, 1e-3)} kB`], ["window full", `${shown(flight.window_limited_share, 1, 100)} % of the time`],
    ["delay in buffers, median", `${shown(rtt.queueing_ms?.median)} ms`], ["ACK compression", `${shown(flow.acks.compression, 1, 100)} %`],
  ];
}

/** @param {Found} own @returns {[string, string][]} */
function factsOfDatagrams({ one, flow }) {
  return [
    ["protocol", one.quic ? `QUIC ${one.quic}` : "UDP"], ["datagrams", shown(flow.datagrams)], ["bytes", shown(flow.bytes)],
    ["rate, kbit/s", shown(flow.rate_bps, 1, 1e-3)], ["lost", shown(flow.path?.data?.lost)],
  ];
}

/** @param {Found} own @param {[number, number]} [range] */
function draw(own, range) {
  const lines = linesOf(own);
  const all = [...lines.values()].flatMap(({ x }) => [x[0], x[x.length - 1]]);
  const events = new Events();
  events.from = all.length ? Math.min(...all) : 0;
  const run = /** @type {import("studio/source").Run} */ (/** @type {unknown} */ ({
    names: [label(own)], chosen: [0], left_out: {},
    summary: { simulated_s: Math.max(...all, events.from + 1e-3), flows: [{ start_s: events.from, transfer_s: null }] },
  }));
  const made = { run, events, settings: null };
  if (store) store.putAll([made], 0);
  const state = (store ??= new Store(made));
  give(state.state.variants[0], 0, { has: (name) => lines.has(name), get: (name) => lines.get(name) ?? null });
  if (!state.listeners.length) new Plots(state, PANELS);
  state.show(Math.max(range?.[0] ?? events.from, events.from), Math.min(range?.[1] ?? state.end, state.end));
}

/** Time series of a flow, by the names of the studio's lines. @param {Found} own @returns {Map<string, Line>} */
function linesOf({ one, flow }) {
  /** @type {Map<string, Line>} */
  const lines = new Map();
  const add = (/** @type {string} */ name, /** @type {number[]} */ x, /** @type {number[]} */ y) => {
    if (x.length) lines.set(name, { kind: "capture", x: Float64Array.from(x), y: Float64Array.from(y), rows: new Uint32Array(x.length) });
  };
  const curve = (/** @type {string} */ name, /** @type {Curve | null | undefined} */ own, scale = 1) => own && add(name, own.time_s, own.mean.map((value) => scale * value));
  curve("progress", flow.progress, 1e-6);
  const { start_s: begin, width_s: width, bps } = flow.throughput;
  if (bps.length) add("throughput", [...bps, 0].map((_, n) => begin + n * width), [...bps, bps[bps.length - 1]].map((own) => own / 1e3));
  curve("rttMeans", flow.rtt?.over_time ?? one.spin?.over_time);
  curve("inFlight", flow.flight?.over_time, 1e-3);
  curve("announced", flow.flight?.window_over_time, 1e-3);
  curve("delay", flow.path?.delay_over_time);
  if (!flow.retransmissions) return lines;
  const acked = lines.get("progress");
  const height = (/** @type {number} */ time) => acked?.y[Math.max(0, lowerBound(acked.x, time + 1e-9) - 1)] ?? 0;
  for (const [name, causes] of Object.entries(AGAIN)) {
    const times = causes.flatMap((cause) => flow.retransmissions.over_time[cause]?.time_s ?? []).sort((a, b) => a - b);
    add(name, times, times.map(height));
  }
  return lines;
}
