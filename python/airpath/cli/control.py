"""`airpath control`: changes a live link that was started with `airpath live --control`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from airpath.cli.arguments import JsonOption, argument, flag, option, parse_changes
from airpath.cli.output import as_text
from airpath.errors import LiveError
from airpath.live.control import ask


def command(
    socket: Annotated[Path, argument("SOCKET", "The socket of the link, as given to --control.")],
    values: Annotated[
        list[str] | None,
        argument(
            "KEY=VALUE", "New values, such as wired.rate='1 Mbit/s'. Without any, print what may change."
        ),
    ] = None,
    outage: Annotated[
        str | None, option("TIME", "Start no transmission of the UE for this long, such as 3s.")
    ] = None,
    handover: Annotated[
        str | None,
        option("CELL", "Hand the UE over to this cell, after an outage of 1 s or of --outage."),
    ] = None,
    pause: Annotated[bool, flag("--pause", "Start no transmission of the UE until --resume.")] = False,
    resume: Annotated[bool, flag("--resume", "End the pause of the UE.")] = False,
    seed: Annotated[
        int | None, option("N", "New random streams of channels, losses and queues from now on.")
    ] = None,
    rebind: Annotated[
        str | None, option("port|address", "NAT rebinding: flows get another source port, or address.")
    ] = None,
    ue: Annotated[int, option("N", "With --outage, --handover, --pause, --resume: number of the UE.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Change a live link while it runs: rates, losses, delays, SINR, queues, an outage, a hand-over.

    Prints when the change took effect, as a time of the trace, or the keys that may change with their values.
    """
    request: dict[str, Any] = {}
    if changes := parse_changes(values):
        request["set"] = dict(changes)
    if pause and resume:
        raise LiveError("--pause", "stands beside --resume", "write one of them")
    if outage is not None:
        request["outage"] = outage
    if handover is not None:
        request["to"] = handover
    if pause or resume:
        request["pause"] = pause
    if request.keys() & {"outage", "to", "pause"}:
        request["ue"] = ue
    if seed is not None:
        request["seed"] = seed
    if rebind is not None:
        request["rebind"] = rebind
    answer = ask(socket, request)
    if json_:
        typer.echo(as_text(answer))
    elif request:
        same = (
            ""
            if answer["elements"]
            else " (no change: it was so already, or the UE is in an outage or a pause)"
        )
        typer.echo(f"{answer['at_s']:.6f} s: {answer['what']}{same}")
    else:
        for key, value in answer["values"].items():
            typer.echo(f"{key} = {value}")
