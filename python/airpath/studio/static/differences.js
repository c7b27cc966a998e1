// What differs between runs that are compared, read from their scenarios with every default.

import { inline, valueAt } from "studio/settings";

/** @typedef {import("studio/source").Run} Run */
/** A key, and its value in each run. @typedef {{key: string, values: string[]}} Difference */

/** @param {any} own */
const isTable = (own) => typeof own === "object" && own !== null && !Array.isArray(own);

/**
 * Keys below which two scenarios differ; where another component was chosen, that of the component.
 * @param {any} a
 * @param {any} b
 * @param {string} key
 * @returns {string[]}
 */
function apart(a, b, key) {
  if (isTable(a) && isTable(b)) {
    const [own, other] = [Object.keys(a), Object.keys(b)];
    if (own.length === 1 && other.length === 1 && own[0] !== other[0]) return [key];
    return [...new Set([...own, ...other])].flatMap((name) => apart(a[name], b[name], key ? `${key}.${name}` : name));
  }
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length && [...a, ...b].every(isTable)) {
    return a.flatMap((own, n) => apart(own, b[n], `${key}[${n}]`));
  }
  return inline(a ?? null) === inline(b ?? null) ? [] : [key];
}

/** A value in few words: a component by its name. @param {any} value */
function worded(value) {
  if (value === undefined || value === null) return "–";
  const names = isTable(value) ? Object.keys(value) : [];
  if (names.length === 1 && isTable(value[names[0]])) return names[0];
  return typeof value === "string" ? value : inline(value);
}

/**
 * What differs between runs.
 * @param {Run[]} runs
 * @returns {Difference[]}
 */
export function differencesOf(runs) {
  const [first, ...others] = runs;
  const row = (/** @type {string} */ key, /** @type {(run: Run) => string} */ of) => ({ key, values: runs.map(of) });
  const found = [row("scenario", ({ title }) => title), row("seed", ({ summary }) => String(summary.seed))]
    .filter(({ values }) => values.some((value) => value !== values[0]));
  const keys = [...new Set(others.flatMap(({ values }) => apart(first.values, values, "")))];
  // Where one has another component, what is below it is none of the others'.
  const highest = keys.filter((key) => !keys.some((other) => key !== other && (key.startsWith(`${other}.`) || key.startsWith(`${other}[`))));
  return [...found, ...highest.map((key) => row(key, ({ values }) => worded(valueAt(values, key))))];
}
