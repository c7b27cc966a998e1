// The form: every key of a scenario, made from the schema. It edits the shown variant; the core's messages about a key are
// shown at the key.

import { byId, make } from "studio/dom";
import { Row, sentenceOf } from "studio/field";
import { Schema, shown } from "studio/schema";
import { changed, inline, isBelow, isRebuilt, parentOf, split, TEXT, valueAt } from "studio/settings";

/** @typedef {import("studio/schema").Field} Field */

/** The most used keys, shown before the fold. */
const FIRST = new Set([
  "duration", "way", "cell", "wired", "middlebox", "radio", "tcp", "flow", "downlink", "uplink", "rate", "delay", "loss", "queue", "packets",
  "rlc", "tti", "max_dat", "channel", "bler", "profile", "cc", "recovery", "undo", "initial_window", "sack", "app", "size",
  "ues", "scheduler", "alpha", "mean", "trace",
]);
/** Groups that are open at first. */
const OPEN = /^(wired|way\[\d+\](\.wired)?|(cell\[\d+\]\.)?radio\.\w+\.downlink|cell\[\d+\]|tcp|flow\[0\])$/;
/** A flow's or box's own TCP is for experts. */
const EXPERT = /\]\.(tcp|direction)$|^flow\[\d+\]\.rate$/;
/** Most keys that a search lists. */
const MOST_FOUND = 40;

export class Form {
  /**
   * @param {import("studio/store").Store} store
   * @param {import("studio/experiment").Experiment} experiment
   * @param {object} schema
   */
  constructor(store, experiment, schema) {
    this.store = store;
    this.experiment = experiment;
    this.schema = new Schema(schema);
    this.place = byId("fields");
    this.search = /** @type {HTMLInputElement} */ (byId("find-key"));
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {Map<string, boolean>} */
    this.opened = new Map();
    this.signature = "";
    this.search.addEventListener("input", () => this.draw());
    store.on(["resolved", "wanted", "shown", "problem"], () => this.draw());
    this.draw();
  }

  draw() {
    const { resolved } = this.store.state;
    if (!resolved) return;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fields = this.schema.fields(resolved.values);
    const signature = JSON.stringify([resolved.settings.base, words, shapeOf(fields)]);
    if (signature !== this.signature) this.build(fields, words);
    this.signature = signature;
    const { settings } = this.experiment;
    const isPending = resolved.settings !== settings;
    const wanted = new Map(settings.set.map(split));
    for (const field of flat(fields)) {
      this.rows.get(field.key)?.update(field, isPending ? wanted.get(field.key) ?? null : null, wanted.has(field.key));
    }
    this.tell();
  }

  /** @param {Field[]} fields @param {string[]} words */
  build(fields, words) {
    const active = document.activeElement;
    const held = active instanceof HTMLElement && this.place.contains(active) && active.id;
    this.rows = new Map();
    const found = words.length ? flat(fields).filter(({ shape }) => shape !== "table" && shape !== "list")
      .filter(({ key, about }) => words.every((word) => `${key} ${about}`.toLowerCase().includes(word))).slice(0, MOST_FOUND) : null;
    const rows = found ? found.map((field) => this.row(field, field.key)) : this.inside(fields, "");
    this.place.classList.toggle("found", Boolean(found));
    this.place.replaceChildren(...(rows.length ? rows : [make("p", { class: "quiet" }, "No key has this in its name or explanation.")]));
    if (held) /** @type {HTMLElement | null} */ (this.place.querySelector(`#${CSS.escape(held)}`))?.focus();
  }

  /** Rows and groups of a table; what is seldom wanted comes last, in a fold. @param {Field[]} fields @param {string} key @returns {Node[]} */
  inside(fields, key) {
    /** @type {Field[]} */
    const rest = [];
    const nodes = this.early(fields, rest);
    if (!rest.length) return nodes;
    const under = key ? key.length + 1 : 0;
    const names = rest.slice(0, 2).map((field) => field.key.slice(under).split(".").at(-1)).join(", ");
    const title = make("span", {}, `${rest.length} more`, make("small", {}, `${names}${rest.length > 2 ? ", …" : ""}`));
    return [...nodes, this.fold("more", `${key} more`, title, rest.flatMap((field) => this.nodes(field, rest, field.key.slice(under))))];
  }

  /** The fields before the fold; the others go to `rest`. @param {Field[]} fields @param {Field[]} rest @returns {Node[]} */
  early(fields, rest) {
    return fields.flatMap((field) => {
      const isFirst = FIRST.has(field.name.replace(/\[.*/, "")) && !EXPERT.test(field.key) && !isAbsent(field);
      if (isFirst) return this.nodes(field, rest);
      rest.push(field);
      return [];
    });
  }

  /** @type {(kind: string, key: string, title: Node, content: Node[]) => HTMLElement} */
  fold(kind, key, title, content) {
    const isOpen = this.opened.get(key) ?? OPEN.test(key);
    return make("details", {
      class: kind, "data-group": key, open: isOpen, toggle: (event) => this.opened.set(key, event.target.open),
    }, make("summary", {}, title), ...content);
  }

  /** @param {Field} field @param {Field[]} rest takes what is behind the fold @param {string} [name] @returns {Node[]} */
  nodes(field, rest, name = field.name) {
    if (field.shape === "table") {
      if (isAbsent(field)) {
        return [make("div", { class: "row", "data-key": field.key, pointerenter: () => this.help(field) }, make("label", {}, name),
          make("button", { type: "button", class: "small", click: () => this.set(field, "{}"), "aria-label": `Add ${field.key}` }, "add"))];
      }
      // Items of a list may have names, such as those of cells.
      const title = field.key.endsWith("]") && typeof field.value?.name === "string" ? make("small", {}, field.value.name) : null;
      return [this.fold("group", field.key, make("span", {}, field.key, title, this.remover(field)), this.inside(field.children, field.key))];
    }
    if (field.shape === "list") return [this.adder(field), ...field.children.flatMap((child) => this.nodes(child, rest))];
    const row = this.row(field, name);
    if (field.shape !== "component") return [row];
    if (field.key.endsWith("]")) row.append(/** @type {Node} */ (this.remover(field)));
    // Behind the fold itself there is no other fold.
    const children = rest.includes(field) ? field.children.flatMap((child) => this.nodes(child, rest)) : this.early(field.children, rest);
    return [row, ...(children.length ? [make("div", { class: "nest" }, ...children)] : [])];
  }

  /** @param {Field} field @param {string} name */
  row(field, name) {
    const { origin } = this.store.state.resolved ?? {};
    const first = shown(valueAt(origin, field.key) ?? field.value ?? field.fallback);
    const row = new Row(field, first, this, name);
    this.rows.set(field.key, row);
    return row.root;
  }

  /** A button that takes an item of a list away, or a table that need not be there. @param {Field} field */
  remover(field) {
    const [, list, n] = /^(.*)\[(\d+)\]$/.exec(field.key) ?? [];
    if (!list && !field.optional) return null;
    return make("button", {
      type: "button", class: "small", title: `Remove ${field.key}`, "aria-label": `Remove ${field.key}`, click: (event) => {
        event.preventDefault();
        if (!list) return this.clear(field);
        const items = this.value(list).filter((/** @type {any} */ _, /** @type {number} */ at) => at !== Number(n));
        this.fill(list, items);
      },
    }, "×");
  }

  /** The name of a list, and a control that adds an item to it. @param {Field} field */
  adder(field) {
    const items = field.value ?? [];
    const add = (/** @type {any} */ item) => this.fill(field.key, [...items, item]);
    const control = field.choices.length
      ? make("select", {
        "aria-label": `Add to ${field.key}`, change: (event) => {
          const { value } = event.target;
          event.target.value = "";
          add({ [value]: {} });
        },
      }, make("option", { value: "" }, "add …"), ...field.choices.map(({ name, about }) => make("option", { value: name, title: about }, name)))
      : make("button", { type: "button", class: "small", "aria-label": `Add to ${field.key}`, click: () => add(items.at(-1) ?? {}) }, "add");
    return make("div", { class: "row", "data-key": field.key, pointerenter: () => this.help(field), focusin: () => this.help(field) }, make("label", {}, field.name), control);
  }

  /** @param {string} key */
  value(key) {
    return valueAt(this.store.state.resolved?.values, key) ?? [];
  }

  /** Set a list. @param {string} key @param {any[]} items */
  fill(key, items) {
    const text = inline(items);
    this.experiment.change(key, text === inline(valueAt(this.store.state.resolved?.origin, key) ?? []) ? null : text);
  }

  /** Set a key; what the base has anyway is no change. @type {(field: Field, text: string, wait?: number) => void} */
  set(field, text, wait) {
    const { experiment, store: { state: { resolved } } } = this;
    const before = valueAt(resolved?.origin, field.key);
    const own = field.shape === "component" ? Object.keys(before ?? {})[0] : shown(before);
    const isBase = own === text && before !== undefined && !isRebuilt(experiment.settings, field.key);
    experiment.change(field.key, isBase ? null : text, wait);
  }

  /** Remove a value. A change cannot express that, so the enclosing table is rewritten without it. @param {Field} field */
  clear(field) {
    const { experiment, store: { state: { resolved } } } = this;
    if (!resolved) return;
    const without = changed(experiment.settings, field.key, null);
    if (valueAt(resolved.origin, field.key) === undefined && !isRebuilt(experiment.settings, field.key)) return experiment.edit(without, field.key);
    const above = parentOf(field.key);
    const table = structuredClone(above ? valueAt(resolved.values, above) : resolved.values);
    delete table[field.name];
    if (above) experiment.change(above, inline(table));
    else experiment.edit({ ...without, base: TEXT + Object.entries(table).map(([key, own]) => `${key} = ${inline(own)}\n`).join(""), set: [] });
  }

  /** Explain a field. @param {Field} field */
  help(field) {
    const chosen = field.choices.find(({ name }) => name === field.value);
    const standard = typeof field.fallback === "object" ? "" : shown(field.fallback);
    byId("help-key").textContent = field.key;
    byId("help-text").textContent = [
      field.about, chosen ? `${sentenceOf(`${chosen.name}: ${chosen.about}`)}` : "", standard ? `Default: ${standard}.` : "",
    ].filter(Boolean).join(" ");
  }

  /** Put what is wrong at its key; what has no key stands above the fields. */
  tell() {
    const { problem } = this.store.state;
    const key = (problem?.path ?? "").replaceAll(/\.(\d+)(?=\.|$)/g, "[$1]");
    const at = problem ? [...this.rows.keys()].filter((own) => isBelow(key, own) || isBelow(own, key)).sort((a, b) => near(b, key) - near(a, key))[0] : undefined;
    for (const [own, row] of this.rows) row.tell(own === at ? problem : null);
    const place = byId("problem");
    place.hidden = !problem || at !== undefined;
    place.textContent = problem ? `${problem.path ? `${problem.path}: ` : ""}${problem.message}. ${sentenceOf(problem.hint)}` : "";
    if (at) this.reveal(at, false);
  }

  /** Open the groups around a key. @param {string} key @param {boolean} andFocus */
  reveal(key, andFocus) {
    const row = this.rows.get(key) ?? this.rows.get([...this.rows.keys()].find((own) => isBelow(own, key)) ?? "");
    if (!row) return;
    showForm(true);
    for (let fold = row.root.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null) fold.open = true;
    if (andFocus) row.control.focus();
    row.root.scrollIntoView({ block: "nearest" });
  }
}

/** Open the form, or fold it: where there is little room it is folded at first. @param {boolean} isOpen */
export function showForm(isOpen) {
  const { dataset } = document.documentElement;
  if (isOpen) dataset.form = "";
  else delete dataset.form;
  byId("unfold").setAttribute("aria-expanded", String(isOpen));
}

/** @param {Field} field */
function isAbsent(field) {
  return field.optional && field.shape === "table" && field.value === undefined;
}

/** How many letters two keys have in common at their begin. @param {string} a @param {string} b */
function near(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

/** @param {Field[]} fields @returns {Field[]} */
function flat(fields) {
  return fields.flatMap((field) => [field, ...flat(field.children)]);
}

/** What makes a form another one: its keys and chosen components. @param {Field[]} fields */
function shapeOf(fields) {
  return flat(fields).map(({ key, shape, value }) => [key, shape === "component" ? value : shape === "table" ? value !== undefined : 0]);
}
