// Stretches of time that are marked behind the lines: outages, states of a silent UE, freezes and stalls of video, the life
// of the packet that is followed; and instants at which the run was changed.

import { modelOf } from "studio/model";
import { begin } from "studio/packets";
import { activityOf } from "studio/words";

/** Seconds; a change of the run has no length, and room for its word until `next`. A span with a `panel` is shown there only. @typedef {{from: number, to: number, word: string, isFollowed: boolean, next?: number, panel?: string}} Span */

/** @param {import("studio/store").Store} store @returns {Span[]} */
export function spansOf(store) {
  const { flows, followed, variants, shown } = store.state;
  const ues = new Set(flows.map((place) => store.run.summary.flows[place]?.ue));
  const spans = [
    ...outages(store.events.table("outage"), ues, store.end),
    ...silences(store.events.table("activity"), ues, store.end),
    ...flows.flatMap((place) => interruptions(store.events, store.run.summary.flows[place])),
    ...changes(store.run.summary.changes ?? []),
  ];
  const packets = followed === null ? null : modelOf(variants[shown]).packets;
  if (packets && followed !== null) {
    const to = Math.min(packets.end[followed] / 1e9, store.end);
    spans.push({ from: begin(packets, followed) / 1e9, to, word: "", isFollowed: true });
  }
  return spans;
}

/** Changes of the run, keys by their last part. @type {(all: {at_s: number, what: string}[]) => Span[]} */
function changes(all) {
  return all.map(({ at_s, what }, n) => (
    { from: at_s, to: at_s, word: what.replaceAll(/[\w.[\]]+\.(\w+ = )/g, "$1"), isFollowed: false, next: all[n + 1]?.at_s ?? Infinity }
  ));
}

/** Freezes of a call's picture in the flow's direction, and stalls of a player. @type {(events: import("studio/events").Events, flow: import("studio/source").Flow | undefined) => Span[]} */
function interruptions(events, flow) {
  /** @type {Span[]} */
  const spans = [];
  const own = (/** @type {import("studio/events").Table} */ { columns }, /** @type {number} */ row) =>
    columns.ue.values[row] === flow?.ue && columns.flow.values[row] === flow.flow;
  const frames = events.table("video_frame");
  for (let row = 0; frames && row < frames.rows; row += 1) {
    const { time_ns, direction, delay_ns, playout_delay_ns, freeze_ns } = frames.columns;
    if (!freeze_ns.values[row] || !own(frames, row) || direction.words?.[direction.values[row]] !== flow?.direction) continue;
    const to = (time_ns.values[row] - delay_ns.values[row] + playout_delay_ns.values[row]) / 1e9;
    spans.push({ from: to - freeze_ns.values[row] / 1e9, to, word: "freeze", isFollowed: false, panel: "frames" });
  }
  const segments = events.table("video_segment");
  for (let row = 0; segments && row < segments.rows; row += 1) {
    const { time_ns, stalled_ns } = segments.columns;
    const to = time_ns.values[row] / 1e9;
    if (stalled_ns.values[row] && own(segments, row)) spans.push({ from: to - stalled_ns.values[row] / 1e9, to, word: "stall", isFollowed: false, panel: "player" });
  }
  return spans;
}

/** @type {(table: import("studio/events").Table | null, ues: Set<number>, end: number) => Span[]} */
function outages(table, ues, end) {
  if (!table) return [];
  const { time_ns, ue, phase } = table.columns;
  /** Begins of outages that last. @type {Map<number, number>} */
  const open = new Map();
  /** @type {Span[]} */
  const spans = [];
  for (let row = 0; row < table.rows; row += 1) {
    const [own, now, word] = [ue.values[row], time_ns.values[row] / 1e9, phase.words?.[phase.values[row]]];
    if (!ues.has(own)) continue;
    if (word === "began") open.set(own, now);
    const from = open.get(own);
    if (word !== "ended" || from === undefined) continue;
    spans.push({ from, to: now, word: "outage", isFollowed: false });
    open.delete(own);
  }
  for (const from of open.values()) spans.push({ from, to: end, word: "outage", isFollowed: false });
  return spans;
}

/** Times in which a UE is not active, by state. @type {(table: import("studio/events").Table | null, ues: Set<number>, end: number) => Span[]} */
function silences(table, ues, end) {
  if (!table) return [];
  const { time_ns, ue, ue_state: state } = table.columns;
  /** The state of each UE and since when. @type {Map<number, {from: number, word: string}>} */
  const present = new Map();
  /** @type {Span[]} */
  const spans = [];
  const close = (/** @type {number} */ own, /** @type {number} */ to) => {
    const last = present.get(own);
    if (last && last.word !== "active" && to > last.from) spans.push({ from: last.from, to, word: activityOf(last.word), isFollowed: false });
  };
  for (let row = 0; row < table.rows; row += 1) {
    const [own, now] = [ue.values[row], time_ns.values[row] / 1e9];
    if (!ues.has(own)) continue;
    close(own, now);
    present.set(own, { from: now, word: state.words?.[state.values[row]] ?? "" });
  }
  for (const own of present.keys()) close(own, end);
  return spans;
}
