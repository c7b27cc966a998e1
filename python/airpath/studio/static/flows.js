// Which flows are shown: the busiest at first, others by choice.

import { byId, figure, make } from "studio/dom";
import { colours, lookOf, swatch } from "studio/paint";

/** Most flows at once: more cannot be told apart. */
export const MOST_FLOWS = 8;
/** Most flows in the list; others are found by their names. */
const MOST_ROWS = 200;

/** @param {import("studio/store").Store} store */
export function chooseFlows(store) {
  const list = byId("flow-list");
  const search = /** @type {HTMLInputElement} */ (byId("flow-search"));
  const menu = byId("flows");

  function fill() {
    const { run } = store;
    const { flows } = run.summary;
    menu.hidden = flows.length < 2;
    document.documentElement.toggleAttribute("data-one-flow", flows.length < 2);
    search.hidden = flows.length <= 12;
    const carried = (/** @type {number} */ place) => Math.max(flows[place].bytes_acked ?? 0, flows[place].bytes_received ?? 0);
    const busiest = flows.map((_, place) => place).sort((a, b) => carried(b) - carried(a));
    const shown = new Set(store.state.flows);
    const words = search.value.toLowerCase();
    const found = busiest.filter((place) => run.names[place].toLowerCase().includes(words)).slice(0, MOST_ROWS);
    list.replaceChildren(...found.map((place) => make("li", {}, make("label", {},
      make("input", {
        type: "checkbox", checked: shown.has(place), disabled: !shown.has(place) && shown.size >= MOST_FLOWS,
        change: (event) => toggle(place, event.target.checked),
      }),
      make("span", { class: "name" }, run.names[place]),
      make("span", { class: "quiet" }, `${figure((flows[place].goodput_bps ?? 0) / 1e3)} kbit/s`)))));
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
      return make("li", {}, dot, run.names[place] ?? `flow ${place}`);
    });
    const looks = variants.length < 2 ? [] : variants.map(({ name, run: { title }, settings }, n) => {
      const { ink, dash } = lookOf(n);
      const line = swatch({ shape: "steps", width: 2, dash }, shown.length > 1 ? quiet : inks[ink]);
      // What all have in common needs no mention.
      const own = (settings?.set ?? []).filter((change) => !variants.every((other) => other.settings?.set.includes(change)));
      const told = [title, ...own].join(", ");
      return make("li", { title: told }, line, `${name}: ${told}`);
    });
    byId("shown").replaceChildren(...looks, ...names);
  }

  search.addEventListener("input", fill);
  store.on(["flows", "variants", "shown"], fill);
  store.on(["theme"], tell);
  fill();
}
