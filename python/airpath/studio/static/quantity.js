// Quantities as scenarios write them, "384 kbit/s", on a slider: each step is a value that one would write.

/** How far a slider reaches above and below the value in its middle: by this factor. */
const REACH = 10;
/** Digits of a value on a slider. */
const DIGITS = 2;
/** Values this near to the first one are the first one. */
const NEAR = 0.03;
/** Steps of a slider. */
export const STEPS = 100;

/** @typedef {{number: number, unit: string}} Quantity */
/** @typedef {{placeOf(text: string): number, textAt(place: number): string}} Scale From text to 0 .. STEPS and back. */

/** @param {string} text @returns {Quantity | null} */
export function parse(text) {
  const found = /^\s*(-?\d+(?:\.\d+)?)\s*([A-Za-z/%]*)\s*$/.exec(text);
  return found && { number: Number(found[1]), unit: found[2] };
}

/** @param {Quantity} quantity */
export function write({ number, unit }) {
  const short = String(Number(number.toPrecision(12)));
  return unit ? `${short} ${unit}` : short;
}

/** A number in few digits. @param {number} value @param {boolean} isWhole */
function rounded(value, isWhole) {
  const short = Number(value.toPrecision(DIGITS));
  return isWhole ? Math.round(short) : short;
}

/**
 * Of a number that is a multiple of a high power of two, such as 384 kbit/s, a quarter of that power; else 0. Such
 * numbers have a reason: other rates than multiples of it do not fill a TTI.
 * @param {number} number
 */
function grainOf(number) {
  if (!Number.isInteger(number) || number % 16) return 0;
  let power = 16;
  while (number % (2 * power) === 0) power *= 2;
  return power / 4;
}

/**
 * The scale of a slider around a value: shares from 0 to 100 %, levels in dB by distance, all else by factors. Null
 * where the value is no quantity.
 * @param {string} middle
 * @param {{isShare?: boolean, isWhole?: boolean, unit?: string}} kind `unit`: of a value that is zero
 * @returns {Scale | null}
 */
export function scaleFor(middle, { isShare = false, isWhole = false, unit = "" }) {
  const first = parse(middle);
  if (!first) return null;
  const own = first.unit || unit;
  const most = first.unit === "%" ? 100 : 1;
  if (isShare) return curved(own, 0, most, false, first);
  if (own === "dB") {
    return {
      placeOf: (text) => STEPS / 2 + 2.5 * ((parse(text)?.number ?? 0) - first.number),
      textAt: (place) => write({ number: Math.round(2 * (first.number + (place - STEPS / 2) / 2.5)) / 2, unit: own }),
    };
  }
  if (first.number <= 0) return curved(own, 0, isWhole ? 20 : own === "s" ? 1 : 100, isWhole, first);
  const low = isWhole ? Math.max(1, first.number / REACH) : first.number / REACH;
  const length = Math.log((first.number * REACH) / low);
  const scale = unitsOf(own);
  const grain = grainOf(first.number);
  return {
    placeOf: (text) => {
      const { number, unit: other } = parse(text) ?? first;
      const same = number * ((scale[other] ?? 1) / (scale[own] ?? 1));
      return Math.min(Math.max((STEPS * Math.log(Math.max(same, low) / low)) / length, 0), STEPS);
    },
    textAt: (place) => {
      const value = low * Math.exp((length * place) / STEPS);
      if (Math.abs(value / first.number - 1) < NEAR) return middle;
      return write({ number: grain ? Math.max(Math.round(value / grain), 1) * grain : rounded(value, isWhole), unit: own });
    },
  };
}

/** From `low` on, ever faster: small values matter more. @type {(unit: string, low: number, high: number, isWhole: boolean, first: Quantity) => Scale} */
function curved(unit, low, high, isWhole, first) {
  return {
    placeOf: (text) => STEPS * Math.sqrt(Math.min(Math.max(((parse(text) ?? first).number - low) / (high - low), 0), 1)),
    textAt: (place) => write({ number: rounded(low + (high - low) * (place / STEPS) ** 2, isWhole), unit }),
  };
}

/** Factors of units of the same kind. @param {string} unit @returns {Record<string, number>} */
function unitsOf(unit) {
  const kinds = [
    { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 },
    { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9 },
    { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1048576 },
    { mHz: 1e-3, Hz: 1, kHz: 1e3, MHz: 1e6 },
  ];
  return /** @type {Record<string, number>} */ (kinds.find((kind) => unit in kind) ?? {});
}
