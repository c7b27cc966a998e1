"""Takes the pictures of the studio that docs/studio.md shows, and the one in motion: part of `make images`.

A test takes them too, into build/screens, where they are to be looked at. They hold no digest: whether they
are current is seen by eye.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

HERE = Path(__file__).resolve().parent
WINDOW = {"width": 1280, "height": 800}


class Screen(NamedTuple):
    """What is opened, and what is done before the picture is taken."""

    name: str
    opens: str
    link: str = ""
    steps: Callable[[Any], object] = lambda view: None
    scheme: str = "light"


def tab(name: str) -> Callable[[Any], object]:
    """Open a tab next to the plots."""
    return lambda view: view.locator(f"[data-tab={name}]").click()


def fold(*numbers: int) -> Callable[[Any], object]:
    """Fold panels by their keys."""
    return lambda view: [view.keyboard.press(str(number)) for number in numbers]


def _lesson(view: Any) -> None:
    view.locator("#teach").click()
    view.get_by_role("button", name="gaps").click()
    view.locator("#lesson").wait_for()


def _life(view: Any) -> None:
    tab("packets")(view)
    view.locator("#outcome").select_option(label="dropped")
    view.locator("#objects [role=option]").first.click()


REGULATED = "chan-variable-rate?set=duration:2+min&with=chan-variable-rate-ar&set=duration:2+min"
SCREENS = (
    Screen("overview", "umts-384", "umts-384?from=0&to=12&at=6.4"),
    Screen("overview-dark", "umts-384", "umts-384?from=0&to=12&at=6.4", scheme="dark"),
    Screen("path", "umts-384", "umts-384?from=2.6&to=4.2&at=3.2", fold(2, 4, 5), "dark"),
    Screen("compare", "chan-variable-rate", f"{REGULATED}&from=0&to=60&at=31.5", tab("compare")),
    Screen("lesson", "umts-384", "", _lesson),
    Screen("packet", "umts-384", "", _life),
    Screen("sweep", "{scratch}/plane"),
)


def chromium() -> str | None:
    """Chromium; its shell without windows takes half the processor time."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


@contextmanager
def served(what: str) -> Iterator[str]:
    """Start the studio on a scenario or folder; gives its address."""
    command = [sys.executable, "-m", "airpath", "studio", what, "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as studio:
        try:
            assert studio.stdout is not None
            yield next(found[0] for line in studio.stdout if (found := re.search(r"http://\S+", line)))
        finally:
            studio.terminate()


def take(folder: Path, screens: tuple[Screen, ...] = SCREENS) -> list[str]:
    """Write the pictures as PNG into a folder; return what the pages said on the browser's console."""
    from playwright.sync_api import sync_playwright

    said: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        command = [sys.executable, "-m", "airpath", "sweep", HERE / "plane.toml", "--out", f"{scratch}/plane"]
        subprocess.run(command, check=True, capture_output=True)
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for screen in screens:
            with served(screen.opens.format(scratch=scratch)) as address:
                view = browser.new_page(viewport=WINDOW, color_scheme=screen.scheme)
                view.on("console", lambda message: said.append(message.text))
                view.on("pageerror", lambda error: said.append(str(error)))
                view.goto(address + (f"#{screen.link}" if screen.link else ""))
                view.locator("html[data-ready]").wait_for()
                screen.steps(view)
                view.wait_for_timeout(1000)  # The picture of what was done last.
                file = folder / f"{screen.name}.png"
                view.screenshot(path=file)
                view.close()
            with Image.open(file) as image:
                # 256 colours are enough, and a third of the size.
                image.convert("RGB").quantize(256).save(file, optimize=True)
        browser.close()
    return said


FRAMES, FRAME_MS, TIMES = 100, 100, 5
"""The moving picture: a frame for each TTI, and how often all of them are shown."""


def move(file: Path) -> None:
    """Write the path of `umts-384` in motion as an animated PNG: packets, and blocks on the air."""
    from playwright.sync_api import sync_playwright

    frames = []
    with sync_playwright() as playwright, served("umts-384") as address:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        view = browser.new_page(viewport={**WINDOW, "width": 1440}, color_scheme="light")
        view.goto(f"{address}#umts-384?from=2&to=5&at=3")
        view.locator("html[data-ready]").wait_for()
        view.wait_for_timeout(1000)
        for _ in range(FRAMES):
            with Image.open(BytesIO(view.locator("#scenes").screenshot())) as image:
                frames.append(image.convert("RGB"))
            view.locator("#tti-after").click()
            view.wait_for_timeout(50)
        browser.close()
    # One palette for all: an animated PNG keeps only what changes.
    shared = frames[len(frames) // 2].quantize(48, dither=Image.Dither.NONE)
    first, *others = (frame.quantize(palette=shared, dither=Image.Dither.NONE) for frame in frames)
    first.save(file, save_all=True, append_images=others, duration=FRAME_MS, loop=TIMES, optimize=True)
