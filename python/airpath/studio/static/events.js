// Events of a run as columns: reads the chunks that `airpath/studio/chunks.py` writes, without copying them.

import { lowerBound } from "studio/reduce";

/** @typedef {Float64Array | Uint32Array | Uint16Array | Uint8Array} Values */
/** @typedef {{values: Values, words: string[] | null}} Column Numbers, or codes into a list of words. */
/** @typedef {{rows: number, columns: Record<string, Column>}} Table Events of a kind as they happened. */

const TYPES = { f8: Float64Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };

/**
 * Read a chunk. Its header says where each column lies; the columns are views into the buffer.
 * @param {ArrayBuffer} buffer
 * @returns {Record<string, Table>}
 */
export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  /** @type {Record<string, Table>} */
  const tables = {};
  for (const [kind, { rows, columns }] of Object.entries(header)) {
    tables[kind] = { rows, columns: {} };
    for (const [name, type, offset, first] of columns) {
      const words = Array.isArray(type) ? type : null;
      const isApart = !words && type[0] === "+";
      const Type = words ? Uint8Array : TYPES[/** @type {keyof typeof TYPES} */ (isApart ? type.slice(1) : type)];
      const values = new Type(buffer, 4 + length + offset, rows);
      tables[kind].columns[name] = { values: isApart ? summed(values, first, name === "time_ns") : values, words };
    }
  }
  return tables;
}

/**
 * Values from the differences between them; times have no largest value.
 * @param {Values} apart
 * @param {number} first
 * @param {boolean} areTimes
 * @returns {Values}
 */
function summed(apart, first, areTimes) {
  const values = areTimes ? new Float64Array(apart.length) : apart;
  let last = first;
  for (let at = 0; at < apart.length; at += 1) {
    values[at] = last + apart[at];
    last = values[at];
  }
  return values;
}

/** The events of a run, which come in chunks; within a kind they come in order of time. */
export class Events {
  constructor() {
    /** @type {Record<string, Table[]>} */
    this.parts = {};
    /** Start of the kept events, seconds: a run in progress discards its oldest events. */
    this.from = 0;
    /** Kinds whose first part has been handed out. @type {Set<string>} */
    this.given = new Set();
    /** How many kinds of a chunk are not joined yet. @type {WeakMap<ArrayBufferLike, number>} */
    this.left = new WeakMap();
  }

  /** How many there are. */
  get rows() {
    return Object.values(this.parts).flat().reduce((sum, { rows }) => sum + rows, 0);
  }

  /**
   * Let the events before an instant go.
   * @param {number} from seconds
   * @returns {Record<string, number>} how many of each kind
   */
  letGo(from) {
    this.from = from;
    /** @type {Record<string, number>} */
    const gone = {};
    for (const kind of this.kinds) {
      const table = /** @type {Table} */ (this.table(kind));
      gone[kind] = lowerBound(table.columns.time_ns.values, from * 1e9);
      this.parts[kind] = [behind(table, gone[kind])];
    }
    return gone;
  }

  /** @param {ArrayBuffer} buffer A chunk. */
  add(buffer) {
    const tables = Object.entries(decode(buffer));
    this.left.set(buffer, tables.length);
    for (const [kind, table] of tables) {
      (this.parts[kind] ??= []).push(table);
    }
  }

  /** Kinds that were recorded, be it without an event. */
  get kinds() {
    return Object.keys(this.parts);
  }

  /**
   * All events of a kind, or null if it was not recorded.
   * @param {string} kind
   * @returns {Table | null}
   */
  table(kind) {
    const parts = this.parts[kind];
    if (!parts) return null;
    if (parts.length > 1) {
      this.parts[kind] = [joined(parts)];
      parts.slice(Number(this.given.has(kind))).forEach((part) => this.free(part));
    }
    this.given.add(kind);
    return this.parts[kind][0];
  }

  /** Give the memory of a part back, which has been copied, if no other kind is in its chunk: the browser would do so later. @param {Table} part */
  free({ columns }) {
    for (const buffer of new Set(Object.values(columns).map(({ values }) => values.buffer))) {
      const left = (this.left.get(buffer) ?? 1) - 1;
      this.left.set(buffer, left);
      // Not every browser can.
      if (!left) /** @type {any} */ (buffer).transfer?.(0);
    }
  }
}

/**
 * @param {Table[]} parts
 * @returns {Table}
 */
function joined(parts) {
  const rows = parts.reduce((sum, part) => sum + part.rows, 0);
  /** @type {Table["columns"]} */
  const columns = {};
  for (const name of Object.keys(parts[0].columns)) {
    columns[name] = joinedColumn(parts.map((part) => part.columns[name]), rows);
  }
  return { rows, columns };
}

/**
 * Join a column's parts, which may differ in width and in their lists of words.
 * @param {Column[]} parts
 * @param {number} rows
 * @returns {Column}
 */
function joinedColumn(parts, rows) {
  const words = parts[0].words && [...new Set(parts.flatMap((part) => part.words ?? []))];
  const widest = parts.reduce((a, b) => (b.values.BYTES_PER_ELEMENT > a.values.BYTES_PER_ELEMENT ? b : a)).values;
  const values = new /** @type {new (n: number) => Values} */ (widest.constructor)(rows);
  let at = 0;
  for (const part of parts) {
    const own = part.words;
    const codes = own && words && own.map((word) => words.indexOf(word));
    values.set(codes ? part.values.map((/** @type {number} */ code) => codes[code]) : part.values, at);
    at += part.values.length;
  }
  return { values, words };
}

/**
 * A table without its first rows.
 * @param {Table} table
 * @param {number} first
 * @returns {Table}
 */
function behind({ rows, columns }, first) {
  const kept = Object.entries(columns).map(([name, { values, words }]) => [name, { values: values.subarray(first), words }]);
  return { rows: rows - first, columns: Object.fromEntries(kept) };
}
