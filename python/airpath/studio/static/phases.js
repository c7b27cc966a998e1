// The rows of a waterfall: connections with their phases, as the analysis of a capture tells them, and the requests in them.

/**
 * A connection as reported by `crates/analyze`; a UDP conversation has no phases.
 * @typedef {object} Told
 * @property {number} number
 * @property {string} client address and port
 * @property {string} server
 * @property {string | null} [name] of the host that the client asked for
 * @property {number} start_s since the first packet of the capture, or on the clock of a run
 * @property {number} duration_s
 * @property {number} payload_bytes
 * @property {{sender: string | null, active_s: number, start_s: number[], end_s: number[], phase: string[]} | null} [phases]
 */
/** A phase of a row, in seconds since the capture's first packet. @typedef {{phase: string, start: number, end: number}} Piece */
/**
 * A row.
 * @typedef {object} Row
 * @property {string} key
 * @property {string} label
 * @property {string} host
 * @property {number} start
 * @property {number} end
 * @property {number} active seconds in which something was wanted
 * @property {Piece[]} pieces
 * @property {Told} told
 * @property {Row[]} [objects] objects of a simulated page that came over the connection, with their own times
 */

/**
 * What is drawn in one colour: its style, its words, and its phases.
 * @type {{look: string, word: string, phases: string[]}[]}
 */
export const LOOKS = [
  { look: "handshake", word: "handshake", phases: ["handshake"] },
  { look: "waiting", word: "waiting for the server", phases: ["waiting"] },
  { look: "slow", word: "slow start", phases: ["slow_start"] },
  { look: "link", word: "queueing", phases: ["link"] },
  { look: "loss", word: "recovery", phases: ["loss"] },
  { look: "timeout", word: "timeout", phases: ["timeouts"] },
  { look: "full", word: "window full", phases: ["receive_window", "congestion_window"] },
  { look: "pause", word: "pause", phases: ["pause"] },
  { look: "held", word: "waiting for a connection", phases: ["held"] },
  { look: "receiving", word: "receiving", phases: ["receiving"] },
  { look: "other", word: "other", phases: ["other_direction", "unknown", "datagrams"] },
  { look: "idle", word: "idle", phases: ["idle", "no_data"] },
];

const OTHER = LOOKS[LOOKS.length - 2];
const LOOK_OF = new Map(LOOKS.flatMap((own) => own.phases.map((phase) => [phase, own])));
/** What each phase is. @type {Record<string, string>} */
export const WORDS = {
  waiting: "a request has been sent, and no answer has come",
  handshake: "handshake", slow_start: "slow start", link: "queue at the bottleneck, or its full rate", loss: "recovery from losses, or a window that they keep small",
  timeouts: "waiting for a retransmission timeout", receive_window: "receive window full", congestion_window: "congestion window full", pause: "the sender has a pause",
  held: "known to the browser, and no connection was free for the request", receiving: "the response arrives",
  other_direction: "data of the other end", unknown: "not known", datagrams: "datagrams", idle: "no request outstanding", no_data: "no data",
};
/** Phases in which nothing is wanted. */
const IDLE = ["idle", "no_data"];

/** @param {string} phase */
export function lookOfPhase(phase) {
  return (LOOK_OF.get(phase) ?? OTHER).look;
}

/** @type {(phase: string, told: Told) => string} */
export function wordOf(phase, { phases }) {
  if (phase === "waiting") return `waiting for the ${phases?.sender === "client" ? "client" : "server"}`;
  return WORDS[phase] ?? phase.replaceAll("_", " ");
}

/** Address without the port. @param {string} end */
export function hostOf(end) {
  return end.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
}

/**
 * The row of a connection.
 * @param {Told} told
 * @param {string} key
 * @param {string} label
 * @param {string} host
 * @returns {Row}
 */
export function rowOf(told, key, label, host) {
  const { start_s: start, phases } = told;
  const pieces = phases
    ? phases.phase.map((phase, n) => ({ phase, start: start + phases.start_s[n], end: start + phases.end_s[n] }))
    : [{ phase: "datagrams", start, end: start + told.duration_s }];
  const end = pieces.at(-1)?.end ?? start + told.duration_s;
  return { key, label, host, start, end, active: phases ? phases.active_s : told.duration_s, pieces, told };
}

/**
 * An object of a simulated page.
 * @typedef {{bytes: number, connection: number, known_s: number | null, requested_s: number | null, first_byte_s: number | null, complete_s: number | null}} PageObject
 */

/**
 * The objects of a page that came over a connection, as rows; their times count from `start`.
 * @param {Row} row
 * @param {PageObject[]} objects
 * @param {number} connection
 * @param {number} start
 * @returns {Row[]}
 */
export function objectsOf(row, objects, connection, start) {
  return objects.flatMap((own, n) => {
    const times = [own.known_s, own.requested_s, own.first_byte_s, own.complete_s];
    if (own.connection !== connection || own.requested_s === null) return [];
    const phases = [n ? "held" : "handshake", "waiting", "receiving"];
    const pieces = phases.flatMap((phase, at) => {
      const [from, to] = [times[at], times[at + 1]];
      return from === null || to === null || to <= from ? [] : [{ phase, start: start + from, end: start + to }];
    });
    if (!pieces.length) return [];
    const [first, end] = [pieces[0].start, pieces[pieces.length - 1].end];
    const label = `${n ? `object ${n}` : "page"}, ${Math.round(own.bytes / 100) / 10} kB, of ${row.label}`;
    return [{ ...row, key: `${row.key}/${n}`, label, start: first, end, active: end - first, pieces }];
  });
}

/**
 * The requests of a connection: each from a phase that waits for a response to the next such phase, or until no
 * request is outstanding. A handshake belongs to the first.
 * @param {Row} row
 * @returns {Row[]}
 */
export function requestsOf(row) {
  if (row.objects) return row.objects;
  /** @type {Piece[][]} */
  const all = [];
  let isOpen = false;
  let handshake = /** @type {Piece[]} */ ([]);
  for (const piece of row.pieces) {
    if (piece.phase === "handshake") handshake = [piece];
    else if (piece.phase === "waiting") {
      all.push([...handshake, piece]);
      [isOpen, handshake] = [true, []];
    } else if (IDLE.includes(piece.phase)) isOpen = isOpen && piece.phase === "idle" && piece.end - piece.start < 1e-6;
    else if (isOpen) all[all.length - 1].push(piece);
  }
  return all.map((pieces, n) => {
    const [start, end] = [pieces[0].start, pieces[pieces.length - 1].end];
    const active = pieces.reduce((sum, own) => sum + own.end - own.start, 0);
    return { ...row, key: `${row.key}/${n}`, label: `request ${n + 1} of ${row.label}`, start, end, active, pieces };
  });
}

/**
 * Shares of the rows' time in a few words, largest first, without shares that round to 0 %.
 * @param {Row[]} rows
 */
export function sharesOf(rows) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const [phase, seconds] of rows.flatMap(sums)) {
    const { word } = LOOK_OF.get(phase) ?? OTHER;
    found.set(word, (found.get(word) ?? 0) + seconds);
  }
  const whole = [...found.values()].reduce((sum, seconds) => sum + seconds, 0);
  const shares = [...found].map(([word, seconds]) => ({ word, percent: Math.round((100 * seconds) / (whole || 1)) }));
  return shares.filter(({ percent }) => percent > 0).sort((a, b) => b.percent - a.percent).map(({ word, percent }) => `${percent} % ${word}`);
}

/**
 * How much of a row each phase takes, the largest first, in seconds.
 * @param {Row} row
 * @returns {[string, number][]}
 */
export function sums({ pieces }) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const { phase, start, end } of pieces) {
    if (!IDLE.includes(phase)) found.set(phase, (found.get(phase) ?? 0) + end - start);
  }
  return [...found].sort((a, b) => b[1] - a[1]);
}

/**
 * What is seen of a row in a range: for each column of pixels the look that has most of it, columns of one look joined.
 * @param {Piece[]} pieces
 * @param {number} from
 * @param {number} to
 * @param {number} columns
 * @returns {{look: string, from: number, to: number}[]} places in columns
 */
export function columnsOf(pieces, from, to, columns) {
  const scale = columns / (to - from);
  /** @type {{look: string, from: number, to: number}[]} */
  const found = [];
  let n = 0;
  const [first, last] = [pieces[0].start, pieces[pieces.length - 1].end];
  const begin = Math.max(0, Math.floor((first - from) * scale));
  const end = Math.min(columns, Math.max(Math.ceil((last - from) * scale), begin + 1));
  for (let column = begin; column < end; column += 1) {
    const [left, right] = [from + column / scale, from + (column + 1) / scale];
    while (n < pieces.length - 1 && pieces[n].end <= left) n += 1;
    /** @type {Map<string, number>} */
    const shares = new Map();
    for (let at = n; at < pieces.length && pieces[at].start < right; at += 1) {
      const share = Math.min(pieces[at].end, right) - Math.max(pieces[at].start, left);
      const look = lookOfPhase(pieces[at].phase);
      if (share > 0) shares.set(look, (shares.get(look) ?? 0) + share);
    }
    const [look] = [...shares].reduce((most, own) => (own[1] > most[1] ? own : most), [lookOfPhase(pieces[n].phase), 0]);
    const before = found[found.length - 1];
    if (before?.look === look && before.to === column) before.to = column + 1;
    else found.push({ look, from: column, to: column + 1 });
  }
  return found;
}
