// Everything by keys, wheel and fingers: zoom, pan, steps through events, panels.

import { byId } from "studio/dom";

/** @typedef {import("studio/store").Store} Store */

const ZOOM = 0.5;
const PAN = 0.25;
/** How much a notch of the wheel zooms: e to the power of this for each pixel. */
const WHEEL = 0.0022;

/**
 * @param {Store} store
 * @param {import("studio/plots").Plots} plots
 * @param {import("studio/table").EventTable} table
 * @param {import("studio/air").Air} air
 * @param {{tab(name: string): void, theme(): void, waterfall(): void}} page
 */
export function listenToKeys(store, plots, table, air, page) {
  /** @type {Record<string, () => void>} */
  const actions = {
    w: () => store.zoom(ZOOM),
    "+": () => store.zoom(ZOOM),
    s: () => store.zoom(1 / ZOOM),
    "-": () => store.zoom(1 / ZOOM),
    a: () => store.pan(-PAN),
    d: () => store.pan(PAN),
    0: () => store.whole(),
    Home: () => store.whole(),
    Backspace: () => store.back(),
    z: () => store.back(),
    ArrowRight: () => void table.step(1, false),
    ArrowLeft: () => void table.step(-1, false),
    t: () => page.theme(),
    f: () => page.waterfall(),
    " ": () => air.player.toggle(),
    ",": () => air.player.step(-1),
    ".": () => air.player.step(1),
    "<": () => air.lost(-1),
    ">": () => air.lost(1),
    "[": () => air.player.change(-1),
    "]": () => air.player.change(1),
    p: () => store.fold("air"),
    "?": () => help().showModal(),
    "/": () => {
      page.tab("events");
      byId("search").focus();
    },
    Escape: () => store.set({ at: null, chosen: null, playing: false, followed: null }),
  };
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || help().open) return;
    if (target.matches("input:not([type=checkbox]), select, textarea")) {
      if (event.key === "Escape") /** @type {HTMLElement} */ (target).blur();
      return;
    }
    // Space presses the button that has the focus.
    if (event.key === " " && target.matches("button, summary, a, label, input")) return;
    // In the row of tabs, arrows and Home choose a tab.
    if (target.matches("[role=tab]") && /^(Arrow|Home|End)/.test(event.key)) return;
    const isLoss = event.shiftKey && /^Arrow(Left|Right)$/.test(event.key);
    const panel = plots.names[Number(event.key) - 1];
    if (isLoss) void table.step(event.key === "ArrowRight" ? 1 : -1, true);
    else if (panel) store.fold(panel);
    else {
      const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action) return;
      action();
    }
    event.preventDefault();
  });
  byId("back").addEventListener("click", () => store.back());
  byId("out").addEventListener("click", () => store.whole());
  byId("help").addEventListener("click", () => help().showModal());
  byId("theme").addEventListener("click", () => page.theme());
  byId("loss").addEventListener("click", () => void table.step(1, true));
  byId("none").addEventListener("click", () => store.set({ at: null, chosen: null, playing: false, followed: null }));
  byId("before").addEventListener("click", () => void table.step(-1, false));
  byId("after").addEventListener("click", () => void table.step(1, false));
  byId("panels").addEventListener("wheel", (event) => wheel(store, event), { passive: false });
  touch(store, byId("panels"));
}

function help() {
  return /** @type {HTMLDialogElement} */ (byId("keys"));
}

/**
 * The share of a plot's width at a place of the screen; null outside the plots.
 * @param {EventTarget | null} target
 * @param {number} x
 */
function shareAt(target, x) {
  const over = target instanceof Element && target.closest(".canvas")?.querySelector(".u-over");
  if (!over) return null;
  const { left, width } = over.getBoundingClientRect();
  return Math.min(Math.max((x - left) / width, 0), 1);
}

/** Wheel zooms around the pointer; sideways, or with shift, it pans. @type {(store: Store, event: WheelEvent) => void} */
function wheel(store, event) {
  const share = shareAt(event.target, event.clientX);
  if (share === null) return;
  event.preventDefault();
  const pixels = event.deltaMode === 1 ? 16 : 1;
  const [from, to] = store.state.range;
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) store.pan((sideways * pixels) / 800);
  else store.zoom(Math.exp(event.deltaY * pixels * WHEEL), from + share * (to - from));
}

/** One finger sideways pans, two zoom. @type {(store: Store, place: HTMLElement) => void} */
function touch(store, place) {
  /** @type {Map<number, number>} Shares of the width by pointer. */
  const fingers = new Map();
  place.addEventListener("pointerdown", (event) => {
    const share = event.pointerType === "touch" ? shareAt(event.target, event.clientX) : null;
    if (share !== null) fingers.set(event.pointerId, share);
  });
  place.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    const now = shareAt(event.target, event.clientX);
    if (before === undefined || now === null) return;
    const [from, to] = store.state.range;
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, share]) => share);
    fingers.set(event.pointerId, now);
    if (!others.length) store.pan(before - now);
    else {
      const apart = Math.max(Math.abs(now - others[0]), 0.02);
      store.zoom(Math.abs(before - others[0]) / apart, from + others[0] * (to - from));
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    place.addEventListener(end, (event) => fingers.delete(/** @type {PointerEvent} */ (event).pointerId));
  }
}
