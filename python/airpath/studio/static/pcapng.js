// Packets as a pcapng file: headers made from the trace, at the server and at the UE. What the trace does not tell is
// left out: payload, options and windows; checksums are those of the headers as they are written.

import { Bytes, utf8Of } from "studio/files";

/** @typedef {import("studio/model").Model} Model */

const RAW_IP = 101;
const [SECTION, INTERFACE, PACKET] = [0x0a0d0d0a, 1, 6];
const [COMMENT, NAME, RESOLUTION] = [1, 2, 9];
const NANOSECONDS = 9;
const COMMENT_TEXT = "Headers that airpath's studio has made from a trace: sequence numbers, flags and lengths are the run's; payload, options and windows are left out.";
const [IP_BYTES, TCP_BYTES, UDP_BYTES] = [20, 20, 8];
/** Ports as in airpath's captures: a client's is its flow's number beyond this. */
const [SERVER_PORT, CLIENT_PORT] = [80, 49_152];

/**
 * @param {Model} model
 * @param {ArrayLike<number>} listed packets
 */
export function pcapng(model, listed) {
  const packets = /** @type {import("studio/packets").Packets} */ (model.packets);
  const { direction, time_ns, element } = packets.table.columns;
  const out = new Bytes();
  block(out, SECTION, () => {
    out.u32(0x1a2b3c4d);
    out.u16(1);
    out.u16(0);
    out.put(new Uint8Array(8).fill(255));
    option(out, COMMENT, utf8Of(COMMENT_TEXT));
    option(out, 0, []);
  });
  for (const name of ["server", "ue"]) {
    block(out, INTERFACE, () => {
      out.u16(RAW_IP);
      out.u16(0);
      out.u32(IP_BYTES + TCP_BYTES);
      option(out, NAME, utf8Of(name));
      option(out, RESOLUTION, [NANOSECONDS]);
      option(out, 0, []);
    });
  }
  /** Where each packet was seen: its row, at the server or at the UE. @type {[number, number][]} */
  const seen = [];
  for (let n = 0; n < listed.length; n += 1) {
    const packet = listed[n];
    const [from, to] = [packets.stops[packets.first[packet]], packets.stops[packets.first[packet + 1] - 1]];
    const isUp = direction.words?.[direction.values[from]] === "uplink";
    // One that a box has made was never at its sender's end.
    if (model.graph.before(element.values[from], isUp).includes(isUp ? model.last : 0)) seen.push([from, Number(isUp)]);
    if (element.values[to] === (isUp ? 0 : model.last)) seen.push([to, Number(!isUp)]);
  }
  seen.sort(([a], [b]) => time_ns.values[a] - time_ns.values[b] || a - b);
  for (const [row, side] of seen) packetBlock(out, packets.table, row, side);
  return out.done();
}

/** A block with its length before and after it. @type {(out: Bytes, type: number, content: () => void) => void} */
function block(out, type, content) {
  const begin = out.length;
  out.u32(type);
  out.u32(0);
  content();
  const length = out.length + 4 - begin;
  out.u32(length);
  out.view.setUint32(begin + 4, length, true);
}

/** @type {(out: Bytes, code: number, content: ArrayLike<number>) => void} */
function option(out, code, content) {
  out.u16(code);
  out.u16(content.length);
  out.put(content);
  out.put(new Uint8Array(-content.length & 3));
}

/** @type {(out: Bytes, table: import("studio/events").Table, row: number, side: number) => void} */
function packetBlock(out, { columns }, row, side) {
  const of = (/** @type {string} */ name) => columns[name].values[row];
  const isUp = columns.direction.words?.[of("direction")] === "uplink";
  const time = of("time_ns");
  const isTcp = of("flags") > 0;
  const header = headerOf(of, isUp, isTcp);
  block(out, PACKET, () => {
    out.u32(side);
    out.u32(Math.floor(time / 2 ** 32));
    out.u32(time % 2 ** 32);
    out.u32(header.length);
    out.u32(Math.max(of("len_bytes"), header.length));
    out.put(header);
    out.put(new Uint8Array(-header.length & 3));
  });
}

/** @type {(of: (name: string) => number, isUp: boolean, isTcp: boolean) => Uint8Array} */
function headerOf(of, isUp, isTcp) {
  const out = new Bytes();
  const length = Math.max(of("len_bytes"), IP_BYTES + (isTcp ? TCP_BYTES : UDP_BYTES));
  const ue = of("ue") + 1;
  const [server, client] = [[10, 0, 0, 1], [10, 64 + ((ue >> 16) & 63), (ue >> 8) & 255, ue & 255]];
  out.u8(0x45, 0);
  out.u16(length, false);
  out.put([0, 0, 0x40, 0, 64, isTcp ? 6 : 17, 0, 0]);
  out.put(isUp ? client : server);
  out.put(isUp ? server : client);
  out.view.setUint16(10, checksum(out.bytes, IP_BYTES), false);
  const ports = [SERVER_PORT, CLIENT_PORT + of("flow")];
  for (const port of isUp ? ports.reverse() : ports) out.u16(port, false);
  if (isTcp) {
    out.u32(of("seq"), false);
    out.u32(of("ack"), false);
    out.u16(0x5000 | (of("flags") & 0x1ff), false);
    // Window, checksum and urgent pointer: not told.
    out.put(new Uint8Array(6));
  } else {
    out.u16(length - IP_BYTES, false);
    out.u16(0);
  }
  return out.done();
}

/** @type {(bytes: Uint8Array, length: number) => number} */
function checksum(bytes, length) {
  let sum = 0;
  for (let at = 0; at < length; at += 2) sum += bytes[at] * 256 + bytes[at + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
