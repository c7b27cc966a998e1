// The list of events. What it lists is also what the arrow keys step through.

import { byId, figure, make } from "studio/dom";
import { download } from "studio/files";
import { Order } from "studio/order";
import { eventsAsParquet } from "studio/parquet";
import { Rows } from "studio/rows";
import { KINDS, shortly, whose } from "studio/words";

/** Wait for more letters before searching, milliseconds. */
const TYPING_MS = 150;

export class EventTable {
  /** @param {import("studio/store").Store} store */
  constructor(store) {
    this.store = store;
    /** @type {Order | null} */
    this.order = null;
    this.rows = new Rows(byId("list"), byId("rows"), (place) => this.row(place));
    this.rows.listen((way, steps) => void this.step(way, false, steps));
    this.search = /** @type {HTMLInputElement} */ (byId("search"));
    this.kind = /** @type {HTMLSelectElement} */ (byId("kind"));
    this.fill();
    let typing = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = window.setTimeout(() => this.filter(), TYPING_MS);
    });
    this.kind.addEventListener("change", () => this.filter());
    byId("save-events").addEventListener("click", () => this.save());
    store.on(["flows"], () => this.filter());
    store.on(["variants", "shown"], () => this.renew());
    store.on(["chosen", "at", "playing"], () => this.reveal());
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

  /** List the events of another run; deferred while the list is hidden. */
  renew() {
    const { events, run } = this.store;
    if (this.order?.events === events && this.order.run === run) return;
    this.order = null;
    this.fill();
    if (this.rows.isSeen) void this.ready();
  }

  /** Sort the events when first needed: sorting a million is slow. */
  async ready() {
    if (!this.order) {
      this.order = new Order(this.store.run, this.store.events);
      await this.filter();
    }
    return this.order;
  }

  async filter() {
    const { order } = this;
    if (!order) return;
    const { summary } = this.store.run;
    const { value } = this.kind;
    const filter = {
      kinds: value && value !== "losses" ? new Set([value]) : null, losses: value === "losses", text: this.search.value,
    };
    byId("count").textContent = "…";
    const flows = this.store.state.flows.map((place) => summary.flows[place]).filter(Boolean);
    if (!(await order.filter(filter, flows)) || order !== this.order) return;
    byId("count").textContent = `${figure(order.length)} events`;
    this.rows.set(order.length);
    this.reveal();
  }

  /** @type {(near: number) => import("studio/rows").Row} */
  row(near) {
    const order = /** @type {Order} */ (this.order);
    const { run, state: { chosen } } = this.store;
    const { kind, row } = order.event(near);
    const table = order.tables[order.kinds.indexOf(kind)];
    return {
      look: `event kind-${kind}`, isChosen: chosen?.kind === kind && chosen.row === row,
      cells: [["time", (table.columns.time_ns.values[row] / 1e9).toFixed(4)], ["kind", KINDS[kind] ?? kind], ["whose", whose(run, table, row)], ["what", shortly(run, kind, table, row)]],
      click: () => this.store.choose({ kind, row }),
    };
  }

  /** Have the chosen instant in view. */
  reveal() {
    const { at, chosen, playing } = this.store.state;
    if (!this.order || playing || !this.rows.isSeen) return;
    if (at === null) this.rows.draw();
    else this.rows.reveal(this.order.find(chosen, at));
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

  /** Write the listed events into a file. */
  save() {
    const { order } = this;
    if (order?.length) download(`${this.store.run.title}.parquet`, eventsAsParquet({ ...order, listed: order.inOrder() }));
  }
}
