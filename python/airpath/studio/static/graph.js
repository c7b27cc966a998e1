// The places of a run as a graph: which are next to each other, and in which cell a UE is when. A scenario with one cell has
// them in a line; one with several cells and ways is a tree from the server on, whose leaves meet again at the UEs.

import { ownerOf } from "studio/names";
import { parse } from "studio/quantity";

/** @typedef {import("studio/source").Run} Run */
/** A change of the cell, which serves the UE from `serves` on, nanoseconds. @typedef {{serves: number, to: string}} Move */

const NS = /** @type {Record<string, number>} */ ({ ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 });

/** A time of a scenario, such as "200 ms", in nanoseconds. @param {string | undefined} text */
function timeOf(text) {
  const found = parse(text ?? "");
  return found ? found.number * (NS[found.unit] ?? 0) : 0;
}

export class Graph {
  /** @param {Run} run */
  constructor({ path, edges, summary, values }) {
    /** Names of the places. Older runs do not tell, and only those without UMTS report one for each. */
    this.names = path?.length ? path : ["server", ...summary.elements.map(({ element }) => String(element)), "ue"];
    this.last = this.names.length - 1;
    /** Places next to each, towards the server. @type {number[][]} */
    this.above = this.names.map(() => []);
    /** Places next to each, towards the UEs. @type {number[][]} */
    this.below = this.names.map(() => []);
    for (const [upper, lower] of edges ?? this.names.slice(1).map((_, place) => [place, place + 1])) {
      this.above[lower].push(upper);
      this.below[upper].push(lower);
    }
    const joint = this.above[this.last];
    /** The place of each leaf that is nearest to the UEs: a cell, a way, or a box at its end. */
    this.leaves = joint.length === 1 && this.names[joint[0]].startsWith("fork") ? this.above[joint[0]] : joint;
    /** Places of cells. */
    this.cells = this.names.map((_, place) => place).filter((place) => this.names[place].startsWith("radio."));
    /** The leaf of each interface at the start, by its name. @type {string[]} */
    this.attached = (values?.ue ?? []).flatMap((/** @type {{attach: string[]}} */ { attach }) => attach);
    /** @type {Map<number, Move[]>} */
    this.moves = new Map();
    for (const { ue, at, outage, to } of values?.handover ?? []) {
      if (to === undefined || typeof ue !== "number") continue;
      const own = this.moves.get(ue) ?? [];
      own.push({ serves: timeOf(at) + timeOf(outage), to });
      this.moves.set(ue, own.sort((a, b) => a.serves - b.serves));
    }
    /** The chain of places from the server to each leaf. */
    this.chains = this.leaves.map((leaf) => {
      const chain = [leaf];
      while (this.above[chain[0]]?.length) chain.unshift(this.above[chain[0]][0]);
      return chain;
    });
  }

  /** Places that a packet may come from. @type {(place: number, isUp: boolean) => number[]} */
  before(place, isUp) {
    return (isUp ? this.below : this.above)[place];
  }

  /** How many times a UE has changed its cell, for what the cell does. @type {(ue: number, now: number) => number} */
  turn(ue, now) {
    return this.moves.get(ue)?.filter((move) => move.serves <= now).length ?? 0;
  }

  /** The place in `leaves` of a UE. @type {(ue: number, turn: number) => number} */
  leaf(ue, turn) {
    if (this.leaves.length < 2) return 0;
    const name = turn ? this.moves.get(ue)?.[turn - 1].to : this.attached[ue];
    return Math.max(this.leaves.findIndex((place) => ownerOf(this.names[place]) === name), 0);
  }

  /** The place of the cell in which a UE is; -1 if it is in none. @type {(ue: number, now: number) => number} */
  cellOf(ue, now) {
    return this.cellIn(this.leaf(ue, this.turn(ue, now)));
  }

  /** The place of the cell of a leaf; -1 if it has none. @param {number} leaf */
  cellIn(leaf) {
    return this.chains[leaf].find((place) => this.names[place].startsWith("radio.")) ?? -1;
  }
}

/** @type {WeakMap<Run, Graph>} */
const known = new WeakMap();

/** The graph of a run. @param {Run} run */
export function graphOf(run) {
  const graph = known.get(run) ?? new Graph(run);
  known.set(run, graph);
  return graph;
}

/** What a place is, without whose: "radio.dch" of "radio.dch macro". @param {string} name */
export const kindOf = (name) => name.split(" ")[0];
