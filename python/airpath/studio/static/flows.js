// Which flows are shown: the busiest at first, others by choice; the list has what took longest first.

import { differencesOf } from "studio/differences";
import { byId, make } from "studio/dom";
import { arranged, COLUMNS, firstOf, labelsOf } from "studio/flowlist";
import { colours, lookOf, swatch } from "studio/paint";

/** Maximum flows at once: more cannot be distinguished. */
export const MOST_FLOWS = 8;
/** Most flows in the list; others are found by their names. */
const MOST_ROWS = 200;
/** Most differences of a variant in the legend. */
const MOST_TOLD = 3;
/** More than these are searched and ordered. */
const FEW_FLOWS = 8;

/** @param {import("studio/store").Store} store */
export function chooseFlows(store) {
  const list = byId("flow-list");
  const search = /** @type {HTMLInputElement} */ (byId("flow-search"));
  const menu = byId("flows");
  const order = /** @type {HTMLSelectElement} */ (byId("flow-order"));
  const first = byId("flow-first");
  order.append(...Object.entries(COLUMNS).map(([name, column]) => make("option", { value: name }, column.order)));

  function fill() {
    const { run } = store;
    const { flows } = run.summary;
    menu.hidden = flows.length < 2;
    document.documentElement.toggleAttribute("data-one-flow", flows.length < 2);
    byId("flow-find").hidden = flows.length <= FEW_FLOWS;
    const shown = new Set(store.state.flows);
    const labels = labelsOf(run);
    const groups = firstOf(arranged(run, { order: order.value, isUp: false, words: search.value }), MOST_ROWS);
    list.replaceChildren(...groups.flatMap(({ name, places }) => [
      ...(name ? [make("li", { class: "group-name" }, name)] : []),
      ...places.map((place) => make("li", {}, make("label", {},
        make("input", {
          type: "checkbox", checked: shown.has(place), disabled: !shown.has(place) && shown.size >= MOST_FLOWS,
          change: (event) => toggle(place, event.target.checked),
        }),
        make("span", { class: "name" }, labels[place]),
        make("span", { class: "quiet" }, `${COLUMNS.bytes.told(run, flows[place])} MB in ${COLUMNS.took.told(run, flows[place])} s`)))),
    ]));
    first.textContent = `Plot the first ${Math.min(MOST_FLOWS, groups.reduce((sum, { places }) => sum + places.length, 0))}`;
    byId("flow-hint").hidden = shown.size < MOST_FLOWS || flows.length <= MOST_FLOWS;
    tell();
  }

  /** @type {(place: number, isShown: boolean) => void} */
  function toggle(place, isShown) {
    const others = store.state.flows.filter((own) => own !== place);
    const next = isShown ? [...others, place].sort((a, b) => a - b) : others;
    // Without a flow there is nothing to show.
    if (next.length) store.set({ flows: next });
    else fill();
  }

  function tell() {
    const { run, state: { flows: shown, variants } } = store;
    byId("flow-count").textContent = `${shown.length} of ${run.names.length} flows`;
    const { inks, quiet } = colours();
    const names = shown.length < 2 ? [] : shown.map((place, n) => {
      const dot = make("span", { class: "dot", "aria-hidden": "true" });
      dot.style.background = inks[n];
      return make("li", {}, dot, labelsOf(run)[place] ?? `flow ${place}`);
    });
    const differences = variants.length < 2 ? [] : differencesOf(variants.map(({ run }) => run));
    const looks = variants.length < 2 ? [] : variants.map(({ name, run: { title }, settings }, n) => {
      const { ink, dash } = lookOf(n);
      const line = swatch({ shape: "steps", width: 2, dash }, shown.length > 1 ? quiet : inks[ink]);
      // Common settings are omitted; for another scenario its own changes are listed, not all differences.
      const isOther = differences[0]?.key === "scenario";
      const own = isOther ? [title, ...(settings?.set ?? [])] : differences.map(({ key, values }) => `${key} = ${values[n]}`);
      const more = own.length > MOST_TOLD ? ` and ${own.length - MOST_TOLD} more` : "";
      return make("li", { title: own.join(", ") }, line, `${name}: ${own.slice(0, MOST_TOLD).join(", ") || title}${more}`);
    });
    byId("shown").replaceChildren(...looks, ...names);
  }

  search.addEventListener("input", fill);
  order.addEventListener("change", fill);
  first.addEventListener("click", () => {
    const found = firstOf(arranged(store.run, { order: order.value, isUp: false, words: search.value }), MOST_FLOWS).flatMap(({ places }) => places);
    if (found.length) store.set({ flows: found.sort((a, b) => a - b) });
  });
  store.on(["flows", "variants", "shown"], fill);
  store.on(["theme"], tell);
  fill();
}
