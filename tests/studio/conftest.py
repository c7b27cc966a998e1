"""Runs, the pages of them, servers, and a browser."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
from conftest import no_pictures
from playground import write
from programs import require

import airpath
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.studio.page import page
from airpath.studio.serve import Studio
from airpath.studio.sources import Sources


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


class Server:
    """A server of the studio in a thread of this process."""

    def __init__(self, *named: object) -> None:
        self._sources = Sources([str(name) for name in named])
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._started.wait(10)
        self.origin = self.address.partition("/?")[0]
        self.port = int(self.origin.rpartition(":")[2])

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await Studio(self._sources).serve(0, self._start, self._stop)

    def _start(self, address: str) -> None:
        self.address = address
        self._started.set()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()


@pytest.fixture
def serving() -> Iterator[Callable[..., Server]]:
    """Start servers that offer what is named; at the end they stop."""
    servers: list[Server] = []

    def start(*named: object) -> Server:
        servers.append(Server(*named))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, or the test is skipped. Until it is closed, this thread has an event loop.

    Its shell without windows takes half the processor time.
    """
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        require("chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Served(Protocol):
    """Something that listens: where, and the address that lets a browser in."""

    origin: str
    address: str


def settle(view: Any) -> None:
    """Wait until the screens of a page have handled the last change: in the frame after it."""
    frames = "new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => next())))"
    view.evaluate(frames)


class Opened:
    """The front in the browser, of a page or of a server, with what it said and asked for."""

    def __init__(
        self,
        browser: Any,
        place: Path | Served,
        prepare: Callable[[Any], None] = lambda _: None,
        **context: Any,
    ) -> None:
        self.is_served = not isinstance(place, Path)
        self.address = place.as_uri() if isinstance(place, Path) else place.address
        self.origin = self.address if isinstance(place, Path) else f"{place.origin}/"
        context = {"viewport": {"width": 1280, "height": 720}, "offline": not self.is_served, **context}
        self.context = browser.new_context(**context)
        prepare(self.context)
        self.view = self.context.new_page()
        self.said: list[str] = []
        self.requests: list[str] = []
        self.view.on("console", lambda message: self.said.append(message.text))
        self.view.on("pageerror", lambda error: self.said.append(str(error)))
        self.view.on("request", lambda request: self.requests.append(request.url))
        self.view.goto(self.address)
        self.view.locator("html[data-ready]").wait_for()

    def state(self, what: str) -> Any:
        """Read the state of the studio: an expression of `state`."""
        return self.ask(f"(({{state}}) => {what})(store)")

    def ask(self, what: str) -> Any:
        """Read something about the studio: an expression of `store`."""
        return self.view.evaluate(f"import('studio/main').then(({{store}}) => {what})")

    def settle(self) -> None:
        """Wait until the screens have handled the last change."""
        settle(self.view)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.view.keyboard.press(key)
        self.settle()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Open pages of runs and of servers; none may have said anything, or asked for anything elsewhere."""
    pages: list[Opened] = []

    def call(place: Path | Server, **context: Any) -> Opened:
        pages.append(Opened(browser, place, **context))
        return pages[-1]

    yield call
    for own in pages:
        own.context.close()
        assert own.said == []
        asked = [url for url in own.requests if not url.startswith("data:")]
        assert own.requests[0] == own.address
        assert all(url.startswith(own.origin) for url in asked)
        assert own.is_served or len(asked) == 1


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Site(NamedTuple):
    """A file server: where it is, and its page."""

    origin: str
    address: str


@contextlib.contextmanager
def file_server(folder: Path) -> Iterator[Site]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    origin = f"http://127.0.0.1:{server.server_address[1]}"
    yield Site(origin, f"{origin}/index.html")
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def site(wasm, tmp_path_factory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("playground")
    write(wasm, folder)
    with file_server(folder) as site:
        yield site
