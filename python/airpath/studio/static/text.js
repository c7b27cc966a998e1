// The scenario as TOML, with every default, synchronised with the form in both directions.

import { byId, figure } from "studio/dom";
import { sentenceOf } from "studio/field";
import { descriptionOf, differing, keyOf, TEXT } from "studio/settings";

/** Wait for more letters, milliseconds. */
const TYPING_MS = 350;
/** Longer strings and lists of numbers are left out: a recording has millions of characters, and a field takes seconds for them. */
const MOST_STRING = 2000;
/** A string of TOML in any of its forms, or a list of numbers. */
const LONG = /"""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\[[^\[\]"']*\]/g;

/** Leave out what is long. @param {string} text @returns {{text: string, left: number}} and how many characters that were */
export function shortened(text) {
  let left = 0;
  const short = text.replaceAll(LONG, (own) => {
    if (own.length <= MOST_STRING) return own;
    left += own.length;
    return `"… ${figure(own.length)} characters …"`;
  });
  return { text: short, left };
}

/**
 * Whether a text is an edited one, with other values, and not another scenario: that begins with a comment, keeps less than
 * half of the lines, or has another radio or another number of flows, boxes or cells.
 * @param {string} before @param {string} after
 * @param {any} origin values of the base @param {any} values of the text
 */
function isEdited(before, after, origin, values) {
  if (descriptionOf(after)) return false;
  const left = new Set(after.split("\n"));
  const lines = before.split("\n").filter(Boolean);
  if (lines.filter((line) => left.has(line)).length < lines.length / 2) return false;
  const shape = (/** @type {any} */ own) => JSON.stringify([
    Object.keys(own.radio ?? {}), Object.entries(own).filter(([, value]) => Array.isArray(value)).map(([key, value]) => [key, value.length]).sort(),
  ]);
  return shape(origin) === shape(values);
}

export class TextView {
  /**
   * @param {import("studio/store").Store} store
   * @param {import("studio/experiment").Experiment} experiment
   */
  constructor(store, experiment) {
    this.store = store;
    this.experiment = experiment;
    this.area = /** @type {HTMLTextAreaElement} */ (byId("text"));
    this.error = byId("text-error");
    this.note = byId("text-note");
    this.turn = 0;
    let typing = 0;
    this.area.addEventListener("input", () => {
      clearTimeout(typing);
      typing = window.setTimeout(() => void this.take(), TYPING_MS);
    });
    this.area.addEventListener("blur", () => this.error.hidden && this.tell());
    store.on(["resolved", "shown"], () => this.tell());
    this.tell();
  }

  /** Show the scenario, unless it is being written. */
  tell() {
    const { resolved } = this.store.state;
    if (!resolved || document.activeElement === this.area) return;
    const { text, left } = shortened(resolved.scenario);
    this.area.value = text;
    this.area.readOnly = left > 0;
    this.note.hidden = !left;
    this.note.textContent = left ? `${figure(left)} characters of recordings are left out here, so this text cannot be edited. The form can.` : "";
    this.error.hidden = true;
  }

  /** Take what was written: as changes of the base if it is the base's text with other values, else as a scenario of its own. */
  async take() {
    const { experiment } = this;
    const turn = (this.turn += 1);
    const text = this.area.value;
    const before = experiment.settings;
    const shown = this.store.state.resolved?.scenario ?? "";
    const answer = await experiment.engine.resolve({ base: TEXT + text, set: [] });
    if (turn !== this.turn) return;
    this.error.hidden = !("error" in answer);
    if ("error" in answer) {
      const { path, message, hint } = answer.error;
      this.error.textContent = `${path ? `${path}: ` : ""}${message}. ${sentenceOf(hint)}`;
      return;
    }
    const origin = await experiment.origin(before.base);
    const set = origin ? differing(origin, answer.values) : [];
    const told = origin && (await experiment.engine.resolve({ base: before.base, set }));
    if (turn !== this.turn || keyOf(before) !== keyOf(experiment.settings)) return;
    const isAll = told && !("error" in told) && told.scenario === answer.scenario && isEdited(shown, text, origin, answer.values);
    experiment.edit(isAll ? { ...before, set } : { ...before, base: TEXT + text, set: [] }, "text");
  }
}
