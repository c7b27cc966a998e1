"""`airpath studio`: runs in a browser, repeated as values change."""

from __future__ import annotations

import asyncio
import contextlib
import html
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from airpath.cli.arguments import argument, flag, option
from airpath.errors import ScenarioError
from airpath.runs.recorder import ending_signals
from airpath.terminal import clean


def command(
    named: Annotated[
        list[str] | None,
        argument("[SCENARIO|DIR]...", "Scenarios, and folders of runs, sweeps or reproductions."),
    ] = None,
    port: Annotated[
        int, option("N", "Listen on this port of 127.0.0.1; on one that is free if absent.", min=0, max=65535)
    ] = 0,
    no_browser: Annotated[bool, flag("--no-browser", "Print the address, and open no browser.")] = False,
) -> None:
    """Open runs in a browser: change a scenario, run it again, compare.

    The address that is printed works once, for one browser on this machine. Ctrl-C ends it.
    """
    try:
        from airpath.studio.serve import HOST, Studio
    except ModuleNotFoundError as error:
        what = f"{error.name} is not installed"
        raise ScenarioError("studio", what, "install it: python -m pip install 'airpath[studio]'") from error
    from airpath.studio.sources import Sources

    sources = Sources(named or ())

    def start(address: str) -> None:
        typer.echo(clean(address))
        typer.echo("Ctrl-C ends it", err=True)
        if not no_browser:
            door = doors.enter_context(_door(address))
            threading.Thread(target=webbrowser.open, args=(door,), daemon=True).start()

    async def serve() -> None:
        stop = asyncio.Event()
        for number in ending_signals():
            with contextlib.suppress(NotImplementedError):  # On Windows Ctrl-C is an exception alone.
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await Studio(sources).serve(port, start, stop)

    try:
        with contextlib.ExitStack() as doors:
            asyncio.run(serve())
    except OSError as error:
        what = f"{HOST}:{port} cannot be used: {error.strerror or error}"
        raise ScenarioError("--port", what, "choose another port, or none") from error


@contextlib.contextmanager
def _door(address: str) -> Iterator[str]:
    """Make a page that only this user can read and that leads to `address`; its own address tells no secret.

    What a browser is started with, every user of the machine can see.
    """
    with tempfile.TemporaryDirectory(prefix="airpath-studio-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "open.html"
        to = html.escape(address)
        page.write_text(f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={to}">', "utf-8")
        yield page.as_uri()
