"""Which TCP either world speaks: the kernel's, and in the simulator the one that is like it.

The simulated sender and receiver are set as the kernel's are, and the kernel's sysctls are fixed to their
usual values, whatever the machine has (ip-sysctl.rst of the kernel's documentation).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from airpath import _core
from airpath.errors import ScenarioError
from airpath.experiments.versus_kernel.carried import resolved
from airpath.scenario import Scenario

CONGESTION_CONTROLS = ("reno", "cubic")

# The simulated side of `linux`, by congestion control: whole stacks of the simulator that are Linux's.
LINUX_PROFILES = {"reno": "linux-reno", "cubic": "linux"}

# The kernel's side of `linux`: what Linux has unless told otherwise, for machines that are told otherwise.
LINUX_SYSCTLS = {
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_dsack": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_ecn": "0",
    "net.ipv4.tcp_frto": "2",
    "net.ipv4.tcp_recovery": "1",
    "net.ipv4.tcp_early_retrans": "3",
    "net.ipv4.tcp_reordering": "3",
    "net.ipv4.tcp_slow_start_after_idle": "1",
    "net.ipv4.tcp_moderate_rcvbuf": "1",
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.ipv4.tcp_mtu_probing": "0",
    "net.ipv4.tcp_no_metrics_save": "1",
}


@dataclass(frozen=True)
class KernelTcp:
    """How the kernel's TCP is set at both ends.

    Attributes
    ----------
    congestion_control : str
        As in `tcp_available_congestion_control`.
    sysctls : dict
        Of both namespaces.
    mss, window_clamp : int or None
        Socket options, bytes: largest segment without options, and window that a receiver announces at most.
    initial_window : int or None
        Attribute of the route: segments.
    quickack : bool
        Attribute of the route: each segment is acknowledged at once.
    rto_min_ms : int or None
        Attribute of the route.
    unlike : list of str
        What of the scenario's TCP it is not.
    """

    congestion_control: str
    sysctls: dict[str, str]
    mss: int | None = None
    window_clamp: int | None = None
    initial_window: int | None = None
    quickack: bool = False
    rto_min_ms: int | None = None
    unlike: list[str] = field(default_factory=list)


def as_linux(scenario: Scenario, congestion_control: str) -> tuple[Scenario, KernelTcp]:
    """The scenario with a TCP like the kernel's, and the kernel's with its usual sysctls.

    Of the scenario's own `[tcp]` only the segment size is kept.
    """
    says = resolved(scenario)["tcp"]
    refuse_ipv6(says)
    keys = f'profile = "{LINUX_PROFILES[congestion_control]}"\nmss = "{says["mss"]}"\n'
    alike = with_tcp(scenario, keys)
    return alike, KernelTcp(congestion_control, LINUX_SYSCTLS, mss=_core.octets(says["mss"]))


def with_tcp(scenario: Scenario, keys: str) -> Scenario:
    """Put other keys in the place of the whole `[tcp]` of a scenario."""
    kept, is_tcp = [], False
    # Each table of a resolved scenario has a header of its own; values of several lines are numbers alone.
    for line in scenario.text.splitlines():
        if line.startswith("["):
            is_tcp = line == "[tcp]" or line.startswith("[tcp.")
        if not is_tcp:
            kept.append(line)
    return Scenario(scenario.name, "\n".join([*kept, "", "[tcp]", keys]))


def congestion_controls() -> list[str]:
    """What both the simulator and the kernel have."""
    simulated = {part["name"] for part in json.loads(_core.registry()) if part["folder"] == "tcp.cc"}
    return [name for name in CONGESTION_CONTROLS if name in simulated]


def check_congestion_control(name: str) -> None:
    """Raise a `ScenarioError` if not both worlds have this congestion control."""
    if name not in (both := congestion_controls()):
        raise ScenarioError("--cc", f"'{name}' is not in both worlds", f"choose from {', '.join(both)}")


def refuse_ipv6(says: dict[str, Any]) -> None:
    """Raise a `ScenarioError` if the transfers are over IPv6."""
    if says["ip"] != "ipv4":
        raise ScenarioError("tcp.ip", f"live transfers are over IPv4, not {says['ip']}", "write 'ipv4'")
