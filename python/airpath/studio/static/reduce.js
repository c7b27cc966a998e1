// As many points as a line needs on the screen: of each column of pixels the first, lowest, highest and last.

/**
 * Place of the first value that is not below `value`.
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function lowerBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Place in `rows` of the first row whose value is not below `value`; the rows' values ascend.
 * @type {(values: ArrayLike<number>, rows: ArrayLike<number>, value: number) => number}
 */
export function firstFrom(values, rows, value) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[rows[middle]] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Place of a row in ascending rows; -1 if it is not among them. @type {(rows: ArrayLike<number>, row: number) => number} */
export function placeOf(rows, row) {
  const place = lowerBound(rows, row);
  return rows[place] === row ? place : -1;
}

/**
 * Places of the points that make the same picture as all points from `from` to `to` in `columns` pixels: ascending,
 * at most four a pixel, and one before and one after the range, from where a line enters and leaves it.
 * @param {Float64Array} x ascending
 * @param {ArrayLike<number>} y
 * @param {number} from
 * @param {number} to
 * @param {number} columns
 * @returns {number[]}
 */
export function reduce(x, y, from, to, columns) {
  const begin = lowerBound(x, from);
  const end = lowerBound(x, to);
  /** @type {number[]} */
  const kept = begin > 0 ? [begin - 1] : [];
  const scale = columns / (to - from);
  for (let at = begin; at < end; ) {
    const next = from + (Math.floor((x[at] - from) * scale) + 1) / scale;
    const first = at;
    let low = at;
    let high = at;
    // The first one belongs to the column, whatever rounding says.
    do {
      if (y[at] < y[low]) low = at;
      if (y[at] > y[high]) high = at;
      at += 1;
    } while (at < end && x[at] < next);
    kept.push(first);
    const [one, other] = low < high ? [low, high] : [high, low];
    if (one > first) kept.push(one);
    if (other > one) kept.push(other);
    if (at - 1 > other) kept.push(at - 1);
  }
  if (end < x.length) kept.push(end);
  return kept;
}

/**
 * Lowest, highest and mean value in each of `parts` equal parts of the range that has points: the visible shape of a
 * line that has many more points than pixels.
 * @param {Float64Array} x ascending
 * @param {ArrayLike<number>} y
 * @param {number} from
 * @param {number} to
 * @param {number} parts
 */
export function spread(x, y, from, to, parts) {
  /** @type {{x: number[], low: number[], high: number[], mean: number[]}} */
  const found = { x: [], low: [], high: [], mean: [] };
  const step = (to - from) / parts;
  for (let at = lowerBound(x, from); at < x.length && x[at] <= to; ) {
    const part = Math.floor((x[at] - from) / step);
    const next = from + (part + 1) * step;
    let [low, high, sum, count] = [Infinity, -Infinity, 0, 0];
    do {
      low = Math.min(low, y[at]);
      high = Math.max(high, y[at]);
      sum += y[at];
      count += 1;
      at += 1;
    } while (at < x.length && x[at] < next);
    found.x.push(from + (part + 0.5) * step);
    found.low.push(low);
    found.high.push(high);
    found.mean.push(sum / count);
  }
  return found;
}

/**
 * Places of marks in the range: at most one in each of `columns` parts.
 * @param {Float64Array} x ascending
 * @param {number} from
 * @param {number} to
 * @param {number} columns
 * @returns {number[]}
 */
export function spaced(x, from, to, columns) {
  const kept = [];
  const step = (to - from) / columns;
  for (let at = lowerBound(x, from); at < x.length && x[at] <= to; ) {
    kept.push(at);
    at = Math.max(at + 1, lowerBound(x, x[at] + step));
  }
  return kept;
}

/** Most windows of a rate in the range, and the shortest of them, seconds: shorter ones tell single packets. */
const WINDOWS = 100;
const SHORTEST_S = 0.1;

/**
 * Mean rate in windows of equal length, from a sum that only grows: as `airpath.runs.lines` computes goodput.
 * @param {Float64Array} x times, ascending, seconds
 * @param {ArrayLike<number>} sum
 * @param {number} from
 * @param {number} to
 * @param {number} last where the flow or the run ended, seconds
 * @returns {{x: number[], y: number[], window: number}} begin of each window, its rate per second, and its length
 */
export function rates(x, sum, from, to, last) {
  const window = niceStep(Math.max((to - from) / WINDOWS, SHORTEST_S));
  const at = (/** @type {number} */ time) => {
    const place = lowerBound(x, time + 1e-9) - 1;
    return place < 0 ? 0 : sum[place];
  };
  /** @type {{x: number[], y: number[], window: number}} */
  const found = { x: [], y: [], window };
  const first = Math.max(0, Math.floor(from / window + 1e-9) - 1);
  for (let n = first; (n + 1) * window <= last * (1 + 1e-12) && n * window <= to; n += 1) {
    found.x.push(n * window);
    found.y.push((at((n + 1) * window) - at(n * window)) / window);
  }
  return found;
}

/**
 * The smallest of 1, 2 or 5 times a power of ten that is not below `least`.
 * @param {number} least
 */
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= least * (1 - 1e-9)) ?? 10 * power;
}
