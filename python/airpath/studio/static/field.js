// A row of the form: a name, a control that suits the field, a slider for a quantity, and what is wrong with it.

import { figure, make } from "studio/dom";
import { scaleFor, STEPS } from "studio/quantity";
import { shown } from "studio/schema";

/** @typedef {import("studio/schema").Field} Field */
/** The form's methods that a row calls. @typedef {{set(field: Field, text: string, wait?: number): void, clear(field: Field): void, help(field: Field): void}} Asked */

/** Wait for more letters before a text is taken, milliseconds. */
const TYPING_MS = 300;
/** Longer texts, those of recordings, are not written into a field: it would take seconds for each. */
const MOST_TEXT = 2000;

export class Row {
  /**
   * @param {Field} field
   * @param {string} first the text that the slider has in its middle
   * @param {Asked} asked
   * @param {string} name
   */
  constructor(field, first, asked, name) {
    this.field = field;
    this.asked = asked;
    const id = `key-${field.key}`;
    this.error = make("p", { class: "error", id: `${id}-error`, hidden: true });
    this.scale = ["quantity", "share", "number"].includes(field.shape)
      ? scaleFor(first, { isShare: field.shape === "share", isWhole: field.isWhole, unit: field.units[0] }) : null;
    this.control = this.made(id);
    this.slider = !this.scale ? null : make("input", {
      type: "range", class: "slide", min: 0, max: STEPS, step: 1, "aria-label": `${field.key}, slider`,
      input: () => this.slide(),
    });
    this.root = make("div", { class: `row shape-${field.shape}`, "data-key": field.key },
      make("label", { for: id, title: field.key }, name), this.slider, this.control, this.error);
    for (const event of ["focusin", "pointerenter"]) this.root.addEventListener(event, () => asked.help(this.field));
  }

  /** @param {string} id */
  made(id) {
    const { field } = this;
    const common = { id, name: field.key, "aria-describedby": `${id}-error` };
    if (field.shape === "flag") {
      return make("input", { ...common, type: "checkbox", change: (event) => this.asked.set(this.field, String(event.target.checked)) });
    }
    if (field.shape === "words" || field.shape === "component") {
      return make("select", { ...common, change: (event) => this.asked.set(this.field, event.target.value) },
        ...field.choices.map(({ name, about }) => make("option", { value: name, title: about }, name)));
    }
    return make("input", {
      ...common, type: "text", autocomplete: "off", spellcheck: "false", placeholder: field.optional ? "none" : "",
      input: (event) => this.write(event.target.value, TYPING_MS),
      change: (event) => this.write(event.target.value, 0),
      keydown: (event) => this.key(event),
    });
  }

  /** @param {string} text @param {number} wait */
  write(text, wait) {
    if (text.trim() === shown(this.field.value) && !this.isWrong) return;
    if (!text.trim() && this.field.optional) this.asked.clear(this.field);
    else this.asked.set(this.field, text.trim(), wait);
  }

  slide() {
    if (!this.slider || !this.scale) return;
    const text = this.scale.textAt(this.slider.valueAsNumber);
    /** @type {HTMLInputElement} */ (this.control).value = text;
    this.asked.set(this.field, text);
  }

  /** Arrows step a quantity. @param {KeyboardEvent} event */
  key(event) {
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!way || !this.scale) return;
    event.preventDefault();
    const control = /** @type {HTMLInputElement} */ (this.control);
    const place = this.scale.placeOf(control.value);
    let next = control.value;
    // Steps of few digits may need more than one place.
    for (let step = 1; next === control.value && step < 12; step += 1) {
      const to = Math.round(place) + way * step * (event.shiftKey ? 5 : 1);
      if (to < 0 || to > STEPS) return;
      next = this.scale.textAt(to);
    }
    control.value = next;
    this.asked.set(this.field, next);
  }

  /**
   * @param {Field} field
   * @param {string | null} pending what is wanted but not yet known to be valid
   * @param {boolean} isChanged
   */
  update(field, pending, isChanged) {
    this.field = field;
    this.root.classList.toggle("changed", isChanged);
    const text = pending ?? shown(field.value);
    const { control } = this;
    if (control instanceof HTMLSelectElement) control.value = text;
    else if (control.type === "checkbox") control.checked = text === "true";
    else if (document.activeElement !== control) {
      control.readOnly = text.length > MOST_TEXT;
      control.value = control.readOnly ? `${figure(text.length)} characters` : text;
    }
    if (this.slider && this.scale && document.activeElement !== this.slider) this.slider.value = String(this.scale.placeOf(text));
    if (this.slider) this.slider.setAttribute("aria-valuetext", text);
  }

  /** @param {import("studio/source").Problem | null} problem */
  tell(problem) {
    this.isWrong = problem !== null;
    this.error.hidden = !problem;
    this.error.textContent = problem ? `${sentenceOf(problem.message)} ${sentenceOf(problem.hint)}` : "";
    this.control.setAttribute("aria-invalid", String(problem !== null));
  }
}

/** @param {string} text */
export function sentenceOf(text) {
  if (!text) return "";
  return `${text[0].toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}
