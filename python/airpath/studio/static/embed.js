// A small model in a page of text: values to change, panels and figures that follow. Its address says what it is, as JSON
// behind the question mark; `tools/website/models.py` writes it. The embedding page is notified of its height, and sends its
// theme.

import { Air } from "studio/air";
import { figureTable } from "studio/compare";
import { byId, make } from "studio/dom";
import { Events } from "studio/events";
import { Experiment } from "studio/experiment";
import { sentenceOf } from "studio/field";
import { toLink } from "studio/link";
import { listenToMenus } from "studio/menus";
import { colours, lookOf, swatch } from "studio/paint";
import { Plots } from "studio/plots";
import { sourceOf } from "studio/source";
import { Store } from "studio/store";
import { sentence } from "studio/words";

/** @typedef {import("studio/source").Settings} Settings */
/** @typedef {import("studio/store").Made} Made */
/**
 * A value to change: one of `values`, called as in `words`; `first` is a place among them.
 * @typedef {{name: string, values: string[], words: string[], first: number}} Change
 */
/** A run, and the keys that each change sets in it; the keys `scenario` and `seed` are its base and seed. @typedef {{name: string, base: string, set: string[], takes: string[][]}} Own */
/**
 * What is shown; panels and figures by their names.
 * @typedef {{runs: Own[], changes: Change[], panels: string[], figures: string[], range: [number, number] | null, air: boolean}} Wanted
 */

/** The state, once a run is there: for tests and debugging. @type {Store | null} */
export let store = null;

/** Keys that are none of a scenario. */
const SPECIAL = ["scenario", "seed"];

/** @type {Wanted} */
const wanted = JSON.parse(decodeURIComponent(location.search.slice(1)));
/** Places of the chosen values. */
const chosen = wanted.changes.map(({ first }) => first);
const root = document.documentElement;

window.addEventListener("message", ({ data, origin }) => {
  if (origin !== location.origin || typeof data.theme !== "string") return;
  root.dataset.theme = data.theme;
  store?.set({ theme: data.theme });
});
new ResizeObserver(report).observe(document.body);
root.toggleAttribute("data-air", wanted.air);
listenToMenus();
first();

/** Tell the page around. */
function report() {
  parent.postMessage({ height: document.body.offsetHeight, runs: root.dataset.ready === "run" }, location.origin);
}

/** What each run is made from, by the chosen values. @returns {Settings[]} */
function settings() {
  return wanted.runs.map(({ base, set, takes }) => {
    const changes = takes.flatMap((keys, n) => keys.map((key) => ({ key, value: wanted.changes[n].values[chosen[n]] })));
    const others = changes.filter(({ key }) => !SPECIAL.includes(key)).map(({ key, value }) => `${key}=${value}`);
    const value = (/** @type {string} */ name) => changes.find(({ key }) => key === name)?.value;
    return { base: value("scenario") ?? base, set: [...set, ...others], seed: Number(value("seed")) };
  });
}

function first() {
  const { engine } = sourceOf(document);
  const events = new Events();
  /** @type {import("studio/source").Run | null} */
  let run = null;
  const [own] = settings();
  engine?.run(own, {
    run: (made) => (run = made),
    events: (chunk) => events.add(chunk),
    ended: () => run && void show({ run, events, settings: own }, engine),
    error: (problem) => {
      tell(problem);
      root.dataset.ready = "error";
    },
  });
}

/** @param {Made} made @param {import("studio/source").Engine} engine */
async function show(made, engine) {
  const own = new Store(made);
  own.set({ theme: root.dataset.theme ?? "" });
  const experiment = new Experiment(own, engine);
  if (wanted.runs.length > 1) tell(await experiment.load(settings(), 0));
  store = own;
  byId("values").replaceChildren(...wanted.changes.map((change, n) => field(change, n, () => experiment.want(settings(), 0))));
  new Plots(own, wanted.panels);
  if (wanted.air) new Air(own, () => {});
  own.on(["variants", "theme"], figures);
  own.on(["problem"], () => tell(own.state.problem));
  own.on(["chosen", "variants"], () => {
    const { state: { chosen: place }, run, events } = own;
    const table = place && events.table(place.kind);
    if (table && place) byId("said").textContent = `${(table.columns.time_ns.values[place.row] / 1e9).toFixed(3)} s: ${sentence(run, place.kind, table, place.row)}`;
    else if (!own.state.problem) byId("said").textContent = "Click into a plot: what happened there? Drag to zoom.";
  });
  own.on(["range"], () => {
    byId("out").hidden = own.state.range[1] - own.state.range[0] >= own.length;
  });
  byId("out").addEventListener("click", () => own.whole());
  figures();
  if (wanted.range) own.show(...wanted.range);
  if (wanted.air && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const [from, to] = own.state.range;
    own.set({ at: from, playing: true });
    // The page may be hidden.
    own.on(["at"], () => own.state.playing && (own.state.at ?? 0) > to && own.set({ playing: false }));
  }
  requestAnimationFrame(() => {
    root.dataset.ready = "run";
    report();
  });
}

/** A slider where values are quantities, else a list. @type {(change: Change, n: number, run: () => void) => HTMLElement} */
function field({ name, values, words, first }, n, run) {
  const choose = (/** @type {number} */ place) => {
    chosen[n] = place;
    run();
  };
  if (!values.every((value) => /^\d/.test(value))) {
    return make("label", {}, make("span", {}, name), make("select", { change: (event) => choose(event.target.selectedIndex) },
      ...words.map((word, place) => make("option", { selected: place === first }, word))));
  }
  const told = make("output", {}, words[first]);
  const slider = make("input", {
    type: "range", min: 0, max: values.length - 1, value: first, "aria-valuetext": words[first],
    input: () => {
      told.textContent = words[slider.valueAsNumber];
      slider.setAttribute("aria-valuetext", words[slider.valueAsNumber]);
      choose(slider.valueAsNumber);
    },
  });
  return make("label", {}, make("span", {}, name), told, slider);
}

/** The legend of the runs, their figures, and the way to the studio. */
function figures() {
  if (!store) return;
  const { variants } = store.state;
  const { inks } = colours();
  const names = wanted.runs.map(({ name }) => name);
  byId("shown").replaceChildren(...variants.map((_, n) => {
    const { ink, dash } = lookOf(n);
    return make("li", {}, swatch({ shape: "steps", width: 2, dash }, inks[ink]), names[n]);
  }));
  byId("shown").hidden = variants.length < 2;
  byId("figures").replaceChildren(figureTable(store, names, wanted.figures));
  const link = toLink({ settings: settings(), shown: 0, range: null, at: null, flows: null });
  byId("studio").setAttribute("href", new URL(`index.html${link}`, location.href).href);
}

/** @param {import("studio/source").Problem | null} problem */
function tell(problem) {
  if (problem) byId("said").textContent = `${problem.path}: ${problem.message}. ${sentenceOf(problem.hint)}`;
}
