// The path, animated: one picture for each variant under the same cursor, the words to it, and what a click chooses.

import { byId, make } from "studio/dom";
import { labelsOf } from "studio/flowlist";
import { graphOf } from "studio/graph";
import { heightOf } from "studio/lanes";
import { hasModel, modelOf } from "studio/model";
import { Player } from "studio/player";
import { colours } from "studio/paint";
import { Scene } from "studio/scene";
import { momentOf } from "studio/standing";

/** @typedef {import("studio/store").Store} Store */
/** @typedef {import("studio/source").Flow} Flow */

/** How long the cursor must rest before the text is updated, milliseconds; while it moves, the update interval. */
const REST_MS = 150;
const MOVING_MS = 250;
/** The model of another run is made this long after its plots, milliseconds. */
const AFTER_MS = 80;
/** How long a drop is seen, seconds on the clock, and at most in the run. */
const FALL_S = 0.7;
const MOST_FALL_S = 2;
const LEAST_FALL_S = 0.01;
/** Largest share of the column for the paths of several variants; beyond that only the shown variant's path is drawn. */
const MOST_SHARE = 0.45;
/** What stands around the paths, pixels. */
const AROUND_PX = 100;
/** What colours and shapes mean: a sample and its words. */
const LEGEND = [
  ["data", "new data"], ["again", "retransmission"], ["late", "retransmission after a timeout"], ["ack", "ACK"],
  ["flag", "ACK with the RNC's flag"], ["kept", "sent, kept until RLC confirms it"], ["pdu", "PDU"], ["pdu-again", "retransmitted PDU"],
  ["pdu-lost", "lost on the radio"], ["hole", "gap: PDU not received yet"], ["status", "STATUS PDU"], ["block", "block of a shared cell, with the UE's number"], ["block-again", "HARQ retransmission"],
];

export class Air {
  /**
   * @param {Store} store
   * @param {(packet: number) => void} follow
   */
  constructor(store, follow) {
    this.store = store;
    this.follow = follow;
    this.root = byId("air");
    this.place = byId("scenes");
    this.said = byId("moment");
    this.clock = byId("clock");
    /** Pictures, and the variant that each is of. @type {{scene: Scene, variant: number}[]} */
    this.scenes = [];
    this.column = /** @type {HTMLElement} */ (this.root.parentElement);
    this.rest = 0;
    this.making = 0;
    this.isNew = true;
    this.from = store.events.from;
    this.lastTold = 0;
    this.theme = themeOf();
    this.whose = /** @type {HTMLSelectElement} */ (byId("whose"));
    this.whose.addEventListener("change", () => this.draw());
    this.player = new Player(store, () => this.grid());
    byId("air-fold").addEventListener("click", () => store.fold("air"));
    byId("lost").addEventListener("click", () => this.lost(1));
    byId("legend-list").append(...LEGEND.map(([name, words]) => make("li", {}, make("i", { class: `sample ${name}`, "aria-hidden": "true" }), words)));
    store.on(["variants", "shown", "flows"], () => this.offer());
    store.on(["variants", "folded", "shown"], () => (this.isBuilt ? this.draw() : this.build()));
    store.on(["at", "flows", "shown", "followed", "range"], () => this.draw());
    store.on(["playing"], () => this.tell());
    store.on(["theme"], () => this.recolour());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    new ResizeObserver(() => this.resize()).observe(this.place);
    new ResizeObserver(() => this.isBuilt || this.build()).observe(this.column);
    this.offer();
    this.build();
  }

  /** Offer the shown flows, where there are several. */
  offer() {
    const { flows } = this.store.state;
    const { value } = this.whose;
    this.whose.replaceChildren(...flows.map((place) => make("option", { value: place }, labelsOf(this.store.run)[place] ?? `flow ${place}`)));
    this.whose.value = flows.includes(Number(value)) && value ? value : String(flows[0] ?? "");
    this.whose.hidden = flows.length < 2;
  }

  /** Variants whose paths fit next to the plots: all of them if the page scrolls as a whole. */
  get wanted() {
    const { variants, folded, shown } = this.store.state;
    if (folded.has("air")) return [];
    const all = variants.map((_, n) => n);
    const isPage = this.column.id !== "left" || matchMedia("(max-width: 1000px)").matches;
    return isPage || AROUND_PX + all.reduce((sum, n) => sum + this.height(n), 0) <= MOST_SHARE * this.column.clientHeight ? all : [shown];
  }

  /** Whether there is a picture for each of them: those of other runs are drawn into the same ones. */
  get isBuilt() {
    const isFolded = this.store.state.folded.has("air");
    return this.scenes.map(({ variant }) => variant).join() === this.wanted.join() && this.root.classList.contains("folded") === isFolded;
  }

  build() {
    const { variants, folded } = this.store.state;
    const isFolded = folded.has("air");
    this.root.classList.toggle("folded", isFolded);
    byId("air-fold").setAttribute("aria-expanded", String(!isFolded));
    this.scenes = [];
    this.place.replaceChildren(...this.wanted.map((variant) => {
      const canvas = make("canvas", { role: "img", "aria-label": "The path", click: (event) => this.click(variant, event) });
      const scene = new Scene(canvas);
      this.scenes.push({ scene, variant });
      return make("div", { class: "scene" }, variants.length > 1 ? make("b", { class: "variant" }, variants[variant].name) : null, canvas);
    }));
    this.resize();
  }

  resize() {
    for (const { scene, variant } of this.scenes) {
      const height = this.height(variant);
      scene.canvas.style.height = `${height}px`;
      scene.size(scene.canvas.clientWidth, height);
    }
    this.draw();
  }

  /** Height of the picture of a variant, pixels. @param {number} variant */
  height(variant) {
    return heightOf(graphOf(this.store.state.variants[variant].run));
  }

  recolour() {
    this.theme = themeOf();
    this.draw();
  }

  /** The flow that the animation shows. @param {number} variant @returns {Flow | null} */
  flow(variant) {
    return this.store.state.variants[variant].run.summary.flows[Number(this.whose.value)] ?? null;
  }

  /** The instant that is drawn, nanoseconds. */
  get now() {
    const { at, range } = this.store.state;
    return (at ?? range[0]) * 1e9;
  }

  /** The bearer that carries the data of the shown flow, and the model. @param {number} variant */
  of(variant) {
    const model = modelOf(this.store.state.variants[variant]);
    const flow = this.flow(variant);
    return { model, flow, ue: flow?.ue ?? 0, bearer: model.bearer(flow?.ue ?? 0, flow?.direction === "uplink", this.now) };
  }

  grid() {
    const { bearer } = this.of(this.store.state.shown);
    return bearer?.tti ? { length: bearer.tti, phase: bearer.phase % bearer.tti } : null;
  }

  draw() {
    const { speed, followed, shown, variants } = this.store.state;
    if (!variants.every(hasModel)) {
      // Plots are painted first; while a value is dragged, its runs follow each other, and the last one is shown.
      clearTimeout(this.making);
      this.making = window.setTimeout(() => {
        variants.forEach(modelOf);
        this.isNew = false;
        this.draw();
      }, this.isNew ? 0 : AFTER_MS);
      return;
    }
    if (this.store.events.from !== this.from) {
      // Where the oldest events are let go, packets have other places in the model.
      this.from = this.store.events.from;
      if (followed !== null) return this.store.set({ followed: null });
    }
    // Another scenario has another number of cells.
    if (this.scenes.some(({ scene, variant }) => scene.width && scene.height !== this.height(variant))) return this.resize();
    const fall = Math.min(Math.max(FALL_S * speed, LEAST_FALL_S), MOST_FALL_S) * 1e9;
    this.scenes.forEach(({ scene, variant }) => {
      const { model, flow, ue } = this.of(variant);
      scene.draw(model, { ue, flow, now: this.now, fall, followed: variant === shown ? followed : null }, this.theme);
    });
    this.tell();
  }

  /** Say what is there: at rest aloud, while it moves now and then. */
  tell() {
    clearTimeout(this.rest);
    const { at, playing, shown } = this.store.state;
    const { model, bearer } = this.of(shown);
    const tti = model.tti(bearer, this.now);
    this.clock.textContent = `${(at ?? this.store.state.range[0]).toFixed(4)} s${tti === null || at === null ? "" : ` · TTI ${tti}`}`;
    if (!this.scenes.length) return;
    const say = () => {
      this.lastTold = performance.now();
      this.said.setAttribute("aria-live", this.store.state.playing ? "off" : "polite");
      this.said.textContent = this.words();
      this.scenes.forEach(({ scene: { canvas } }) => canvas.setAttribute("aria-label", `The path: ${this.said.textContent}`));
    };
    if (playing && performance.now() - this.lastTold > MOVING_MS) say();
    else this.rest = window.setTimeout(say, playing ? MOVING_MS : REST_MS);
  }

  words() {
    const { state } = this.store;
    const { model, flow, ue } = this.of(state.shown);
    const lacks = model.missing.join(" ");
    if (state.at === null) return `Press ▶, or Space: packets move along the path. ${lacks}`;
    return `${momentOf(model, { ue, flow, now: this.now })} ${lacks}`;
  }

  /** @type {(variant: number, event: MouseEvent) => void} */
  click(variant, event) {
    const scene = this.scenes.find((own) => own.variant === variant)?.scene;
    if (!scene) return;
    const { left, top } = scene.canvas.getBoundingClientRect();
    const found = scene.at(event.clientX - left, event.clientY - top);
    if (variant !== this.store.state.shown) this.store.speakOf(variant);
    if (!found) return;
    if ("packet" in found) this.follow(found.packet);
    else this.store.choose(found);
  }

  /** Go to the next TTI or slot with lost PDUs, or to the one before. @param {1 | -1} way */
  lost(way) {
    const { bearer, model } = this.of(this.store.state.shown);
    const [kind, column, rows] = bearer?.runs.length ? ["rlc_data", "lost", bearer.runs] : ["slot_ended", "pdus_lost", bearer?.slots ?? []];
    const table = model.events.table(kind);
    if (!table || !bearer) return;
    const { time_ns } = table.columns;
    let found = -1;
    for (const row of rows) {
      const isLater = time_ns.values[row] > this.now + 1;
      if (!table.columns[column].values[row] || (way < 0 && time_ns.values[row] >= this.now - 1)) continue;
      if (way > 0 && !isLater) continue;
      found = row;
      if (way > 0) break;
    }
    this.store.set({ playing: false });
    if (found >= 0) this.store.choose({ kind, row: found });
  }
}

/** @returns {import("studio/scene").Theme} */
function themeOf() {
  const style = getComputedStyle(document.documentElement);
  const read = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  const { inks, grid, quiet } = colours();
  return { inks, grid, quiet, ink: read("ink"), edge: read("edge"), sheet: read("sheet"), ground: read("ground"), pin: read("pin") };
}
