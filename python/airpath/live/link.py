"""A link described on the command line by two traces, in mahimahi's manner, as the text of a scenario.

From there on it is a scenario like any other; validity and defaults are the core's business.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from airpath import _core
from airpath.bundled_traces import sample_traces
from airpath.errors import ScenarioError

NAME = "trace"
# What one line of a trace lets pass: bytes of IP, or as mahimahi counts them, with the 4 bytes that TUN adds.
ACCOUNTINGS = {1500: "ip_1500", 1504: "tun_1504"}
# mahimahi's other queues.
NOT_THERE = ("drophead", "codel", "pie")


@dataclass(frozen=True)
class Direction:
    """One direction of the link, as given on the command line; None is what was not given.

    Attributes
    ----------
    trace : str or None
        A file of delivery opportunities, a sample trace, or a rate such as "100 Mbit/s".
    queue : str or None
        mahimahi's name of a queue; "infinite" if absent.
    queue_args : str or None
        Its limits, such as "packets=100".
    """

    trace: str | None = None
    queue: str | None = None
    queue_args: str | None = None


@dataclass(frozen=True)
class Link:
    """The link, as given on the command line.

    Attributes
    ----------
    downlink, uplink : Direction
        What was given for either direction.
    delay : str or None
        One-way delay, such as "20 ms".
    once : bool
        Whether the link ends with its trace instead of starting it again.
    opportunity_bytes : int or None
        1500 or 1504; 1500 if absent.
    """

    downlink: Direction
    uplink: Direction
    delay: str | None = None
    once: bool = False
    opportunity_bytes: int | None = None

    def options(self) -> list[str]:
        """The options that were given, traces first."""
        given = {
            "--downlink-trace": self.downlink.trace,
            "--uplink-trace": self.uplink.trace,
            "--delay": self.delay,
            "--downlink-queue": self.downlink.queue,
            "--downlink-queue-args": self.downlink.queue_args,
            "--uplink-queue": self.uplink.queue,
            "--uplink-queue-args": self.uplink.queue_args,
            "--once": self.once or None,
            "--opportunity-bytes": self.opportunity_bytes,
        }
        return [option for option, value in given.items() if value is not None]

    def text(self) -> str:
        """Write the scenario.

        Raises
        ------
        ScenarioError
            If an option cannot be used; the key is the option.
        """
        accounting = ACCOUNTINGS.get(1500 if self.opportunity_bytes is None else self.opportunity_bytes)
        if accounting is None:
            what = f"{self.opportunity_bytes} bytes are not how a trace counts"
            hint = "write 1500 (bytes of IP) or 1504 (as mahimahi counts)"
            raise ScenarioError("--opportunity-bytes", what, hint)
        lines = [] if self.delay is None else ["[wired]", f"delay = {_quoted(self.delay)}"]
        has_end = False
        for name, direction in (("downlink", self.downlink), ("uplink", self.uplink)):
            trace, is_file = _trace(f"--{name}-trace", direction.trace)
            has_end |= is_file
            lines += [
                f"[radio.variable.{name}.queue.droptail]",
                *_limits(f"--{name}-queue", direction),
                f"[radio.variable.{name}.channel.trace_file]",
                trace,
                f"once = {str(self.once and is_file).lower()}",
                f"accounting = {_quoted(accounting)}",
            ]
        if self.once and not has_end:
            raise ScenarioError("--once", "a rate has no end", "give a trace, or leave --once out")
        # A scenario has a flow; live, whatever runs takes its place.
        lines += ["[[flow]]", "[flow.app.bulk]"]
        return "\n".join(lines) + "\n"


def _trace(option: str, trace: str | None) -> tuple[str, bool]:
    """Write where a trace comes from, and say whether it is a file; a rate is repeated without end."""
    if trace is None:
        raise ScenarioError(option, "is missing", "give a trace or a rate for either direction")
    path = Path(trace)
    if not path.exists() and trace in (known := sample_traces()):
        path = known[trace].file
    if path.exists():
        return f"file = {_quoted(str(path.resolve()))}", True
    try:
        return f"trace = {_quoted(_core.constant_trace(trace))}", False
    except ScenarioError as error:
        if not trace[:1].isdigit():
            hint = "write a path, a name that 'airpath list traces' shows, or a rate such as '100 Mbit/s'"
            raise ScenarioError(option, f"there is no file '{trace}'", hint) from error
        raise ScenarioError(option, *error.args[1:]) from error


def _limits(option: str, direction: Direction) -> list[str]:
    """Write the limits of a queue; none is a queue that takes everything."""
    limits = dict(_argument(option, part) for part in (direction.queue_args or "").split(",") if part)
    match direction.queue:
        case None | "infinite":
            if limits:
                hint = f"add {option} droptail"
                raise ScenarioError(f"{option}-args", "an infinite queue has no parameters", hint)
        case "droptail":
            if not limits:
                hint = f"add {option}-args packets=100, or write {option} infinite"
                raise ScenarioError(option, "droptail without a limit drops nothing", hint)
        case queue:
            what = f"there is no queue '{queue}' here" if queue in NOT_THERE else f"unknown queue '{queue}'"
            raise ScenarioError(option, what, "write droptail or infinite")
    return [f"{name} = {value}" for name, value in limits.items()]


def _argument(option: str, argument: str) -> tuple[str, str]:
    name, _, value = (part.strip() for part in argument.partition("="))
    if name == "packets" and value.isdecimal():
        return name, value
    if name == "bytes" and value:
        # mahimahi's bytes have no unit.
        return name, _quoted(f"{value} B" if value.isdecimal() else value)
    raise ScenarioError(
        f"{option}-args", f"'{argument}' is no limit of a queue", "write packets=100, bytes=64kB or both"
    )


def _quoted(text: str) -> str:
    """A string of TOML: JSON's, but for characters beyond 16 bits, which stay as they are."""
    return json.dumps(text, ensure_ascii=False)
