// The address says what is shown, and an address that is opened shows it.

import { copyText } from "studio/bench";
import { byId } from "studio/dom";
import { sentenceOf } from "studio/field";
import { fromLink, toLink } from "studio/link";

/** @typedef {import("studio/experiment").Experiment} Experiment */
/** @typedef {import("studio/link").Linked} Linked */
/** @typedef {import("studio/store").Store} Store */

/** The address follows when nothing has changed for this long, milliseconds. */
const REST_MS = 300;

export class Share {
  /**
   * @param {Store} store
   * @param {Experiment} experiment
   */
  constructor(store, experiment) {
    this.store = store;
    this.experiment = experiment;
    /** @type {number[]} Flows that a run shows at first need no mention. */
    this.usual = store.state.flows;
    let rest = 0;
    store.on(["wanted", "shown", "range", "at", "flows"], () => {
      clearTimeout(rest);
      rest = window.setTimeout(() => this.write(), REST_MS);
    });
    window.addEventListener("hashchange", () => void this.open(location.hash));
    byId("link").addEventListener("click", () => {
      this.write();
      /** @type {HTMLTextAreaElement} */ (byId("link-text")).value = this.link;
      /** @type {HTMLDialogElement} */ (byId("links")).showModal();
      /** @type {HTMLTextAreaElement} */ (byId("link-text")).select();
    });
    byId("link-known").addEventListener("click", () => {
      byId("link-problem").hidden = true;
    });
    byId("copy-link").addEventListener("click", () => void copyText(this.link, byId("copy-link")));
  }

  get link() {
    const { wanted, shown, range, at, flows } = this.store.state;
    const isWhole = range[1] - range[0] >= this.store.length;
    return toLink({ settings: wanted, shown, range: isWhole ? null : range, at, flows: flows.join() === this.usual.join() ? null : flows });
  }

  write() {
    if (this.store.state.wanted.length && location.hash !== this.link) history.replaceState(null, "", this.link);
  }

  /** Show what a link describes; if the link is invalid, report that and change nothing. @param {string} hash */
  async open(hash) {
    if (!hash || hash === this.link) return;
    const place = byId("link-problem");
    place.hidden = true;
    try {
      const linked = fromLink(hash);
      const problem = await this.experiment.load(linked.settings, linked.shown);
      if (problem) throw problem;
      this.look(linked);
    } catch (problem) {
      const { path, message, hint } = /** @type {import("studio/source").Problem} */ (problem);
      byId("link-said").textContent = `This link cannot be opened${path ? `, ${path}` : ""}: ${message}. ${sentenceOf(hint)}`;
      place.hidden = false;
    }
  }

  /** @param {Linked} linked */
  look({ range, at, flows }) {
    const { store } = this;
    this.usual = store.run.chosen.length ? store.run.chosen : this.usual;
    const known = flows?.filter((place) => place < store.run.summary.flows.length) ?? [];
    if (known.length) store.set({ flows: known });
    if (range) store.show(...range);
    else store.whole();
    store.set({ at: at === null ? null : Math.min(at, store.end), chosen: null });
  }
}
