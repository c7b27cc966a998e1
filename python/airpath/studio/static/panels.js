// What is plotted: panels from the top, with their lines and marks. Shapes differ where colours do.

/**
 * How a line of `series.js` looks. A `steps` line keeps its value until the next point, a `slope` goes straight to it; `dots` are points, all others
 * are marks; thinning never removes all marks of a cause. `ink` is a colour of the style for a single flow; several flows
 * have a colour each. A `soft` line does not stretch the axis to more than twice what the others need.
 * @typedef {object} Trail
 * @property {string} line
 * @property {string} word
 * @property {"steps" | "slope" | "rate" | "dots" | "cross" | "ring" | "triangle" | "diamond" | "square" | "plus"} shape
 * @property {number} ink
 * @property {number} [width]
 * @property {number} [opacity]
 * @property {number[]} [dash]
 * @property {boolean} [detail] left out where there are many flows
 * @property {boolean} [soft]
 * @property {number} [scale] of a rate
 */
/**
 * A panel: its lines, and the coarse lines (`afar`) that replace them when there are more points than pixels.
 * @typedef {object} Panel
 * @property {string} name
 * @property {string} title
 * @property {string} unit
 * @property {number} digits after the point, of values
 * @property {boolean} fromZero
 * @property {Trail[]} trails
 * @property {{unit: string, trails: Trail[]}} [afar]
 */

/** Up to this number of flows, panels show all details. */
export const FEW = 2;

/** @type {Panel[]} */
export const PANELS = [
  {
    name: "window", title: "Window", unit: "segments", digits: 0, fromZero: true,
    trails: [
      { line: "window", word: "send window", shape: "steps", ink: 4, width: 4, opacity: 0.3, detail: true },
      { line: "ssthresh", word: "ssthresh", shape: "steps", ink: 6, width: 1.25, dash: [5, 4], opacity: 0.75, detail: true, soft: true },
      { line: "flight", word: "in flight", shape: "steps", ink: 2, width: 1, detail: true },
      { line: "cwnd", word: "cwnd", shape: "steps", ink: 0, width: 1.75 },
      { line: "timeout", word: "timeout", shape: "triangle", ink: 1 },
    ],
  },
  {
    name: "rtt", title: "Round trip", unit: "ms", digits: 0, fromZero: true,
    trails: [
      { line: "rto", word: "timer (RTO)", shape: "steps", ink: 5, width: 1.25, detail: true, soft: true },
      { line: "rtt", word: "RTT, each sample", shape: "dots", ink: 0 },
      { line: "rttMeans", word: "RTT, means", shape: "steps", ink: 0 },
      { line: "minRtt", word: "minimum (model)", shape: "steps", ink: 6, width: 1.25, dash: [5, 4], detail: true },
    ],
  },
  // The next two are of captures alone.
  {
    name: "flight", title: "In flight", unit: "kB", digits: 1, fromZero: true,
    trails: [
      { line: "announced", word: "receive window", shape: "steps", ink: 6, width: 1.25, dash: [5, 4], opacity: 0.75, soft: true },
      { line: "inFlight", word: "in flight, means", shape: "steps", ink: 2, width: 1.5 },
    ],
  },
  {
    name: "delay", title: "One-way delay", unit: "ms", digits: 0, fromZero: true,
    trails: [{ line: "delay", word: "sender to receiver, means", shape: "steps", ink: 5, width: 1.25 }],
  },
  {
    name: "frames", title: "Frames", unit: "ms from capture", digits: 0, fromZero: true,
    trails: [
      { line: "frameBack", word: "other direction", shape: "dots", ink: 3, opacity: 0.6, detail: true },
      { line: "framePlayout", word: "rendered", shape: "steps", ink: 6, width: 1.25 },
      { line: "frame", word: "decodable", shape: "dots", ink: 0 },
      { line: "frameKey", word: "key frame", shape: "diamond", ink: 5, detail: true },
      { line: "frameLate", word: "late (over 400 ms)", shape: "cross", ink: 1 },
    ],
  },
  {
    name: "player", title: "Player", unit: "s in its buffer", digits: 1, fromZero: true,
    trails: [{ line: "playerBuffer", word: "buffer", shape: "slope", ink: 2, width: 1.5 }],
  },
  {
    name: "buffer", title: "Buffer", unit: "SDUs", digits: 0, fromZero: true,
    trails: [
      { line: "queuedBack", word: "ACKs' direction", shape: "steps", ink: 3, width: 1, opacity: 0.8, detail: true },
      { line: "queued", word: "data's direction", shape: "steps", ink: 0, width: 1.5 },
      { line: "dropped", word: "packet dropped", shape: "cross", ink: 1 },
    ],
  },
  {
    name: "rate", title: "Rate", unit: "kbit/s", digits: 0, fromZero: true,
    trails: [
      { line: "delivered", word: "over the bearer", shape: "rate", ink: 4, width: 3, opacity: 0.45, scale: 8e3, detail: true },
      { line: "acked", word: "acknowledged (goodput)", shape: "rate", ink: 2, width: 1.5, scale: 8e3 },
      { line: "throughput", word: "throughput, means", shape: "steps", ink: 2, width: 1.5 },
      { line: "segmentRate", word: "level of the segment", shape: "steps", ink: 0, width: 1.5 },
      { line: "pacing", word: "paced at", shape: "steps", ink: 3, width: 1, detail: true, soft: true },
      { line: "bandwidth", word: "bandwidth (model)", shape: "steps", ink: 6, width: 1.25, dash: [5, 4], detail: true, soft: true },
    ],
  },
  {
    name: "blocks", title: "Blocks", unit: "kbit per block", digits: 1, fromZero: true,
    afar: {
      unit: "kbit/s",
      trails: [
        { line: "blockSum", word: "decoded", shape: "rate", ink: 0, width: 1.5, scale: 1 },
        { line: "blockLostSum", word: "lost", shape: "rate", ink: 1, width: 1.5, scale: 1, dash: [3, 2], detail: true },
      ],
    },
    trails: [
      { line: "block", word: "decoded at once", shape: "dots", ink: 0 },
      { line: "blockAgain", word: "HARQ retransmission", shape: "ring", ink: 2 },
      { line: "blockLost", word: "lost", shape: "cross", ink: 1 },
    ],
  },
  {
    name: "cqi", title: "CQI", unit: "of each block", digits: 0, fromZero: true,
    trails: [{ line: "cqi", word: "CQI", shape: "steps", ink: 5, width: 1.25 }],
  },
  {
    name: "mcs", title: "MCS", unit: "of each block", digits: 0, fromZero: true,
    trails: [{ line: "mcs", word: "MCS", shape: "steps", ink: 5, width: 1.25 }],
  },
  {
    name: "layers", title: "Layers", unit: "of each block", digits: 0, fromZero: true,
    trails: [{ line: "layers", word: "layers", shape: "steps", ink: 4, width: 1.25 }],
  },
  {
    name: "units", title: "PRBs", unit: "of each block", digits: 0, fromZero: true,
    trails: [{ line: "units", word: "PRBs", shape: "steps", ink: 7, width: 1.25 }],
  },
  {
    name: "sequence", title: "Sequence", unit: "MB", digits: 3, fromZero: false,
    trails: [
      { line: "acked", word: "acknowledged", shape: "steps", ink: 2, width: 1.5 },
      { line: "progress", word: "in all, means", shape: "steps", ink: 2, width: 1.5 },
      { line: "sent", word: "new", shape: "dots", ink: 0, opacity: 0.6, detail: true },
      { line: "fast", word: "fast retransmit, SACK", shape: "ring", ink: 1 },
      { line: "late", word: "timeout retransmission", shape: "triangle", ink: 7 },
      { line: "probe", word: "probe", shape: "diamond", ink: 5 },
      { line: "unknown", word: "retransmission", shape: "square", ink: 3 },
    ],
  },
  {
    name: "rlc", title: "Link layer", unit: "number of each PDU", digits: 0, fromZero: false,
    afar: {
      unit: "PDUs per second",
      trails: [
        { line: "pduSum", word: "sent", shape: "rate", ink: 0, width: 1.5, scale: 1 },
        { line: "pduAgainSum", word: "retransmitted", shape: "rate", ink: 2, width: 1.5, scale: 1, detail: true },
        { line: "pduLostSum", word: "lost", shape: "rate", ink: 1, width: 1.5, scale: 1, dash: [3, 2] },
      ],
    },
    trails: [
      { line: "pdu", word: "new", shape: "dots", ink: 0, opacity: 0.6 },
      { line: "pduAgain", word: "retransmitted", shape: "ring", ink: 2 },
      { line: "status", word: "STATUS", shape: "plus", ink: 3 },
      { line: "pduLost", word: "lost", shape: "cross", ink: 1 },
    ],
  },
  {
    name: "slots", title: "Link layer", unit: "PDUs per slot", digits: 0, fromZero: true,
    afar: {
      unit: "PDUs per second",
      trails: [
        { line: "slotSentSum", word: "sent", shape: "rate", ink: 0, width: 1.5, scale: 1 },
        { line: "slotLostSum", word: "of them lost", shape: "rate", ink: 1, width: 1.5, scale: 1, dash: [3, 2] },
      ],
    },
    trails: [
      { line: "slotSent", word: "sent", shape: "steps", ink: 0, width: 1 },
      { line: "slotLost", word: "of them lost", shape: "steps", ink: 1, width: 1.5 },
    ],
  },
  {
    name: "held", title: "Box", unit: "ACKs held", digits: 0, fromZero: true,
    trails: [
      { line: "held", word: "Ack Regulator", shape: "steps", ink: 3, width: 1.5 },
      { line: "heldRate", word: "ACK rate control", shape: "steps", ink: 7, width: 1.5 },
    ],
  },
];

/**
 * Panels that have something to show; slots only if PDUs are not recorded individually.
 * @param {import("studio/series").Known[]} flows the lines of each flow
 * @param {boolean} isBrief whether details are left out
 */
export function panelsFor(flows, isBrief) {
  const has = (/** @type {string} */ name) => flows.some((lines) => lines.has(name));
  const isDrawn = (/** @type {Trail} */ { line, detail }) => line !== "dropped" && !(detail && isBrief) && has(line);
  const some = PANELS.filter((panel) => panel.trails.some(isDrawn));
  return some.filter((panel) => panel.name !== "slots" || !some.some((other) => other.name === "rlc"));
}
