// The search in events: all words have to be found. Letters are searched in the list's text of an event, where its
// numbers do not matter, so that each form of it is looked at once; a number has to be one of the event's.

import { KINDS, shortly, whose } from "studio/words";

/** @typedef {import("studio/events").Table} Table */

const NUMBER = /^\d+(\.\d+)?$/;
/** What times are shown in: columns by the end of their names, and how many of their units make one millisecond. */
const TIMES = /** @type {[string, number][]} */ ([["_ns", 1e6], ["_us", 1e3]]);
/** Columns of numbers that stand for words, and more than there are of them. */
const CODES = new Set(["element", "flags", "tcpi_ca_state", "ue"]);
const MOST_CODES = 4096;

export class Search {
  /**
   * @param {{run: import("studio/source").Run, kinds: string[], tables: Table[]}} order
   * @param {string} text
   */
  constructor({ run, kinds, tables }, text) {
    this.run = run;
    this.kinds = kinds;
    this.tables = tables;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.words = words.filter((word) => !NUMBER.test(word));
    this.numbers = words.filter((word) => NUMBER.test(word));
    /** What was found of events of the same form, by kind. @type {Map<number, boolean>[]} */
    this.known = kinds.map(() => new Map());
    this.columns = tables.map((table) => Object.entries(table.columns).filter(([name]) => name !== "time_ns"));
    /** The flow in "0.1", as in the list. */
    this.flows = this.numbers.map((word) => word.split(".").map(Number));
    this.values = this.numbers.map(Number);
  }

  /** @type {(kind: number, row: number) => boolean} */
  finds(kind, row) {
    for (let n = 0; n < this.numbers.length; n += 1) if (!this.hasNumber(kind, row, n)) return false;
    return !this.words.length || this.hasWords(kind, row);
  }

  /** @type {(kind: number, row: number) => boolean} */
  hasWords(kind, row) {
    // What is said depends on the words of an event, on its codes, and on whether a number is none, one or many.
    let form = 0;
    for (const [name, { values, words }] of this.columns[kind]) {
      const value = values[row];
      if (words) form = form * words.length + value;
      else form = CODES.has(name) ? form * MOST_CODES + value : form * 3 + Math.min(value, 2);
    }
    const known = this.known[kind].get(form);
    if (known !== undefined) return known;
    const [table, name] = [this.tables[kind], this.kinds[kind]];
    const said = `${KINDS[name] ?? name} ${name} ${whose(this.run, table, row)} ${shortly(this.run, name, table, row)}`.toLowerCase();
    const found = this.words.every((word) => said.includes(word));
    this.known[kind].set(form, found);
    return found;
  }

  /** @type {(kind: number, row: number, n: number) => boolean} */
  hasNumber(kind, row, n) {
    const wanted = this.values[n];
    const [ue, flow] = this.flows[n];
    const { columns } = this.tables[kind];
    if (flow !== undefined && columns.flow?.values[row] === flow && columns.ue.values[row] === ue) return true;
    for (const [name, { values, words }] of this.columns[kind]) {
      if (words) continue;
      const value = values[row];
      if (value === wanted) return true;
      for (const [end, unit] of TIMES) if (name.endsWith(end) && Math.round((10 * value) / unit) === Math.round(10 * wanted)) return true;
    }
    return false;
  }
}
