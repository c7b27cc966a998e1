"""Turns a link given on the command line as two traces, as for mahimahi, into the text of a scenario.

The core checks it and fills in the defaults, as of any scenario.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from airpath import _core
from airpath.errors import ScenarioError
from airpath.files.atomic import real
from airpath.files.text import open_to_read
from airpath.recordings.reader import is_foreign, read_recording
from airpath.scenario import inline

NAME = "trace"
# Parameters of queues that mahimahi writes as numbers of milliseconds.
MILLISECONDS = ("target", "interval", "qdelay_ref", "max_burst")
# Bytes of an opportunity: of IP, or as mahimahi counts, with the 4 bytes that TUN adds.
LONGEST_HEADER = 4096
"""Most bytes of the first line that are looked at."""
ACCOUNTINGS = {1500: "ip_1500", 1504: "tun_1504"}


@dataclass(frozen=True)
class Direction:
    """Options of one direction of the link; None if not given.

    The trace is a file of delivery opportunities, a series of time and rate as CSV, a sample trace, or a rate
    such as "100 Mbit/s". The queue is "infinite" if absent: mahimahi's name for drop-tail without limit. Its
    arguments are like "packets=100".
    """

    trace: str | None = None
    queue: str | None = None
    queue_args: str | None = None


@dataclass(frozen=True)
class Link:
    """Options of the link: one-way delay such as "20 ms", and bytes of an opportunity, 1500 or 1504.

    With `once` the link ends with its trace instead of starting it again; a series holds its last line.
    `offset` is where in its recordings the link begins: a time, or "random".
    """

    downlink: Direction
    uplink: Direction
    delay: str | None = None
    once: bool = False
    opportunity_bytes: int | None = None
    offset: str | None = None

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
            "--trace-offset": self.offset,
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
        lines = [] if self.delay is None else ["[wired]", f"delay = {inline(self.delay)}"]
        has_end = False
        for name, direction in (("downlink", self.downlink), ("uplink", self.uplink)):
            option = f"--{name}-trace"
            recording, rate = _trace(option, direction.trace)
            has_end |= recording is not None
            source = f"trace = {inline(rate)}" if recording is None else f"file = {inline(str(recording))}"
            offset = [] if None in (recording, self.offset) else [f"offset = {inline(self.offset)}"]
            if recording is not None and is_foreign(recording):
                lines += _imported(name, recording, offset, self.once, accounting)
            elif recording is not None and recording.suffix.lower() == ".json":
                if offset or self.once:
                    wrong = "--trace-offset" if offset else "--once"
                    what = f"{option}: a process has no beginning and no end"
                    raise ScenarioError(wrong, what, f"leave {wrong} out")
                lines += [f"[radio.variable.{name}.channel.process]", source]
            elif recording is not None and _is_series(recording):
                repeat = [] if self.once else _repeat(option, recording)
                lines += [f"[radio.variable.{name}.channel.series]", source, *offset, *repeat]
            else:
                once = str(self.once and recording is not None).lower()
                lines += [f"[radio.variable.{name}.channel.trace_file]", source, *offset, f"once = {once}"]
                lines.append(f"accounting = {inline(accounting)}")
        for option, value in (("--once", self.once), ("--trace-offset", self.offset)):
            if value and not has_end:
                what = "a rate has no end" if option == "--once" else "a rate is the same everywhere"
                raise ScenarioError(option, what, f"give a trace, or leave {option} out")
        # A scenario needs a flow; live, COMMAND's traffic takes its place.
        lines += ["[[flow]]", "[flow.app.bulk]"]
        return "\n".join(lines) + "\n"

    def queues(self) -> list[tuple[str, str]]:
        """Write the queues as changes to the scenario.

        Raises
        ------
        ScenarioError
            If an option cannot be used; the key is the option.
        """
        directions = (("downlink", self.downlink), ("uplink", self.uplink))
        return [change for name, direction in directions for change in _queue(name, direction)]

    def by_option(self, error: ScenarioError) -> ScenarioError:
        """Name the option in a scenario's error about a recording or a parameter of a queue."""
        key, message, hint = error.args
        for name in ("downlink", "uplink"):
            if key.startswith(f"radio.variable.{name}.channel."):
                if key.endswith(".offset"):
                    return ScenarioError("--trace-offset", f"--{name}-trace: {message}", hint)
                return ScenarioError(f"--{name}-trace", message, hint)
            _, is_queue, below = key.partition(f"radio.variable.{name}.queue.")
            if is_queue:
                _, _, parameter = below.partition(".")
                return ScenarioError(f"--{name}-queue-args", f"{parameter}: {message}", hint)
        return error


def _trace(option: str, trace: str | None) -> tuple[Path | None, str]:
    """Find the file of a recording, or write the trace of a rate, which is repeated forever."""
    if trace is None:
        raise ScenarioError(option, "is missing", "give a trace or a rate for either direction")
    path = Path(trace)
    if not path.exists() and trace in (known := sample_traces()):
        path = known[trace].file
    if path.exists():
        return real(path), ""
    try:
        return None, _core.constant_trace(trace)
    except ScenarioError as error:
        if not trace[:1].isdigit():
            hint = "write a path, a name that 'airpath list traces' shows, or a rate such as '100 Mbit/s'"
            raise ScenarioError(option, f"there is no file '{trace}'", hint) from error
        raise ScenarioError(option, *error.args[1:]) from error


def _imported(name: str, recording: Path, offset: list[str], once: bool, accounting: str) -> list[str]:
    """Write the channel of a recording in the format of another tool."""
    channel, parameters = read_recording(recording).channel()
    lines = [f"[radio.variable.{name}.channel.{channel}]", *offset]
    if channel == "trace_file":
        lines += [f"once = {str(once).lower()}", f"accounting = {inline(accounting)}"]
    elif once:
        parameters.pop("repeat")
    return [*lines, *(f"{key} = {inline(value)}" for key, value in parameters.items())]


def _is_series(recording: Path) -> bool:
    """Whether a file has several columns: a series of time and rate as CSV, not mahimahi's one column."""
    if recording.suffix.lower() == ".csv":
        return True
    try:
        with open_to_read(recording) as file:
            return b"," in file.readline(LONGEST_HEADER)
    except OSError:  # The core says what is wrong with it.
        return False


def _repeat(option: str, recording: Path) -> list[str]:
    """Write after which time a series begins again, as a trace does."""
    try:
        length = _core.series_length(recording)
    except ScenarioError as error:
        raise ScenarioError(option, f"'{recording}', {error.args[1]}", error.args[2]) from error
    return [] if length is None else [f"repeat = {inline(length)}"]


def _queue(name: str, direction: Direction) -> list[tuple[str, str]]:
    """Write a queue and its parameters."""
    option = f"--{name}-queue"
    parameters = [_argument(option, part) for part in (direction.queue_args or "").split(",") if part]
    known = [part["name"] for part in json.loads(_core.registry()) if part["folder"] == "queue"]
    queue = direction.queue or "infinite"
    if queue == "infinite" and parameters:
        hint = f"add {option} droptail"
        raise ScenarioError(f"{option}-args", "an infinite queue has no parameters", hint)
    if queue in ("droptail", "drophead") and not parameters:
        hint = f"add {option}-args packets=100, or write {option} infinite"
        raise ScenarioError(option, f"{queue} without a limit drops nothing", hint)
    if queue not in ("infinite", *known):
        hint = f"write infinite or one of {', '.join(known)}"
        raise ScenarioError(option, f"there is no queue '{queue}' here", hint)
    path = f"radio.variable.{name}.queue"
    discipline = "droptail" if queue == "infinite" else queue
    return [(path, discipline), *((f"{path}.{discipline}.{key}", value) for key, value in parameters)]


def _argument(option: str, argument: str) -> tuple[str, str]:
    name, _, value = (part.strip() for part in argument.partition("="))
    if not name or not value:
        hint = "write NAME=VALUE, such as packets=100 or bytes=64kB, with commas between"
        raise ScenarioError(f"{option}-args", f"'{argument}' is no parameter of a queue", hint)
    # mahimahi's numbers have no units.
    unit = " B" if name == "bytes" else " ms" if name in MILLISECONDS else ""
    return name, f"{value}{unit}" if value.isdecimal() else value


@dataclass(frozen=True)
class SampleTrace:
    """A trace of delivery opportunities that comes with airpath, and the scenario that makes it.

    The file is in mahimahi's form: milliseconds, an opportunity to send 1500 bytes in each line. `make
    traces` makes it by a run that keeps the link busy, exported as `mm-trace`.
    """

    file: Path
    scenario: Path

    @property
    def shows(self) -> str:
        """Its description: the first comment line of its scenario."""
        return self.scenario.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")


def sample_traces() -> dict[str, SampleTrace]:
    """The traces by their names."""
    folder = Path(str(resources.files("airpath"))) / "traces"
    return {
        file.stem: SampleTrace(file.with_suffix(".trace"), file) for file in sorted(folder.glob("*.toml"))
    }
