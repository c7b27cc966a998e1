// The life of one packet: its stops on the path with their times, from its sender to the ACK for it.

import { figure } from "studio/dom";
import { stationOf } from "studio/lanes";
import { ACK, LOOKS } from "studio/model";
import { begin } from "studio/packets";
import { firstFrom, placeOf } from "studio/reduce";
import { retransmittedAt } from "studio/standing";

/** @typedef {import("studio/model").Model} Model */
/** @typedef {import("studio/packets").Packets} Packets */
/**
 * A stop: its start in nanoseconds, a description, and the event that records it.
 * @typedef {{at: number, text: string, kind: string, row: number}} Stop
 */

/** How far an ACK is looked for, packets. */
const LOOK_AHEAD = 200_000;
/** Maximum attempts of a PDU that are listed separately. */
const MOST_ATTEMPTS = 6;

/** What a packet is, in a few words. @type {(model: Model, packet: number) => string} */
export function nameOf(model, packet) {
  const { table, stops, first, sent } = /** @type {Packets} */ (model.packets);
  const row = stops[first[packet]];
  const of = (/** @type {string} */ name) => table.columns[name].values[row];
  const segments = model.events.table("segment_sent")?.columns;
  if (segments && sent[packet] >= 0) {
    const seq = segments.seq.values[sent[packet]];
    return `data ${figure(seq)} to ${figure(seq + segments.payload_bytes.values[sent[packet]])}`;
  }
  const flags = of("flags");
  if (flags & 2) return flags & ACK ? "SYN-ACK" : "SYN";
  if (flags & 1) return "FIN";
  if (flags & 4) return "RST";
  if (model.looks[packet] === LOOKS.ack) return `ACK ${figure(of("ack"))}`;
  return flags ? `data from ${figure(of("seq"))}` : `datagram ${figure(of("seq"))}`;
}

/** Why a packet was sent, as `segment_sent` has it. @type {(model: Model, packet: number) => string} */
export function causeOf(model, packet) {
  const cause = model.events.table("segment_sent")?.columns.cause;
  const row = model.packets?.sent[packet] ?? -1;
  return row < 0 ? "" : cause?.words?.[cause.values[row]] ?? "";
}

/** The stops of a packet in order of time. @type {(model: Model, packet: number, placeName: (place: number) => string) => Stop[]} */
export function lifeOf(model, packet, placeName) {
  const packets = /** @type {Packets} */ (model.packets);
  const { table, stops, first, sent, drop, flagged, outcome, end } = packets;
  const { element, direction, time_ns } = table.columns;
  const isUp = direction.words?.[direction.values[stops[first[packet]]]] === "uplink";
  /** @type {Stop[]} */
  const told = [];
  const [from = isUp ? model.last : 0] = model.graph.before(element.values[stops[first[packet]]], isUp);
  for (let at = first[packet]; at < first[packet + 1]; at += 1) {
    const row = stops[at];
    const place = element.values[row];
    const stop = { at: time_ns.values[row], kind: "packet", row };
    if (at === first[packet]) {
      const maker = from === 0 || from === model.last ? placeName(from) : `${placeName(from)} itself`;
      const cause = causeOf(model, packet);
      told.push(sent[packet] >= 0
        ? { ...stop, text: `${maker} sends it: ${cause.replaceAll("_", " ")}`, kind: "segment_sent", row: sent[packet] }
        : { ...stop, text: `${maker} sends it` });
    }
    if (place === 0 || place === model.last) told.push({ ...stop, text: `arrives at ${placeName(place)}` });
    else if (model.path[place].startsWith("radio.")) told.push(...radioStops(model, packet, isUp, stop));
    else if (model.path[place].startsWith("fork")) continue; // It passes on at once.
    else if (model.path[place].startsWith("middlebox.")) {
      const held = at + 1 < first[packet + 1] ? (time_ns.values[stops[at + 1]] - stop.at) / 1e6 : 0;
      const what = `${held ? `, which holds it for ${figure(held, 1)} ms` : ""}${flagged[packet] === place ? ", which flags it" : ""}`;
      told.push({ ...stop, text: `comes to ${placeName(place)}${what}` });
    } else if (at > first[packet]) told.push({ ...stop, text: `comes to ${placeName(place)}` });
  }
  const dropped = model.events.table("dropped")?.columns.reason;
  if (drop[packet] >= 0) {
    const reason = dropped?.words?.[dropped.values[drop[packet]]] ?? "";
    told.push({ at: end[packet], text: `dropped: ${reason.replaceAll("_", " ")}`, kind: "dropped", row: drop[packet] });
  } else if (outcome[packet] === 3) told.push({ ...told[told.length - 1], text: "absorbed there: a middlebox responds for the other side" });
  told.push(...answer(model, packet, isUp, placeName));
  return told.sort((a, b) => a.at - b.at);
}

/** In the cell: the buffer, the PDUs with all their attempts, and when the sender removed it. @type {(model: Model, packet: number, isUp: boolean, stop: {at: number, kind: string, row: number}) => Stop[]} */
function radioStops(model, packet, isUp, stop) {
  const { sdus } = model;
  const station = stationOf(model.path[model.events.table("packet")?.columns.element.values[stop.row] ?? 0]);
  const sdu = sdus?.of[packet] ?? -1;
  const buffer = isUp ? "the UE's buffer" : `the ${station}'s buffer`;
  if (!sdus || sdu < 0) return [{ ...stop, text: `comes to ${buffer}` }];
  const before = sdus.table.columns.queued_sdus.values[sdu] - 1;
  /** @type {Stop[]} */
  const told = [{ at: stop.at, text: `into ${buffer}, behind ${before ? `${figure(before)} other${before === 1 ? "" : "s"}` : "nothing"}`, kind: "bearer_enqueued", row: sdu }];
  const bearer = [...model.bearers.values()].find((own) => placeOf(own.sdus, sdu) >= 0);
  if (bearer && sdus.ended[sdu] >= 0) told.push(...attempts(model, bearer, sdu));
  else if (sdus.left[sdu] < Infinity && sdus.left[sdu] < sdus.out[sdu]) told.push({ ...stop, at: sdus.left[sdu], text: "last byte transmitted" });
  if (sdus.confirmed[sdu] < Infinity) {
    const isGivenUp = model.packets && model.packets.drop[packet] >= 0 && bearer?.retransmits;
    const done = isGivenUp ? "discards it" : bearer?.retransmits ? "removes it: acknowledged by a STATUS" : "removes it: fully transmitted";
    const row = model.latest("rlc_confirmed", sdus.table.columns.ue.values[sdu], null, sdus.confirmed[sdu], isUp ? "uplink" : "downlink");
    told.push({ at: sdus.confirmed[sdu], text: `${isUp ? "the UE" : `the ${station}`} ${done}`, kind: "rlc_confirmed", row });
  }
  return told;
}

/** The TTIs that transmitted the PDUs of an SDU. @type {(model: Model, bearer: import("studio/bearers").Bearer, sdu: number) => Stop[]} */
function attempts(model, bearer, sdu) {
  const { sdus, events } = model;
  const tti = (/** @type {number} */ at) => model.tti(bearer, at);
  const data = events.table("rlc_data");
  const ended = events.table("rlc_sdu");
  if (!data || !ended || !sdus) return [];
  const { time_ns, pdus, lost } = data.columns;
  const count = ended.columns.pdus.values[sdus.ended[sdu]];
  const [first, last] = [sdus.first[sdu], sdus.first[sdu] + count];
  const whole = sdus.out[sdu];
  /** @type {Stop[]} */
  const told = [];
  /** @type {{at: number, row: number, until: number, low: number, high: number} | null} */
  let group = null;
  const flush = () => {
    if (!group) return;
    const { at, until, row, low, high } = group;
    const ttis = at === until ? `TTI ${tti(at)}` : `TTIs ${tti(at)} to ${tti(until)}`;
    told.push({ at, kind: "rlc_data", row, text: `${pdusOf(low, high, bearer.modulo)} in ${ttis}` });
    group = null;
  };
  let again = 0;
  const begins = sdus.table.columns.time_ns.values[sdu];
  for (let at = firstFrom(time_ns.values, bearer.runs, begins); at < bearer.runs.length && time_ns.values[bearer.runs[at]] <= whole; at += 1) {
    const row = bearer.runs[at];
    const [from, to] = [Math.max(bearer.number[at], first), Math.min(bearer.number[at] + pdus.values[row], last)];
    if (from >= to) continue;
    const isAgain = from < (at > 0 ? bearer.next[at - 1] : 0);
    const now = time_ns.values[row];
    if (!lost.values[row] && !isAgain) {
      if (group) Object.assign(group, { until: now, high: to });
      else group = { at: now, until: now, row, low: from, high: to };
      continue;
    }
    flush();
    again += 1;
    if (again > MOST_ATTEMPTS) continue;
    const next = lost.values[row] ? retransmittedAt(bearer, row, data) : null;
    const outcome = lost.values[row] ? `, lost${next === null ? "" : `, retransmitted in TTI ${tti(next)}`}` : "";
    told.push({ at: now, kind: "rlc_data", row, text: `${pdusOf(from, to, bearer.modulo)} ${isAgain ? "retransmitted " : ""}in TTI ${tti(now)}${outcome}` });
  }
  flush();
  if (again > MOST_ATTEMPTS) told.push({ ...told[told.length - 1], text: `and ${figure(again - MOST_ATTEMPTS)} more attempts` });
  return told;
}

/** @type {(low: number, high: number, modulo: number) => string} */
function pdusOf(low, high, modulo) {
  return high - low === 1 ? `PDU ${low % modulo}` : `PDUs ${low % modulo} to ${(high - 1) % modulo}`;
}

/** The first ACK for the data of a packet. @type {(model: Model, packet: number, isUp: boolean, placeName: (place: number) => string) => Stop[]} */
function answer(model, packet, isUp, placeName) {
  const packets = /** @type {Packets} */ (model.packets);
  const segments = model.events.table("segment_sent")?.columns;
  const { table, first, stops, sent, end, outcome, count } = packets;
  if (!segments || sent[packet] < 0 || outcome[packet] !== 1) return [];
  const { ue, flow, direction, seq, ack, flags, time_ns, element } = table.columns;
  const row = stops[first[packet]];
  const until = seq.values[row] + segments.payload_bytes.values[sent[packet]];
  for (let other = packet + 1; other < Math.min(count, packet + LOOK_AHEAD); other += 1) {
    const own = stops[first[other]];
    if (begin(packets, other) < end[packet] || direction.values[own] === direction.values[row]) continue;
    if (ue.values[own] !== ue.values[row] || flow.values[own] !== flow.values[row] || !(flags.values[own] & ACK)) continue;
    if (((ack.values[own] - until) | 0) < 0) continue;
    const last = stops[first[other + 1] - 1];
    const sender = placeName(isUp ? model.last : 0);
    /** @type {Stop[]} */
    const told = [{ at: time_ns.values[own], kind: "packet", row: own, text: `${placeName(isUp ? 0 : model.last)} sends an ACK for it: ${figure(ack.values[own])}` }];
    if (element.values[last] === (isUp ? model.last : 0)) told.push({ at: time_ns.values[last], kind: "packet", row: last, text: `the ACK arrives at ${sender}` });
    return told;
  }
  return [];
}
