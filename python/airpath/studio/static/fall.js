// The waterfall of a run: its connections from the analysis of its packets, which is made when it is opened. It takes the
// place of the plots; a click on a row leads back to those of its flow.

import { byId } from "studio/dom";
import { hostOf, objectsOf, rowOf } from "studio/phases";
import { Waterfall } from "studio/waterfall";

/** @typedef {import("studio/source").Run} Run */

/** Addresses and ports of the UEs in captures: `crates/core/src/wire/whole.rs`. */
const FIRST_UE = 0x0a400001;
const FIRST_UE6 = /^fd00::1:([0-9a-f]+:[0-9a-f]+)$/;
const CLIENT_PORT = 49_152;
/** Shortest time that is shown of a row, seconds. */
const LEAST_S = 1e-3;

export class Fall {
  /** @param {import("studio/store").Store} store @param {import("studio/source").Engine | null} engine */
  constructor(store, engine) {
    this.store = store;
    this.engine = engine;
    this.isAsking = false;
    this.place = byId("fall");
    this.button = byId("to-fall");
    this.waterfall = new Waterfall(this.place, (row) => this.choose(row));
    /** The run whose rows are shown. @type {Run | null} */
    this.of = null;
    this.button.addEventListener("click", () => this.toggle());
    store.on(["variants", "shown"], () => this.renew());
    store.on(["flows"], () => this.mark());
    this.renew();
  }

  /** @param {boolean} isOpen */
  open(isOpen) {
    this.place.hidden = !isOpen;
    for (const id of ["strip", "shown", "plots"]) byId(id).hidden = isOpen;
    this.button.setAttribute("aria-pressed", String(isOpen));
    this.renew();
  }

  /** Open or close it, if there is one. */
  toggle() {
    if (!this.button.hidden) this.open(this.place.hasAttribute("hidden"));
  }

  /** Take the connections of another run. */
  renew() {
    const { run, state: { variants, shown } } = this.store;
    const settings = this.engine && variants[shown].settings;
    this.button.hidden = run.waterfall ? !run.waterfall.length : !settings || !run.summary.flows.length;
    if (this.button.hidden && !this.place.hidden) this.open(false);
    if (this.place.hidden || this.of === run) return;
    if (!run.waterfall) return settings ? void this.ask(run, settings) : undefined;
    this.of = run;
    this.waterfall.fill(rowsOf(run, run.waterfall));
    this.mark();
  }

  /** Have the packets of a run analysed: of runs that follow each other quickly, the last one next. @param {Run} run @param {import("studio/source").Settings} settings */
  async ask(run, settings) {
    if (this.isAsking || !this.engine) return;
    this.isAsking = true;
    this.of = null;
    this.waterfall.wait("The packets are being analysed …");
    try {
      run.waterfall = await this.engine.waterfall(settings);
    } catch (problem) {
      const { path, message, hint } = /** @type {import("studio/source").Problem} */ (problem);
      this.of = run;
      this.waterfall.wait(`${path}: ${message}; ${hint}`);
    }
    this.isAsking = false;
    this.renew();
  }

  mark() {
    const { flows } = this.store.state;
    this.waterfall.mark(flows.length === 1 ? String(flows[0]) : "");
  }

  /** Show the plots of a row's flow, in its time. @param {import("studio/phases").Row} row */
  choose(row) {
    const place = Number(row.key.split("/")[0]);
    if (place >= 0) this.store.set({ flows: [place] });
    this.open(false);
    this.store.show(row.start, Math.max(row.end, row.start + LEAST_S));
  }
}

/** The connections of a run, with the names of its flows. @type {(run: Run, told: import("studio/phases").Told[]) => import("studio/phases").Row[]} */
function rowsOf(run, all) {
  const places = new Map(run.summary.flows.map(({ ue, flow }, place) => [`${ue}/${flow}`, place]));
  return all.map((told, n) => {
    const place = [told.client, told.server].map(flowOf).map((own) => places.get(own)).find((own) => own !== undefined);
    const label = place === undefined ? `${told.client} > ${told.server}` : run.names[place];
    const host = place === undefined ? hostOf(told.client) : `UE ${run.summary.flows[place].ue}`;
    const row = rowOf(told, place === undefined ? String(-1 - n) : String(place), label, host);
    const [page, connection] = pageOf(run.summary.flows, place);
    return page?.web?.waterfall ? { ...row, objects: objectsOf(row, page.web.waterfall, connection, page.start_s) } : row;
  });
}

/** The flow that tells of the page of the flow in this place, and the number of its connection. @type {(flows: Run["summary"]["flows"], place: number | undefined) => [Run["summary"]["flows"][number] | undefined, number]} */
function pageOf(flows, place) {
  let at = place ?? -1;
  while (at >= 0 && flows[at].app === "web" && !flows[at].web) at -= 1;
  return [flows[at], (place ?? -1) - at];
}

/** UE and flow whose end has this address and port; empty if none has. @param {string} end */
function flowOf(end) {
  const host = hostOf(end);
  const flow = Number(end.slice(end.lastIndexOf(":") + 1)) - CLIENT_PORT;
  const [, low] = FIRST_UE6.exec(host) ?? [];
  const ue = low ? low.split(":").reduce((sum, part) => sum * 65_536 + parseInt(part, 16), 0) - 1
    : host.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) - FIRST_UE;
  return ue >= 0 && flow >= 0 ? `${ue}/${flow}` : "";
}
