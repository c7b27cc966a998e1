// Puts the page together: a source, the state, and the screens on it.

import { Air } from "studio/air";
import { byId, figure, make } from "studio/dom";
import { Events } from "studio/events";
import { Fall } from "studio/fall";
import { chooseFlows } from "studio/flows";
import { listenToKeys } from "studio/keys";
import { listenToMenus } from "studio/menus";
import { ObjectList } from "studio/objects";
import { openFirst } from "studio/opening";
import { Plots } from "studio/plots";
import { showResults, showScenario } from "studio/results";
import { curvesOf, placeAt } from "studio/series";
import { settingsOf, sourceOf } from "studio/source";
import { Store } from "studio/store";
import { Strip } from "studio/strip";
import { EventTable } from "studio/table";
import { tabs } from "studio/tabs";
import { sentence, whose } from "studio/words";

/** @typedef {import("studio/source").Run} Run */

/** How long the cursor must rest before the text is updated, milliseconds. */
const REST_MS = 120;

/** The state, once a run is there: for tests and debugging. @type {Store | null} */
export let store = null;

/** Of a live run that may be changed. @type {import("studio/steer").Steer | null} */
let steer = null;

listenToMenus();
const events = new Events();
/** @type {Run | null} */
let opened = null;
const source = sourceOf(document);
openFirst(source, {
  run: (run) => {
    opened = run;
    // Its latest events follow at once.
    if (run.goes_on !== undefined) queueMicrotask(() => void goOn(run));
  },
  events: (chunk) => events.add(chunk),
  ended: () => opened && opened.goes_on === undefined && void show(opened),
  error: ({ path, message, hint }) => {
    byId("said").textContent = `${path}: ${message}; ${hint}`;
    document.documentElement.dataset.ready = "error";
  },
});

/** @param {Run} run */
async function show(run) {
  const { engine } = source;
  const own = new Store({ run, events, settings: engine && settingsOf(run) });
  store = own;
  // Before the screens, which then find their colours.
  own.on(["theme"], () => {
    document.documentElement.dataset.theme = own.state.theme;
  });
  own.on(["variants", "shown"], () => tellRun(own.run));
  tellRun(run);
  chooseFlows(own);
  const plots = new Plots(own);
  new Strip(own);
  const fall = new Fall(own, engine);
  const table = new EventTable(own);
  const objects = new ObjectList(own);
  const tab = tabs(byId("more"), (name) => {
    if (name === "events") void table.ready().then(() => table.reveal());
    if (name === "packets") objects.ready();
  });
  const air = new Air(own, (packet) => {
    own.set({ followed: packet });
    tab("packets");
  });
  if (engine && run.steered) {
    const { Steer } = await import("studio/steer");
    steer = new Steer(run, engine, tab);
  }
  const page = { tab, theme: () => own.set({ theme: nextTheme(own.state.theme) }), waterfall: () => fall.toggle() };
  listenToKeys(own, plots, table, air, page);
  tellInstant(own);
  if (engine && own.state.variants[0].settings && !("live" in run.summary)) {
    document.documentElement.dataset.engine = "";
    tellRun(run);
    // Pages of finished runs do without this and all that it needs.
    const { edit } = await import("studio/edit");
    await edit(own, engine, tab);
  }
  requestAnimationFrame(() => {
    document.documentElement.dataset.ready = "run";
  });
}

/** Show a live run in progress, from its first packet. @param {Run} run */
async function goOn(run) {
  const { begin, follow } = await import("studio/follow");
  if (run.steered) steer?.show(run.steered);
  else if (!run.goes_on) steer?.end();
  if (store) follow(store, run);
  else if (run.summary.flows.length) {
    await show(run);
    if (store && run.goes_on) begin(store);
  } else {
    document.documentElement.dataset.waits = "";
    byId("said").textContent = run.goes_on ? "The link is up and waits for its first packet." : "The run has ended without a packet.";
  }
}

/** @param {Run} run */
function tellRun(run) {
  const { summary } = run;
  byId("title").textContent = run.title;
  document.title = `${[run.title, ...(run.what ? [run.what] : [])].join(", ")} - airpath`;
  byId("about").textContent = [
    "live" in summary ? "live" : "simulated", ...(run.what ? [run.what] : []), ...("engine" in document.documentElement.dataset ? [] : [`seed ${summary.seed}`]), `${figure(summary.simulated_s, 2)} s`,
    ...(run.goes_on ? ["now"] : summary.complete ? [] : ["ended early"]),
  ].join(" · ");
  showResults(run, (place) => store?.set({ flows: [place] }));
  showScenario(run);
}

/** @param {string} theme */
function nextTheme(theme) {
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return isDark ? "light" : "dark";
}

/** Tell what happened at the chosen instant. @param {Store} own */
function tellInstant(own) {
  const hint = byId("said").textContent;
  let rest = 0;
  own.on(["chosen", "at", "variants", "shown"], () => {
    document.documentElement.toggleAttribute("data-chosen", own.state.at !== null);
    document.documentElement.toggleAttribute("data-told", own.state.chosen !== null);
    clearTimeout(rest);
    rest = window.setTimeout(() => {
      const { run, events, state: { at, chosen } } = own;
      const found = chosen && events.table(chosen.kind);
      byId("instant").textContent = at === null ? "What happened?" : `${at.toFixed(6)} s${found && chosen ? `, ${whose(run, found, chosen.row)}` : ""}`;
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
  const lines = (curves.find(({ from }) => from.ue === ue && (flow === undefined || from.flow === flow)) ?? curves[0])?.lines;
  /** @type {[string, string, number, string][]} */
  const wanted = [
    ["cwnd", "cwnd", 0, ""], ["in flight", "flight", 0, ""], ["ssthresh", "ssthresh", 0, ""], ["RTT", "rtt", 0, "ms"],
    ["timer", "rto", 0, "ms"], ["buffer", "queued", 0, "SDUs"], ["acknowledged", "acked", 3, "MB"],
  ];
  return wanted.flatMap(([word, name, digits, unit]) => {
    const line = lines?.get(name);
    const place = line ? placeAt(line, at) : -1;
    if (!line || place < 0) return [];
    return [make("div", {}, make("dt", {}, word), make("dd", {}, figure(line.y[place], digits), unit ? make("small", {}, ` ${unit}`) : null))];
  });
}
