// Changes of a live run while it goes on: sliders of the values that may change, a pause, outages, hand-overs, another
// seed. The run says what may change, and the values it has.

import { byId, make } from "studio/dom";
import { Row } from "studio/field";
import { ueName } from "studio/names";
import { parse } from "studio/quantity";

/** @typedef {import("studio/schema").Field} Field */
/** @typedef {import("studio/source").Engine} Engine */
/** @typedef {import("studio/source").Run} Run */
/** @typedef {{at_s: number, what: string, elements: number, values: Record<string, any>}} Answer */

/** Least time between two requests, milliseconds: a slider sends its latest place only. */
const LEAST_WAIT_MS = 100;
/** Length of an outage, unless the user writes another. */
const OUTAGE = "1 s";
/** Quantities of a value that is zero, by the last part of its key. @type {Record<string, string>} */
const UNITS = { delay: "ms", mean_sinr: "dB", bytes: "kB" };
const SHARES = new Set(["bler", "loss"]);

export class Steer {
  /** @param {Run} run @param {Engine} engine @param {(name: string) => void} open a tab next to the plots */
  constructor(run, engine, open) {
    this.engine = engine;
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** Values that are wanted and have not been sent. @type {Map<string, string>} */
    this.wanted = new Map();
    this.isBusy = false;
    this.isPaused = false;
    this.seed = run.summary.seed;
    this.said = make("p", { id: "steer-said", "aria-live": "polite" }, "Drag a slider: the link changes at once, and the plots mark it.");
    byId("steer").replaceChildren(this.acts(run), this.said, ...this.fields(run));
    byId("t-steer").hidden = false;
    open("steer");
  }

  /** @param {Run} run */
  acts(run) {
    const count = run.bearers.reduce((most, { ue }) => Math.max(most, ue + 1), 1);
    const cells = (run.values.cell ?? []).map((/** @type {any} */ cell) => cell.name);
    this.ue = make("select", { id: "steer-ue", "aria-label": "UE" }, ...Array.from({ length: count }, (_, n) => make("option", { value: n }, ueName(run, n))));
    this.ue.hidden = count < 2;
    this.pause = make("button", { type: "button", id: "steer-pause", "aria-pressed": "false", title: "Neither direction starts a transmission", click: () => void this.toggle() }, "Pause link");
    const length = make("input", { type: "text", id: "steer-length", value: OUTAGE, size: 6, "aria-label": "Length of the outage" });
    const to = make("select", { id: "steer-to", "aria-label": "Cell to hand over to" }, ...cells.map((/** @type {string} */ name) => make("option", { value: name }, name)));
    return make("div", { class: "bar", role: "group", "aria-label": "Acts on the link" },
      this.ue, this.pause,
      make("button", { type: "button", id: "steer-outage", click: () => void this.act({ outage: length.value.trim(), ue: this.ue?.selectedIndex }) }, "Outage"),
      length,
      ...(cells.length < 2 ? [] : [
        make("button", { type: "button", id: "steer-handover", title: "With an outage of this length", click: () => void this.act({ outage: length.value.trim(), to: to.value, ue: this.ue?.selectedIndex }) }, "Hand over to"),
        to,
      ]),
      make("button", { type: "button", id: "steer-seed", title: "New random streams: channels, losses and queues", click: () => void this.act({ seed: this.seed += 1 }) }, "New seed"));
  }

  /** Rows of the values, below the part of the scenario that they belong to. @param {Run} run */
  fields({ steered = {}, values }) {
    /** @type {Map<string, HTMLElement>} */
    const groups = new Map();
    for (const [key, value] of Object.entries(steered)) {
      const parts = key.split(".");
      const end = parts.findLastIndex((part) => ["downlink", "uplink", "wired"].includes(part)) + 1;
      const above = parts.slice(0, end).join(".");
      const group = groups.get(above) ?? make("fieldset", { class: "steered" }, make("legend", {}, named(above, values) || "scenario"));
      groups.set(above, group);
      const field = fieldOf(key, value);
      const row = new Row(field, String(value), this, parts.slice(end).slice(-2).join(".") || key);
      row.update(field, null, false);
      this.rows.set(key, row);
      group.append(row.root);
    }
    return groups.values();
  }

  /** @param {Field} field @param {string} text */
  set(field, text) {
    if (!parse(text)) return;
    this.wanted.set(field.key, text);
    void this.send();
  }

  clear() {}

  help() {}

  /** Send what is wanted, the latest value of each key; one request at a time. */
  async send() {
    if (this.isBusy || !this.wanted.size) return;
    this.isBusy = true;
    const set = Object.fromEntries(this.wanted);
    this.wanted.clear();
    const rest = new Promise((resolve) => setTimeout(resolve, LEAST_WAIT_MS));
    try {
      this.take(await this.engine.change({ set }));
      for (const key of Object.keys(set)) this.rows.get(key)?.tell(null);
    } catch (error) {
      for (const key of Object.keys(set)) this.rows.get(key)?.tell(/** @type {any} */ (error));
    }
    await rest;
    this.isBusy = false;
    void this.send();
  }

  async toggle() {
    if (await this.act({ pause: !this.isPaused, ue: this.ue?.selectedIndex })) this.isPaused = !this.isPaused;
    this.pause?.setAttribute("aria-pressed", String(this.isPaused));
    if (this.pause) this.pause.textContent = this.isPaused ? "Resume link" : "Pause link";
  }

  /** @param {object} request @returns {Promise<boolean>} whether something has changed */
  async act(request) {
    try {
      const answer = await this.engine.change(request);
      this.take(answer);
      return answer.elements > 0;
    } catch (error) {
      const { path, message, hint } = /** @type {import("studio/source").Problem} */ (error);
      this.said.textContent = `${path}: ${message}; ${hint}`;
      return false;
    }
  }

  /** @param {Answer} answer */
  take({ at_s, what, elements, values }) {
    this.said.textContent = `${at_s.toFixed(3)} s: ${what}${elements ? "" : " (no change: it was so already, or the UE is in an outage or a pause)"}`;
    this.show(values);
  }

  /** Show the values that the run has, which others may have changed. @param {Record<string, any>} values */
  show(values) {
    for (const [key, row] of this.rows) {
      if (key in values && !this.wanted.has(key)) row.update(fieldOf(key, values[key]), null, false);
    }
  }

  /** The run is over. */
  end() {
    byId("steer").querySelectorAll("button, input, select").forEach((control) => control.toggleAttribute("disabled", true));
    this.said.textContent = "The run is over: nothing changes any more.";
  }
}

/** A part of the scenario with the name of its cell or way in place of a number. @param {string} part @param {any} values */
function named(part, values) {
  return part.replace(/^(cell|way)\.(\d+)/, (whole, list, n) => values[list]?.[n]?.name ?? whole);
}

/** A value as a field of a form. @param {string} key @param {any} value @returns {Field} */
function fieldOf(key, value) {
  const last = key.slice(key.lastIndexOf(".") + 1);
  const quantity = parse(String(value));
  const isShare = SHARES.has(last);
  return {
    key, name: last, value, about: "", fallback: undefined, optional: false, choices: [], children: [],
    shape: isShare ? "share" : typeof value === "number" ? "number" : "quantity",
    isWhole: typeof value === "number" && last === "packets",
    units: [quantity?.unit || (UNITS[last] ?? "")],
  };
}
