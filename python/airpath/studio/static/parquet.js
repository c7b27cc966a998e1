// Events as a Parquet file: one table, in order of time, with a column for each of any kind; what an event does not have
// is null. One row group, plain encoding, not compressed: any reader of Parquet reads it.

import { Bytes, utf8Of } from "studio/files";

/**
 * Events that are written, in order of time: by their kinds and rows.
 * @typedef {{kinds: string[], tables: import("studio/events").Table[], listed: {kinds: Uint8Array, rows: Uint32Array}}} Order
 */
/** @typedef {{name: string, isText: boolean, value: (kind: number, row: number) => number | string | null}} Field */

/** Types of Parquet: integers of 64 bits and octets. */
const [INT64, BYTE_ARRAY] = [2, 6];
/** Types of Thrift's compact protocol. */
const [T_I32, T_I64, T_BINARY, T_LIST, T_STRUCT] = [5, 6, 8, 9, 12];
const [PLAIN, RLE] = [0, 3];
const MAGIC = utf8Of("PAR1");

/** Writes Thrift's compact protocol, the encoding of Parquet's headers. */
class Thrift {
  /** @param {Bytes} out */
  constructor(out) {
    this.out = out;
    /** The last field of each open struct. @type {number[]} */
    this.last = [];
  }

  /** @param {number} value */
  varint(value) {
    let left = value;
    for (; left >= 128; left = Math.floor(left / 128)) this.out.u8((left % 128) | 128);
    this.out.u8(left);
  }

  /** @param {() => void} fields */
  struct(fields) {
    this.last.push(0);
    fields();
    this.last.pop();
    this.out.u8(0);
  }

  /** @type {(id: number, type: number) => void} */
  field(id, type) {
    this.out.u8(((id - this.last[this.last.length - 1]) << 4) | type);
    this.last[this.last.length - 1] = id;
  }

  /** @type {(id: number, value: number) => void} */
  i32(id, value) {
    this.field(id, T_I32);
    this.varint(2 * value);
  }

  /** @type {(id: number, value: number) => void} */
  i64(id, value) {
    this.field(id, T_I64);
    this.varint(2 * value);
  }

  /** @param {string} value */
  text(value) {
    const octets = utf8Of(value);
    this.varint(octets.length);
    this.out.put(octets);
  }

  /** @type {(id: number, value: string) => void} */
  binary(id, value) {
    this.field(id, T_BINARY);
    this.text(value);
  }

  /** @type {(id: number, fields: () => void) => void} */
  inner(id, fields) {
    this.field(id, T_STRUCT);
    this.struct(fields);
  }

  /** @type {<T>(id: number, type: number, items: T[], each: (item: T) => void) => void} */
  list(id, type, items, each) {
    this.field(id, T_LIST);
    if (items.length < 15) this.out.u8((items.length << 4) | type);
    else {
      this.out.u8(0xf0 | type);
      this.varint(items.length);
    }
    items.forEach(each);
  }
}

/** The listed events. @param {Order} order */
export function eventsAsParquet(order) {
  const { length } = order.listed.rows;
  const fields = fieldsOf(order);
  const out = new Bytes();
  out.put(MAGIC);
  const columns = fields.map((field) => {
    const begin = out.length;
    const { present, values } = valuesOf(order, field);
    const page = new Bytes();
    page.u32(present.length);
    page.put(present);
    page.put(values);
    const thrift = new Thrift(out);
    thrift.struct(() => {
      thrift.i32(1, 0);
      thrift.i32(2, page.length);
      thrift.i32(3, page.length);
      thrift.inner(5, () => {
        thrift.i32(1, length);
        thrift.i32(2, PLAIN);
        thrift.i32(3, RLE);
        thrift.i32(4, RLE);
      });
    });
    out.put(page.done());
    return { field, begin, length: out.length - begin };
  });
  const footer = out.length;
  writeFooter(new Thrift(out), length, columns);
  out.u32(out.length - footer);
  out.put(MAGIC);
  return out.done();
}

/** @type {(thrift: Thrift, rows: number, columns: {field: Field, begin: number, length: number}[]) => void} */
function writeFooter(thrift, rows, columns) {
  thrift.struct(() => {
    thrift.i32(1, 1);
    thrift.list(2, T_STRUCT, [null, ...columns], (column) => thrift.struct(() => {
      if (!column) {
        thrift.binary(4, "schema");
        thrift.i32(5, columns.length);
        return;
      }
      thrift.i32(1, column.field.isText ? BYTE_ARRAY : INT64);
      // It may be null.
      thrift.i32(3, 1);
      thrift.binary(4, column.field.name);
      if (column.field.isText) thrift.i32(6, 0);
    }));
    thrift.i64(3, rows);
    thrift.list(4, T_STRUCT, [columns], () => thrift.struct(() => {
      thrift.list(1, T_STRUCT, columns, ({ field, begin, length }) => thrift.struct(() => {
        thrift.i64(2, begin);
        thrift.inner(3, () => {
          thrift.i32(1, field.isText ? BYTE_ARRAY : INT64);
          thrift.list(2, T_I32, [PLAIN, RLE], (encoding) => thrift.varint(2 * encoding));
          thrift.list(3, T_BINARY, [field.name], (name) => thrift.text(name));
          thrift.i32(4, 0);
          thrift.i64(5, rows);
          thrift.i64(6, length);
          thrift.i64(7, length);
          thrift.i64(9, begin);
        });
      }));
      thrift.i64(2, columns.reduce((sum, { length }) => sum + length, 0));
      thrift.i64(3, rows);
    }));
    thrift.binary(6, "airpath studio");
  });
}

/** The columns of all kinds: time, kind, and the others as they come. @param {Order} order @returns {Field[]} */
function fieldsOf({ kinds, tables }) {
  const names = [...new Set(tables.flatMap((table) => Object.keys(table.columns)))].filter((name) => name !== "time_ns");
  const field = (/** @type {string} */ name) => {
    const own = tables.map((table) => table.columns[name]);
    const isText = own.some((column) => column?.words);
    return {
      name, isText,
      value: (/** @type {number} */ kind, /** @type {number} */ row) => {
        const column = own[kind];
        if (!column) return null;
        return column.words ? column.words[column.values[row]] : column.values[row];
      },
    };
  };
  return [field("time_ns"), { name: "event", isText: true, value: (kind) => kinds[kind] }, ...names.map(field)];
}

/** Which rows have a value, in runs of bits, and the values one after the other. @type {(order: Order, field: Field) => {present: Uint8Array, values: Uint8Array}} */
function valuesOf({ listed: { kinds, rows } }, field) {
  const bits = new Uint8Array(Math.ceil(rows.length / 8));
  const values = new Bytes();
  for (let n = 0; n < rows.length; n += 1) {
    const value = field.value(kinds[n], rows[n]);
    if (value === null) continue;
    bits[n >> 3] |= 1 << (n & 7);
    if (typeof value === "number") values.u64(value);
    else {
      const octets = utf8Of(value);
      values.u32(octets.length);
      values.put(octets);
    }
  }
  const present = new Bytes();
  new Thrift(present).varint(2 * bits.length + 1);
  present.put(bits);
  return { present: present.done(), values: values.done() };
}
