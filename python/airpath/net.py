"""A link in virtual time for transports without I/O: `airpath.Net`.

Packets go in with their send times and come out when the link delivers them. Times are whole
nanoseconds: convert a deadline in floating-point seconds by `int(seconds * 1e9) + 1000`, which is never
before it. The crate `airpath` is the same link for Rust.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from airpath import _core
from airpath.errors import ScenarioError
from airpath.runs.memory import check_probes, check_seed
from airpath.runs.renamed import current
from airpath.scenario import Scenario, load

if TYPE_CHECKING:
    from airpath.runs.trace import Trace


class Net(_core.Net):
    """A link between a server and UEs, in virtual time.

    An end is the word ``"server"`` or the ID of a UE. UE 0 is yours, and so are UEs without flows
    (`ues`). Flows of other UEs are simulated, too; `duration` and the flows of UE 0 are ignored.

    Parameters
    ----------
    scenario : Scenario, str or Path
        A scenario, a bundled name or a file.
    seed : int
        Seed of all that is random in the link.
    mtu : int
        Largest IP packet that passes, bytes.
    capture : bool
        Whether `capture` is to have what the ends send and receive.
    probes : sequence of str
        Kinds of events to record for `trace`.
    most_inside : int
        Maximum packets that the link holds for a UE, regardless of its buffers; a packet both in a buffer
        and in transit counts twice.

    Raises
    ------
    ScenarioError
        If the scenario, the seed, the MTU or a probe cannot be used.

    Examples
    --------
    >>> net = Net("umts-384", seed=1)
    >>> src, dst = (net.address("server"), 4433), (net.address(0), 5000)
    >>> net.send(0, "server", bytes(1200), src, dst)
    'accepted'
    >>> arrival = net.advance(1_000_000_000)
    >>> arrival.to, len(arrival.packet), net.now == arrival.at
    (0, 1228, True)
    """

    def __new__(
        cls,
        scenario: Scenario | str | Path,
        seed: int = 1,
        *,
        mtu: int = 1500,
        capture: bool = False,
        probes: Sequence[str] = (),
        most_inside: int = 1 << 18,
    ) -> Self:
        """Make the link, at time zero."""
        check_seed(seed)
        if not 0 < mtu < 65_536:
            raise ScenarioError("mtu", f"{mtu} is no size of an IP packet", "write a number from 1 to 65535")
        if not 0 <= most_inside < 2**64:
            problem = f"{most_inside} is no number of packets"
            raise ScenarioError("most_inside", problem, "write a whole number of packets, such as 1 << 18")
        check_probes(probes)
        text = (scenario if isinstance(scenario, Scenario) else load(scenario)).text
        net = super().__new__(cls, text, seed, mtu, capture, list(probes), most_inside)
        net._probes = tuple(probes)
        return net

    _probes: tuple[str, ...]

    def trace(self) -> Trace:
        """Events since the last call: ``trace[kind][column]``, as in `Result.trace`."""
        from airpath.runs.trace import concatenate

        kinds = {kind: columns for kind, columns in _core.probes().items() if kind in self._probes}
        return concatenate([self.take_trace()], kinds)

    def report(self) -> list[dict[str, Any]]:
        """What each part of the link counted, from the server's side, as in a run's `results.json`."""
        parts: list[dict[str, Any]] = json.loads(self.report_json())
        inside: list[dict[str, Any]] = current({"elements": parts})["elements"]
        return inside
