"""The kernel's TCP as near to a scenario's as it comes, and the simulator's as near to that.

The kernel follows by sysctls, attributes of the route and socket options (ip-sysctl.rst of the kernel's
documentation, rtnetlink(7), tcp(7)). What it does not follow in is listed, with what the simulated TCP does
in its place: so a difference between paper and kernel can be told from one between simulator and kernel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from airpath import _core
from airpath.experiments.papers.base.cell import Overrides
from airpath.experiments.versus_kernel.carried import resolved
from airpath.experiments.versus_kernel.tcp import LINUX_SYSCTLS, KernelTcp, as_linux, refuse_ipv6
from airpath.scenario import Scenario

LEAST_RECEIVE_ROOM_BYTES = 131_072
"""Memory of a receiver's socket, of which packets take several times their data."""
MAX_REORDERING = 300
"""Of the kernel unless told otherwise: `tcp_max_reordering`."""


class Unlike(NamedTuple):
    """Something in which the kernel does not follow: in words, and how the simulator does as the kernel."""

    words: str
    overrides: Overrides


# Of keys with a value that the kernel cannot be brought to.
_VALUES: tuple[tuple[str, object, Unlike], ...] = (
    (
        "handshake",
        "none",
        Unlike("handshake: the kernel's connections open with one", (("tcp.handshake", "three_way"),)),
    ),
    (
        "handshake",
        "ttcp",
        Unlike(
            "handshake: the kernel's connections open without data in the SYN",
            (("tcp.handshake", "three_way"),),
        ),
    ),
    (
        "limited_transmit",
        False,
        Unlike(
            "limited_transmit: the kernel always sends new data on the first duplicate ACKs",
            (("tcp.limited_transmit", "true"),),
        ),
    ),
    (
        "multiple_fast_retransmits",
        True,
        Unlike(
            "multiple_fast_retransmits: the kernel follows RFC 6582",
            (("tcp.multiple_fast_retransmits", "false"),),
        ),
    ),
    (
        "window_arithmetic",
        "ns2",
        Unlike(
            "window_arithmetic: the kernel halves by RFC 5681",
            (("tcp.window_arithmetic", "rfc5681"),),
        ),
    ),
    (
        "rtt_sampling",
        "one_per_window",
        Unlike("rtt_sampling: the kernel times every segment", (("tcp.rtt_sampling", "every_segment"),)),
    ),
    (
        "adaptive_dupack_threshold",
        True,
        Unlike("adaptive_dupack_threshold: the kernel adapts by its own rules", ()),
    ),
)


def unlike(says: dict[str, Any], congestion_control: str) -> list[Unlike]:
    """In what the kernel does not follow a scenario's `[tcp]`."""
    (recovery,), (undo,), (cc,) = says["recovery"], says["undo"], says["cc"]
    found = [one for key, value, one in _VALUES if says[key] == value]
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
    if says.get("initial_ssthresh"):
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
    changed = Scenario(scenario.name, scenario.source, (*scenario.overrides, *changes), scenario.folder)
    return changed, near_tcp(says, congestion_control, [])


WAYS = {"linux": as_linux, "scenario": as_written, "near": as_near}
"""How the two are brought together, by the name that `--tcp` has for it."""


def near_tcp(says: dict[str, Any], congestion_control: str, words: list[str]) -> KernelTcp:
    """The kernel's TCP as near to a scenario's `[tcp]` as it comes; `words` say in what it is not."""
    mss, threshold = _core.octets(says["mss"]), str(says["dupack_threshold"])
    (recovery,), (undo,) = says["recovery"], says["undo"]
    has_rack = recovery == "rack"
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
        "net.ipv4.tcp_early_retrans": "3"
        if has_rack and says["recovery"]["rack"]["tail_loss_probe"]
        else "0",
        "net.ipv4.tcp_reordering": threshold,
    }
    if has_fixed_threshold(says):
        # Else reordering raises it, up to 300.
        sysctls["net.ipv4.tcp_max_reordering"] = threshold
    clamp = says["max_window"] * mss if "max_window" in says else None
    if "receive_buffer_max" not in says:
        buffer = _core.octets(says["receive_buffer"])
        clamp = buffer if clamp is None else min(buffer, clamp)
        # A fixed buffer, of which the clamp is the limit: one that grows moves the clamp.
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
