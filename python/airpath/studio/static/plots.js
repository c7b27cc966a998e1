// The plots: panels with one time axis, of all variants.

import { byId, make } from "studio/dom";
import { colours } from "studio/paint";
import { PanelView } from "studio/panel";
import { FEW, panelsFor } from "studio/panels";
import { curvesOf } from "studio/series";
import { spansOf } from "studio/spans";

const LEAST_PX = 64;
const MOST_PX = 260;
/** Panel height where the page scrolls as a whole: on phones. */
const PHONE_PX = 136;

export class Plots {
  /**
   * @param {import("studio/store").Store} store
   * @param {string[] | null} [wanted] names of the panels; all if absent
   */
  constructor(store, wanted = null) {
    this.store = store;
    this.wanted = wanted;
    this.curves = curvesOf(store.state);
    this.spans = spansOf(store);
    this.place = byId("panels");
    /** @type {PanelView[]} */
    this.views = [];
    this.colours = colours();
    this.variants = store.state.variants.length;
    store.on(["flows", "variants", "shown", "followed"], () => {
      this.spans = spansOf(store);
    });
    store.on(["flows", "folded"], () => this.build());
    store.on(["variants"], () => this.renew());
    store.on(["range", "variants", "shown", "followed"], () => this.draw());
    store.on(["at"], () => this.views.forEach((view) => view.pin()));
    store.on(["hover", "at"], () => this.views.forEach((view) => view.tell()));
    store.on(["theme"], () => this.recolour());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    new ResizeObserver(() => this.resize()).observe(byId("plots"));
    this.build();
  }

  build() {
    this.views.forEach((view) => view.plot?.destroy());
    this.curves = curvesOf(this.store.state);
    const panels = this.panels();
    const { folded } = this.store.state;
    this.views = panels.map((panel, n) => new PanelView(this, panel, n + 1, folded.has(panel.name)));
    const note = make("p", { class: "note" }, "The run has recorded no events that are plotted.");
    this.place.replaceChildren(...(panels.length ? this.views.map((view) => view.root) : [note]));
    this.resize();
  }

  /** Take the lines of other runs. Panels that stay are not rebuilt: that would take most of the time of a fast run. */
  renew() {
    const { length } = this.store.state.variants;
    this.curves = curvesOf(this.store.state);
    const panels = this.panels();
    const isSame = length === this.variants && panels.length === this.names.length && panels.every(({ name }, n) => name === this.names[n]);
    this.variants = length;
    if (!isSame) return this.build();
    this.views.forEach((view) => view.renew());
  }

  /** Whether details are left out. */
  get isBrief() {
    return this.curves.length > FEW || this.store.state.variants.length > 1;
  }

  /** The panels that have something to show. */
  panels() {
    const all = panelsFor(this.curves.map(({ lines }) => lines), this.isBrief);
    return all.filter(({ name }) => !this.wanted || this.wanted.includes(name));
  }

  /** Names of the panels that are there, from the top. */
  get names() {
    return this.views.map((view) => view.panel.name);
  }

  resize() {
    const room = byId("plots");
    const open = this.views.filter((view) => !view.folded);
    const last = open[open.length - 1];
    const heads = this.views.reduce((sum, view) => sum + (view.folded ? 30 : 27), 0);
    const free = room.clientHeight - heads - 36;
    const fair = Math.floor(free / Math.max(open.length, 1));
    const isPhone = matchMedia("(max-width: 1000px)").matches;
    const height = isPhone ? PHONE_PX : Math.min(Math.max(fair, LEAST_PX), MOST_PX);
    for (const view of open) view.size(this.place.clientWidth, height + (view === last ? 26 : 0), view === last);
    this.draw();
  }

  recolour() {
    this.colours = colours();
    this.build();
  }

  draw() {
    for (const view of this.views) view.draw();
  }
}
