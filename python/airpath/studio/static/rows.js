// A list whose rows are elements only while in view, so that a million of them scroll.

import { make } from "studio/dom";

/** Highest list, pixels: browsers end at some tens of millions. Longer lists scroll in proportion. */
const MOST_PX = 8_000_000;

/**
 * A row: its class, what stands in its columns by their classes, whether it is chosen, and what a click does.
 * @typedef {{look: string, cells: [string, string][], isChosen: boolean, click: () => void}} Row
 */

export class Rows {
  /**
   * @param {HTMLElement} list that scrolls
   * @param {HTMLElement} rows inside of it
   * @param {(place: number) => Row} row
   */
  constructor(list, rows, row) {
    this.list = list;
    this.rows = rows;
    this.row = row;
    this.count = 0;
    this.height = this.rowHeight();
    list.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.resize()).observe(list);
  }

  /** Height of a row, pixels: `studio.css` gives a narrow list rows of two lines. */
  rowHeight() {
    return parseFloat(getComputedStyle(this.rows).getPropertyValue("--row")) || 26;
  }

  resize() {
    const height = this.rowHeight();
    if (height === this.height) return this.draw();
    const { top } = this;
    this.height = height;
    this.set(this.count);
    this.reveal(Math.round(top));
  }

  /** List this many rows. @param {number} count */
  set(count) {
    this.count = count;
    this.rows.style.height = `${Math.min(count * this.height, MOST_PX)}px`;
    this.draw();
  }

  get isSeen() {
    return this.list.clientHeight > 0;
  }

  /** Place of the row at the top, with a fraction. */
  get top() {
    const total = this.count * this.height;
    const hidden = Math.max(Math.min(total, MOST_PX) - this.list.clientHeight, 1);
    return (this.list.scrollTop / hidden) * (Math.max(total - this.list.clientHeight, 0) / this.height);
  }

  draw() {
    if (!this.isSeen) return;
    const { top } = this;
    const first = Math.floor(top);
    const shown = Math.ceil(this.list.clientHeight / this.height) + 1;
    const rows = [];
    let active = "";
    for (let place = first; place < Math.min(first + shown, this.count); place += 1) {
      const { look, cells, isChosen, click } = this.row(place);
      const id = `${this.list.id}-${place}`;
      if (isChosen) active = id;
      const element = make("div", {
        class: look, role: "option", id, "aria-selected": String(isChosen), "aria-posinset": place + 1, "aria-setsize": this.count, click,
      }, ...cells.map(([name, text]) => make("span", { class: name, title: text }, text)));
      element.style.top = `${this.list.scrollTop + (place - top) * this.height}px`;
      rows.push(element);
    }
    this.rows.replaceChildren(...rows);
    if (active) this.list.setAttribute("aria-activedescendant", active);
    else this.list.removeAttribute("aria-activedescendant");
  }

  /** Have a row in view. @param {number} place */
  reveal(place) {
    if (!this.isSeen) return;
    const inView = this.list.clientHeight / this.height;
    if (place < this.top || place > this.top + inView - 1) {
      const total = this.count * this.height;
      const hidden = Math.max(Math.min(total, MOST_PX) - this.list.clientHeight, 0);
      const share = ((place - inView / 2) * this.height) / Math.max(total - this.list.clientHeight, 1);
      this.list.scrollTop = Math.min(Math.max(share, 0), 1) * hidden;
    }
    this.draw();
  }

  /** Have the arrows and pages up and down move through the list. @param {(way: 1 | -1, steps: number) => void} step */
  listen(step) {
    this.list.addEventListener("keydown", (event) => {
      const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
      if (!steps || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      step(steps > 0 ? 1 : -1, Math.abs(steps));
    });
  }
}
