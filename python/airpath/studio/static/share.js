// The address says what is shown, and an address that is opened shows it.

import { copyText } from "studio/bench";
import { byId, figure } from "studio/dom";
import { sentenceOf } from "studio/field";
import { fromLink, toLink } from "studio/link";
import { TEXT } from "studio/settings";

/** @typedef {import("studio/experiment").Experiment} Experiment */
/** @typedef {import("studio/link").Linked} Linked */
/** @typedef {import("studio/store").Store} Store */

/** The address follows when nothing has changed for this long, milliseconds. */
const REST_MS = 300;
/** Longest link, characters: a server takes messages of 256 kB. */
const MOST_LINK = 200_000;

export class Share {
  /**
   * @param {Store} store
   * @param {Experiment} experiment
   * @param {import("studio/source").Listed[]} listed
   */
  constructor(store, experiment, listed) {
    this.store = store;
    this.experiment = experiment;
    /** Names that no other studio knows. */
    this.local = new Set(listed.filter(({ local }) => local).map(({ name }) => name));
    /** @type {number[]} Flows that a run shows at first need no mention. */
    this.usual = store.state.flows;
    let rest = 0;
    store.on(["wanted", "shown", "range", "at", "flows"], () => {
      clearTimeout(rest);
      rest = window.setTimeout(() => this.write(), REST_MS);
    });
    window.addEventListener("hashchange", () => void this.open(location.hash));
    const shown = /** @type {HTMLTextAreaElement} */ (byId("link-text"));
    byId("link").addEventListener("click", async () => {
      this.write();
      const { link, about } = await this.anywhere();
      shown.value = link;
      shown.hidden = byId("copy-link").hidden = !link;
      byId("link-about").textContent = about;
      /** @type {HTMLDialogElement} */ (byId("links")).showModal();
      shown.select();
    });
    byId("link-known").addEventListener("click", () => {
      byId("link-problem").hidden = true;
    });
    byId("copy-link").addEventListener("click", () => void copyText(shown.value, byId("copy-link")));
  }

  /** The link of the address bar, for this studio. */
  get link() {
    return this.linkOf(this.store.state.wanted);
  }

  /**
   * A link that opens elsewhere too: it has the text of what only this studio knows.
   * @returns {Promise<{link: string, about: string}>} no link if the text is too long
   */
  async anywhere() {
    const { engine } = this.experiment;
    const { wanted } = this.store.state;
    const names = [...new Set(wanted.map(({ base }) => base).filter((base) => this.local.has(base)))];
    try {
      const texts = new Map(await Promise.all(names.map(async (name) => /** @type {[string, string]} */ ([name, await engine.text(name)]))));
      const link = this.linkOf(wanted.map((own) => ({ ...own, base: texts.has(own.base) ? TEXT + texts.get(own.base) : own.base })));
      if (link.length > MOST_LINK) return { link: "", about: `With its text it would have ${figure(link.length)} characters, which is too long: pass on the file.` };
      if (engine.isInPage) return { link: new URL(link, location.href).href, about: "" };
      const where = "Put it behind the address of a studio or of the playground.";
      return { link, about: names.length ? `It has the text of ${names.join(" and ")}. ${where}` : where };
    } catch (problem) {
      const { message, hint } = /** @type {import("studio/source").Problem} */ (problem);
      return { link: "", about: `${sentenceOf(message)} ${sentenceOf(hint)}` };
    }
  }

  /** @param {import("studio/source").Settings[]} settings */
  linkOf(settings) {
    const { shown, range, at, flows } = this.store.state;
    const isWhole = range[1] - range[0] >= this.store.length;
    return toLink({ settings, shown, range: isWhole ? null : range, at, flows: flows.join() === this.usual.join() ? null : flows });
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
