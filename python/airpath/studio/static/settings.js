// What a run is made from: a base and changes of it, `key=value` as `airpath run --set` takes them. The same changes
// with a key's own begin make way for a new one; the order of the others stays, since later ones build on earlier.

/** @typedef {import("studio/source").Settings} Settings */

/** Begins a base that is a text. */
export const TEXT = "text:";

/** The first line of a scenario's text if it is a comment, which says what the scenario shows. @param {string} text */
export function descriptionOf(text) {
  return /^\s*#+[ \t]*(.*\S)/.exec(text)?.[1] ?? "";
}

/** @param {string} change @returns {[string, string]} key and value */
export function split(change) {
  const at = change.indexOf("=");
  return [change.slice(0, at), change.slice(at + 1)];
}

/** Whether a key is another one, or below it. @param {string} key @param {string} above */
export function isBelow(key, above) {
  return key === above || key.startsWith(`${above}.`) || key.startsWith(`${above}[`);
}

/**
 * Change a key; what was changed at or below it makes way. Null takes the change back.
 * @param {Settings} settings
 * @param {string} key
 * @param {string | null} value
 * @returns {Settings}
 */
export function changed(settings, key, value) {
  const others = settings.set.filter((change) => !isBelow(split(change)[0], key));
  return { ...settings, set: value === null ? others : [...others, `${key}=${value}`] };
}

/** Whether a key stands below another that is changed as a whole. @param {Settings} settings @param {string} key */
export function isRebuilt(settings, key) {
  return settings.set.map((change) => split(change)[0]).some((own) => own !== key && isBelow(key, own));
}

/** Whether two runs of these are the same. @param {Settings} settings */
export function keyOf({ base, set, seed }) {
  return JSON.stringify([base, set, seed]);
}

/**
 * The value at a key, such as `flow[0].app`; undefined where there is none.
 * @param {any} values
 * @param {string} key
 */
export function valueAt(values, key) {
  return parts(key).reduce((own, part) => own?.[part], values);
}

/** @param {string} key */
function parts(key) {
  return key.replaceAll(/\[(\d+)\]/g, ".$1").split(".");
}

/** The key of the table in which a key stands. @param {string} key */
export function parentOf(key) {
  return key.slice(0, Math.max(key.lastIndexOf("."), 0));
}

/**
 * A value as TOML on one line.
 * @param {any} value
 * @returns {string}
 */
export function inline(value) {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const own = Object.entries(value).filter(([, part]) => part !== null && part !== undefined);
    const written = own.map(([key, part]) => `${/^[\w-]+$/.test(key) ? key : quoted(key)} = ${inline(part)}`);
    return written.length ? `{ ${written.join(", ")} }` : "{}";
  }
  return typeof value === "string" ? quoted(value) : String(value);
}

/** TOML has JSON's escapes, and requires one more. @param {string} text */
function quoted(text) {
  return JSON.stringify(text).replaceAll("\x7f", "\\u007f");
}

/**
 * The changes that make one scenario another: at the highest keys below which not all is the same.
 * @param {any} before
 * @param {any} after
 * @param {string} [key]
 * @returns {string[]}
 */
export function differing(before, after, key = "") {
  const isTable = (/** @type {any} */ own) => typeof own === "object" && own !== null && !Array.isArray(own);
  if (isTable(before) && isTable(after) && Object.keys(before).sort().join() === Object.keys(after).sort().join()) {
    return Object.keys(after).flatMap((own) => differing(before[own], after[own], key ? `${key}.${own}` : own));
  }
  if (inline(before) === inline(after)) return [];
  return [`${key}=${typeof after === "string" ? after : inline(after)}`];
}

/**
 * The command that makes the same run; a base that is a text is the content of a file.
 * @param {Settings} settings
 */
export function command({ base, set, seed }) {
  const name = base.startsWith(TEXT) ? "scenario.toml" : base;
  const parts = [`airpath run ${shell(name)} --seed ${seed}`, ...set.map((change) => `--set ${shell(change)}`)];
  return parts.join(" \\\n    ");
}

/** An argument of a shell. @param {string} text */
export function shell(text) {
  return /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
