// Results, scenario and facts of a run as tables and text.

import { byId, figure, make } from "studio/dom";
import { FlowTable, megabytesAcked, ofTcp } from "studio/flowlist";
import { ownerOf, ueName } from "studio/names";

/** @typedef {import("studio/source").Run} Run */

/** Rows of a table; a crowd has more. */
const MOST_ROWS = 100;
/** Remarks that are shown at once. */
const MOST_REMARKS = 3;
/** Most flows side by side. */
const MOST_BESIDE = 4;
/** How flows are listed: kept from run to run. @type {import("studio/flowlist").Wanted} */
const listed = { order: "took", isUp: false, words: "" };

/** Causes of retransmissions, in the words of the table. @type {Record<string, string>} */
const CAUSES = {
  fast_retransmit: "fast", partial_ack: "partial ACK", sack: "SACK", timeout: "timeout", go_back_n: "go-back-N",
  tail_loss_probe: "probe",
};

/** @type {(value: number | null | undefined, digits?: number) => string} */
const told = (value, digits = 0) => (value === null || value === undefined ? "–" : figure(value, digits));

/**
 * @param {Run} run
 * @param {(place: number) => void} plot shows a flow alone in the plots
 */
export function showResults(run, plot) {
  const { flows, elements } = run.summary;
  const causes = Object.keys(CAUSES).filter((cause) => flows.some((flow) => flow.retransmissions?.[cause]));
  const place = byId("results");
  place.replaceChildren(...remarksOn(run));
  if (run.goes_on) return void place.append(make("p", { class: "note" }, "The run is in progress: its results appear when it ends."));
  if (!run.summary.complete) place.append(make("p", { class: "note" }, "The run was ended early: these are the results up to then."));
  if (Object.keys(run.left_out).length) {
    const kinds = Object.entries(run.left_out).map(([kind, rows]) => (rows === null ? kind : `${kind} (${figure(rows)} events)`));
    place.append(make("p", { class: "note" }, `There is no room here for ${kinds.join(", ")}: a trace in a run's folder has them.`));
  }
  if (run.not_again) {
    place.append(make("p", { class: "note" }, `Single packets and SDUs are not here: the trace has none, and ${run.not_again}.`));
  }
  /** @type {[string, (flow: Run["summary"]["flows"][number]) => string][]} */
  const rows = [
    ["goodput, kbit/s", (flow) => told(flow.goodput_bps === null ? null : flow.goodput_bps / 1e3, 1)],
    ["acknowledged, MB", (flow) => told(megabytesAcked(flow), 3)],
    ["transfer, s", (flow) => told(flow.transfer_s, 3)],
    ["RTT mean, ms", (flow) => told(flow.rtt_ms?.mean)],
    ["RTT least to most, ms", (flow) => (flow.rtt_ms?.min == null ? "–" : `${told(flow.rtt_ms.min)} – ${told(flow.rtt_ms.max)}`)],
    ["RTT median, ms", (flow) => told(flow.rtt_ms?.p50)],
    ["RTT p95, ms", (flow) => told(flow.rtt_ms?.p95)],
    ["one-way delay median, ms", (flow) => told(flow.one_way_delay_ms?.p50)],
    ["one-way delay p95, ms", (flow) => told(flow.one_way_delay_ms?.p95)],
    ["queueing delay median, ms", (flow) => told(flow.queueing_delay_ms?.p50)],
    ["queueing delay p95, ms", (flow) => told(flow.queueing_delay_ms?.p95)],
    ["segments sent", (flow) => told(ofTcp(flow, flow.segments_sent))],
    ["retransmissions", (flow) => told(ofTcp(flow, flow.retransmissions?.total))],
    ...causes.map((cause) => /** @type {[string, (flow: any) => string]} */ (
      [`\u2003${CAUSES[cause]}`, (flow) => told(ofTcp(flow, flow.retransmissions?.[cause]))])),
    ["timeouts", (flow) => told(ofTcp(flow, flow.timeouts))],
  ];
  /** @param {number[]} places */
  const inFull = (places) => table(
    ["", ...(places.length > 1 ? places.map((at) => run.names[at]) : ["value"])], rows.map(([name, of]) => [name, ...places.map((at) => of(flows[at]))]),
  );
  place.append(make("h3", {}, flows.length === 1 ? "The flow" : "Flows"));
  // Few flows side by side; many in a list where one is chosen.
  if (flows.length <= MOST_BESIDE) place.append(inFull(flows.map((_, at) => at)));
  else {
    const detail = make("div");
    const list = new FlowTable(run, listed, (at) => detail.replaceChildren(
      make("div", { class: "bar" }, make("h3", {}, run.names[at]), make("span", { class: "grow" }), make("button", { type: "button", class: "small", click: () => plot(at) }, "Plot it alone")),
      inFull([at]),
    ));
    place.append(list.root, detail);
  }
  const cells = elements.filter((element) => String(element.element).startsWith("radio."));
  const bearers = cells.flatMap(({ ues, node }) => (ues ?? []).slice(0, MOST_ROWS).flatMap((/** @type {any} */ ue, /** @type {number} */ n) => {
    const where = cells.length > 1 ? ` in ${ownerOf(node)},` : "";
    // Each of several cells has a bearer for each UE, whether the UE was ever there or not.
    return ["downlink", "uplink"].filter((way) => ue[way] && (!where || ue[way].sdus_delivered || ue[way].sdus_dropped))
      .map((way) => [`${ueName(run, n)}${where} ${way}`, ue[way]]);
  }));
  if (!bearers.length) return;
  place.append(make("h3", {}, "Bearers"));
  place.append(table(
    ["", "SDUs out", "drops", "queue ≤", "PDUs lost"],
    bearers.map(([name, own]) => [
      name, told(own.sdus_delivered), told(own.sdus_dropped), told(own.peak_queued_sdus),
      own.pdus_sent ? `${told((100 * own.pdus_lost) / own.pdus_sent, 1)} %` : "–",
    ]),
  ));
}

/** What is seldom wanted in the scenario, the first few remarks at once. @param {Run} run @returns {Node[]} */
function remarksOn({ remarks = [] }) {
  const notes = remarks.map(({ path, message, hint }) => make("p", { class: "note" }, make("b", {}, path), `: ${message}; ${hint}.`));
  if (notes.length <= MOST_REMARKS + 1) return notes;
  return [...notes.slice(0, MOST_REMARKS), make("details", {}, make("summary", {}, `${notes.length - MOST_REMARKS} more remarks`), ...notes.slice(MOST_REMARKS))];
}

/** @param {string[]} headings @param {string[][]} rows */
function table(headings, rows) {
  return make("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "Table" }, make("table", {},
    make("thead", {}, make("tr", {}, ...headings.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows.map(([name, ...cells]) =>
      make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((text) => make("td", {}, text)))))));
}

/** @param {Run} run */
export function showScenario(run) {
  const place = byId("scenario");
  place.replaceChildren();
  const { changes, facts, title } = run;
  place.append(make("h3", {}, "Changed"));
  if (changes === null) place.append(make("p", { class: "quiet" }, "Not known: the scenario is not one that comes with airpath, or has changed since."));
  else if (!changes.length) place.append(make("p", { class: "quiet" }, `Nothing: ${title} as it comes with airpath.`));
  else {
    const again = [`airpath run ${title} --seed ${run.summary.seed}`, ...changes.map((change) => `    --set '${change.replaceAll("'", "'\\''")}'`)];
    place.append(make("pre", { tabindex: 0, "aria-label": "Command" }, again.join(" \\\n")));
  }
  place.append(make("h3", {}, "Scenario, with every default"));
  place.append(make("pre", { class: "toml", tabindex: 0, "aria-label": "Scenario" }, run.scenario));
  if (run.cut) place.append(make("p", { class: "quiet" }, "Truncated here: the rest is in scenario.resolved.toml."));
  place.append(make("h3", {}, "The run"));
  const list = make("dl");
  for (const [name, value] of Object.entries(facts)) {
    const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
    list.append(make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, text));
  }
  place.append(list);
}
