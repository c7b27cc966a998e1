"""The TCP of simulated and live runs: Linux's in both, or the kernel's set close to a scenario's.

For Linux's the simulated sender and receiver are set as the kernel's are, and the kernel's sysctls are fixed
to their usual values, whatever the machine has. To a scenario's TCP the kernel comes near by sysctls,
attributes of the route and socket options (ip-sysctl.rst of the kernel's documentation, rtnetlink(7),
tcp(7)). Settings that the kernel cannot follow are listed with the simulated TCP's behaviour, so a difference
between paper and kernel can be separated from one between simulator and kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from airpath import _core
from airpath.errors import ScenarioError
from airpath.experiments.versus_kernel.carried import changed, registered, resolved
from airpath.runs.changes import Changes
from airpath.scenario import Scenario

CONGESTION_CONTROLS = ("reno", "cubic", "bbr")

# The simulated side of `linux`, by congestion control: whole stacks of the simulator that are Linux's.
LINUX_PROFILES = {"reno": "linux-reno", "cubic": "linux", "bbr": "linux-bbr"}

# The kernel's side of `linux`: Linux's defaults, for machines configured otherwise.
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
    """How the kernel's TCP is set at both ends, and in what it is unlike the scenario's.

    Socket options, bytes: `mss`, the largest segment without options, and `window_clamp`, the largest window
    that a receiver announces. Attributes of the route: `initial_window` in segments, `quickack` (each segment
    is acknowledged at once) and `rto_min_ms`.
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

    Of the scenario's own `[tcp]` only the segment size is kept. The scheduler of several paths is Linux's.
    """
    whole = resolved(scenario)
    says = whole["tcp"]
    refuse_ipv6(says)
    keys = f'profile = "{LINUX_PROFILES[congestion_control]}"\nmss = "{says["mss"]}"\n'
    paths = [number for number, flow in enumerate(whole["flow"]) if isinstance(flow.get("over"), list)]
    scheduler = ((f"flow.{number}.multipath", '{ scheduler = "linux" }') for number in paths)
    alike = changed(with_tcp(scenario, keys), scheduler)
    return alike, KernelTcp(congestion_control, LINUX_SYSCTLS, mss=_core.octets(says["mss"]))


def with_tcp(scenario: Scenario, keys: str) -> Scenario:
    """Replace the whole `[tcp]` of a scenario by other keys."""
    kept, is_tcp = [], False
    # Each table of a resolved scenario has a header of its own; values of several lines are numbers alone.
    for line in scenario.text.splitlines():
        if line.startswith("["):
            is_tcp = line == "[tcp]" or line.startswith("[tcp.")
        if not is_tcp:
            kept.append(line)
    return Scenario(scenario.name, "\n".join([*kept, "", "[tcp]", keys]))


def congestion_controls() -> list[str]:
    """Congestion controls that both the simulator and the kernel have."""
    return [name for name in CONGESTION_CONTROLS if name in registered("tcp.cc")]


def check_congestion_control(name: str) -> None:
    """Raise a `ScenarioError` unless both simulator and kernel have this congestion control."""
    if name not in (both := congestion_controls()):
        raise ScenarioError(
            "--cc", f"'{name}' is not in both simulator and kernel", f"choose from {', '.join(both)}"
        )


def refuse_ipv6(says: dict[str, Any]) -> None:
    """Raise a `ScenarioError` if the transfers are over IPv6."""
    if says["ip"] != "ipv4":
        raise ScenarioError("tcp.ip", f"live transfers are over IPv4, not {says['ip']}", "write 'ipv4'")


LEAST_RECEIVE_ROOM_BYTES = 131_072
"""Memory of a receiver's socket; packets use several times their data size."""
MAX_REORDERING = 300
"""The kernel's default of `tcp_max_reordering`."""


class Unlike(NamedTuple):
    """Something in which the kernel does not follow: in words, and how the simulator does as the kernel."""

    words: str
    overrides: Changes


_VALUES: tuple[tuple[str, object, str, str | None], ...] = (
    ("handshake", "none", "the kernel's connections open with one", "three_way"),
    ("handshake", "ttcp", "the kernel's connections open without data in the SYN", "three_way"),
    ("limited_transmit", False, "the kernel always sends new data on the first duplicate ACKs", "true"),
    ("multiple_fast_retransmits", True, "the kernel follows RFC 6582", "false"),
    ("window_arithmetic", "ns2", "the kernel halves by RFC 5681", "rfc5681"),
    ("rtt_sampling", "one_per_window", "the kernel times every segment", "every_segment"),
    ("ecn", "accurate", "kernels of these days have RFC 3168", "true"),
    ("ecn", "accurate_flags", "kernels of these days have RFC 3168", "true"),
    ("adaptive_dupack_threshold", True, "the kernel adapts by its own rules", None),
)
"""Key, value that the kernel cannot be brought to, what the kernel does, and the value that is like that."""


def unlike(says: dict[str, Any], congestion_control: str) -> list[Unlike]:
    """In what the kernel does not follow a scenario's `[tcp]`."""
    (recovery,), (undo,), (cc,) = says["recovery"], says["undo"], says["cc"]
    found = [
        Unlike(f"{key}: {words}", () if like is None else ((f"tcp.{key}", like),))
        for key, value, words, like in _VALUES
        if says[key] == value
    ]
    if cc != congestion_control:
        words = f"cc: {congestion_control} in the kernel, {cc} in the scenario"
        found.append(Unlike(words, ((f"tcp.cc.{congestion_control}", '{ variant = "linux" }'),)))
    if says["sack"] and recovery not in ("sack", "rack"):
        words = f"recovery.{recovery}: the kernel's with SACK is RFC 6675's"
        found.append(Unlike(words, (("tcp.recovery.sack", "{}"),)))
    if not says["sack"] and says["recovery"].get("newreno", {}).get("variant") != "linux":
        words = f"recovery.{recovery}: the kernel's without SACK is NewReno of its own, of variant linux"
        most = says["dupack_threshold"] if has_fixed_threshold(says) else MAX_REORDERING
        newreno = f'{{ variant = "linux", max_reordering = {most} }}'
        found.append(Unlike(words, (("tcp.recovery.newreno", newreno),)))
    if not says["prr"]:
        words = "prr: in recoveries the kernel sends in proportion to what is delivered (RFC 9937)"
        found.append(Unlike(words, (("tcp.prr", "true"),)))
    if undo == "none" and says["timestamps"]:
        found.append(Unlike("undo.none: the kernel undoes by timestamps", (("tcp.undo.eifel", "{}"),)))
    elif undo == "none" and says["sack"] and says["dsack"]:
        found.append(Unlike("undo.none: the kernel undoes by DSACK", (("tcp.undo.dsack", "{}"),)))
    if says["ack_every"] == 2 and says.get("delayed_ack", "fixed") == "fixed":
        words = "ack_every: the kernel acknowledges the first segments at once, and delays by 40 to 200 ms"
        found.append(Unlike(words, (("tcp.delayed_ack", "linux"), ("tcp.quickack", "16"))))
    rto = says["rto"]
    if rto.get("timer") != "linux" or rto["initial"] != "1 s":
        words = "rto: the kernel begins with 1 s, has a fine clock, and bounds the variation and not the sum"
        timer = f'{{ timer = "linux", initial = "1 s", min = "{rto["min"]}", max = "120 s" }}'
        found.append(Unlike(words, (("tcp.rto", timer),)))
    if cc == congestion_control and says["cc"][cc].get("variant") != "linux":
        words = f"cc.{cc}: the kernel's counts bytes and not ACKs, and is of variant linux"
        found.append(Unlike(words, ((f"tcp.cc.{cc}.variant", "linux"),)))
    if says["rnf"] != "off":
        found.append(Unlike("rnf: the kernel does not know the flag", (("tcp.rnf", "off"),)))
    if says.get("initial_ssthresh", "absent") != "absent":
        found.append(Unlike("initial_ssthresh: the kernel has none", (("tcp.initial_ssthresh", "1 GB"),)))
    return found


def as_written(scenario: Scenario, congestion_control: str) -> tuple[Scenario, KernelTcp]:
    """The scenario as it is, and the kernel's TCP as near to the scenario's as it comes."""
    says = resolved(scenario)["tcp"]
    refuse_ipv6(says)
    words = [one.words for one in unlike(says, congestion_control)]
    return scenario, near_tcp(says, congestion_control, words)


def as_near(scenario: Scenario, congestion_control: str) -> tuple[Scenario, KernelTcp]:
    """The same kernel's TCP, and the scenario with what that does where it does not follow."""
    says = resolved(scenario)["tcp"]
    refuse_ipv6(says)
    changes = tuple(change for one in unlike(says, congestion_control) for change in one.overrides)
    return changed(scenario, changes), near_tcp(says, congestion_control, [])


WAYS = {"linux": as_linux, "scenario": as_written, "near": as_near}
"""How the two are brought together, by the name that `--tcp` has for it."""


def near_tcp(says: dict[str, Any], congestion_control: str, words: list[str]) -> KernelTcp:
    """The kernel's TCP as near to a scenario's `[tcp]` as it comes; `words` say in what it is not."""
    mss, threshold = _core.octets(says["mss"]), str(says["dupack_threshold"])
    (recovery,), (undo,) = says["recovery"], says["undo"]
    has_rack, rack = recovery == "rack", says["recovery"].get("rack", {})
    sysctls = {
        **LINUX_SYSCTLS,
        "net.ipv4.tcp_sack": _switch(says["sack"]),
        "net.ipv4.tcp_dsack": _switch(says["sack"] and says["dsack"]),
        "net.ipv4.tcp_timestamps": _switch(says["timestamps"]),
        "net.ipv4.tcp_window_scaling": _switch(says["window_scaling"]),
        "net.ipv4.tcp_ecn": _switch(says["ecn"]),
        "net.ipv4.tcp_frto": "2" if undo in ("frto", "linux") else "0",
        # RACK and tail loss probes, which are younger than any paper here.
        "net.ipv4.tcp_recovery": _switch(has_rack),
        "net.ipv4.tcp_early_retrans": "3" if has_rack and rack["tail_loss_probe"] else "0",
        "net.ipv4.tcp_reordering": threshold,
    }
    if has_fixed_threshold(says):
        # Else reordering raises it, up to 300.
        sysctls["net.ipv4.tcp_max_reordering"] = threshold
    clamp = says["max_window"] * mss if "max_window" in says else None
    if "receive_buffer_max" not in says:
        buffer = _core.octets(says["receive_buffer"])
        clamp = buffer if clamp is None else min(buffer, clamp)
        # A fixed buffer, so the clamp is the limit: a growing one moves the clamp.
        room = max(LEAST_RECEIVE_ROOM_BYTES, 4 * clamp)
        sysctls |= {"net.ipv4.tcp_moderate_rcvbuf": "0", "net.ipv4.tcp_rmem": f"4096 {room} {room}"}
    return KernelTcp(
        congestion_control,
        sysctls,
        mss=mss,
        window_clamp=clamp,
        initial_window=says["initial_window"],
        quickack=says["ack_every"] == 1,
        rto_min_ms=round(1000 * _core.seconds(says["rto"]["min"])),
        unlike=words,
    )


def has_fixed_threshold(says: dict[str, Any]) -> bool:
    """Whether the scenario's threshold of duplicate ACKs stays as it is, whatever is reordered."""
    return not says["adaptive_dupack_threshold"] and "rack" not in says["recovery"]


def _switch(on: bool) -> str:
    return "1" if on else "0"
