"""Widths of texts as they are drawn, and lines that are broken or cut to fit."""

from __future__ import annotations

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties


class Measure:
    """Widths of texts in pixels, for one size of font in points."""

    def __init__(self, renderer: RendererAgg, size: float) -> None:
        self._renderer, self._font = renderer, FontProperties(size=size)
        self.em: float = size * renderer.dpi / 72

    def __call__(self, text: str) -> float:
        """Width of the longest line of a text."""
        text.encode()  # FreeType refuses half characters with a TypeError that names none.
        size = self._renderer.get_text_width_height_descent
        widths = [size(line, self._font, False)[0] for line in text.split("\n")]  # type: ignore[no-untyped-call]
        return float(max(widths))

    def wrapped(self, text: str, width: float, breaks_words: bool = True) -> str:
        """Break a text into lines of at most a width; words only where they are wider than a line."""
        lines: list[str] = []
        for word in text.split():
            if lines and self(f"{lines[-1]} {word}") <= width:
                lines[-1] += f" {word}"
                continue
            lines.append(word)
            while breaks_words and self(lines[-1]) > width and len(lines[-1]) > 1:
                cut = next(
                    (place for place in range(len(lines[-1]) - 1, 1, -1) if self(lines[-1][:place]) <= width),
                    1,
                )
                lines[-1:] = [lines[-1][:cut], lines[-1][cut:]]
        return "\n".join(lines)

    def cut(self, text: str, width: float) -> str:
        """Cut a text to a width, with an ellipsis."""
        if self(text) <= width:
            return text
        lengths = range(len(text) - 1, 0, -1)
        return next(
            (f"{text[:length].rstrip()}…" for length in lengths if self(f"{text[:length]}…") <= width), "…"
        )
