"""Turns a live run's frames into files, lines for the user, and a view while it runs.

The view has rates, round-trip time, buffers, drops and lateness.
"""

from __future__ import annotations

import contextlib
import json
import platform
import sys
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from airpath.live.screen import Screen
from airpath.live.session import Listener
from airpath.live.terminal import OutputTerminal
from airpath.runs.recorder import CtrlC, Recorder
from airpath.terminal import clean, counted, number_text

if TYPE_CHECKING:
    from rich.table import Table

    from airpath.runs.trace import Events

STDERR = 2
DIRECTIONS = ("downlink", "uplink")
# Intervals in a history of the rate.
HISTORY = 16
LEVELS, PLAIN_LEVELS = "▁▂▃▄▅▆▇█", "._-=+*%#"


class Follower(Protocol):
    """Shows a run elsewhere while it goes on."""

    def add(self, events: Events) -> None:
        """Take events of the trace."""

    def tick(self, now_s: float) -> None:
        """Take note of how far the run is, in seconds."""

    def note(self, changed: Mapping[str, Any]) -> None:
        """Take note of a change: an answer of the driver."""


class Watcher(Listener):
    """Listens to a session.

    `record` opens the files; it is called when the link works, so that a run that failed to start leaves no
    file. With `output`, COMMAND's, there is a view. `title` stands above the picture; `name` if absent.
    `greet` prints the addresses, for the user of a shell. `follower` gets all events, and how far the run is.
    """

    def __init__(
        self,
        name: str,
        *,
        title: str | None = None,
        record: Callable[[], Recorder] | None = None,
        output: OutputTerminal | None = None,
        greet: bool = False,
        follower: Follower | None = None,
    ) -> None:
        self._title = name if title is None else title
        self._record, self._output, self._greet = record, output, greet
        self._follower = follower
        self.recorder: Recorder | None = None
        self._screen = Screen(STDERR) if output else None
        self._view = View(name, plain="utf" not in sys.stderr.encoding.lower())
        self.handle_resize()

    def handle_status(self, status: dict[str, Any]) -> None:
        """See `Listener`."""
        match status["state"]:
            case "up":
                if self._record:
                    self.recorder = self._record()
                for notice in status["notices"]:
                    self._tell(notice)
                if self._greet:
                    server, ue = status["server_addr"], status["ue_addr"]
                    if status.get("command_at") == "server":
                        self._tell(f"this shell is the server, {server}; the UE is {ue} ($AIRPATH_UE)")
                    else:
                        self._tell(f"this shell is the UE, {ue}; the server is {server} ($AIRPATH_SERVER)")
                    if len(status["interfaces"]) > 1:
                        for place, one in enumerate(status["interfaces"]):
                            server = f"{one['server_addr']} ($AIRPATH_SERVER{f'_{place}' if place else ''})"
                            self._tell(
                                f"{one['device']}, {one['ue_addr']}, is {one['name']}; the server is {server}"
                            )
            case "notice":
                self._tell(status["text"])
            case "running":
                if self._follower:
                    self._follower.tick(status["now_s"])
                if self._screen:
                    self.handle_resize()
                    self._screen.show(self._view.table(status))
            case "changed":
                if self._follower:
                    self._follower.note(status)
            case "ended":
                self.pause()

    def handle_record(self, events: Events, capture: bytes) -> None:
        """See `Listener`."""
        if self._follower:
            self._follower.add(events)
        if self.recorder:
            self.recorder.write(events, capture)

    def handle_output(self, output: bytes) -> None:
        """See `Listener`."""
        if self._screen:
            self._screen.print_above(output)

    def handle_resize(self) -> None:
        """See `Listener`. While COMMAND owns the terminal, the next status brings a new size."""
        if self._output:
            self._output.take_size(STDERR)

    def pause(self) -> None:
        """See `Listener`."""
        if self._screen:
            self._screen.clear()

    def close(self) -> None:
        """Restore the terminal and close the files, however the run ended."""
        self.pause()
        if self.recorder:
            self.recorder.close()

    def finish(
        self,
        configuration: dict[str, Any],
        results: dict[str, Any] | None,
        *,
        drawn: bool = True,
        page: Callable[[Path], bytes] | None = None,
    ) -> None:
        """Complete the files of the run after `close`, if it has any; see `Recorder.finish`."""
        if self.recorder is None:
            return
        with CtrlC() as ctrl_c:
            self.recorder.finish(
                None if results is None else json.dumps(results, indent=2),
                ctrl_c,
                title=f"{self._title}, live",
                drawn=drawn,
                page=page,
                interrupted=results is None or not results["complete"],
                live={
                    "kernel": platform.release(),
                    **{key: configuration[key] for key in ("command", "server")},
                    "duration_s": None if results is None else results["simulated_s"],
                },
            )

    def _tell(self, text: str) -> None:
        line = f"airpath: {text}"
        if self._screen:
            self._screen.print_line(line)
        else:
            with contextlib.suppress(OSError):
                print(line, file=sys.stderr, flush=True)


class View:
    """Lays out the driver's statuses, with a history of the rates; `plain` terminals show ASCII only."""

    def __init__(self, name: str, *, plain: bool = False) -> None:
        self._name, self._levels = name, PLAIN_LEVELS if plain else LEVELS
        self._rates = {direction: deque[float](maxlen=HISTORY) for direction in DIRECTIONS}

    def table(self, status: dict[str, Any]) -> Table:
        """Lay out a status of the driver; add its rates to the history."""
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2, 0, 0))
        for justify in ("left", "right", "left", "right", "right", "right", "right"):
            table.add_column(no_wrap=True, justify=justify)
        table.add_row("", "rate", "", "", "buffer", "drains in", "dropped", style="dim")
        for direction in DIRECTIONS:
            now = status[direction]
            rates = self._rates[direction]
            rates.append(now["rate_bps"])
            table.add_row(
                direction,
                rate_text(now["rate_bps"]),
                history(rates, self._levels),
                f"{now['queued_sdus']} SDUs",
                f"{now['queued_bytes'] / 1e3:.1f} kB",
                drain_text(now),
                str(now["dropped"]),
            )
        minutes, seconds = divmod(int(status["now_s"]), 60)
        rtt, lateness = (number_text(status[key]) for key in ("rtt_ms", "lateness_p99_us"))
        head = [
            f"{clean(self._name)}  {minutes}:{seconds:02d}",
            counted(status["flows"], "flow"),
            f"RTT {rtt} ms",
            f"lateness p99 {lateness} us",
        ]
        told = status.get("endpoint") or []
        for ours in told if isinstance(told, list) else [told]:
            again = f"{ours['retransmissions']} retransmitted, {counted(ours['timeouts'], 'timeout')}"
            head.append(f"airpath's TCP: {ours['open']} open, {again}")
        outer = Table.grid()
        outer.add_row(Text("  ".join(head), style="bold", no_wrap=True))
        outer.add_row(table)
        return outer


def history(rates: deque[float], levels: str) -> str:
    """One character for each rate, scaled to the highest; a blank when idle."""
    top = max(rates, default=0.0)
    steps = (int(rate / top * (len(levels) - 1) + 0.5) if top else 0 for rate in rates)
    drawn = (levels[step] if rate else " " for step, rate in zip(steps, rates, strict=True))
    return "".join(drawn).rjust(HISTORY)


def rate_text(bps: float) -> str:
    """A rate in a suitable unit, such as "361.0 kbit/s"."""
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6)):
        if bps >= size:
            return f"{bps / size:.2f} {unit}"
    return f"{bps / 1e3:.1f} kbit/s"


def drain_text(direction: dict[str, Any]) -> str:
    """Time to drain the buffer at the current rate."""
    bits, rate = 8 * direction["queued_bytes"], direction["rate_bps"]
    if not bits:
        return "0 s"
    return f"{bits / rate:.2f} s" if rate else "- s"
