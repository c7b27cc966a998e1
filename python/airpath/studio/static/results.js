// Results, scenario and facts of a run as tables and text.

import { byId, figure, make } from "studio/dom";

/** @typedef {import("studio/source").Run} Run */

/** Rows of a table; a crowd has more. */
const MOST_ROWS = 100;

/** Causes of retransmissions, in the words of the table. @type {Record<string, string>} */
const CAUSES = {
  fast_retransmit: "fast", partial_ack: "partial ACK", sack: "SACK", timeout: "timeout", go_back_n: "go-back-N",
  tail_loss_probe: "probe",
};

/** @type {(value: number | null | undefined, digits?: number) => string} */
const told = (value, digits = 0) => (value === null || value === undefined ? "–" : figure(value, digits));

/** @param {Run} run */
export function showResults(run) {
  const { flows, elements } = run.summary;
  const busiest = flows.map((_, place) => place).sort((a, b) => carried(run, b) - carried(run, a)).slice(0, MOST_ROWS);
  const causes = Object.keys(CAUSES).filter((cause) => flows.some((flow) => flow.retransmissions?.[cause]));
  const place = byId("results");
  place.replaceChildren();
  if (run.goes_on) return void place.append(make("p", { class: "note" }, "The run goes on: its results come at its end."));
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
    ["acknowledged, MB", (flow) => told(flow.bytes_acked === null ? null : flow.bytes_acked / 1e6, 3)],
    ["transfer, s", (flow) => told(flow.transfer_s, 3)],
    ["RTT mean, ms", (flow) => told(flow.rtt_ms?.mean)],
    ["RTT least to most, ms", (flow) => (flow.rtt_ms?.min == null ? "–" : `${told(flow.rtt_ms.min)} – ${told(flow.rtt_ms.max)}`)],
    ["RTT median, ms", (flow) => told(flow.rtt_ms?.p50)],
    ["RTT p95, ms", (flow) => told(flow.rtt_ms?.p95)],
    ["one-way delay median, ms", (flow) => told(flow.one_way_delay_ms?.p50)],
    ["one-way delay p95, ms", (flow) => told(flow.one_way_delay_ms?.p95)],
    ["queueing delay median, ms", (flow) => told(flow.queueing_delay_ms?.p50)],
    ["queueing delay p95, ms", (flow) => told(flow.queueing_delay_ms?.p95)],
    ["segments sent", (flow) => told(flow.segments_sent)],
    ["sent again", (flow) => told(flow.retransmissions?.total)],
    ...causes.map((cause) => /** @type {[string, (flow: any) => string]} */ (
      [`\u2003${CAUSES[cause]}`, (flow) => told(flow.retransmissions?.[cause])])),
    ["timer expired", (flow) => told(flow.timeouts)],
  ];
  place.append(make("h3", {}, flows.length === 1 ? "The flow" : "Flows"));
  // Few flows side by side, many below each other.
  if (busiest.length <= 4) {
    const names = busiest.map((at) => run.names[at]);
    place.append(table(["", ...(names.length > 1 ? names : ["value"])], rows.map(([name, of]) => [name, ...busiest.map((at) => of(flows[at]))])));
  } else {
    place.append(table(["", ...rows.map(([name]) => name.trim())], busiest.map((at) => [run.names[at], ...rows.map(([, of]) => of(flows[at]))])));
  }
  if (flows.length > busiest.length) place.append(make("p", { class: "quiet" }, `The busiest ${busiest.length} of ${flows.length} flows.`));
  const bearers = elements.filter((element) => String(element.element).startsWith("radio.")).flatMap((element) =>
    (element.ues ?? []).slice(0, MOST_ROWS).flatMap((/** @type {any} */ ue, /** @type {number} */ n) =>
      ["downlink", "uplink"].filter((way) => ue[way]).map((way) => [`UE ${n} ${way}`, ue[way]])));
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

/** @type {(run: Run, place: number) => number} */
const carried = (run, place) => Math.max(run.summary.flows[place].bytes_acked ?? 0, run.summary.flows[place].bytes_received ?? 0);

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
  if (run.cut) place.append(make("p", { class: "quiet" }, "Cut here: it goes on in scenario.resolved.toml."));
  place.append(make("h3", {}, "The run"));
  const list = make("dl");
  for (const [name, value] of Object.entries(facts)) {
    const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
    list.append(make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, text));
  }
  place.append(list);
}
