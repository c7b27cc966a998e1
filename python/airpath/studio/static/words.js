// Events in plain English: a few words for a list, a sentence for an instant, and how things stood then.

import { figure } from "studio/dom";
import { graphOf, kindOf } from "studio/graph";
import { SCHEMA } from "studio/kinds";
import { boxTitle } from "studio/lanes";
import { ownerOf, ueName } from "studio/names";
import { CAUSES, layersIn, rowIn } from "studio/series";

/** @typedef {import("studio/kinds").Column} Column */
/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/source").Run} Run */
/** @typedef {(column: string) => number} Number_ */
/**
 * The columns of an event: its numbers, its words, and whose it is.
 * @typedef {{n: Number_, word: (column: string) => string, run: Run}} Told
 */

/** What the words of a kind's columns are in capitals. */
const CAPITALS = new Set(["ack", "acks", "cqi", "harq", "pdu", "pdus", "rlc", "rnc", "rtt", "rttvar", "rto", "sack", "sdu", "sdus", "sinr", "tcp"]);

/** A name of the schema, for people. @type {(name: string) => string} */
const spaced = (name) => name.split("_").map((word) => (CAPITALS.has(word) ? word.toUpperCase() : word)).join(" ");

/** Kinds of event, for people. @type {Record<string, string>} */
export const KINDS = Object.fromEntries(Object.keys(SCHEMA).map((kind) => [kind, spaced(kind)]));

const STATES = [
  "open: nothing suspected", "disorder: first duplicate ACKs", "CWR: cwnd reduced after an ECN mark or local congestion",
  "recovery: repairing a loss", "loss: a timeout occurred",
];

/** @type {Record<string, string>} */
const RRC = { drx: "DRX", shared: "CELL_FACH", inactive: "INACTIVE", idle: "IDLE" };

/** A state of a UE as 3GPP writes it. @type {(state: string) => string} */
export const activityOf = (state) => RRC[state] ?? state;

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
  // The acknowledgment number already implies an ACK.
  const told = flags.join() === "ACK" ? "" : `${flags.join(" ")}, `;
  return `${told}seq ${figure(n("seq"))}${n("flags") & 16 ? `, ack ${figure(n("ack"))}` : ""}`;
}

/** @type {(bytes: number) => string} */
const bytes = (value) => `${figure(value)} B`;
/** @type {(told: Told) => string} */
const way = ({ word }) => (word("direction") === "uplink" ? "up" : "down");
/** @type {(count: number, thing: string) => string} */
const count = (value, thing) => `${figure(value)} ${thing}${value === 1 ? "" : "s"}`;

/** A PDU's number as transmitted. @type {(run: Run, bearer: number, number: number) => number} */
const onAir = (run, bearer, number) => number % (run.bearers[bearer]?.sequence_numbers || Infinity);

/** @type {(told: Told) => string} */
const pdus = ({ n, run }) => {
  const [first, last] = [0, n("pdus") - 1].map((at) => onAir(run, n("bearer"), n("first_sn") + at));
  return n("pdus") === 1 ? `PDU ${first}` : `PDUs ${first} to ${last}`;
};

/** What the cell is in which a UE is at a row. @param {Told} told */
const cellOf = ({ n, run }) => kindOf(graphOf(run).names[graphOf(run).cellOf(n("ue"), n("time_ns"))] ?? "");
/** Resources of a block: HSDPA codes, or resource blocks. @type {(told: Told) => string} */
const unitsOf = (own) => count(own.n("units"), cellOf(own) === "radio.hsdpa" ? "code" : "PRB");
/** Row of a block: CQI, or MCS in NR, and the number of layers where there may be several. @type {(told: Told) => string} */
const rowOf = (own) => formatOf(cellOf(own), own.n("cqi"));
/** The same of a column's value, in a cell of this kind. @type {(kind: string, cqi: number) => string} */
export const formatOf = (kind, cqi) => {
  const isNr = kind === "radio.nr";
  const row = `${isNr ? "MCS" : "CQI"} ${rowIn(cqi)}`;
  return isNr || layersIn(cqi) > 1 ? `${row}, ${count(layersIn(cqi), "layer")}` : row;
};
const ORDINALS = ["", "first", "second", "third", "fourth"];
/** @type {(told: Told) => string} */
const decibels = ({ n }) => (n("sinr_thousandths") ? `${figure(10 * Math.log10(n("sinr_thousandths") / 1000), 1)} dB` : "below -30 dB");

/** Columns that say whose an event is: a list names them apart. */
const OWNERS = new Set(["ue", "flow", "bearer", "packet", "element", "slot"]);
/** Display units of numbers: their name, how many of the schema's there are in one, and digits. @type {Record<string, [string, number, number]>} */
const UNITS = { ns: ["ms", 1e6, 1], us: ["ms", 1e3, 1], "bit/s": ["kbit/s", 1e3, 0] };

/** Ends of names that their units repeat. */
const UNIT = /_(ns|us|bps|bytes|sdus|segments|packets)$/;

/** The value of a column, with its name unless it is a word; nothing of a flag that is not set. @type {(told: Told, name: string, column: Column) => string} */
function value({ n, word, run }, name, { unit, is_flag, words }) {
  if (name === "change" && run.summary.changes?.[n(name)]) return run.summary.changes[n(name)].what;
  if (Object.keys(words).length) return word(name).replaceAll("_", " ");
  const about = spaced(name.replace(/^tcpi_/, "").replace(UNIT, ""));
  if (is_flag) return n(name) ? about : "";
  const [shown, divisor, digits] = UNITS[unit] ?? [unit, 1, 0];
  const number = figure(n(name) / divisor, digits);
  if (!unit || about.includes(unit)) return `${about} ${number}`;
  return `${about} ${/^(SDU|PDU|segment|packet|bit)$/.test(unit) ? count(n(name), unit) : `${number} ${shown}`}`;
}

/** What the columns of an event say that are not about whose it is. @type {(told: Told, kind: string, isWanted: (column: Column) => boolean) => string[]} */
const values = (own, kind, isWanted) =>
  Object.entries(SCHEMA[kind].columns).flatMap(([name, column]) => (OWNERS.has(name) || !isWanted(column) ? [] : value(own, name, column) || []));

/** The place and the packet of an event, for the end of a sentence. @type {(told: Told, kind: string) => string[]} */
const placed = ({ n, run }, kind) => {
  const { columns } = SCHEMA[kind];
  return [...(columns.element ? [`at ${elementName(run, n("element"))}`] : []), ...(columns.packet ? [`packet ${n("packet")}`] : [])];
};

/** Whether a column's words have meanings to tell; a direction is a value. @type {(column: Column) => boolean} */
const isTelling = ({ words }) => Object.keys(words).length > 0 && !("downlink" in words);
/** @type {(column: Column) => boolean} */
const isValue = (column) => !isTelling(column);
/** What words of an event mean, as sentences. @type {(told: Told, kind: string) => string[]} */
const meanings = ({ word }, kind) =>
  Object.entries(SCHEMA[kind].columns).flatMap(([name, column]) => (isTelling(column) && column.words[word(name)]) || []);

/** @type {(text: string) => string} */
const small = (text) => (/^[A-Z][a-z ]/.test(text) ? text[0].toLowerCase() + text.slice(1) : text);
/** @type {(text: string) => string} */
const large = (text) => text[0].toUpperCase() + text.slice(1);

/** A few words about an event where a list of its values says less. @type {Record<string, (told: Told) => string>} */
const SHORT = {
  tcp_state: ({ n }) => `cwnd ${n("tcpi_snd_cwnd")}, in flight ${n("tcpi_unacked")}, acked ${figure(n("snd_una"))}`,
  segment_sent: ({ n, word }) => `${figure(n("seq"))} + ${n("payload_bytes")}, ${word("cause").replaceAll("_", " ")}`,
  segment_received: ({ n }) => `${figure(n("seq"))} + ${n("payload_bytes")}, next ${figure(n("rcv_nxt"))}`,
  block_sent: (own) => `${figure(own.n("bits"))} bit, ${unitsOf(own)}, ${rowOf(own)}${own.n("transmission") > 1 ? `, transmission ${own.n("transmission")}` : ""}${own.n("lost") ? ", lost" : ""}`,
  uplink_block: (own) => SHORT.block_sent(own),
  rlc_data: (own) => `${way(own)}, ${count(own.n("pdus"), "PDU")} from ${onAir(own.run, own.n("bearer"), own.n("first_sn"))}${own.n("poll") ? ", poll" : ""}${own.n("lost") ? ", lost" : ""}`,
  rlc_sdu: (own) => `${way(own)}, SDU ${own.n("sdu")} in ${count(own.n("pdus"), "PDU")} from ${onAir(own.run, own.n("bearer"), own.n("first_sn"))}`,
  rlc_status: (own) => `${way(own)}, below ${own.n("lsn")}, ${own.n("missing_pdus")} missing${own.n("lost") ? ", lost" : ""}`,
  packet: (own) => `${way(own)}, ${bytes(own.n("len_bytes"))}, ${header(own)}, ${placeOf(own)}`,
};

/** A block with its transmission. @type {(told: Told) => string} */
const blockOf = (own) => {
  const which = ORDINALS[own.n("transmission")] ?? `${own.n("transmission")}th`;
  return `a block of ${figure(own.n("bits"))} bits (${rowOf(own)}, ${unitsOf(own)}) by HARQ process ${own.n("process")}, ${which} transmission`;
};

/** A sentence about an event where the schema's words say less. @type {Record<string, (told: Told) => string>} */
const SENTENCE = {
  tcp_state: ({ n }) =>
    `The sender handled an ACK or a timeout. Its window is ${count(n("tcpi_snd_cwnd"), "segment")}; ` +
    `${figure(n("tcpi_unacked"))} are in flight; the first ${figure(n("snd_una") / 1e6, 3)} MB are acknowledged. ` +
    `State: ${STATES[n("tcpi_ca_state")] ?? "unknown"}.`,
  segment_sent: ({ n, word }) => {
    const end = n("seq") + n("payload_bytes");
    return `The sender sent bytes ${figure(n("seq"))} to ${figure(end)}: ${small(SCHEMA.segment_sent.columns.cause.words[word("cause")])}`;
  },
  segment_received: ({ n }) => {
    const end = n("seq") + n("payload_bytes");
    const told = `The receiver got bytes ${figure(n("seq"))} to ${figure(end)}`;
    if (n("rcv_nxt") >= end) return `${told}. It now has everything below ${figure(n("rcv_nxt"))}.`;
    return `${told}, but still waits for ${figure(n("rcv_nxt"))}: there is a gap before them.`;
  },
  block_sent: (own) => `${ueName(own.run, own.n("ue"))} is sent ${blockOf(own)}, at an SINR of ${decibels(own)}: ` +
    `${own.n("lost") ? "lost, as the UE cannot decode it yet" : "the UE decodes it"}.`,
  uplink_block: (own) => `${ueName(own.run, own.n("ue"))} sends ${blockOf(own)}, heard at an SINR of ${decibels(own)}: ` +
    `${own.n("lost") ? "lost, as the network cannot decode it yet" : "the network decodes it"}.`,
  rlc_data: (own) => {
    const { n, word, run } = own;
    const which = `RLC ${pdus(own)} ${n("pdus") === 1 ? "was" : "were"} transmitted`;
    const poll = n("poll") ? " The poll bit requests a STATUS." : "";
    const retransmits = run.bearers[n("bearer")]?.retransmits;
    return `${which} (${word("direction")})${n("lost") ? ` and lost; RLC ${retransmits ? "has to retransmit" : "does not retransmit in this mode"}` : ""}.${poll}`;
  },
  rlc_sdu: (own) =>
    `All of ${own.word("direction")} SDU ${own.n("sdu")} has now been transmitted, in RLC ${pdus(own)}.`,
  rlc_status: ({ n, word, run }) =>
    `A STATUS PDU went ${word("direction")}: everything below number ${onAir(run, n("bearer"), n("lsn"))} has arrived` +
    `${n("missing_pdus") ? `, except ${count(n("missing_pdus"), "PDU")}` : ""}.` +
    `${n("lost") ? " The channel destroyed it." : ""}`,
  packet: (own) => {
    const { n, word, run } = own;
    const told = `A packet of ${bytes(n("len_bytes"))} arrived at ${elementName(run, n("element"))}, ` +
      `sent ${word("direction") === "uplink" ? "to the server" : "to the UE"}`;
    return n("flags") ? `${told}: TCP ${header(own)}.` : `${told}: datagram ${figure(n("seq"))}.`;
  },
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
  if (name.startsWith("split_bearers")) return "PDCP of the split bearer";
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
  const own = told(run, table, row);
  return SHORT[kind]?.(own) ?? [...values(own, kind, isTelling), ...placed(own, kind).reverse(), ...values(own, kind, isValue)].join(", ");
}

/** @type {(run: Run, kind: string, table: Table, row: number) => string} */
export function sentence(run, kind, table, row) {
  const own = told(run, table, row);
  if (SENTENCE[kind]) return SENTENCE[kind](own);
  const rest = [...placed(own, kind), ...values(own, kind, isValue)];
  return [SCHEMA[kind].meaning, ...meanings(own, kind), ...(rest.length ? [`${large(rest.join(", "))}.`] : [])].join(" ");
}

/** Whose an event is: "UE 0", or "UE 0.1" for a flow; "walker.1" of an interface. @type {(run: Run, table: Table, row: number) => string} */
export function whose(run, table, row) {
  const { ue, flow } = table.columns;
  if (!ue) return "";
  return flow ? `${ueName(run, ue.values[row])}.${flow.values[row]}` : ueName(run, ue.values[row]);
}

/**
 * Whether an event is a loss, or TCP's response to a presumed loss.
 * @type {(kind: string, table: Table, row: number) => boolean}
 */
export function isLoss(kind, table, row) {
  if (kind === "dropped") return true;
  if (kind !== "segment_sent") return false;
  const { words, values } = table.columns.cause;
  return Object.values(CAUSES).some((causes) => causes.includes(words?.[values[row]] ?? ""));
}
