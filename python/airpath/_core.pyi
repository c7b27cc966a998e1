"""Types of the compiled core; its behaviour is documented in the Rust sources."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "RNG_VERSION",
    "Arrival",
    "Counts",
    "Net",
    "Simulation",
    "Stats",
    "bundled",
    "captures",
    "chunk",
    "constant_trace",
    "live_driver",
    "measure",
    "octets",
    "path",
    "probes",
    "registry",
    "remarks",
    "resolve",
    "run",
    "schema",
    "seconds",
    "version",
]

RNG_VERSION: str

_Numbers: TypeAlias = NDArray[np.uint64]
_Words: TypeAlias = tuple[NDArray[np.uint8], list[str]]

def resolve(
    text: str, overrides: list[tuple[str, str]] = ..., folder: Path | None = None, confined: bool = False
) -> str: ...
def bundled() -> dict[str, str]: ...
def path(text: str) -> list[str]: ...
def constant_trace(rate: str) -> str: ...
def captures(text: str) -> tuple[bool, bool]: ...
def remarks(text: str) -> list[tuple[str, str, str]]: ...
def chunk(events: dict[str, dict[str, _Numbers | _Words]], differences: bool = False) -> bytes: ...
def run(text: str, seed: int) -> str: ...
def measure(text: str, seeds: Sequence[int], paths: Sequence[Sequence[str]]) -> list[bytes | str]: ...
def probes() -> dict[str, list[str]]: ...
def registry() -> str: ...
def schema() -> str: ...
def check_size(text: str) -> None: ...
def seconds(text: str) -> float: ...
def octets(text: str) -> int: ...
def version() -> str: ...
def analyze(path: str | Path, most: int = 100) -> str: ...

# On Linux only.
def live_driver(fd: int) -> None: ...

@final
class Simulation:
    def __new__(
        cls,
        text: str,
        seed: int,
        probes: list[str] = ...,
        capture: bool = False,
        capture_rlc: bool = False,
        capture_iu: bool = False,
    ) -> Self: ...
    @property
    def now_s(self) -> float: ...
    @property
    def end_s(self) -> float: ...
    @property
    def progress(self) -> float: ...
    def advance(self, sim_seconds: float) -> bool: ...
    def take_trace(self) -> dict[str, dict[str, _Numbers | _Words]]: ...
    @property
    def recorded(self) -> int: ...
    def take_chunk(self) -> tuple[bytes, dict[str, int]]: ...
    def take_capture(self) -> bytes: ...
    def results(self) -> str: ...

_End: TypeAlias = Literal["server"] | int
_Address: TypeAlias = tuple[str, int]
_Sent: TypeAlias = Literal["accepted", "too_big", "full"]

@final
class Arrival:
    @property
    def at(self) -> int: ...
    @property
    def to(self) -> _End: ...
    @property
    def packet(self) -> bytes: ...
    def datagram(self) -> tuple[_Address, _Address, int, bytes] | None: ...

@final
class Counts:
    sent: int
    sent_bytes: int
    opaque: int
    delivered: int
    delivered_bytes: int
    dropped: int
    reasons: dict[str, int]
    marked: int
    too_big: int
    full: int
    queued: int
    queued_bytes: int

@final
class Stats:
    downlink: Counts
    uplink: Counts

class Net:
    def __new__(
        cls,
        text: str,
        seed: int,
        mtu: int = 1500,
        capture: bool = False,
        probes: list[str] = ...,
        most_inside: int = ...,
    ) -> Self: ...
    @staticmethod
    def address(end: _End, ipv6: bool = False) -> str: ...
    def send(
        self, at: int, sender: _End, payload: bytes, src: _Address, dst: _Address, ecn: int = 0
    ) -> _Sent: ...
    def send_ip(self, at: int, sender: _End, packet: bytes) -> _Sent: ...
    def next_wakeup(self) -> int | None: ...
    def advance(self, until: int) -> Arrival | None: ...
    @property
    def now(self) -> int: ...
    @property
    def ues(self) -> list[int]: ...
    def stats(self) -> Stats: ...
    def take_trace(self) -> dict[str, dict[str, _Numbers | _Words]]: ...
    def capture(self) -> bytes: ...
    def report_json(self) -> str: ...
