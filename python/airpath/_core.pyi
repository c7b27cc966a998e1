"""Types of the compiled core; its behaviour is documented in the Rust sources."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "RNG_VERSION",
    "Simulation",
    "captures",
    "constant_trace",
    "live_driver",
    "measure",
    "octets",
    "probes",
    "registry",
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
def constant_trace(rate: str) -> str: ...
def captures(text: str) -> tuple[bool, bool]: ...
def run(text: str, seed: int) -> str: ...
def measure(text: str, seeds: Sequence[int], paths: Sequence[Sequence[str]]) -> list[bytes | str]: ...
def probes() -> dict[str, list[str]]: ...
def registry() -> str: ...
def schema() -> str: ...
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
    def take_capture(self) -> bytes: ...
    def results(self) -> str: ...
