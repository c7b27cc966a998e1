// Opened sweeps and reproductions: they cover the run until one of their runs is chosen.

import { byId, make } from "studio/dom";
import { PaperView } from "studio/paper";
import { SweepView } from "studio/sweep";

/** @typedef {import("studio/sweep").Sweep | import("studio/paper").Paper} Study */

/**
 * @param {Study[]} studies
 * @param {(settings: import("studio/source").Settings) => Promise<import("studio/source").Problem | null>} load
 */
export function showStudies(studies, load) {
  const place = byId("study");
  const button = byId("to-study");
  const main = /** @type {HTMLElement} */ (document.querySelector("main"));
  const problem = make("p", { class: "error", role: "alert", hidden: true });
  const choice = make("select", { "aria-label": "Which" }, ...studies.map(({ title }, n) => make("option", { value: n }, title)));
  const views = studies.map((study) => {
    const view = make("div", { class: "study-of" });
    place.append(view);
    return { study, view };
  });
  place.prepend(...(studies.length > 1 ? [make("div", { class: "fields-of" }, choice)] : []), problem);
  choice.addEventListener("change", pick);
  button.addEventListener("click", () => cover(place.hidden !== false));
  place.tabIndex = -1;
  place.addEventListener("keydown", (event) => {
    if (event.key === "Escape") cover(false);
    event.stopPropagation(); // The keys of the run below have no meaning here.
  });
  const header = /** @type {HTMLElement} */ (document.querySelector("header"));
  new ResizeObserver(() => {
    place.style.top = `${header.offsetHeight}px`;
  }).observe(header);
  button.hidden = false;
  cover(true);
  for (const { study, view } of views) {
    if (study.kind === "sweep") new SweepView(view, study, open);
    else new PaperView(view, study, open);
  }
  pick();

  function pick() {
    views.forEach(({ view }, n) => {
      view.hidden = n !== Number(choice.value);
    });
    button.textContent = studies[Number(choice.value)].kind === "sweep" ? "Figure" : "Paper";
  }

  /** @param {boolean} covers */
  function cover(covers) {
    place.hidden = !covers;
    main.inert = covers;
    button.setAttribute("aria-pressed", String(covers));
    (covers ? place : button).focus();
    button.title = covers ? "Show the run (Esc)" : "Show the figure";
  }

  /** @param {import("studio/source").Settings} settings */
  async function open(settings) {
    const wrong = await load(settings);
    problem.hidden = !wrong;
    if (wrong) problem.textContent = `${wrong.path}: ${wrong.message}; ${wrong.hint}`;
    else cover(false);
  }
}
