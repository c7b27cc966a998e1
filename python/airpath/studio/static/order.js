// All events of a run in the order of their times, and those of them that a filter lets through. No list of a million events
// is kept: each kind is in order, and the event at a position of the list is looked up on demand.

import { Search } from "studio/search";
import { firstFrom, lowerBound, placeOf } from "studio/reduce";
import { isLoss } from "studio/words";

/** @typedef {import("studio/events").Table} Table */
/** @typedef {import("studio/store").Place} Place */
/** @typedef {{kinds: ReadonlySet<string> | null, losses: boolean, text: string}} Filter `kinds` null: all of them */

/** Milliseconds of work before the browser has its turn. */
const TURN_MS = 12;
/** Room for so many events of a kind, at first. */
const FIRST_ROOM = 1024;
/** More flows than a UE has. */
const MOST_FLOWS = 65536;

/** Events in order of time; those of one instant come by kind. */
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
    this.times = this.tables.map((table) => table.columns.time_ns.values);
    /** The listed rows of each kind; null if all are. @type {(Uint32Array | null)[]} */
    this.rows = this.kinds.map(() => new Uint32Array(0));
    this.turn = 0;
  }

  /** How many events of a kind are listed. @param {number} kind */
  count(kind) {
    return (this.rows[kind] ?? this.times[kind]).length;
  }

  /** How many events are listed. */
  get length() {
    return this.kinds.reduce((sum, _, kind) => sum + this.count(kind), 0);
  }

  /** How many listed events of a kind there are before an instant. @type {(kind: number, ns: number) => number} */
  before(kind, ns) {
    const rows = this.rows[kind];
    return rows ? firstFrom(this.times[kind], rows, ns) : lowerBound(this.times[kind], ns);
  }

  /** Row of the n-th listed event of a kind. @type {(kind: number, n: number) => number} */
  row(kind, n) {
    return this.rows[kind]?.[n] ?? n;
  }

  /** How many of the first events of the list are of each kind. @type {(near: number) => number[]} */
  split(near) {
    // The last instant before which there are at most so many.
    let [low, high] = [0, 1 + Math.max(0, ...this.times.map((own) => own.at(-1) ?? 0))];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.kinds.reduce((sum, _, kind) => sum + this.before(kind, middle), 0) <= near) low = middle;
      else high = middle;
    }
    const counts = this.kinds.map((_, kind) => this.before(kind, low));
    let left = near - counts.reduce((a, b) => a + b, 0);
    return counts.map((count, kind) => {
      const more = Math.min(left, this.before(kind, low + 1) - count);
      left -= more;
      return count + more;
    });
  }

  /** The kind of the next event behind so many of each; -1 at the end. @param {number[]} counts */
  behind(counts) {
    let [first, least] = [-1, Infinity];
    for (let kind = 0; kind < counts.length; kind += 1) {
      if (counts[kind] >= this.count(kind)) continue;
      const time = this.times[kind][this.row(kind, counts[kind])];
      if (time < least) [first, least] = [kind, time];
    }
    return first;
  }

  /** The kind of the last of so many of each; -1 at the begin. @param {number[]} counts */
  last(counts) {
    let [last, most] = [-1, -Infinity];
    for (let kind = 0; kind < counts.length; kind += 1) {
      if (!counts[kind]) continue;
      const time = this.times[kind][this.row(kind, counts[kind] - 1)];
      if (time >= most) [last, most] = [kind, time];
    }
    return last;
  }

  /** The event at a place of the list. @param {number} near @returns {Place} */
  event(near) {
    const counts = this.split(near);
    const kind = this.behind(counts);
    return { kind: this.kinds[kind], row: this.row(kind, counts[kind]) };
  }

  /** Kinds and rows of all listed events. */
  inOrder() {
    const { length } = this;
    const [kinds, rows] = [new Uint8Array(length), new Uint32Array(length)];
    const counts = this.kinds.map(() => 0);
    for (let at = 0; at < length; at += 1) {
      kinds[at] = this.behind(counts);
      rows[at] = this.row(kinds[at], counts[kinds[at]]++);
    }
    return { kinds, rows };
  }

  /**
   * List the events that a filter lets through; gives the browser its turn in between. A later call ends an earlier.
   * @param {Filter} filter
   * @param {{ue: number, flow: number}[]} flows
   * @returns {Promise<boolean>} whether it came to its end
   */
  async filter({ kinds, losses, text }, flows) {
    const turn = (this.turn += 1);
    const ues = new Set(flows.map((flow) => flow.ue));
    const own = new Set(flows.map((flow) => flow.ue * MOST_FLOWS + flow.flow));
    const search = new Search(this, text);
    let until = performance.now() + TURN_MS;
    const found = this.kinds.map((name) => (!kinds || kinds.has(name) ? null : new Uint32Array(0)));
    for (const [number, kind] of this.kinds.entries()) {
      if (found[number]) continue;
      const table = this.tables[number];
      const { ue, flow } = table.columns;
      /** As long as all are found, they need no list. @type {Uint32Array | null} */
      let list = null;
      let count = 0;
      for (let row = 0; row < table.rows; row += 1) {
        if (row % 512 === 0 && performance.now() > until) {
          await new Promise((next) => setTimeout(next));
          if (turn !== this.turn) return false;
          until = performance.now() + TURN_MS;
        }
        const isFound = (flow ? own.has(ue.values[row] * MOST_FLOWS + flow.values[row]) : ues.has(ue.values[row])) &&
          (!losses || isLoss(kind, table, row)) && search.finds(number, row);
        if (!isFound) list ??= counted(row);
        else if (!list) count += 1;
        else {
          if (count === list.length) list = grown(list);
          list[count++] = row;
        }
      }
      found[number] = list && list.slice(0, count);
    }
    this.rows = found;
    return true;
  }

  /**
   * Place in the list of an event, or of the first event not before an instant.
   * @param {Place | null} chosen
   * @param {number} at seconds
   */
  find(chosen, at) {
    const number = chosen ? this.kinds.indexOf(chosen.kind) : -1;
    const now = chosen && number >= 0 ? this.times[number][chosen.row] : NaN;
    const rows = this.rows[number];
    const place = !chosen || !(Math.abs(now - at * 1e9) < 1) ? -1 : rows ? placeOf(rows, chosen.row) : chosen.row;
    if (place < 0) return this.kinds.reduce((sum, _, kind) => sum + this.before(kind, at * 1e9 - 1e-3), 0);
    return this.kinds.reduce((sum, _, kind) => sum + (kind === number ? place : this.before(kind, kind < number ? now + 1 : now)), 0);
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
    const near = this.find(chosen, at);
    const counts = this.split(near);
    const here = way > 0 && chosen && near < this.length ? this.event(near) : null;
    if (here && here.kind === chosen?.kind && here.row === chosen.row) counts[this.kinds.indexOf(here.kind)] += 1;
    for (;;) {
      const kind = way > 0 ? this.behind(counts) : this.last(counts);
      if (kind < 0) return null;
      if (way < 0) counts[kind] -= 1;
      const row = this.row(kind, counts[kind]);
      if (!losses || isLoss(this.kinds[kind], this.tables[kind], row)) return { kind: this.kinds[kind], row };
      if (way > 0) counts[kind] += 1;
    }
  }
}

/** The numbers below another. @param {number} count */
function counted(count) {
  const list = new Uint32Array(count + FIRST_ROOM);
  for (let n = 0; n < count; n += 1) list[n] = n;
  return list;
}

/** @param {Uint32Array} list */
function grown(list) {
  const more = new Uint32Array(2 * list.length);
  more.set(list);
  return more;
}
