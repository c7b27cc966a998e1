// The whole run in one line: the rate of the shown flows, with the range that the plots show. Drag it to move, its
// ends to make it longer or shorter, and outside it for another range.

import { byId, figure } from "studio/dom";
import { colours, lookOf } from "studio/paint";
import { rates } from "studio/reduce";
import { curvesOf } from "studio/series";

/** Width of a handle, pixels. */
const HANDLE_PX = 9;

export class Strip {
  /** @param {import("studio/store").Store} store */
  constructor(store) {
    this.store = store;
    this.root = byId("strip");
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("whole"));
    this.window = byId("window");
    store.on(["flows", "theme", "variants"], () => this.draw());
    store.on(["range", "at", "variants"], () => this.move());
    // Asking for it while other screens change would have the browser lay the page out at once.
    this.width = this.root.clientWidth;
    this.height = this.root.clientHeight;
    new ResizeObserver(() => {
      [this.width, this.height] = [this.root.clientWidth, this.root.clientHeight];
      this.draw();
    }).observe(this.root);
    this.root.addEventListener("pointerdown", (event) => this.drag(event));
    this.draw();
    this.move();
  }

  draw() {
    const { width, height } = this;
    const ratio = devicePixelRatio;
    const ink = this.canvas.getContext("2d");
    if (!ink || !width) return;
    const [across, down] = [Math.floor(width * ratio), Math.floor(height * ratio)];
    // Another size takes new memory, and the canvas is empty then.
    if (this.canvas.width !== across || this.canvas.height !== down) [this.canvas.width, this.canvas.height] = [across, down];
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.clearRect(0, 0, width, height);
    const { inks } = colours();
    const { begin, end, length, state } = this.store;
    const all = curvesOf(state).map(({ variant, flow, from: { start_s, transfer_s }, run, lines }) => {
      const last = transfer_s === null ? run.summary.simulated_s : start_s + transfer_s;
      const sum = lines.get("acked") ?? lines.get("delivered");
      return { look: state.flows.length > 1 ? flow : lookOf(variant).ink, ...(sum ? rates(sum.x, sum.y, begin, end, last) : { x: [], y: [], window: 1 }) };
    });
    const most = Math.max(1e-9, ...all.flatMap((own) => own.y));
    all.forEach(({ look, x, y, window }) => {
      ink.fillStyle = ink.strokeStyle = inks[all.length > 1 ? look : 2];
      ink.beginPath();
      ink.moveTo(0, height);
      const toX = (/** @type {number} */ time) => ((time - begin) / length) * width;
      y.forEach((value, at) => {
        const up = height - (value / most) * (height - 6);
        ink.lineTo(toX(x[at]), up);
        ink.lineTo(toX(x[at] + window), up);
      });
      ink.lineTo(toX((x.at(-1) ?? 0) + window), height);
      ink.globalAlpha = all.length > 1 ? 0.12 : 0.3;
      ink.fill();
    });
  }

  move() {
    const [from, to] = this.store.state.range;
    const { begin, end, length } = this.store;
    this.window.style.left = `${(100 * (from - begin)) / length}%`;
    this.window.style.width = `${(100 * (to - from)) / length}%`;
    const isWhole = to - from >= length;
    this.root.classList.toggle("whole", isWhole);
    const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(to - from))));
    const shown = isWhole ? `whole run, ${figure(end, 2)} s` : `${figure(from, digits)} to ${figure(to, digits)} s`;
    byId("range").textContent = shown;
    /** @type {HTMLButtonElement} */ (byId("back")).disabled = !this.store.steps.length;
    /** @type {HTMLButtonElement} */ (byId("out")).disabled = isWhole;
    this.canvas.setAttribute("aria-label", `Whole run; shown: ${shown}`);
  }

  /** @param {PointerEvent} event */
  drag(event) {
    const { left, width } = this.root.getBoundingClientRect();
    const { begin: first, length } = this.store;
    const time = (/** @type {PointerEvent} */ own) => first + Math.min(Math.max((own.clientX - left) / width, 0), 1) * length;
    const [from, to] = this.store.state.range;
    const begin = time(event);
    const near = (HANDLE_PX / width) * length;
    const isWhole = to - from >= length;
    const move = (/** @type {PointerEvent} */ own) => {
      const now = time(own);
      if (!isWhole && Math.abs(begin - from) < near) this.store.show(Math.min(now, to), to);
      else if (!isWhole && Math.abs(begin - to) < near) this.store.show(from, Math.max(now, from));
      else if (!isWhole && begin > from && begin < to) this.store.show(from + now - begin, to + now - begin);
      else if (Math.abs(now - begin) > near / 2) this.store.show(Math.min(begin, now), Math.max(begin, now));
    };
    const done = () => this.root.removeEventListener("pointermove", move);
    this.root.setPointerCapture(event.pointerId);
    this.root.addEventListener("pointermove", move);
    this.root.addEventListener("pointerup", done, { once: true });
    this.root.addEventListener("pointercancel", done, { once: true });
    event.preventDefault();
  }
}
