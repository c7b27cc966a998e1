// Explains a capture in the page, which keeps it: findings of `airpath analyze` as figures, and plots of a flow. Its whole
// report, with a sentence for each finding and throughput models, is made by the command.

import { byId, figure, make } from "studio/dom";
import { Events } from "studio/events";
import { sentenceOf } from "studio/field";
import { Plots } from "studio/plots";
import { lowerBound } from "studio/reduce";
import { give } from "studio/series";
import { sourceOf } from "studio/source";
import { Store } from "studio/store";

/** @typedef {import("studio/series").Line} Line */
/** Means over time. @typedef {{time_s: number[], mean: number[]}} Curve */
/** A direction of data, and its connection. @typedef {{one: any, flow: any}} Found */

/** Larger files are for the command. */
const MOST_BYTES = 500e6;
/** Connections that are described, and rows of a table. */
const MOST = 100;
/** Not the rate: of means over time, over shorter times than these, it would be made up. */
const PANELS = ["rtt", "flight", "delay", "sequence"];
/** Causes of retransmissions by the line that shows them. */
const AGAIN = { fast: ["fast_retransmit", "partial_ack", "sack"], late: ["timeout", "go_back_n"], probe: ["tail_probe"], unknown: ["other"] };
const WORDS = {
  fast_retransmit: "fast", partial_ack: "partial ACK", sack: "SACK", timeout: "timeout", go_back_n: "go-back-N", tail_probe: "tail probe", other: "other",
};
const PLACES = { sender: "at the sender", receiver: "at the receiver", between: "between the ends", unknown: "not known where" };

/** The state, once a flow is shown: for tests. @type {Store | null} */
export let store = null;

const { engine } = sourceOf(document);
const drop = byId("drop");
const input = /** @type {HTMLInputElement} */ (byId("file"));
input.addEventListener("change", () => input.files && void take(input.files[0]));
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
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
document.documentElement.dataset.ready = "page";

/** @param {File | undefined} file */
async function take(file) {
  if (!file) return;
  const said = byId("said");
  for (const id of ["flow-table", "udp"]) byId(id).replaceChildren();
  byId("flow").hidden = true;
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

/** The flows of a list of connections, the largest first. @type {(all: any[], size: (flow: any) => number) => Found[]} */
function found(all, size) {
  return all.flatMap((one) => one.flows.map((/** @type {any} */ flow) => ({ one, flow })))
    .sort((/** @type {Found} */ a, /** @type {Found} */ b) => size(b.flow) - size(a.flow)).slice(0, MOST);
}

/** @param {Found} own */
function label({ one, flow }) {
  return flow.sender === "client" ? `${one.client} > ${one.server}` : `${one.server} > ${one.client}`;
}

/** @type {(value: number | null | undefined, digits?: number, scale?: number) => string} */
const shown = (value, digits = 0, scale = 1) => (value === null || value === undefined ? "–" : figure(value * scale, digits));

/** @type {(heads: string[], rows: (Node | string)[][]) => HTMLElement} */
function table(heads, rows) {
  return make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map(([first, ...cells]) => make("tr", {}, make("th", { scope: "row" }, first), ...cells.map((cell) => make("td", {}, cell))))));
}

/** @param {any} report */
function tell(report) {
  const flows = found(report.connections, (flow) => Math.max(flow.bytes_acked, flow.bytes_known));
  const buttons = flows.map((own, n) => make("button", { type: "button", click: () => show(n) }, label(own)));
  const tcp = table(["from > to", "goodput, kbit/s", "RTT min, ms", "RTT median, ms", "segments", "lost", "sent again", "needless", "limited by"],
    flows.map(({ flow }, n) => [
      buttons[n], shown(flow.goodput_bps, 1, 1e-3), shown(flow.rtt.min_ms, 1), shown(flow.rtt.forward_ms?.median, 1), shown(flow.counters.segments),
      shown(flow.path?.data?.lost), shown(flow.retransmissions.total), shown(flow.retransmissions.spurious.total), flow.verdict.limited_by,
    ]));
  if (flows.length) byId("flow-table").replaceChildren(tcp);
  const udp = found(report.conversations, (flow) => flow.bytes);
  if (udp.length) {
    byId("udp").replaceChildren(make("h3", {}, "UDP"), table(["from > to", "protocol", "rate, kbit/s", "datagrams", "lost", "delay median, ms", "RTT by spin bit, ms"],
      udp.map((own) => [
        label(own), own.one.quic ? `QUIC ${own.one.quic}` : "UDP", shown(own.flow.rate_bps, 1, 1e-3), shown(own.flow.datagrams),
        shown(own.flow.path?.data?.lost), shown(own.flow.path?.data?.delay_ms?.median, 1), shown(own.one.spin?.rtt_ms?.median, 1),
      ])));
  }
  const show = (/** @type {number} */ chosen) => {
    tcp.querySelectorAll("tbody tr").forEach((row, n) => row.classList.toggle("opened", n === chosen));
    describe(flows[chosen]);
  };
  if (flows.length) show(0);
}

/** Parts of the time by what limited the sender, the largest first. @param {Record<string, number> | null} shares */
function timeOf(shares) {
  const parts = Object.entries(shares ?? {}).filter(([, share]) => share >= 0.005).sort((a, b) => b[1] - a[1]);
  return parts.map(([name, share]) => `${name.replace("_", " ")} ${figure(100 * share)} %`).join(", ") || "–";
}

/** Describe a flow, and draw it. @param {Found} own */
function describe(own) {
  const { one, flow } = own;
  const { retransmissions: again, loss_episodes: episodes, flight, rtt } = flow;
  const causes = Object.entries(again.by_cause).filter(([, count]) => count).map(([name, count]) => `${count} ${WORDS[/** @type {keyof typeof WORDS} */ (name)]}`);
  byId("flow").hidden = false;
  byId("title").textContent = label(own);
  byId("verdict").textContent = `Limited by ${flow.verdict.limited_by}: ${flow.verdict.because}.`;
  /** @type {[string, string][]} */
  const facts = [
    ["seen", PLACES[/** @type {keyof typeof PLACES} */ (flow.viewpoint)]], ["time limited by", timeOf(flow.verdict.shares)],
    ["sent again", `${again.total}${causes.length ? `: ${causes.join(", ")}` : ""}`], ["loss episodes", `${episodes.events}, ${episodes.timeout} with a timeout`],
    ["duplicate ACKs", shown(flow.counters.dupacks)], ["overtaken", shown(flow.reordering.late_segments)],
    ["in flight, mean", `${shown(flight.mean_bytes, 1, 1e-3)} kB`], ["window full", `${shown(flight.window_limited_share, 1, 100)} % of the time`],
    ["delay in buffers, median", `${shown(rtt.queueing_ms?.median)} ms`], ["ACK compression", `${shown(flow.acks.compression, 1, 100)} %`],
  ];
  byId("then").replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  byId("unknown").replaceChildren(...one.not_known.map((/** @type {string} */ line) => make("li", { class: "quiet" }, `Not known: ${line}.`)));
  draw(own);
}

/** @param {Found} own */
function draw(own) {
  const lines = linesOf(own.flow);
  const all = [...lines.values()].flatMap(({ x }) => [x[0], x[x.length - 1]]);
  const events = new Events();
  events.from = all.length ? Math.min(...all) : 0;
  const run = /** @type {import("studio/source").Run} */ (/** @type {unknown} */ ({
    names: [label(own)], chosen: [0], left_out: {},
    summary: { simulated_s: Math.max(...all, events.from + 1e-3), flows: [{ start_s: events.from, transfer_s: null }] },
  }));
  const made = { run, events, settings: null };
  if (store) store.putAll([made], 0);
  const shown = (store ??= new Store(made));
  give(shown.state.variants[0], 0, { has: (name) => lines.has(name), get: (name) => lines.get(name) ?? null });
  if (!shown.listeners.length) new Plots(shown, PANELS);
  shown.show(events.from, shown.end);
}

/** What is known of a flow over time, by the names of the studio's lines. @param {any} flow @returns {Map<string, Line>} */
function linesOf(flow) {
  /** @type {Map<string, Line>} */
  const lines = new Map();
  const add = (/** @type {string} */ name, /** @type {number[]} */ x, /** @type {number[]} */ y) => {
    if (x.length) lines.set(name, { kind: "capture", x: Float64Array.from(x), y: Float64Array.from(y), rows: new Uint32Array(x.length) });
  };
  const curve = (/** @type {string} */ name, /** @type {Curve | null | undefined} */ own, scale = 1) => own && add(name, own.time_s, own.mean.map((value) => scale * value));
  curve("acked", flow.progress, 1e-6);
  curve("rttMeans", flow.rtt.over_time);
  curve("inFlight", flow.flight.over_time, 1e-3);
  curve("announced", flow.flight.window_over_time, 1e-3);
  curve("delay", flow.path?.delay_over_time);
  const acked = lines.get("acked");
  const height = (/** @type {number} */ time) => acked?.y[Math.max(0, lowerBound(acked.x, time + 1e-9) - 1)] ?? 0;
  for (const [name, causes] of Object.entries(AGAIN)) {
    const times = causes.flatMap((cause) => flow.retransmissions.over_time[cause]?.time_s ?? []).sort((a, b) => a - b);
    add(name, times, times.map(height));
  }
  return lines;
}
