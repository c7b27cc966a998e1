"""Looks for faults of layout in a page: for tests, at several sizes, in dark and light, and by keyboard.

Faults are:

* text that is cut: by ``overflow: hidden``, an ellipsis without the whole text as its title, or an edge that
  no scrolling reaches;
* text or a control outside the window, or under something else;
* a page or a table that scrolls sideways;
* a control below 24 px, a field too narrow to write in, words that do not fit into their field;
* text whose contrast is below WCAG 2.2 AA (1.4.3).

Texts that a page draws on a canvas are looked at as well, if `record_canvas_texts` was called.
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

_CODE = {file.stem: file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("layout*.js")}


def record_canvas_texts(context: Any) -> None:
    """Have pages of a browser context note what they write on canvases; before a page is opened."""
    context.add_init_script(_CODE["layout_canvas"])


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
    return list(view.evaluate(_CODE["layout"], {"withContrast": contrast, "scrolls": scrolls}))


def faults_at_sizes(
    view: Any,
    *,
    sizes: Iterable[str] = tuple(SIZES),
    schemes: Sequence[str] = SCHEMES,
    scrolls: str = SCROLLS_SIDEWAYS,
    settle_ms: int = 120,
    most_looks: int = 15,
) -> list[str]:
    """Find the faults at each size in each scheme, a line each that begins with both.

    A page draws its canvases again some time after its size or its scheme changed, later on a busy
    machine: it is looked at every `settle_ms`, until it has no fault or `most_looks` looks are over.
    """
    found = []
    for size in sizes:
        width, height = SIZES[size]
        view.set_viewport_size({"width": width, "height": height})
        for scheme in schemes:
            view.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for _ in range(most_looks):
                view.wait_for_timeout(settle_ms)
                own = faults(view, contrast=True, scrolls=scrolls)
                if not own:
                    break
            found += [f"{size}, {scheme}: {line}" for line in own]
    return found


def keyboard_faults(view: Any, most: int = 400) -> list[str]:
    """Find what Tab does not reach, what has no name, and what does not show that it has the focus."""
    found = []
    view.evaluate(f"({_CODE['layout_focus']}).begin()")
    for _ in range(most):
        view.keyboard.press("Tab")
        focused = view.evaluate(f"({_CODE['layout_focus']}).focused()")
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
    return [
        *found,
        *(f"{who} is not reached" for who in view.evaluate(f"({_CODE['layout_focus']}).missed()")),
    ]
