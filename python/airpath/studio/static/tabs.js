// Rows of tabs, by pointer and arrow keys.

import { byId } from "studio/dom";

/**
 * Have a row of tabs work.
 * @param {Element} row
 * @param {(name: string) => void} [opened]
 * @returns {(name: string) => void} opens a tab
 */
export function tabs(row, opened) {
  const all = /** @type {HTMLElement[]} */ ([...row.querySelectorAll("[role=tab]")]);
  /** @param {string} name */
  function open(name) {
    for (const tab of all) {
      const isOpen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(isOpen));
      tab.tabIndex = isOpen ? 0 : -1;
      byId(`tab-${tab.dataset.tab}`).hidden = !isOpen;
    }
    opened?.(name);
  }
  all.forEach((tab) => {
    tab.addEventListener("click", () => open(tab.dataset.tab ?? ""));
    tab.addEventListener("keydown", (event) => {
      const there = all.filter((own) => !own.hidden);
      const n = there.indexOf(tab);
      const to = { ArrowRight: n + 1, ArrowLeft: n - 1, Home: 0, End: there.length - 1 }[event.key];
      if (to === undefined) return;
      const next = there[(to + there.length) % there.length];
      next.focus();
      open(next.dataset.tab ?? "");
      event.preventDefault();
    });
  });
  return open;
}
