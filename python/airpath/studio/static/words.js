// Events in plain English: a few words for a list, a sentence for an instant, and how things stood then.

import { figure } from "studio/dom";
import { graphOf, kindOf } from "studio/graph";
import { boxTitle } from "studio/lanes";
import { ownerOf, ueName } from "studio/names";
import { CAUSES } from "studio/series";

/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/source").Run} Run */
/** @typedef {(column: string) => number} Number_ */
/**
 * The columns of an event: its numbers, its words, and whose it is.
 * @typedef {{n: Number_, word: (column: string) => string, run: Run}} Told
 */

/** Kinds of event, for people. @type {Record<string, string>} */
export const KINDS = {
  tcp_state: "TCP state",
  rtt_sample: "round trip",
  tcp_path: "path model",
  segment_sent: "segment sent",
  segment_received: "received",
  bearer_enqueued: "into buffer",
  bearer_delivered: "delivered",
  slot_ended: "slot",
  block_sent: "block",
  rlc_data: "RLC data",
  rlc_sdu: "SDU sent",
  rlc_status: "RLC STATUS",
  rlc_confirmed: "RLC confirmed",
  ack_regulator: "Ack Regulator",
  ack_rate_control: "ACK rate control",
  rnc_feedback: "RNC feedback",
  snoop: "snoop",
  outage: "outage",
  packet: "packet",
  made: "packet made",
  kept: "packet kept",
  dropped: "drop",
  marked: "ECN mark",
};

const STATES = [
  "open: nothing suspected", "disorder: first duplicate ACKs", "CWR: it has been told to slow down",
  "recovery: it repairs a loss", "loss: its timer has expired",
];

/** What a control that models the path is doing. @type {Record<string, string>} */
const MODEL = {
  none: "does not model the path",
  startup: "doubles its rate each round (startup)",
  drain: "lets the queue run empty (drain)",
  probe_bw_down: "sends below the bandwidth (down)",
  probe_bw_cruise: "sends at the bandwidth (cruise)",
  probe_bw_refill: "fills the pipe (refill)",
  probe_bw_up: "sends above the bandwidth, to see whether there is more (up)",
  few_wait: "keeps a few segments waiting",
  competes: "takes its share from others that fill the buffer",
  probe_rtt: "keeps little in flight, to see the shortest round-trip time (ProbeRTT)",
};

/** Why a segment was sent. @type {Record<string, string>} */
const SENT = {
  handshake: "to set up the connection",
  new: "for the first time",
  window_probe: "to ask whether the receiver's window has opened",
  limited_transmit: "for the first time, on one of the first duplicate ACKs",
  fast_retransmit: "again, because duplicate ACKs say that it was lost",
  partial_ack: "again, because an ACK in recovery stopped just before it",
  sack: "again, because SACK blocks leave it out",
  timeout: "again, because no ACK came before the timer expired",
  go_back_n: "again, because after a timeout everything is sent again",
  retransmission: "again",
  handshake_timeout: "to set up the connection, again: no answer came",
  wireless_fast_retransmit: "again, because an ACK said that the radio lost it",
  tail_loss_probe: "again, as a probe: ACKs stayed away",
};

/** Why a packet was dropped. @type {Record<string, string>} */
const DROPPED = {
  queue_full: "its queue was full",
  early_drop: "its queue management dropped it early, though there was room",
  evicted: "it had to leave the queue to make room or to signal TCP",
  link_loss: "the wired link lost it",
  max_transmissions: "the link layer gave up after its last attempt",
  dupack_suppressed: "the box repairs the loss itself, so it kept this duplicate ACK back",
  stale_ack: "a newer ACK had already passed",
  already_acknowledged: "the box had already answered for the UE",
  ack_filtered: "a newer ACK took its place",
  probe_answered: "the box answered this probe of a closed window",
  unknown_ue: "there is no such UE",
  unknown_flow: "there is no such flow",
  no_pdp_context: "its UE has no active PDP context",
  sdu_discarded: "the link layer discarded it unsent",
};

/** @type {Record<string, string>} */
const SNOOP = {
  cached: "kept a copy of a packet",
  freed: "let copies go that are no longer needed",
  dupack_retransmission: "sent a packet again, because a duplicate ACK or a SACK block asked for it",
  timer_retransmission: "sent a packet again, because no ACK came",
  dupack_suppressed: "kept a duplicate ACK from the sender",
  answered: "answered the sender in place of the UE",
  nack: "told the UE what the radio has lost of its data",
};

/** @type {Record<string, string>} */
const OUTAGE = {
  expected: "The UE knows that a hand-over will cut it off soon",
  began: "An outage began: nothing reaches the UE, or comes from it",
  ended: "The outage ended: the UE can be reached again",
};

/** Places of the path that are no boxes. @type {Record<string, string>} */
const PLACES = {
  server: "the server",
  link: "the wired link",
  "link+umts": "the wired link and the core network",
  ue: "the UE",
};

/** Where a packet is, in a word or two. @type {(told: Told) => string} */
function placeOf({ run, n }) {
  const name = run.path[n("element")] ?? "";
  if (name.startsWith("middlebox.")) return boxTitle(name);
  return name.startsWith("link") ? ownerOf(name) || "wire" : elementName(run, n("element")).replace(/^the /, "");
}

/** TCP's flags, the lowest bit first. */
const FLAGS = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"];

/** @type {(told: Told) => string} */
function header({ n }) {
  if (!n("flags")) return `number ${figure(n("seq"))}`;
  const flags = FLAGS.filter((_, bit) => n("flags") & (1 << bit));
  // Its number tells of an ACK already.
  const told = flags.join() === "ACK" ? "" : `${flags.join(" ")}, `;
  return `${told}seq ${figure(n("seq"))}${n("flags") & 16 ? `, ack ${figure(n("ack"))}` : ""}`;
}

/** @type {(bytes: number) => string} */
const bytes = (value) => `${figure(value)} B`;
/** @type {(told: Told) => string} */
const way = ({ word }) => (word("direction") === "uplink" ? "up" : "down");
/** @type {(count: number, thing: string) => string} */
const count = (value, thing) => `${figure(value)} ${thing}${value === 1 ? "" : "s"}`;

/** The number of a PDU as it is on the air. @type {(run: Run, bearer: number, number: number) => number} */
const onAir = (run, bearer, number) => number % (run.bearers[bearer]?.sequence_numbers || Infinity);

/** @type {(told: Told) => string} */
const pdus = ({ n, run }) => {
  const [first, last] = [0, n("pdus") - 1].map((at) => onAir(run, n("bearer"), n("first_sn") + at));
  return n("pdus") === 1 ? `PDU ${first}` : `PDUs ${first} to ${last}`;
};

/** What the cell is in which a UE is at a row. @param {Told} told */
const cellOf = ({ n, run }) => kindOf(graphOf(run).names[graphOf(run).cellOf(n("ue"), n("time_ns"))] ?? "");
/** Of what a block takes how much: codes of HSDPA, or resource blocks. @type {(told: Told) => string} */
const unitsOf = (own) => count(own.n("units"), cellOf(own) === "radio.hsdpa" ? "code" : "PRB");
/** Row of a block: CQI, or MCS in NR, and the number of layers where there may be several. @type {(told: Told) => string} */
const rowOf = (own) => {
  const isNr = cellOf(own) === "radio.nr";
  const row = `${isNr ? "MCS" : "CQI"} ${own.n("cqi") % 32}`;
  return isNr || own.n("cqi") >= 32 ? `${row}, ${count(1 + Math.floor(own.n("cqi") / 32), "layer")}` : row;
};
const ORDINALS = ["", "first", "second", "third", "fourth"];
/** @type {(told: Told) => string} */
const decibels = ({ n }) => (n("sinr_thousandths") ? `${figure(10 * Math.log10(n("sinr_thousandths") / 1000), 1)} dB` : "below -30 dB");

/** A few words about an event. @type {Record<string, (told: Told) => string>} */
const SHORT = {
  tcp_state: ({ n }) => `cwnd ${n("tcpi_snd_cwnd")}, in flight ${n("tcpi_unacked")}, acked ${figure(n("snd_una"))}`,
  rtt_sample: ({ n }) => `${figure(n("rtt_us") / 1000, 1)} ms`,
  tcp_path: ({ n, word }) => `${word("state").replaceAll("_", " ")}, paced at ${figure(n("pacing_bps") / 1000)} kbit/s`,
  segment_sent: ({ n, word }) => `${figure(n("seq"))} + ${n("payload_bytes")}, ${word("cause").replaceAll("_", " ")}`,
  segment_received: ({ n }) => `${figure(n("seq"))} + ${n("payload_bytes")}, next ${figure(n("rcv_nxt"))}`,
  bearer_enqueued: (own) => `${way(own)}, ${bytes(own.n("len_bytes"))}, ${count(own.n("queued_sdus"), "SDU")} there`,
  bearer_delivered: (own) => `${way(own)}, ${bytes(own.n("len_bytes"))} after ${figure(own.n("delay_ns") / 1e6, 1)} ms`,
  slot_ended: (own) => `${way(own)}, ${count(own.n("pdus_sent"), "PDU")}, ${own.n("pdus_lost")} lost`,
  block_sent: (own) => `${figure(own.n("bits"))} bit, ${unitsOf(own)}, ${rowOf(own)}${own.n("transmission") > 1 ? `, transmission ${own.n("transmission")}` : ""}${own.n("lost") ? ", lost" : ""}`,
  rlc_data: (own) => `${way(own)}, ${count(own.n("pdus"), "PDU")} from ${onAir(own.run, own.n("bearer"), own.n("first_sn"))}${own.n("poll") ? ", poll" : ""}${own.n("lost") ? ", lost" : ""}`,
  rlc_sdu: (own) => `${way(own)}, SDU ${own.n("sdu")} in ${count(own.n("pdus"), "PDU")} from ${onAir(own.run, own.n("bearer"), own.n("first_sn"))}`,
  rlc_status: (own) => `${way(own)}, below ${own.n("lsn")}, ${own.n("missing_pdus")} missing${own.n("lost") ? ", lost" : ""}`,
  rlc_confirmed: (own) => `${way(own)}, ${bytes(own.n("len_bytes"))}, ${count(own.n("queued_sdus"), "SDU")} left`,
  ack_regulator: ({ n }) => `${count(n("held_acks"), "ACK")} held, window ${n("window_segments")}`,
  ack_rate_control: ({ n }) => `${count(n("held_acks"), "ACK")} held, buffer ${count(n("occupancy_sdus"), "SDU")}`,
  rnc_feedback: ({ n }) => `${count(n("cached_segments"), "segment")} in the table${n("flagged") ? ", ACK flagged" : ""}`,
  snoop: ({ n, word }) => `${word("action").replaceAll("_", " ")}, ${count(n("cached_packets"), "packet")} kept`,
  outage: ({ word }) => word("phase").replaceAll("_", " "),
  packet: (own) => `${way(own)}, ${bytes(own.n("len_bytes"))}, ${header(own)}, ${placeOf(own)}`,
  made: ({ n, run }) => `packet ${n("packet")}${n("copy_of") ? `, a copy of ${n("copy_of")}` : ""}, at ${elementName(run, n("element"))}`,
  kept: ({ n, run }) => `packet ${n("packet")}, at ${elementName(run, n("element"))}`,
  dropped: (own) => `${way(own)}, ${bytes(own.n("len_bytes"))}, ${own.word("reason").replaceAll("_", " ")}`,
  marked: (own) => `${way(own)}, ${bytes(own.n("len_bytes"))} after ${figure(own.n("sojourn_ns") / 1e6, 1)} ms`,
};

/** A sentence about an event. @type {Record<string, (told: Told) => string>} */
const SENTENCE = {
  tcp_state: ({ n }) =>
    `The sender handled an ACK or a timeout. Its window is ${count(n("tcpi_snd_cwnd"), "segment")}, of which ` +
    `${figure(n("tcpi_unacked"))} are in flight; the first ${figure(n("snd_una") / 1e6, 3)} MB are acknowledged. ` +
    `State: ${STATES[n("tcpi_ca_state")] ?? "unknown"}.`,
  tcp_path: ({ n, word }) =>
    `The congestion control ${MODEL[word("state")] ?? word("state")}. Segments leave at ${figure(n("pacing_bps") / 1000)} kbit/s` +
    (n("bandwidth_bps") ? `; it takes the bandwidth for ${figure(n("bandwidth_bps") / 1000)} kbit/s and the shortest round-trip time for ${figure(n("min_rtt_us") / 1000, 1)} ms.` : "."),
  rtt_sample: ({ n }) => `The sender measured a round-trip time of ${figure(n("rtt_us") / 1000, 1)} ms.`,
  segment_sent: ({ n, word }) => {
    const end = n("seq") + n("payload_bytes");
    return `The sender sent bytes ${figure(n("seq"))} to ${figure(end)} ${SENT[word("cause")] ?? word("cause")}.`;
  },
  segment_received: ({ n }) => {
    const end = n("seq") + n("payload_bytes");
    const told = `The receiver got bytes ${figure(n("seq"))} to ${figure(end)}`;
    if (n("rcv_nxt") >= end) return `${told}. It now has everything below ${figure(n("rcv_nxt"))}.`;
    return `${told}, but still waits for ${figure(n("rcv_nxt"))}: there is a hole before them.`;
  },
  bearer_enqueued: ({ n, word }) =>
    `A packet of ${bytes(n("len_bytes"))} entered the ${word("direction")} buffer, which now holds ` +
    `${count(n("queued_sdus"), "SDU")} (${bytes(n("queued_bytes"))}).`,
  bearer_delivered: ({ n, word }) =>
    `A packet of ${bytes(n("len_bytes"))} came out of the ${word("direction")} bearer, ` +
    `${figure(n("delay_ns") / 1e6, 1)} ms after it had entered the buffer.`,
  slot_ended: ({ n, word }) =>
    `A ${word("direction")} slot ended: ${count(n("pdus_sent"), "PDU")} sent, ${figure(n("pdus_lost"))} of them lost on the air.`,
  block_sent: (own) => {
    const { n, run } = own;
    const which = ORDINALS[n("transmission")] ?? `${n("transmission")}th`;
    return `${ueName(run, n("ue"))} is sent a block of ${figure(n("bits"))} bits (${rowOf(own)}, ${unitsOf(own)}) by HARQ process ${n("process")}, ` +
      `${which} transmission, at an SINR of ${decibels(own)}: ${n("lost") ? "lost, as the UE cannot decode it yet" : "the UE decodes it"}.`;
  },
  rlc_data: (own) => {
    const { n, word } = own;
    const which = `RLC ${pdus(own)} went`;
    const poll = n("poll") ? " They ask for a STATUS." : "";
    const fate = n("lost") ? "The channel destroyed them: the link layer has to send them again." : "They will arrive.";
    return `${which} on the air ${word("direction")}. ${fate}${poll}`;
  },
  rlc_sdu: (own) =>
    `All of ${own.word("direction")} SDU ${own.n("sdu")} has now been on the air: it is in RLC ${pdus(own)}.`,
  rlc_status: ({ n, word, run }) =>
    `A STATUS PDU went ${word("direction")}: everything below number ${onAir(run, n("bearer"), n("lsn"))} has arrived` +
    `${n("missing_pdus") ? `, except ${count(n("missing_pdus"), "PDU")}` : ""}.` +
    `${n("lost") ? " The channel destroyed it." : ""}`,
  rlc_confirmed: ({ n, word }) =>
    `The ${word("direction")} link layer is done with a packet of ${bytes(n("len_bytes"))}; ` +
    `${count(n("queued_sdus"), "SDU")} left in the buffer.`,
  ack_regulator: ({ n }) =>
    `The Ack Regulator holds ${count(n("held_acks"), "ACK")} back; it takes the sender's window for ` +
    `${count(n("window_segments"), "segment")}.`,
  ack_rate_control: ({ n }) =>
    `ACK rate control holds ${count(n("held_acks"), "ACK")} back: with ${count(n("occupancy_sdus"), "SDU")} in the buffer it ` +
    `leaves ${figure(n("t_id_us") / 1000, 1)} ms between two ACKs${n("after_drop") ? ", as after a drop" : ""}.`,
  rnc_feedback: ({ n }) =>
    n("flagged")
      ? "The RNC flagged an ACK: the radio lost the packet, not a full buffer."
      : `The RNC's table has ${count(n("cached_segments"), "segment")} of the flow.`,
  snoop: ({ n, word }) =>
    `The snoop box ${SNOOP[word("action")] ?? word("action")}. It has ${count(n("cached_packets"), "packet")} of the flow.`,
  made: ({ n, run }) =>
    `${elementName(run, n("element"))} made packet ${n("packet")}${n("copy_of") ? `, a copy of packet ${n("copy_of")}` : ""}.`.replace(/^t/, "T"),
  kept: ({ n, run }) => `${elementName(run, n("element"))} kept packet ${n("packet")}: it answers for the other side.`.replace(/^t/, "T"),
  outage: ({ word }) => `${OUTAGE[word("phase")] ?? word("phase")}.`,
  packet: (own) => {
    const { n, word, run } = own;
    const told = `A packet of ${bytes(n("len_bytes"))} arrived at ${elementName(run, n("element"))}, ` +
      `on its way ${word("direction") === "uplink" ? "to the server" : "to the UE"}`;
    return n("flags") ? `${told}: TCP ${header(own)}.` : `${told}: datagram ${figure(n("seq"))}.`;
  },
  dropped: ({ n, word, run }) =>
    `A packet of ${bytes(n("len_bytes"))} with sequence number ${figure(n("seq"))}, on its way ` +
    `${word("direction") === "uplink" ? "to the server" : "to the UE"}, was dropped at ${elementName(run, n("element"))}: ` +
    `${DROPPED[word("reason")] ?? word("reason")}.`,
  marked: ({ n, word, run }) =>
    `A packet of ${bytes(n("len_bytes"))} with sequence number ${figure(n("seq"))}, on its way ` +
    `${word("direction") === "uplink" ? "to the server" : "to the UE"}, was marked at ${elementName(run, n("element"))} ` +
    `(ECN: congestion experienced) ${n("sojourn_ns") ? `after ${figure(n("sojourn_ns") / 1e6, 1)} ms in the buffer` : "as it came"}.`,
};

/**
 * An element of the path by its place, counted from the server.
 * @param {Run} run
 * @param {number} place
 */
export function elementName(run, place) {
  const name = run.path[place] ?? `place ${place} of the path`;
  const owner = ownerOf(name);
  if (name.startsWith("radio.")) return owner ? `the cell ${owner}` : "the radio cell";
  if (name.startsWith("middlebox.")) return `the box ${kindOf(name).replace("middlebox.", "")}${owner && ` of ${owner}`}`;
  if (name.startsWith("fork")) return owner === "ue" ? "the UEs' interfaces" : `the fork behind ${owner === "server" ? "the server" : owner}`;
  return PLACES[name] ?? (name.startsWith("link") ? `the link ${owner}` : name);
}

/**
 * @param {Run} run
 * @param {Table} table
 * @param {number} row
 * @returns {Told}
 */
function told(run, table, row) {
  return {
    run,
    n: (name) => table.columns[name]?.values[row] ?? 0,
    word: (name) => table.columns[name]?.words?.[table.columns[name].values[row]] ?? "",
  };
}

/** @type {(run: Run, kind: string, table: Table, row: number) => string} */
export function shortly(run, kind, table, row) {
  return SHORT[kind]?.(told(run, table, row)) ?? "";
}

/** @type {(run: Run, kind: string, table: Table, row: number) => string} */
export function sentence(run, kind, table, row) {
  return SENTENCE[kind]?.(told(run, table, row)) ?? KINDS[kind] ?? kind;
}

/** Whose an event is: "UE 0", or "UE 0.1" for a flow; "walker.1" of an interface. @type {(run: Run, table: Table, row: number) => string} */
export function whose(run, table, row) {
  const { ue, flow } = table.columns;
  return flow ? `${ueName(run, ue.values[row])}.${flow.values[row]}` : ueName(run, ue.values[row]);
}

/**
 * Whether an event is a loss, or TCP's answer to what it takes for one.
 * @type {(kind: string, table: Table, row: number) => boolean}
 */
export function isLoss(kind, table, row) {
  if (kind === "dropped") return true;
  if (kind !== "segment_sent") return false;
  const { words, values } = table.columns.cause;
  return Object.values(CAUSES).some((causes) => causes.includes(words?.[values[row]] ?? ""));
}
