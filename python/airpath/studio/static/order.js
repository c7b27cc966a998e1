// All events of a run in the order of their times, and those of them that a filter lets through.

import { Search } from "studio/search";
import { isLoss } from "studio/words";

/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/store").Place} Place */
/** @typedef {{kinds: ReadonlySet<string> | null, losses: boolean, text: string}} Filter `kinds` null: all of them */

/** Milliseconds of work before the browser has its turn. */
const TURN_MS = 12;

/** More flows than a UE has. */
const MOST_FLOWS = 65536;

export class Order {
  /**
   * @param {import("studio/source").Run} run
   * @param {import("studio/events").Events} events
   */
  constructor(run, events) {
    this.run = run;
    this.events = events;
    this.kinds = events.kinds;
    this.tables = this.kinds.map((kind) => /** @type {Table} */ (events.table(kind)));
    const total = this.tables.reduce((sum, table) => sum + table.rows, 0);
    this.kind = new Uint8Array(total);
    this.row = new Uint32Array(total);
    this.merge();
    /** Places of the events that are listed. */
    this.listed = new Uint32Array(0);
    this.turn = 0;
  }

  /** Merge the kinds, each of which is in order: two and two, as in merge sort. */
  merge() {
    const runs = this.tables.map((table, kind) => ({
      kind: new Uint8Array(table.rows).fill(kind), row: Uint32Array.from({ length: table.rows }, (_, row) => row),
    }));
    while (runs.length > 1) {
      runs.sort((a, b) => b.row.length - a.row.length);
      const [a, b] = runs.splice(-2);
      runs.push(this.merged(a, b));
    }
    if (runs.length) [this.kind, this.row] = [runs[0].kind, runs[0].row];
  }

  /** @typedef {{kind: Uint8Array<ArrayBuffer>, row: Uint32Array<ArrayBuffer>}} Sorted */
  /** @type {(a: Sorted, b: Sorted) => Sorted} */
  merged(a, b) {
    const times = this.tables.map((table) => table.columns.time_ns.values);
    const length = a.row.length + b.row.length;
    const out = { kind: new Uint8Array(length), row: new Uint32Array(length) };
    for (let at = 0, i = 0, j = 0; at < length; at += 1) {
      const isA = j >= b.row.length ||
        (i < a.row.length && times[a.kind[i]][a.row[i]] <= times[b.kind[j]][b.row[j]]);
      const [from, place] = isA ? [a, i++] : [b, j++];
      out.kind[at] = from.kind[place];
      out.row[at] = from.row[place];
    }
    return out;
  }

  /** @param {number} place @returns {Place} */
  event(place) {
    return { kind: this.kinds[this.kind[place]], row: this.row[place] };
  }

  /** Time of an event, seconds. @param {number} place */
  time(place) {
    return this.tables[this.kind[place]].columns.time_ns.values[this.row[place]] / 1e9;
  }

  /**
   * List the events that a filter lets through; gives the browser its turn in between. A later call ends an earlier.
   * @param {Filter} filter
   * @param {{ue: number, flow: number}[]} flows
   * @returns {Promise<boolean>} whether it came to its end
   */
  async filter({ kinds, losses, text }, flows) {
    const turn = (this.turn += 1);
    const wanted = this.kinds.map((kind) => (!kinds || kinds.has(kind)));
    const ues = new Set(flows.map((flow) => flow.ue));
    const own = new Set(flows.map((flow) => flow.ue * MOST_FLOWS + flow.flow));
    const search = new Search(this, text);
    const found = new Uint32Array(this.row.length);
    let count = 0;
    let until = performance.now() + TURN_MS;
    for (let place = 0; place < this.row.length; place += 1) {
      if (place % 512 === 0 && performance.now() > until) {
        await new Promise((next) => setTimeout(next));
        if (turn !== this.turn) return false;
        until = performance.now() + TURN_MS;
      }
      const number = this.kind[place];
      if (!wanted[number]) continue;
      const [table, row, kind] = [this.tables[number], this.row[place], this.kinds[number]];
      const { ue, flow } = table.columns;
      if (!(flow ? own.has(ue.values[row] * MOST_FLOWS + flow.values[row]) : ues.has(ue.values[row]))) continue;
      if (losses && !isLoss(kind, table, row)) continue;
      if (!search.finds(number, row)) continue;
      found[count++] = place;
    }
    this.listed = found.slice(0, count);
    return true;
  }

  /**
   * Place in the list of an event, or of the first event not before an instant.
   * @param {Place | null} chosen
   * @param {number} at seconds
   */
  find(chosen, at) {
    let [low, high] = [0, this.listed.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time(this.listed[middle]) < at - 1e-12) low = middle + 1;
      else high = middle;
    }
    if (!chosen) return low;
    for (let near = low; near < this.listed.length && this.time(this.listed[near]) <= at; near += 1) {
      const event = this.event(this.listed[near]);
      if (event.kind === chosen.kind && event.row === chosen.row) return near;
    }
    return low;
  }

  /**
   * The next event in the list from the chosen one on, or the one before; of losses only, if asked for.
   * @param {Place | null} chosen
   * @param {number} at seconds
   * @param {1 | -1} way
   * @param {boolean} losses
   * @returns {Place | null}
   */
  next(chosen, at, way, losses) {
    let near = this.find(chosen, at);
    const here = this.listed[near] === undefined ? null : this.event(this.listed[near]);
    const isHere = here && chosen && here.kind === chosen.kind && here.row === chosen.row;
    if (isHere || way < 0) near += way;
    for (; near >= 0 && near < this.listed.length; near += way) {
      const event = this.event(this.listed[near]);
      if (!losses || isLoss(event.kind, this.tables[this.kind[this.listed[near]]], event.row)) return event;
    }
    return null;
  }
}
