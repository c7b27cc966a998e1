// The waterfall: a row for each connection or request, in which colours say what it did. A click leads to its plots.

import { figure, make } from "studio/dom";
import { columnsOf, LOOKS, lookOfPhase, requestsOf, sharesOf, sums, WORDS, wordOf } from "studio/phases";

/** @typedef {import("studio/phases").Row} Row */

/** Rows that are drawn. */
const MOST_ROWS = 1000;
/** A drag shorter than this is a click, pixels. */
const DRAG_PX = 5;
/** Up to so many connections their requests are shown first. */
const FEW = 2;
const TICK_PX = 90;

export class Waterfall {
  /**
   * @param {HTMLElement} place
   * @param {(row: Row) => void} choose
   */
  constructor(place, choose) {
    this.choose = choose;
    /** @type {Row[]} */
    this.all = [];
    /** The rows of open groups. @type {Row[]} */
    this.rows = [];
    /** @type {Set<string>} */
    this.closed = new Set();
    this.marked = "";
    /** @type {[number, number]} */
    this.range = [0, 1];
    /** @type {{at: number, x: number} | null} */
    this.drag = null;
    this.hasDragged = false;
    const option = (/** @type {[string, string]} */ [value, text]) => make("option", { value }, text);
    this.what = make("select", { "aria-label": "Rows", change: () => this.renew() }, ...[["connections", "connections"], ["requests", "requests"]].map((own) => option(/** @type {any} */ (own))));
    this.order = make("select", { "aria-label": "Order", change: () => this.renew() }, ...[["start", "by start"], ["longest", "longest first"]].map((own) => option(/** @type {any} */ (own))));
    this.grouped = make("input", { type: "checkbox", change: () => this.renew() });
    this.look = make("select", { "aria-label": "Phase", change: () => this.renew() }, option(["", "any phase"]), ...LOOKS.slice(0, -1).map(({ look, word }) => option([look, word])));
    this.search = make("input", { type: "search", placeholder: "filter", "aria-label": "Filter by address or name", input: () => this.renew() });
    this.count = make("span", { class: "quiet", "aria-live": "polite" });
    this.whole = make("button", { type: "button", hidden: true, click: () => this.show(this.extent()) }, "Whole time");
    this.legend = make("ul", { class: "fall-legend", "aria-label": "Phases" });
    this.said = make("p", { class: "fall-said quiet" });
    this.axis = make("div", { class: "fall-axis", "aria-hidden": "true" });
    this.list = make("div", { class: "fall-rows", role: "group", "aria-label": "Rows of the waterfall" });
    this.cursor = make("div", { class: "fall-cursor", hidden: true });
    place.classList.add("fall");
    place.append(
      make("div", { class: "fall-bar" }, make("h2", {}, "Waterfall"), this.what, this.order, make("label", {}, this.grouped, " group by host"), this.look, this.search, this.count, this.whole),
      this.legend, this.said, make("div", { class: "fall-body" }, this.axis, this.list, this.cursor),
    );
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.list);
    this.tell(null, 0);
  }

  /** Show these connections. @param {Row[]} rows */
  fill(rows) {
    this.all = rows.slice().sort((a, b) => a.start - b.start);
    const requests = this.all.reduce((sum, row) => sum + requestsOf(row).length, 0);
    this.what.value = this.all.length <= FEW && requests > this.all.length ? "requests" : "connections";
    this.what.hidden = !requests;
    this.grouped.checked = false;
    this.closed.clear();
    this.search.value = this.look.value = "";
    this.order.value = "start";
    this.range = this.extent();
    this.renew();
  }

  /** What the colours of these rows mean. @param {Row[]} rows */
  explain(rows) {
    const known = new Set(rows.flatMap(({ pieces }) => pieces.map(({ phase }) => lookOfPhase(phase))));
    this.legend.replaceChildren(...LOOKS.filter(({ look }) => known.has(look)).map(({ look, word, phases }) => make("li", { title: phases.map((phase) => WORDS[phase]).join("; ") }, make("span", { class: `fall-key p-${look}` }), word)));
  }

  /** Show no connections, and say why. @param {string} text */
  wait(text) {
    this.all = this.rows = [];
    this.count.textContent = "";
    this.legend.replaceChildren();
    this.list.replaceChildren(make("p", { class: "note" }, text));
  }

  /** @returns {[number, number]} */
  extent() {
    const [from, to] = [Math.min(...this.all.map(({ start }) => start)), Math.max(...this.all.map(({ end }) => end))];
    return this.all.length ? [from, Math.max(to, from + 1e-6)] : [0, 1];
  }

  /** Show another range of time. @param {[number, number]} range */
  show(range) {
    this.range = range;
    this.draw();
  }

  /** Mark the row that is looked at. @param {string} key */
  mark(key) {
    this.marked = key;
    for (const row of this.list.querySelectorAll("[data-key]")) row.classList.toggle("opened", /** @type {HTMLElement} */ (row).dataset.key === key);
  }

  /** Connections, or requests and connections without any. */
  kind() {
    return this.what.value === "requests" ? this.all.flatMap((row) => { const found = requestsOf(row); return found.length ? found : [row]; }) : this.all;
  }

  /** The rows that fit the filters, in their order. */
  chosen() {
    const wanted = this.search.value.trim().toLowerCase();
    const fits = (/** @type {Row} */ { label, told, host, pieces }) => (!wanted || [label, host, told.client, told.server].some((text) => text.toLowerCase().includes(wanted)))
      && (!this.look.value || pieces.some(({ phase }) => lookOfPhase(phase) === this.look.value));
    return this.kind().filter(fits).sort(this.order.value === "start" ? (a, b) => a.start - b.start : (a, b) => b.active - a.active);
  }

  /** Rebuild the rows. */
  renew() {
    const found = this.chosen();
    this.explain(this.kind());
    const shown = found.slice(0, MOST_ROWS);
    const noun = this.what.value === "requests" ? "request" : "connection";
    this.count.textContent = `${figure(found.length)} ${noun}${found.length === 1 ? "" : "s"}${found.length > shown.length ? `, ${figure(shown.length)} shown` : ""}`;
    /** @type {Map<string, Row[]>} */
    const groups = new Map();
    if (this.grouped.checked) for (const row of shown) groups.set(row.host, [...(groups.get(row.host) ?? []), row]);
    else groups.set("", shown);
    this.rows = [];
    this.list.replaceChildren(...[...groups].flatMap(([host, rows]) => {
      const isOpen = !this.closed.has(host);
      if (isOpen) this.rows.push(...rows);
      return [...(this.grouped.checked ? [this.head(host, rows, isOpen)] : []), ...(isOpen ? rows.map((row) => this.row(row)) : [])];
    }));
    if (!shown.length) this.list.append(make("p", { class: "note" }, "No connection fits."));
    const first = this.list.querySelector("[data-key]");
    if (first instanceof HTMLElement) first.tabIndex = 0;
    this.mark(this.marked);
    this.draw();
  }

  /** @param {string} host @param {Row[]} rows @param {boolean} isOpen */
  head(host, rows, isOpen) {
    const seconds = rows.reduce((sum, { active }) => sum + active, 0);
    return make("button", {
      type: "button", class: "fall-host", "aria-expanded": String(isOpen), click: () => {
        if (!this.closed.delete(host)) this.closed.add(host);
        this.renew();
      },
    }, make("b", {}, host), make("span", { class: "quiet" }, `${figure(rows.length)}, ${duration(seconds)} in all`));
  }

  /** @param {Row} row */
  row(row) {
    const said = `${row.label}: from ${duration(row.start)}, ${duration(row.active)}; ${told(row)}`;
    return make("button", { type: "button", class: "fall-row", tabindex: -1, "data-key": row.key, "aria-label": said, click: () => this.hasDragged || this.choose(row) },
      make("span", { class: "fall-name", title: row.label }, row.label), make("span", { class: "fall-track" }, make("span", { class: "fall-life" })),
      make("span", { class: "fall-figure", title: told(row) }, make("b", {}, duration(row.active)), ` · ${sharesOf([row])[0] ?? "no data"}`));
  }

  /** Paint the bars and the axis. */
  draw() {
    const [from, to] = this.range;
    const [begin, end] = this.extent();
    this.whole.hidden = from <= begin && to >= end;
    const track = this.list.querySelector(".fall-track");
    const width = Math.round(track?.clientWidth ?? 0);
    if (!width) return;
    const lives = /** @type {NodeListOf<HTMLElement>} */ (this.list.querySelectorAll(".fall-life"));
    lives.forEach((life, n) => paint(life, this.rows[n], from, to, width));
    const box = this.list.getBoundingClientRect();
    const left = (track?.getBoundingClientRect().left ?? 0) - box.left;
    this.axis.style.marginLeft = `${left}px`;
    this.axis.style.width = `${width}px`;
    const step = stepOf((to - from) / Math.max(1, width / TICK_PX));
    const ticks = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const tick = make("span", {}, `${figure(at, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))} s`);
      tick.style.left = `${((at - from) / (to - from)) * width}px`;
      ticks.push(tick);
    }
    this.axis.replaceChildren(...ticks);
  }

  listen() {
    this.list.addEventListener("pointermove", (event) => this.hover(event));
    this.list.addEventListener("pointerleave", () => this.tell(null, 0));
    this.list.addEventListener("pointerdown", (event) => {
      const time = this.timeAt(event);
      this.hasDragged = false;
      this.drag = event.button === 0 && time !== null && event.pointerType !== "touch" ? { at: time, x: event.clientX } : null;
    });
    addEventListener("pointerup", (event) => {
      const drag = this.drag;
      this.drag = null;
      if (!drag || Math.abs(event.clientX - drag.x) < DRAG_PX) return;
      this.hasDragged = true; // The click that follows chooses nothing.
      const time = this.timeAt(event) ?? (event.clientX < drag.x ? this.range[0] : this.range[1]);
      const ends = [drag.at, time].sort((a, b) => a - b);
      if (ends[1] > ends[0]) this.show([ends[0], ends[1]]);
    });
    this.list.addEventListener("keydown", (event) => {
      const rows = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll("button")]);
      const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement));
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
      if (at < 0 || to === undefined || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      rows[Math.min(Math.max(to, 0), rows.length - 1)].focus();
    });
    this.list.addEventListener("focusin", (event) => {
      const own = /** @type {HTMLElement} */ (event.target);
      if (!own.dataset.key) return;
      for (const row of /** @type {NodeListOf<HTMLElement>} */ (this.list.querySelectorAll("[data-key]"))) row.tabIndex = row === own ? 0 : -1;
    });
  }

  /** The time under the pointer, if it is over the bars. @param {PointerEvent} event */
  timeAt(event) {
    const track = this.list.querySelector(".fall-track")?.getBoundingClientRect();
    if (!track || event.clientX < track.left || event.clientX > track.right) return null;
    return this.range[0] + ((event.clientX - track.left) / track.width) * (this.range[1] - this.range[0]);
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const time = this.timeAt(event);
    const key = /** @type {HTMLElement} */ (event.target).closest?.("[data-key]")?.getAttribute("data-key");
    const row = this.rows.find((own) => own.key === key) ?? null;
    this.cursor.hidden = time === null;
    this.cursor.classList.toggle("dragging", Boolean(this.drag));
    const body = this.list.parentElement?.getBoundingClientRect();
    if (time !== null && body) {
      const begin = this.drag && Math.abs(event.clientX - this.drag.x) >= DRAG_PX ? this.drag.x : event.clientX;
      this.cursor.style.left = `${Math.min(begin, event.clientX) - body.left}px`;
      this.cursor.style.width = `${Math.max(1, Math.abs(event.clientX - begin))}px`;
    }
    this.tell(row, time ?? -1);
  }

  /** Say what a row did at an instant. @param {Row | null} row @param {number} time */
  tell(row, time) {
    if (!row) this.cursor.hidden = true;
    const piece = row?.pieces.find(({ start, end }) => start <= time && time < end);
    this.said.textContent = !row ? "Point at a row: this says what it did. Dragging chooses a range, a click leads to the plots."
      : piece ? `${row.label}: ${wordOf(piece.phase, row.told)}, from ${duration(piece.start)} for ${duration(piece.end - piece.start)}`
        : `${row.label}: ${told(row)}`;
  }
}

/** A time with three digits. @param {number} seconds */
export function duration(seconds) {
  if (seconds >= 100) return `${figure(seconds)} s`;
  if (seconds >= 1) return `${figure(seconds, seconds >= 10 ? 1 : 2)} s`;
  return `${figure(1000 * seconds, seconds < 0.01 ? 1 : 0)} ms`;
}

/** The phases of a row in words. @param {Row} row */
function told(row) {
  return sums(row).filter(([, seconds]) => seconds >= 0.005 * row.active).map(([phase, seconds]) => `${wordOf(phase, row.told)} ${duration(seconds)}`).join(", ") || "no data";
}

/**
 * Paint a row: a gradient with hard edges, of the style's colours. What is idle is a thin line.
 * @type {(life: HTMLElement, row: Row | undefined, from: number, to: number, width: number) => void}
 */
function paint(life, row, from, to, width) {
  const isThere = row && row.pieces.length && row.end >= from && row.start <= to;
  life.hidden = !isThere;
  if (!isThere) return;
  const parts = columnsOf(row.pieces, from, to, width);
  if (!parts.length) return void (life.hidden = true);
  const [left, right] = [parts[0].from, parts[parts.length - 1].to];
  life.style.left = `${Math.min(left, width - 2)}px`;
  life.style.width = `${Math.max(right - left, 2)}px`;
  const stops = parts.map(({ look, from: begin, to: end }) => `var(--p-${look}) ${begin - left}px ${end - left}px`);
  life.style.backgroundImage = `linear-gradient(90deg, ${stops.join(", ")})`;
}

/** A round distance of ticks, at least this. @param {number} least */
function stepOf(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((own) => own * power >= least) ?? 10) * power;
}
