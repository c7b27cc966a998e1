"""`airpath record`: records the link between two hosts."""

from __future__ import annotations

import gzip
import json
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from airpath.cli.arguments import ForceOption, JsonOption, argument, flag, option, out_option
from airpath.cli.output import folder_for, tell, write_files
from airpath.errors import ScenarioError
from airpath.progress import progress_bar
from airpath.recordings.own.client import Order, record
from airpath.recordings.own.control import LONGEST_S, PORT, ControlError
from airpath.recordings.own.folder import WARM_S, clocks_of, directions_of, light_csv, meta_of
from airpath.recordings.own.peer import packets_of
from airpath.recordings.own.server import Server
from airpath.recordings.statistics import describe
from airpath.report.recording import Link, describe_report
from airpath.terminal import console_for, say

SHORTEST_S = 5.0
MOST_MB = 1e6
FILES = {"downlink": "down.ms.gz", "uplink": "up.ms.gz"}


def command(
    host: Annotated[
        str | None, argument("HOST[:PORT]", "A host at which 'airpath record --serve' runs.")
    ] = None,
    out: Annotated[Path | None, out_option("Folder for the recording.")] = None,
    seconds: Annotated[
        float, option("SECONDS", "Length of each phase.", min=SHORTEST_S, max=LONGEST_S)
    ] = 300.0,
    order: Annotated[
        Order,
        option(
            "WORD", "alternate: one direction is kept busy, the other has a little; at_once: both are busy."
        ),
    ] = "alternate",
    limit: Annotated[float, option("MB", "Volume that is sent at most.", min=1, max=MOST_MB)] = 1000.0,
    token: Annotated[
        str | None, option("TOKEN", "Word that both ends know; the server makes one if absent.")
    ] = None,
    place: Annotated[str, option("TEXT", "Where and how it was recorded, for the recording.")] = "",
    serve: Annotated[bool, flag("--serve", "Be the wired end.")] = False,
    once: Annotated[bool, flag("--once", "With --serve: end after one client.")] = False,
    address: Annotated[str, option("ADDRESS", "With --serve: where to listen.")] = "0.0.0.0",
    port: Annotated[int, option("N", "Port of the server, TCP and UDP.", min=1, max=65_535)] = PORT,
    force: ForceOption = False,
    json_: JsonOption = False,
) -> None:
    """Record the link between two hosts: what it can carry in both directions, and how it is at little load.

    Run 'airpath record --serve' on a host with a fast wired link, and 'airpath record HOST --token TOKEN
    --out DIR' behind the link that is to be recorded.
    """
    most_packets = packets_of(round(1e6 * limit))
    if serve:
        if host is not None or out is not None:
            raise ScenarioError(
                "--serve", "the server writes nothing and calls nobody", "remove HOST and --out"
            )
        return _serve(address, port, token or secrets.token_hex(4), most_packets, once)
    if not host:
        raise ScenarioError("HOST", "is missing", "name the host of the server, or be one with --serve")
    if out is None:
        raise ScenarioError("--out", "is missing", "name a folder for the recording")
    if token is None:
        raise ScenarioError("--token", "is missing", "write the token that the server printed")
    folder_for("out", out / "meta.json", force=force)
    name, port = _split(host, port)
    started = datetime.now(UTC)
    try:
        with progress_bar(f"recording {name}") as progress:
            recorded = record(name, port, token, seconds, order, most_packets, progress)
    except ControlError as error:
        raise ScenarioError(host, str(error), "see the output of the server") from error
    except OSError as error:
        what = f"cannot be reached: {error.strerror or error}"
        raise ScenarioError(host, what, "start 'airpath record --serve' there, and open its port") from error
    clocks = clocks_of(recorded)
    directions = directions_of(recorded, clocks)
    for direction, one in directions.items():
        if one.recording.duration_s < 1:
            what = f"the {direction} came to it within {WARM_S + 1:g} s"
            raise ScenarioError("--limit", what, "allow more MB: half of them is for each direction")
    words = {
        "utc": started.isoformat(timespec="seconds"),
        "place": place,
        "order": order,
        "left_out_s": WARM_S,
    }
    meta = meta_of(directions, clocks, words)
    files: dict[str, str | bytes] = {
        "meta.json": json.dumps(meta, indent=1) + "\n",
        "light.csv": light_csv(recorded, clocks),
    }
    for direction, one in directions.items():
        # Without the time of compression: the same recording has the same bytes.
        files[FILES[direction]] = gzip.compress(one.recording.text().encode(), mtime=0)
    write_files("out", out, files, force)
    links = [
        Link(
            direction,
            one.recording.format,
            describe(one.recording),
            [f"{one.received} of {one.sent} packets arrived"] + ["the volume came to --limit"] * one.is_cut,
        )
        for direction, one in directions.items()
    ]
    said = {**meta, "statistics": {one.name: one.statistics.as_dict() for one in links}}
    tell(json_, said, describe_report(links))
    say(
        console_for(stderr=json_),
        f"written: {out}; next: airpath fit {out / FILES['downlink']} --out link.toml",
    )


def _serve(address: str, port: int, token: str, most_packets: int, is_once: bool) -> None:
    console = console_for(stderr=False)
    try:
        server = Server(address, port, token, most_packets)
    except OSError as error:
        what = f"{address} port {port}: {error.strerror or error}"
        raise ScenarioError("--address", what, "choose another --address or --port") from error
    say(console, f"listening on {address} port {server.port}; token {token}")
    try:
        server.serve(lambda text: say(console, text), is_once)
    finally:
        server.close()


def _split(host: str, port: int) -> tuple[str, int]:
    """Take HOST:PORT apart; an IPv6 address stands in brackets."""
    name, colon, number = host.rpartition(":")
    if not colon or (":" in name and not name.endswith("]")):
        return host.strip("[]"), port
    if not number.isdigit() or not 0 < int(number) < 65_536:
        raise ScenarioError("HOST", f"'{number}' is no port", "write a number up to 65535 behind the colon")
    return name.strip("[]"), int(number)
