// The state of the stations of the path at an instant: short lines for the animation, and sentences.

import { figure } from "studio/dom";
import { slotWords } from "studio/blocks";
import { kindOf } from "studio/graph";
import { boxTitle, stationOf } from "studio/lanes";
import { firstFrom, placeOf } from "studio/reduce";
import { receiving } from "studio/tape";

/** @typedef {import("studio/model").Model} Model */
/** @typedef {import("studio/source").Flow} Flow */
/** @typedef {{ue: number, flow: Flow | null, now: number}} View */

/** @type {(model: Model, kind: string, view: View, direction?: string) => ((column: string) => number) | null} */
function lastOf(model, kind, { ue, flow, now }, direction) {
  const row = model.latest(kind, ue, flow?.flow ?? null, now, direction);
  const columns = model.events.table(kind)?.columns;
  return row < 0 || !columns ? null : (name) => columns[name]?.values[row] ?? 0;
}

/** @type {(count: number, thing: string) => string} */
const counted = (count, thing) => `${figure(count)} ${thing}${count === 1 ? "" : "s"}`;

/** The sender of the data: window and flight. @type {(model: Model, view: View) => string[]} */
export function senderState(model, view) {
  const of = lastOf(model, "tcp_state", view);
  return of ? [`cwnd ${figure(of("tcpi_snd_cwnd"))}`, `${figure(of("tcpi_unacked"))} in flight`] : [];
}

/** The receiver of the data: what TCP has, and whether it waits. @type {(model: Model, view: View) => string[]} */
export function receiverState(model, view) {
  const of = lastOf(model, "segment_received", view);
  if (!of) return [];
  const kept = behindHole(model, view);
  return [`has ${figure(of("rcv_nxt") / 1e6, 3)} MB`, kept ? `hole; ${figure(kept)} behind` : "no hole"];
}

/** Segments that have come since the receiver waits for the octet for which it waits. @type {(model: Model, view: View) => number} */
function behindHole(model, { ue, flow, now }) {
  const table = model.events.table("segment_received");
  let row = model.latest("segment_received", ue, flow?.flow ?? null, now);
  if (!table || row < 0) return 0;
  const { ue: ues, flow: flows, seq, rcv_nxt } = table.columns;
  const next = rcv_nxt.values[row];
  let kept = 0;
  for (; row >= 0 && kept < 10_000; row -= 1) {
    if (ues.values[row] !== ue || (flow && flows.values[row] !== flow.flow)) continue;
    if (rcv_nxt.values[row] !== next || seq.values[row] < next) break;
    kept += 1;
  }
  return kept;
}

/** A middlebox's state in a few words. @type {(model: Model, name: string, view: View) => string[]} */
export function boxState(model, name, view) {
  const kind = kindOf(name).replace("middlebox.", "");
  const of = lastOf(model, kind, view);
  if (!of) return [];
  /** @type {Record<string, () => string[]>} */
  const told = {
    ack_regulator: () => [`${counted(of("held_acks"), "ACK")} held`, `window ${figure(of("window_segments"))}`],
    ack_rate_control: () => [`${counted(of("held_acks"), "ACK")} held`, `1 per ${figure(of("t_id_us") / 1000)} ms`],
    rnc_feedback: () => [`${figure(of("cached_segments"))} in table`, of("flagged") ? "ACK flagged" : ""],
    snoop: () => [`${figure(of("cached_packets"))} kept`],
  };
  return told[kind]?.() ?? [];
}

/** SDUs behind this many that are done with are done with, too. */
const DONE = 256;

/**
 * SDUs in a bearer's buffer at an instant: waiting, and sent but kept until confirmed.
 * @type {(model: Model, view: {ue: number, now: number}, isUp: boolean) => {waits: number, kept: number} | null}
 */
export function buffered(model, { ue, now }, isUp) {
  const { sdus, packets } = model;
  const bearer = model.bearer(ue, isUp, now);
  if (!bearer || !sdus) return null;
  let [waits, kept] = [0, 0];
  const latest = firstFrom(sdus.table.columns.time_ns.values, bearer.sdus, now + 1) - 1;
  for (let at = latest, done = 0; at >= 0 && done < DONE; at -= 1) {
    const sdu = bearer.sdus[at];
    const packet = sdus.packet[sdu];
    const isDropped = packets !== null && packet >= 0 && packets.drop[packet] >= 0 && packets.end[packet] <= now;
    if (now < Math.min(sdus.left[sdu], sdus.out[sdu])) waits += Number(!isDropped);
    else if (bearer.retransmits && sdus.ended[sdu] >= 0 && sdus.confirmed[sdu] > now) kept += 1;
    else done += 1;
  }
  return { waits, kept };
}

/**
 * The instant in a few sentences: packets in flight, queues, and what they wait for.
 * @type {(model: Model, view: View) => string}
 */
export function momentOf(model, view) {
  if (!model.packets && !model.sdus) return model.missing.join(" ");
  const { now, ue } = view;
  const isUp = view.flow?.direction === "uplink";
  const bearer = model.bearer(ue, isUp, now);
  const told = [];
  if (model.isOut(ue, now)) told.push("Outage: nothing reaches the UE.");
  const buffer = buffered(model, view, isUp);
  if (buffer) {
    const kept = buffer.kept ? `, ${figure(buffer.kept)} sent and not confirmed` : "";
    told.push(`${counted(buffer.waits, "packet")} wait${buffer.waits === 1 ? "s" : ""} in the ${isUp ? "UE's" : `${stationOf(model.path[model.graph.cellOf(ue, now)])}'s`} buffer${kept}.`);
  }
  const slots = isUp || bearer?.isShared ? model.slotsOf(ue, now, isUp) : null;
  const air = bearer && (slots ? slotWords(slots, model, now) : onAir(model, bearer, now));
  if (air) told.push(air);
  if (bearer?.retransmits) {
    const { holes, waiting } = receiving(model, bearer, now);
    // RLC of NR hands up what is whole: PDCP puts it in order.
    const isNr = kindOf(model.graph.names[model.graph.cellOf(ue, now)] ?? "") === "radio.nr";
    const who = isNr ? `What ${counted(waiting, "PDU")} carr${waiting === 1 ? "ies" : "y"} waits in PDCP` : `${counted(waiting, "PDU")} wait${waiting === 1 ? "s" : ""}`;
    if (holes) told.push(`${who} behind ${counted(holes, "hole")}.`);
  }
  const sender = lastOf(model, "tcp_state", view);
  if (sender) told.push(`TCP: ${counted(sender("tcpi_unacked"), "segment")} in flight, window ${figure(sender("tcpi_snd_cwnd"))}.`);
  const kept = behindHole(model, view);
  if (kept) told.push(`The receiver keeps ${counted(kept, "segment")} behind a hole.`);
  for (const name of new Set(model.path)) {
    const [state] = name.startsWith("middlebox.") ? boxState(model, name, view) : [];
    if (state && !state.startsWith("0 ")) told.push(`${boxTitle(name)}: ${state}.`);
  }
  return told.length ? told.join(" ") : "Nothing is in flight yet.";
}

/** The TTI of an instant: its PDUs, and when lost ones were retransmitted. @type {(model: Model, bearer: import("studio/bearers").Bearer, now: number) => string | null} */
function onAir(model, bearer, now) {
  const data = model.events.table("rlc_data");
  const tti = model.tti(bearer, now);
  const row = model.latest("rlc_data", bearer.ue, null, now, bearer.direction);
  if (!data || tti === null || row < 0) return null;
  const { time_ns, pdus, lost } = data.columns;
  const begin = time_ns.values[row];
  if (model.tti(bearer, begin) !== tti) return `TTI ${tti} is empty.`;
  let [sent, gone, first] = [0, 0, row];
  for (let at = placeOf(bearer.runs, row); at >= 0 && time_ns.values[bearer.runs[at]] === begin; at -= 1) {
    first = bearer.runs[at];
    sent += pdus.values[first];
    if (lost.values[first]) gone += pdus.values[first];
  }
  if (!gone) return `TTI ${tti}: ${counted(sent, "PDU")} transmitted.`;
  const again = retransmittedAt(bearer, first, data);
  const later = again === null ? "never retransmitted" : `retransmitted in TTI ${model.tti(bearer, again)}`;
  return `TTI ${tti} is lost${gone < sent ? ` in part (${gone} of ${sent} PDUs)` : ` (${counted(sent, "PDU")})`}, ${bearer.retransmits ? later : "no retransmission in this mode"}.`;
}

/** When the first PDU of a run was retransmitted; null if it was not. @type {(bearer: import("studio/bearers").Bearer, row: number, data: import("studio/events").Table) => number | null} */
export function retransmittedAt({ runs, number }, row, data) {
  const { pdus, time_ns } = data.columns;
  const at = placeOf(runs, row);
  for (let other = at + 1; other < runs.length; other += 1) {
    if (number[other] <= number[at] && number[at] < number[other] + pdus.values[runs[other]]) return time_ns.values[runs[other]];
  }
  return null;
}
