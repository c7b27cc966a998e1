// Where things stand in the animation: a column for each station of the path, two lanes for the two directions.

/**
 * @typedef {object} Column
 * @property {"server" | "wire" | "box" | "buffer" | "air" | "receiver" | "ue"} kind `receiver`: the UE's link layer
 * @property {number} place on the path
 * @property {string} title
 * @property {number} left
 * @property {number} right
 */

/** Names of boxes, short enough for their columns. @type {Record<string, string>} */
const BOXES = {
  ack_regulator: "Ack Regulator", ack_rate_control: "ACK rate ctrl", rnc_feedback: "RNC feedback", snoop: "snoop", split: "split TCP",
  freeze: "freeze", packet_loss: "packet loss", ack_filter: "ACK filter", ack_pacing: "ACK pacing", disturb: "disturb", tap: "tap",
  window_clamp: "window clamp",
};
/** What a box is called, by its name on the path. @param {string} name */
export function boxTitle(name) {
  return BOXES[name.replace("middlebox.", "")] ?? name;
}

/** Where the cell's buffer is. @param {string} cell name on the path */
export const stationOf = (cell) => STATIONS[cell] ?? "RNC";
/** @type {Record<string, string>} */
const STATIONS = { "radio.lte": "eNodeB", "radio.nr": "gNB" };

/** Widths, pixels: of stations; the rest is shared by weight. */
const WIDE = { server: 88, box: 84, ue: 96 };
const NARROW = { server: 52, box: 38, ue: 56 };
const WEIGHTS = { wire: 1, buffer: 1, air: 1.75, receiver: 1.15 };
const GAP = 6;
/** Below this width, without boxes, stations are narrow. */
const NARROW_PX = 560;

/** Whether there is no room for words in the stations. @type {(path: string[], width: number) => boolean} */
export function isNarrow(path, width) {
  return width - WIDE.box * path.filter((name) => name.startsWith("middlebox.")).length < NARROW_PX;
}

/** Sizes of packets by `LOOKS` of the model, pixels, and their colours: places in the theme's inks, as the plots have them. */
export const SIZES = [[8, 18], [8, 18], [8, 18], [4, 11], [7, 14]];
export const INKS = [0, 1, 7, 2, 6];

/** Lanes, pixels from the top: titles, downlink, numbers, uplink. */
export const LANES = { title: 13, height: 156, down: { top: 22, bottom: 82 }, between: 99, up: { top: 110, bottom: 152 } };

/**
 * Columns from the server to the UE.
 * @param {string[]} path names of its places
 * @param {number} radio place of the cell
 * @param {number} width pixels
 * @param {boolean} hasReceiver whether the link layer puts packets together
 * @returns {Column[]}
 */
export function columnsOf(path, radio, width, hasReceiver) {
  const narrow = isNarrow(path, width);
  const fixed = narrow ? NARROW : WIDE;
  /** @type {{kind: Column["kind"], place: number, title: string}[]} */
  const kinds = path.flatMap((name, place) => {
    /** @type {(kind: Column["kind"], title: string) => {kind: Column["kind"], place: number, title: string}} */
    const column = (kind, title) => ({ kind, place, title });
    if (place === 0) return [column("server", "server")];
    if (place === path.length - 1) return [column("ue", "UE: TCP")];
    if (place === radio) {
      const air = [column("buffer", narrow ? stationOf(name) : `${stationOf(name)} buffer`), column("air", "air")];
      return hasReceiver ? [...air, column("receiver", narrow ? "UE" : "UE: link layer")] : air;
    }
    if (name.startsWith("link")) return [column("wire", "wire")];
    return [column("box", boxTitle(name))];
  });
  const weightOf = (/** @type {string} */ kind) => /** @type {Record<string, number>} */ (WEIGHTS)[kind] ?? 0;
  const widthOf = (/** @type {string} */ kind) => /** @type {Record<string, number>} */ (fixed)[kind] ?? 0;
  const weights = kinds.reduce((sum, { kind }) => sum + weightOf(kind), 0);
  const stations = kinds.reduce((sum, { kind }) => sum + widthOf(kind), 0);
  const free = Math.max(width - stations - GAP * (kinds.length - 1), 0);
  let left = 0;
  return kinds.map((own) => {
    const right = left + (widthOf(own.kind) || (free * weightOf(own.kind)) / weights);
    const column = { ...own, left, right };
    left = right + GAP;
    return column;
  });
}
