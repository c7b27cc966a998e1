"""Runs, the pages of them, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import no_pictures

import airpath
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.studio.page import page

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make the folder of a run, once for each scenario and its changes."""
    made: dict[Any, Path] = {}

    def make(scenario: str = "umts-384", seed: int = 1, **changes: str) -> Path:
        key = (scenario, seed, *changes.items())
        if key not in made:
            changed = airpath.load(scenario)
            for path, value in changes.items():
                changed = changed.with_(path.replace("__", "."), value)
            made[key] = tmp_path_factory.mktemp("run") / "out"
            with no_pictures():
                run_to_folder(changed, seed, made[key])
        return made[key]

    return make


@pytest.fixture(scope="session")
def page_of(run_folder: Callable[..., Path]) -> Callable[..., Path]:
    """Write the page of a run."""

    def write(*scenario: Any, **changes: str) -> Path:
        folder = run_folder(*scenario, **changes)
        file = folder / "page.html"
        if not file.exists():
            file.write_bytes(page(FinishedRun.open(folder)))
        return file

    return write


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium; without one the test is skipped."""
    if not CHROMIUM:
        pytest.skip("there is no chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page in the browser, with what it said and asked for."""

    def __init__(self, browser: Any, file: Path, **context: Any) -> None:
        context = {"viewport": {"width": 1280, "height": 720}, "offline": True, **context}
        self.context = browser.new_context(**context)
        self.view = self.context.new_page()
        self.said: list[str] = []
        self.requests: list[str] = []
        self.view.on("console", lambda message: self.said.append(message.text))
        self.view.on("pageerror", lambda error: self.said.append(str(error)))
        self.view.on("request", lambda request: self.requests.append(request.url))
        self.view.goto(file.as_uri())
        self.view.locator("html[data-ready]").wait_for()

    def state(self, what: str) -> Any:
        """Read the state of the studio: an expression of `state`."""
        return self.view.evaluate(f"import('studio/main').then(({{store: {{state}}}}) => {what})")

    def settle(self) -> None:
        """Wait until the screens have heard of the last change."""
        frames = "new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => next())))"
        self.view.evaluate(frames)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.view.keyboard.press(key)
        self.settle()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Open pages; at the end none of them may have said anything, or asked for anything but itself."""
    pages: list[Opened] = []

    def call(file: Path, **context: Any) -> Opened:
        pages.append(Opened(browser, file, **context))
        return pages[-1]

    yield call
    for own in pages:
        own.context.close()
        assert own.said == []
        assert [url for url in own.requests if not url.startswith("data:")] == own.requests[:1]
