// The list of events: only the rows in view are elements, so that a million of them scroll. What it lists is also what
// the arrow keys step through.

import { byId, figure, make } from "studio/dom";
import { Order } from "studio/order";
import { KINDS, shortly, whose } from "studio/words";

/** Height of a row, pixels, as in `studio.css`. */
const ROW_PX = 26;
/** Highest list, pixels: browsers end at some tens of millions. Longer lists scroll in proportion. */
const MOST_PX = 8_000_000;
/** Wait for more letters before searching, milliseconds. */
const TYPING_MS = 150;

export class EventTable {
  /** @param {import("studio/store").Store} store */
  constructor(store) {
    this.store = store;
    /** @type {Order | null} */
    this.order = null;
    this.list = byId("list");
    this.rows = byId("rows");
    this.search = /** @type {HTMLInputElement} */ (byId("search"));
    this.kind = /** @type {HTMLSelectElement} */ (byId("kind"));
    this.first = 0;
    this.fill();
    this.list.addEventListener("scroll", () => this.draw());
    this.list.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.list);
    let typing = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = window.setTimeout(() => this.filter(), TYPING_MS);
    });
    this.kind.addEventListener("change", () => this.filter());
    store.on(["flows"], () => this.filter());
    store.on(["variants", "shown"], () => this.renew());
    store.on(["chosen", "at"], () => this.reveal());
  }

  /** Offer the kinds that have events. */
  fill() {
    const { events } = this.store;
    const kinds = Object.keys(KINDS).filter((kind) => events.table(kind)?.rows);
    const { value } = this.kind;
    this.kind.replaceChildren(
      make("option", { value: "" }, "all events"),
      make("option", { value: "losses" }, "losses and answers to them"),
      ...kinds.map((kind) => make("option", { value: kind }, KINDS[kind])),
    );
    this.kind.value = kinds.includes(value) || value === "losses" ? value : "";
  }

  /** List the events of another run; once they are wanted, if nobody looks. */
  renew() {
    const { events, run } = this.store;
    if (this.order?.events === events && this.order.run === run) return;
    this.order = null;
    this.fill();
    if (this.list.clientHeight) void this.ready();
  }

  /** Put the events in order, when they are first wanted: that takes some time for a million. */
  async ready() {
    if (!this.order) {
      this.order = new Order(this.store.run, this.store.events);
      await this.filter();
    }
    return this.order;
  }

  async filter() {
    if (!this.order) return;
    const { run, state: { flows } } = this.store;
    const { value } = this.kind;
    const filter = {
      kinds: value && value !== "losses" ? new Set([value]) : null, losses: value === "losses", text: this.search.value,
    };
    byId("count").textContent = "…";
    if (!(await this.order.filter(filter, flows.flatMap((place) => run.summary.flows[place] ?? [])))) return;
    byId("count").textContent = `${figure(this.order.listed.length)} events`;
    this.rows.style.height = `${Math.min(this.order.listed.length * ROW_PX, MOST_PX)}px`;
    this.reveal();
    this.draw();
  }

  /** Place in the list that is at the top, with a fraction. */
  get top() {
    const total = (this.order?.listed.length ?? 0) * ROW_PX;
    const hidden = Math.max(Math.min(total, MOST_PX) - this.list.clientHeight, 1);
    return (this.list.scrollTop / hidden) * (Math.max(total - this.list.clientHeight, 0) / ROW_PX);
  }

  draw() {
    const { order } = this;
    if (!order || !this.list.clientHeight) return;
    const { run, state: { chosen } } = this.store;
    const top = this.top;
    const first = Math.floor(top);
    const shown = Math.ceil(this.list.clientHeight / ROW_PX) + 1;
    const rows = [];
    let active = "";
    for (let near = first; near < Math.min(first + shown, order.listed.length); near += 1) {
      const place = order.listed[near];
      const { kind, row } = order.event(place);
      const table = order.tables[order.kind[place]];
      const isChosen = chosen?.kind === kind && chosen.row === row;
      if (isChosen) active = `event-${near}`;
      const element = make("div", {
        class: `event kind-${kind}`, role: "option", id: `event-${near}`, "aria-selected": String(isChosen),
        "aria-posinset": near + 1, "aria-setsize": order.listed.length,
        click: () => this.store.choose({ kind, row }),
      },
      make("span", { class: "time" }, order.time(place).toFixed(4)), make("span", { class: "kind" }, KINDS[kind] ?? kind),
      make("span", { class: "whose" }, whose(table, row)), make("span", { class: "what" }, shortly(run, kind, table, row)));
      element.style.top = `${this.list.scrollTop + (near - top) * ROW_PX}px`;
      rows.push(element);
    }
    this.rows.replaceChildren(...rows);
    if (active) this.list.setAttribute("aria-activedescendant", active);
    else this.list.removeAttribute("aria-activedescendant");
  }

  /** Have the chosen instant in view. */
  reveal() {
    const { at, chosen } = this.store.state;
    const { order } = this;
    if (!order || at === null || !this.list.clientHeight) return;
    const near = order.find(chosen, at);
    const inView = this.list.clientHeight / ROW_PX;
    if (near < this.top || near > this.top + inView - 1) {
      const total = order.listed.length * ROW_PX;
      const hidden = Math.max(Math.min(total, MOST_PX) - this.list.clientHeight, 0);
      const share = ((near - inView / 2) * ROW_PX) / Math.max(total - this.list.clientHeight, 1);
      this.list.scrollTop = Math.min(Math.max(share, 0), 1) * hidden;
    }
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const pages = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!pages || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    void this.step(pages > 0 ? 1 : -1, false, Math.abs(pages));
  }

  /**
   * Choose the next event of the list, or the one before.
   * @param {1 | -1} way
   * @param {boolean} losses only drops and retransmissions
   * @param {number} [steps]
   */
  async step(way, losses, steps = 1) {
    const order = await this.ready();
    for (let left = steps; left > 0; left -= 1) {
      const { chosen, at, range } = this.store.state;
      const next = order.next(chosen, at ?? (way > 0 ? range[0] : range[1]), way, losses);
      if (!next) return;
      this.store.choose(next);
    }
  }
}
