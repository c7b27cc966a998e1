// Puts the page together: a source, the state, and the screens on it.

import { byId, figure, make } from "studio/dom";
import { Events } from "studio/events";
import { chooseFlows } from "studio/flows";
import { listenToKeys } from "studio/keys";
import { Plots } from "studio/plots";
import { showResults, showScenario } from "studio/results";
import { curvesOf } from "studio/series";
import { sourceOf } from "studio/source";
import { Store } from "studio/store";
import { Strip } from "studio/strip";
import { EventTable } from "studio/table";
import { sentence, whose } from "studio/words";

/** @typedef {import("studio/source").Run} Run */

/** Words are told when the cursor rests, milliseconds. */
const REST_MS = 120;

/** The state, once a run is there: for tests, and for those who look behind. @type {Store | null} */
export let store = null;

const events = new Events();
/** @type {Run | null} */
let opened = null;
void sourceOf(document).open({
  run: (run) => {
    opened = run;
  },
  events: (chunk) => events.add(chunk),
  ended: () => opened && show(opened),
  error: ({ path, message, hint }) => {
    byId("said").textContent = `${path}: ${message}; ${hint}`;
    document.documentElement.dataset.ready = "error";
  },
});

/** @param {Run} run */
function show(run) {
  const own = new Store({ run, events, settings: null });
  store = own;
  own.on(["variants", "shown"], () => tellRun(own.run));
  tellRun(run);
  chooseFlows(own);
  const plots = new Plots(own);
  new Strip(own);
  const table = new EventTable(own);
  const page = { tab: tabs(table), theme: () => own.set({ theme: nextTheme(own.state.theme) }) };
  own.on(["theme"], () => {
    document.documentElement.dataset.theme = own.state.theme;
  });
  listenToKeys(own, plots, table, page);
  tellInstant(own);
  requestAnimationFrame(() => {
    document.documentElement.dataset.ready = "run";
  });
}

/** @param {Run} run */
function tellRun(run) {
  const { summary } = run;
  byId("title").textContent = run.title;
  document.title = `${run.title} - airpath`;
  byId("about").textContent = [
    "live" in summary ? "live" : "simulated", `seed ${summary.seed}`, `${figure(summary.simulated_s, 2)} s`,
    ...(summary.complete ? [] : ["ended early"]),
  ].join(" · ");
  showResults(run);
  showScenario(run);
}

/** @param {string} theme */
function nextTheme(theme) {
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return isDark ? "light" : "dark";
}

/**
 * Tabs beside the plots.
 * @param {EventTable} table
 * @returns {(name: string) => void} opens one
 */
function tabs(table) {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[role=tab]")]);
  /** @param {string} name */
  function open(name) {
    for (const tab of all) {
      const isOpen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(isOpen));
      tab.tabIndex = isOpen ? 0 : -1;
      byId(`tab-${tab.dataset.tab}`).hidden = !isOpen;
    }
    if (name === "events") void table.ready().then(() => table.reveal());
  }
  all.forEach((tab, n) => {
    tab.addEventListener("click", () => open(tab.dataset.tab ?? ""));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: n + 1, ArrowLeft: n - 1, Home: 0, End: all.length - 1 }[event.key];
      if (to === undefined) return;
      const next = all[(to + all.length) % all.length];
      next.focus();
      open(next.dataset.tab ?? "");
      event.preventDefault();
    });
  });
  return open;
}

/** Tell what happened at the chosen instant. @param {Store} own */
function tellInstant(own) {
  const hint = byId("said").textContent;
  let rest = 0;
  own.on(["chosen", "at", "variants", "shown"], () => {
    document.documentElement.toggleAttribute("data-chosen", own.state.at !== null);
    clearTimeout(rest);
    rest = window.setTimeout(() => {
      const { run, events, state: { at, chosen } } = own;
      const found = chosen && events.table(chosen.kind);
      byId("instant").textContent = at === null ? "What happened?" : `${at.toFixed(6)} s${found && chosen ? `, ${whose(found, chosen.row)}` : ""}`;
      byId("said").textContent = found && chosen ? sentence(run, chosen.kind, found, chosen.row) : at === null ? hint : "";
      byId("then").replaceChildren(...(at === null ? [] : standing(own, at)));
    }, REST_MS);
  });
}

/**
 * How things stood at an instant, for the flow of the chosen event.
 * @param {Store} own
 * @param {number} at
 */
function standing(own, at) {
  const { chosen, shown } = own.state;
  const curves = curvesOf(own.state).filter(({ variant }) => variant === shown);
  const columns = chosen && own.events.table(chosen.kind)?.columns;
  const ue = columns?.ue.values[chosen?.row ?? 0];
  const flow = columns?.flow?.values[chosen?.row ?? 0];
  const lines = (curves.find(({ from }) => from.ue === ue && (flow === undefined || from.flow === flow)) ?? curves[0])?.lines ?? {};
  /** @type {[string, string, number, string][]} */
  const wanted = [
    ["cwnd", "cwnd", 0, ""], ["in flight", "flight", 0, ""], ["ssthresh", "ssthresh", 0, ""], ["RTT", "rtt", 0, "ms"],
    ["timer", "rto", 0, "ms"], ["buffer", "queued", 0, "SDUs"], ["acknowledged", "acked", 3, "MB"],
  ];
  return wanted.flatMap(([word, name, digits, unit]) => {
    const line = lines[name];
    const place = line ? line.x.findLastIndex((x) => x <= at + 1e-9) : -1;
    if (!line || place < 0) return [];
    return [make("div", {}, make("dt", {}, word), make("dd", {}, figure(line.y[place], digits), unit ? make("small", {}, ` ${unit}`) : null))];
  });
}
