"""`airpath describe`: statistics of recordings and of scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from airpath.cli.arguments import JsonOption, SeedOption, argument, option
from airpath.cli.output import tell
from airpath.errors import ScenarioError
from airpath.live.link import sample_traces
from airpath.progress import progress_bar
from airpath.recordings.classes import TRACES, class_of
from airpath.recordings.offered import Direction, record
from airpath.recordings.reader import read_recording
from airpath.recordings.statistics import describe
from airpath.report.recording import Link, describe_report
from airpath.scenario import bundled, load

SHORTEST_S = 10.0


def command(
    names: Annotated[
        list[str] | None,
        argument(
            "RECORDING|SCENARIO...", "Recordings, sample traces, scenarios; all bundled ones if absent."
        ),
    ] = None,
    direction: Annotated[
        Direction, option("NAME", "Direction of scenarios: downlink or uplink.")
    ] = "downlink",
    duration: Annotated[
        float, option("SECONDS", "How long scenarios are recorded.", "--seconds", min=SHORTEST_S, max=86_400)
    ] = 120.0,
    seed: SeedOption = 1,
    column: Annotated[
        str | None, option("NAME", "Operator in a file of 5Gophers, or column of rates in one of UCC.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Show how the rate of links varies and how often they are silent: recordings and scenarios."""
    traces = {f"{name} (trace)" if name in bundled() else name: one for name, one in sample_traces().items()}
    chosen = names or [*bundled(), *traces]
    links: list[Link] = []
    with progress_bar("links") as progress:
        for done, name in enumerate(chosen):
            if name in traces:
                found = read_recording(traces[name].file)
            elif name in bundled() or name.endswith(".toml"):
                found = record(load(name), duration, seed, direction)
            elif not Path(name).exists():
                hint = "write the path of a recording, or a name that 'airpath list' shows"
                raise ScenarioError(name, "there is no such recording, trace or scenario", hint)
            else:
                found = read_recording(Path(name), column=column)
            shown = name if name in traces or name in bundled() else found.name
            own_class = TRACES.get(name.removesuffix(" (trace)")) if name in traces else class_of(name)
            links.append(Link(shown, found.format, describe(found), found.notes, own_class))
            progress((done + 1) / len(chosen))
    said = [
        {
            **{"name": one.name, "what": one.what, "notes": list(one.notes), **one.statistics.as_dict()},
            **{"class": one.mobility.name if one.mobility else None, "outside": one.outside},
        }
        for one in links
    ]
    tell(json_, said, describe_report(links))
