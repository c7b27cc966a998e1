// What stands around the form and above the plots where runs can be made: presets, changes, undo, seed, variants, and how
// far a run is.

import { byId, figure, make, timeLeft } from "studio/dom";
import { showForm } from "studio/form";
import { colours, lookOf, swatch } from "studio/paint";
import { command, descriptionOf, keyOf, split, TEXT } from "studio/settings";
import { NAMES } from "studio/store";

/** @typedef {import("studio/source").Listed} Listed */

export class Bench {
  /**
   * @param {import("studio/store").Store} store
   * @param {import("studio/experiment").Experiment} experiment
   * @param {import("studio/form").Form} form
   * @param {Listed[]} scenarios
   */
  constructor(store, experiment, form, scenarios) {
    this.store = store;
    this.experiment = experiment;
    this.form = form;
    this.scenarios = scenarios;
    this.presets();
    const on = (/** @type {string} */ id, /** @type {() => void} */ call) => byId(id).addEventListener("click", call);
    on("undo", () => experiment.undo());
    on("redo", () => experiment.redo());
    on("copy", () => this.copy());
    on("stop", () => experiment.cancel());
    on("again", () => experiment.again());
    on("unfold", () => showForm(document.documentElement.dataset.form === undefined));
    on("copy-command", () => void copyText(byId("command").textContent ?? "", byId("copy-command")));
    const seed = /** @type {HTMLInputElement} */ (byId("seed"));
    seed.addEventListener("input", () => seed.checkValidity() && seed.value && experiment.reseed(seed.valueAsNumber));
    document.addEventListener("keydown", (event) => this.key(event));
    store.on(["wanted", "shown", "variants", "given", "theme", "flows"], () => this.tell());
    store.on(["progress", "stale"], () => this.tellProgress());
    this.tell();
    this.tellProgress();
  }

  /** A second variant to begin with; with several, the next one is shown. */
  copy() {
    const { variants, shown } = this.store.state;
    if (variants.length === 1) this.experiment.copy();
    else this.store.speakOf((shown + 1) % variants.length);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {Element} */ (event.target);
    if (event.altKey || target.matches("textarea, input[type=search]")) return;
    if (event.ctrlKey || event.metaKey) {
      const letter = event.key.toLowerCase();
      if (letter === "z" && !event.shiftKey) this.experiment.undo();
      else if (letter === "y" || letter === "z") this.experiment.redo();
      else return;
    } else if (event.key.toLowerCase() === "b" && !target.matches("input, select")) this.copy();
    else return;
    event.preventDefault();
  }

  /** The menu of scenarios, by group. */
  presets() {
    const list = byId("preset-list");
    const menu = byId("presets");
    const search = /** @type {HTMLInputElement} */ (byId("preset-search"));
    const fill = () => {
      const words = search.value.toLowerCase();
      const found = this.scenarios.filter(({ name, about }) => `${name} ${about}`.toLowerCase().includes(words));
      list.replaceChildren(...[...new Set(found.map(({ group }) => group))].flatMap((group) => [
        make("li", { class: "group-name" }, group),
        ...found.filter((own) => own.group === group).map(({ name, about }) => make("li", {}, make("button", {
          type: "button", click: () => {
            menu.removeAttribute("open");
            this.experiment.edit({ ...this.experiment.settings, base: name, set: [] });
          },
        }, make("b", {}, name), make("span", {}, about)))),
      ]));
    };
    search.addEventListener("input", fill);
    menu.addEventListener("toggle", () => menu.hasAttribute("open") && search.focus());
    fill();
  }

  tell() {
    const { variants, shown, wanted } = this.store.state;
    const settings = wanted[shown];
    if (!settings) return;
    const isText = settings.base.startsWith(TEXT);
    byId("preset").textContent = isText ? "own text" : settings.base;
    byId("preset-about").textContent = isText ? descriptionOf(settings.base.slice(TEXT.length)) || "A scenario of your own: see Text." : this.scenarios.find(({ name }) => name === settings.base)?.about ?? "";
    const seed = /** @type {HTMLInputElement} */ (byId("seed"));
    if (document.activeElement !== seed) seed.value = String(settings.seed);
    /** @type {HTMLButtonElement} */ (byId("undo")).disabled = !this.experiment.past.length;
    /** @type {HTMLButtonElement} */ (byId("redo")).disabled = !this.experiment.future.length;
    byId("command").textContent = command(settings);
    byId("unfold").textContent = settings.set.length ? `Changed: ${settings.set.length}` : "Change";
    this.tellChanges(settings);
    const { inks, quiet } = colours();
    const isOne = variants.length === 1;
    byId("variants").replaceChildren(...(isOne ? [] : variants.map(({ name, run }, n) => {
      const { ink, dash } = lookOf(n);
      const old = this.experiment.isOld(n) ? "an older run: its settings gave none, or it was stopped" : "";
      return make("span", { class: "variant" },
        make("button", {
          type: "button", "aria-pressed": String(n === shown), "aria-label": ["Show and edit " + name, old].filter(Boolean).join(", "), title: [run.what, old].filter(Boolean).join(", "), click: () => this.store.speakOf(n),
        }, swatch({ shape: "steps", width: 2, dash }, this.store.state.flows.length > 1 ? quiet : inks[ink]), name, old && " !"),
        n === shown ? make("button", { type: "button", class: "small", "aria-label": `Remove ${name}`, title: `Remove ${name}`, click: () => this.experiment.remove(n) }, "×") : null);
    })), ...(isOne || variants.length === NAMES.length ? [] : [make("button", {
      type: "button", title: `Copy ${NAMES[shown]} as ${NAMES[variants.length]}`, "aria-label": `Copy ${NAMES[shown]} as ${NAMES[variants.length]}`, click: () => this.experiment.copy(),
    }, "+")]));
    byId("copy").hidden = !isOne;
  }

  /** @param {import("studio/source").Settings} settings */
  tellChanges(settings) {
    const { wanted, shown } = this.store.state;
    byId("change-count").textContent = settings.set.length ? `Changed${wanted.length > 1 ? ` in ${NAMES[shown]}` : ""}: ${settings.set.length}` : "Nothing changed";
    byId("changes").replaceChildren(...settings.set.toReversed().map((change) => {
      const [key, value] = split(change);
      return make("li", {},
        make("button", { type: "button", class: "link", title: `Go to ${key}`, click: () => this.go(key) }, key), make("span", { title: value }, value),
        make("button", { type: "button", class: "small", title: `Take back ${key}`, "aria-label": `Take back ${key}`, click: () => this.experiment.change(key, null) }, "×"));
    }));
  }

  /** @param {string} key */
  go(key) {
    this.form.search.value = "";
    this.form.draw();
    this.form.reveal(key, true);
  }

  tellProgress() {
    const { progress, stale, wanted, variants } = this.store.state;
    const isBehind = stale && wanted.some((own, n) => variants[n]?.settings && keyOf(/** @type {any} */ (variants[n].settings)) !== keyOf(own));
    byId("busy").hidden = !progress;
    byId("again").hidden = !isBehind || Boolean(progress);
    if (!progress) return;
    /** @type {HTMLProgressElement} */ (byId("share")).value = progress.share;
    byId("now").textContent = [`${figure(100 * progress.share)} %`, timeLeft(progress.share, progress.since)].filter(Boolean).join(", ");
  }
}

/**
 * Put a text into the clipboard, and say so on the button.
 * @param {string} text
 * @param {HTMLElement} button
 */
export async function copyText(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
}
