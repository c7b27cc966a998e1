// A link that says all: scenario, changes, seed, variants, range, instant. It reads
// `#umts-384?seed=7&set=radio.dch.downlink.rate:128+kbit/s&with=umts-384&set=tcp.cc:reno&show=B&from=3&to=4&at=3.2`: the
// part after `with` belongs to the next variant.

import { NAMES } from "studio/store";

/** @typedef {import("studio/source").Settings} Settings */
/**
 * What a link says.
 * @typedef {object} Linked
 * @property {Settings[]} settings
 * @property {number} shown
 * @property {[number, number] | null} range
 * @property {number | null} at
 * @property {number[] | null} flows
 */

/** A value in a link, with as few codes as it allows. @param {string} text */
function coded(text) {
  return encodeURIComponent(text).replaceAll("%20", "+").replaceAll(/%(2F|3A|2C|5B|5D|3D|7B|7D)/g, (code) => decodeURIComponent(code));
}

/** @param {string} text */
function decoded(text) {
  return decodeURIComponent(text.replaceAll("+", "%20"));
}

/** @param {number} time seconds */
function short(time) {
  return String(Number(time.toFixed(6)));
}

/** @param {Linked} linked */
export function toLink({ settings, shown, range, at, flows }) {
  const parts = [`seed=${settings[0].seed}`];
  settings.forEach(({ base, set }, n) => {
    if (n) parts.push(`with=${coded(base)}`);
    for (const change of set) parts.push(`set=${coded(change).replace("=", ":")}`);
  });
  if (shown) parts.push(`show=${NAMES[shown]}`);
  if (range) parts.push(`from=${short(range[0])}`, `to=${short(range[1])}`);
  if (at !== null) parts.push(`at=${short(at)}`);
  if (flows) parts.push(`flows=${flows.join(",")}`);
  return `#${coded(settings[0].base)}?${parts.join("&")}`;
}

/**
 * Read a link.
 * @param {string} hash
 * @returns {Linked}
 * @throws {import("studio/source").Problem} what is wrong with it
 */
export function fromLink(hash) {
  const [name, query = ""] = halves(hash.replace(/^#/, ""), "?");
  /** @type {Linked} */
  const linked = { settings: [], shown: 0, range: null, at: null, flows: null };
  let seed = 1;
  /** @type {[number | null, number | null]} */
  const ends = [null, null];
  const add = (/** @type {string} */ base) => linked.settings.push({ base: read(base), set: [], seed });
  add(name);
  for (const part of query.split("&").filter(Boolean)) {
    const [key, value = ""] = halves(part, "=");
    if (key === "set") linked.settings.at(-1)?.set.push(change(read(value)));
    else if (key === "with") add(value);
    else if (key === "seed") seed = whole(key, value);
    else if (key === "show") linked.shown = NAMES.indexOf(value);
    else if (key === "from") ends[0] = number(key, value);
    else if (key === "to") ends[1] = number(key, value);
    else if (key === "at") linked.at = number(key, value);
    else if (key === "flows") linked.flows = value.split(",").map((own) => whole(key, own));
    else refuse(key, "no part of a link", "known: seed, set, with, show, from, to, at, flows");
  }
  if (!linked.settings[0].base) refuse("", "it names no scenario", "write #umts-384?seed=1");
  if (linked.settings.length > NAMES.length) refuse("with", "too many variants", `at most ${NAMES.length} are compared`);
  if (!linked.settings[linked.shown]) refuse("show", "there is no such variant", "write A, or B where there is one");
  if (ends[0] !== null && ends[1] !== null) {
    if (ends[0] >= ends[1]) refuse("to", "not after from", "write the end behind the begin, in seconds");
    linked.range = [ends[0], ends[1]];
  }
  return { ...linked, settings: linked.settings.map((own) => ({ ...own, seed })) };
}

/** @param {string} text @param {string} at @returns {string[]} */
function halves(text, at) {
  const place = text.indexOf(at);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + 1)];
}

/** @param {string} text */
function read(text) {
  try {
    return decoded(text);
  } catch {
    return refuse("", `${text} is not coded as addresses are`, "copy the whole link");
  }
}

/** @param {string} text */
function change(text) {
  const [key, value] = halves(text, ":");
  return value === undefined || !key ? refuse("set", `${text} names no key and value`, "write set=tcp.cc:reno") : `${key}=${value}`;
}

/** @param {string} key @param {string} text */
function number(key, text) {
  const value = Number(text);
  return text && Number.isFinite(value) && value >= 0 ? value : refuse(key, `${text} is no time`, "write seconds, such as 3.2");
}

/** @param {string} key @param {string} text */
function whole(key, text) {
  const value = Number(text);
  return text && Number.isSafeInteger(value) && value >= 0 ? value : refuse(key, `${text} is no whole number`, "write a number from 0");
}

/** @type {(path: string, message: string, hint: string) => never} */
function refuse(path, message, hint) {
  throw { path, message, hint };
}
