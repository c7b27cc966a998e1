"""A live link in the hands of a Python program: sockets and programs at either end of it.

A run of its own (`bench`) makes the link. Its COMMAND and its server are ushers, which make sockets in their
namespaces and hand them over; a socket stays where it was made, whoever uses it. So this process needs no
power and may have threads and event loops. The link ends with this process, whatever ends it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from airpath.errors import LiveError
from airpath.live import apart
from airpath.live.control import DOOR, ask
from airpath.live.driver import driver_command
from airpath.runs.memory import check_seed, coarse_probes
from airpath.runs.recorder import CAPTURE
from airpath.scenario import Scenario, load

# Captured bytes of each packet, as of `airpath live`.
SNAPLEN = 128
LATENESS_BOUND_US = 1000.0
STATUS_INTERVAL_S, TCP_INFO_INTERVAL_S = 1.0, 0.05
# Time for a link to be up, and to end, in seconds.
PATIENCE_S = 60.0
ENDS = ("server", "ue")
ENTER = Path(__file__).resolve().with_name("enter.py")
# A method has that name too.
Socket = socket.socket


@dataclass(frozen=True)
class Counts:
    """What a direction of a link has carried: IP packets of UE 0. The names are those of `Net.stats`."""

    sent: int
    sent_bytes: int
    opaque: int
    """Of these, packets that are no readable TCP, so that boxes let them pass."""
    delivered: int
    delivered_bytes: int
    dropped: int
    """Packets that the link dropped."""
    reasons: dict[str, int]
    """The same by reason."""
    marked: int
    """Packets that a queue discipline marked in place of a drop."""


@dataclass(frozen=True)
class Stats:
    """What a link has carried, by direction."""

    downlink: Counts
    uplink: Counts


class End:
    """One end of a link: `address` is its IPv4 address, `address6` its IPv6 address."""

    def __init__(self, door: str, address: str, address6: str) -> None:
        self._door = door
        self.address, self.address6 = address, address6

    def socket(
        self,
        family: int = socket.AF_INET,
        type: int = socket.SOCK_STREAM,
        proto: int = 0,
    ) -> Socket:
        """Make a socket at this end, with the arguments of `socket.socket`.

        Raises
        ------
        OSError
            If the kernel refuses it, or the link has ended.
        """
        with self._ask({"socket": [family, type, proto]}) as connection:
            answer, fds, _, _ = socket.recv_fds(connection, 1 << 12, 1, socket.MSG_CMSG_CLOEXEC)
        if not fds:
            raise OSError(*json.loads(answer)["error"])
        return socket.socket(family, type, proto, fileno=fds[0])

    def command(self, *words: str | os.PathLike[str]) -> list[str]:
        """The command that runs a program at this end; for `subprocess`, `asyncio` and the like.

        The program has the standard input, output and error, the environment and the folder that the command
        is given, and the addresses in `$AIRPATH_SERVER`, `$AIRPATH_UE` and so on. Signals are passed on to
        it. It ends with the link.
        """
        start = [sys.executable, "-I", "-S", str(ENTER), self._door]
        return [*start, *(os.fspath(word) for word in words)]

    def popen(self, words: Sequence[str | os.PathLike[str]], **options: Any) -> subprocess.Popen[Any]:
        """Start a program at this end: `subprocess.Popen` with `command(*words)`."""
        return subprocess.Popen(self.command(*words), **options)

    def _ask(self, request: dict[str, Any]) -> Socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        try:
            connection.connect(self._door)
            connection.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            connection.close()
            raise
        return connection


class Answer(NamedTuple):
    """What came of a change of a link."""

    at_s: float
    """Since when it holds: a time of the trace, s."""
    what: str
    """What changed."""
    elements: int
    """Number of elements that changed; 0 if the values were so already, or if the UE is in an outage."""
    values: dict[str, Any]
    """Keys that may change, with their values now."""


class RadioLink:
    """A live link through the bearer of a scenario, up from here on until `close` or the end of a `with`.

    Parameters
    ----------
    scenario : str, Path or Scenario
        Bundled name such as ``"umts-384"``, path of a TOML file, or a scenario.
    folder : Path
        Where the files of the run will be once it has ended; see docs/run.md.
    seed : int
        Same scenario and seed, same random draws.
    changes : mapping
        Changes of the scenario: dotted keys and values, as for `Scenario.with_`.
    boxes : sequence
        Middleboxes, in the place of the scenario's: names, or a dictionary of a name and its parameters.
    cc : str
        Congestion control of the kernel's TCP at both ends; the machine's default if absent.
    sysctl : mapping
        Kernel parameters of both ends, such as ``{"net.ipv4.tcp_sack": 0}``.
    trace : bool
        Whether the files have a trace.
    control : bool
        Whether `set` and `outage` may change the link.
    max_lateness_s : float
        Largest lateness of 99 % of the packets, s, with which the run is valid.

    Attributes
    ----------
    server, ue : End
        Both ends.
    scenario : Scenario
        With all changes.
    capture : Path
        The packets at both ends as pcapng, once the link has ended.

    Raises
    ------
    ScenarioError
        If the scenario cannot be used.
    LiveError
        If the link cannot be made.
    """

    def __init__(
        self,
        scenario: str | Path | Scenario,
        folder: Path,
        *,
        seed: int = 1,
        changes: Mapping[str, object] | None = None,
        boxes: Sequence[str | Mapping[str, object]] = (),
        cc: str | None = None,
        sysctl: Mapping[str, str | int] | None = None,
        trace: bool = False,
        control: bool = False,
        max_lateness_s: float = LATENESS_BOUND_US / 1e6,
    ) -> None:
        check_seed(seed)
        if not 0 < max_lateness_s < math.inf:
            raise ValueError(f"max_lateness_s has to be positive and finite, not {max_lateness_s}")
        driver_command()
        scenario = scenario if isinstance(scenario, Scenario) else load(scenario)
        for path, value in (changes or {}).items():
            scenario = scenario.with_(path, value)
        if boxes:
            scenario = scenario.with_(
                "middlebox", [{box: {}} if isinstance(box, str) else box for box in boxes]
            )
        # Absolute: a test may change the current folder.
        self.scenario, self.seed, self.folder = scenario, seed, Path(folder).absolute()
        self.capture = self.folder / CAPTURE
        self._results: dict[str, Any] | None = None
        self._has_control, self._control = control, Path()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            # Without the current folder, in which anything may lie.
            [sys.executable, "-P", "-m", "airpath.live.bench", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        configuration = {
            "name": scenario.name,
            "mode": "run",
            "scenario": scenario.text,
            "seed": seed,
            "probes": coarse_probes() if trace else [],
            "capture": True,
            "snaplen": SNAPLEN,
            "congestion_control": cc,
            "sysctl": {name: str(value) for name, value in (sysctl or {}).items()},
            "status_interval_s": STATUS_INTERVAL_S,
            "tcp_info_interval_s": TCP_INFO_INTERVAL_S,
            "lateness_bound_us": 1e6 * max_lateness_s,
            "control": control,
        }
        try:
            self.server, self.ue = self._start(json.dumps(configuration).encode() + b"\n")
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def results(self) -> dict[str, Any]:
        """The content of `results.json`.

        Raises
        ------
        LiveError
            If the link has not ended.
        """
        if self._results is None:
            raise LiveError("results", "the link has not ended", "call close() before")
        return self._results

    def set(self, key: str | Mapping[str, object] | None = None, value: object = None) -> Answer:
        """Change the link: `set("wired.rate", "1 Mbit/s")`, or several keys at once as a mapping.

        It holds from `at_s` of the answer on, a time of the trace in seconds; `values` has all keys that may
        change. Without arguments nothing changes.

        Raises
        ------
        LiveError
            If the link was made without `control`, or the change is refused; nothing has changed then.
        """
        values = {} if key is None else {key: value} if isinstance(key, str) else dict(key)
        return self._change({"set": values} if values else {})

    def outage(self, length: str, ue: int = 0) -> Answer:
        """Start no transmission of a UE for a time such as ``"3 s"``; buffers keep what they hold.

        Raises
        ------
        LiveError
            As of `set`.
        """
        return self._change({"outage": length, "ue": ue})

    def handover(self, to: str, outage: str = "1 s", ue: int = 0) -> Answer:
        """Hand a UE over to the cell of this name, after an outage of this length.

        Raises
        ------
        LiveError
            As of `set`.
        """
        return self._change({"outage": outage, "to": to, "ue": ue})

    def pause(self, ue: int = 0) -> Answer:
        """Start no transmission of a UE until `resume`; buffers keep what they hold.

        Raises
        ------
        LiveError
            As of `set`.
        """
        return self._change({"pause": True, "ue": ue})

    def resume(self, ue: int = 0) -> Answer:
        """End the pause of a UE.

        Raises
        ------
        LiveError
            As of `set`.
        """
        return self._change({"pause": False, "ue": ue})

    def reseed(self, seed: int) -> Answer:
        """Draw from new random streams from now on: channels, fading, losses, queues.

        Raises
        ------
        LiveError
            As of `set`.
        """
        return self._change({"seed": seed})

    def rebind(self, what: str = "port") -> Answer:
        """Have the address translator between the bearer and the server lose its state.

        The next packet of each flow from the UE has another source port; with ``"address"`` another address
        too. Packets to the old ones are dropped: `results["live"]["rebinding_dropped"]`.

        Raises
        ------
        LiveError
            As of `set`.
        """
        return self._change({"rebind": what})

    def _change(self, request: dict[str, Any]) -> Answer:
        if not self._has_control:
            raise LiveError("control", "the link was made without it", "make it with control=True")
        answer = ask(self._control, request)
        return Answer(answer["at_s"], answer["what"], answer["elements"], answer["values"])

    def close(self) -> Stats:
        """End the link and what runs at its ends; return what it has carried. May be called again.

        Raises
        ------
        LiveError
            If the run failed.
        """
        if self._results is None:
            # The server's first: COMMAND's end would wait for it.
            for end in (self.server, self.ue):
                with contextlib.suppress(OSError):
                    end._ask({"end": True}).close()
            self._results = apart.outcome(self.folder, *self._end())
        return _stats(self._results)

    def _start(self, configuration: bytes) -> list[End]:
        """Hand over the configuration and wait for both ushers."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(configuration)
            self._process.stdin.flush()
        stdout = self._process.stdout.fileno()
        waiting = select.poll()
        waiting.register(stdout, select.POLLIN)
        deadline, said = time.monotonic() + PATIENCE_S, b""
        while said.count(b"\n") < len(ENDS):
            if not waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
                what = f"the link was not up after {PATIENCE_S:.0f} s"
                raise LiveError("live", what, "see 'airpath doctor'")
            if not (piece := os.read(stdout, 4096)):
                status, why = self._end()
                apart.outcome(self.folder, status, why)
                what = f"the link ended before it was up: {why.strip()}"
                raise LiveError("live", what, "see 'airpath doctor'")
            said += piece
        ready = {usher["end"]: usher for usher in map(json.loads, said.splitlines())}
        self._control = Path(ready[ENDS[0]]["door"]).with_name(DOOR)
        return [End(ready[end]["door"], *ready[end]["addresses"]) for end in ENDS]

    def _end(self) -> tuple[int, str]:
        """End the run's standard input, and so the run; return its status and what it said."""
        try:
            _, said = self._process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            # Without it, everything else in the link ends at once.
            self._process.kill()
            _, said = self._process.communicate()
        return self._process.returncode, said.decode()


def _stats(results: dict[str, Any]) -> Stats:
    live = results["live"]

    def counts(direction: str, source: str, sink: str) -> Counts:
        sent, received = live["ends"][source], live["ends"][sink]
        return Counts(
            sent=sent["sent"],
            sent_bytes=sent["sent_bytes"],
            opaque=sum(sent["opaque"].values()),
            delivered=received["received"],
            delivered_bytes=received["received_bytes"],
            **live["outcomes"][direction],
        )

    return Stats(counts("downlink", "server", "ue"), counts("uplink", "ue", "server"))
