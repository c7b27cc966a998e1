"""Looks for faults of layout in a page: for tests, at several sizes, in dark and light, and by keyboard.

A fault is a text that is cut (``overflow: hidden``, an ellipsis, or an edge that no scrolling reaches), text or a
control beside the window, something that lies over something else, a page or table that scrolls sideways, a control
below 24 px, a field too narrow to write in, words that do not fit into their field, or text whose contrast is below
WCAG 2.2 AA (1.4.3). Texts that a page draws on a canvas are looked at as well, if `record_canvas_texts` was called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

SIZES = {"1280x720": (1280, 720), "1920x1080": (1920, 1080), "390 px": (390, 844), "200 %": (640, 360)}
"""Windows, in CSS pixels: at a zoom of 200 % a window of 1280 x 720 has 640 x 360."""
SCHEMES = ("light", "dark")

SCROLLS_SIDEWAYS = "pre, textarea"
"""What may scroll sideways: text whose lines have to stay as they are."""

_FAULTS = (Path(__file__).parent / "layout.js").read_text(encoding="utf-8")
_RECORD = """
(() => {
  const all = window.drawnTexts = new Map();
  const { prototype } = CanvasRenderingContext2D;
  const { clearRect, fillRect, fillText } = prototype;
  const of = (canvas) => all.get(canvas) ?? all.set(canvas, { texts: [], fills: [] }).get(canvas);
  prototype.clearRect = function (x, y, width, height) {
    if (width >= this.canvas.clientWidth) all.delete(this.canvas);
    return clearRect.call(this, x, y, width, height);
  };
  // What a text may stand on.
  prototype.fillRect = function (x, y, width, height) {
    const at = this.getTransform();
    const [left, right] = [at.a * x + at.e, at.a * (x + width) + at.e].sort((a, b) => a - b);
    const [top, bottom] = [at.d * y + at.f, at.d * (y + height) + at.f].sort((a, b) => a - b);
    if (right - left > 8) of(this.canvas).fills.push([left, top, right, bottom, this.fillStyle, this.globalAlpha]);
    return fillRect.call(this, x, y, width, height);
  };
  prototype.fillText = function (text, x, y, ...more) {
    const at = this.getTransform();
    const size = this.measureText(text);
    const around = [[-size.actualBoundingBoxLeft, -size.actualBoundingBoxAscent], [size.actualBoundingBoxRight, size.actualBoundingBoxDescent]];
    const corners = around.map(([a, b]) => at.transformPoint({ x: x + a, y: y + b }));
    const [[left, right], [top, bottom]] = ["x", "y"].map((name) => corners.map((own) => own[name]).sort((a, b) => a - b));
    const [middle, height] = [(left + right) / 2, (top + bottom) / 2];
    const { texts, fills } = of(this.canvas);
    const below = fills.filter(([l, t, r, b]) => l <= middle && middle <= r && t <= height && height <= b).map((own) => own.slice(4));
    if (String(text).trim()) texts.push({ text: String(text), box: { left, top, right, bottom }, colour: this.fillStyle, alpha: this.globalAlpha, below });
    return fillText.call(this, text, x, y, ...more);
  };
  const { set, get } = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
  Object.defineProperty(HTMLCanvasElement.prototype, "width", { get, set(value) { all.delete(this); set.call(this, value); } });
})();
"""
_FOCUSED = """
() => {
  const own = document.activeElement;
  if (!own || own === document.body || window.tabbed.includes(own)) return null;
  window.tabbed.push(own);
  const {left, top, right, bottom, width, height} = own.getBoundingClientRect();
  const {outlineStyle, outlineWidth, boxShadow} = getComputedStyle(own);
  const name = own.getAttribute("aria-label") || own.labels?.[0]?.innerText || own.innerText || own.title || own.placeholder || "";
  return {
    name: name.replaceAll(/\\s+/g, " ").trim().slice(0, 40), tag: own.tagName.toLowerCase(), id: own.id,
    marked: (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none",
    seen: width > 0 && height > 0 && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight,
    positive: own.tabIndex > 0,
  };
}
"""
_MISSED = """
() => [...document.querySelectorAll("button, summary, select, textarea, a[href], input, [tabindex]")].filter((own) =>
  own.tabIndex >= 0 && !own.disabled && !own.closest("[inert]") && own.checkVisibility({visibilityProperty: true})
  && !window.tabbed.includes(own)).map((own) => `${own.tagName.toLowerCase()}#${own.id} ${own.innerText?.slice(0, 30)}`)
"""


def record_canvas_texts(context: Any) -> None:
    """Have pages of a browser context note what they write on canvases; before a page is opened."""
    context.add_init_script(_RECORD)


def faults(view: Any, *, contrast: bool = False, scrolls: str = SCROLLS_SIDEWAYS) -> list[str]:
    """Find the faults of a page as it is shown now, a line each.

    Parameters
    ----------
    view : playwright.sync_api.Page
        The page.
    contrast : bool
        Whether colours are looked at, too.
    scrolls : str
        CSS selector of what may scroll sideways.
    """
    return list(view.evaluate(_FAULTS, {"withContrast": contrast, "scrolls": scrolls}))


def faults_at_sizes(
    view: Any,
    *,
    sizes: Iterable[str] = tuple(SIZES),
    schemes: Sequence[str] = SCHEMES,
    scrolls: str = SCROLLS_SIDEWAYS,
    settle_ms: int = 120,
) -> list[str]:
    """Find the faults at each size, a line each that begins with the size; contrast at the first, in each scheme."""
    found = []
    for n, size in enumerate(sizes):
        width, height = SIZES[size]
        view.set_viewport_size({"width": width, "height": height})
        for scheme in schemes if n == 0 else schemes[:1]:
            view.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            view.wait_for_timeout(settle_ms)
            own = faults(view, contrast=n == 0, scrolls=scrolls)
            found += [f"{size}, {scheme}: {line}" for line in own]
    return found


def keyboard_faults(view: Any, most: int = 400) -> list[str]:
    """Find what Tab does not reach, what has no name, and what does not show that it has the focus."""
    found = []
    view.evaluate("window.tabbed = []; document.activeElement?.blur()")
    for _ in range(most):
        view.keyboard.press("Tab")
        focused = view.evaluate(_FOCUSED)
        if focused is None:
            break
        who = f"{focused['tag']}#{focused['id']} {focused['name']!r}"
        checks = {
            "has no name": not focused["name"],
            "does not show its focus": not focused["marked"],
            "is out of view when it has the focus": not focused["seen"],
            "has its own place in the order": focused["positive"],
        }
        found += [f"{who} {what}" for what, is_so in checks.items() if is_so]
    return [*found, *(f"{who} is not reached" for who in view.evaluate(_MISSED))]
