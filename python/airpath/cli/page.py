"""`airpath page`: writes a finished run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from airpath.cli.arguments import ForceOption, argument, option
from airpath.cli.output import STANDARD_OUTPUT, check_free, write_file
from airpath.errors import OutputError
from airpath.files.atomic import real
from airpath.runs.finished import FinishedRun
from airpath.runs.recorder import FILES, PAGE
from airpath.terminal import clean


def command(
    run: Annotated[Path, argument("DIR", "Folder of a finished run.")],
    out: Annotated[
        Path | None, option("FILE", "Write here, or to standard output (-); DIR/page.html if absent.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write a finished run as one HTML file with plots, events and results, for any browser.

    The file opens from the disk: it needs neither a server nor the network, and makes no requests.
    """
    from airpath.studio.page import page

    opened = FinishedRun.open(run)
    file = run / PAGE if out is None else out
    if real(file) in {real(run / name) for name in FILES if name != PAGE}:
        raise OutputError("--out", f"'{file}' is a file of the run itself", "choose another name")
    check_free("--out", file, force)
    write_file("--out", file, page(opened), force)
    if file != STANDARD_OUTPUT:
        typer.echo(clean(str(file)))
