"""Reads the options of `airpath live`; what is wrong raises a `ScenarioError` with the option as key."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Sequence

from airpath import _core
from airpath.cli.arguments import load_changed, parse_changes
from airpath.errors import ScenarioError
from airpath.live.link import NAME, Link
from airpath.scenario import Scenario

# Only these settings belong to a namespace; others belong to the whole machine.
NETWORK_SYSCTL = re.compile(r"net\.[A-Za-z0-9_.-]+")


def choose_scenario(name: str | None, changes: Sequence[str] | None, link: Link) -> Scenario:
    """Load the named scenario, or make the one that the traces describe; not both, and not neither."""
    options = link.options()
    has_traces = any(option.endswith("-trace") for option in options)
    if name is None:
        if not has_traces:
            hint = "name a scenario, as 'airpath list' shows them, or give "
            hint += "--downlink-trace and --uplink-trace"
            raise ScenarioError("SCENARIO", "nothing says what the link is", hint)
        try:
            return Scenario(NAME, link.text(), (*link.queues(), *parse_changes(changes)))
        except ScenarioError as error:
            raise link.by_option(error) from error
    if has_traces:
        what = f"the link is described by '{name}' and by {options[0]}"
        raise ScenarioError("SCENARIO", what, "leave one of them out")
    if options:
        hint = "change a scenario with --set PATH=VALUE, such as --set wired.delay='20 ms'"
        raise ScenarioError(options[0], "is for links by trace", hint)
    return load_changed(name, changes)


def congestion_control_of(scenario: Scenario) -> str:
    """Name the congestion control of the scenario's first flow."""
    says = tomllib.loads(scenario.text)
    (name,) = (says["flow"][0].get("tcp") or says["tcp"])["cc"]
    return str(name)


def positive_seconds(option: str, text: str) -> float:
    """Read a time above zero, in seconds."""
    try:
        value = _core.seconds(text)
    except ValueError as error:
        # The core's message: what is wrong, then what would be right.
        words = str(error)
        what, _, hint = words.partition("; " if "; " in words else ": ")
        raise ScenarioError(option, what, hint or "write a time with its unit, such as 20ms") from error
    if value <= 0:
        raise ScenarioError(option, f"'{text}' is no time", "write more than zero, such as 20ms or 30s")
    return value


# The driver's local ports begin at 40000.
MOST_CONNECTIONS = 4096


def choose_endpoint(
    sender: str | None,
    receiver: str | None,
    server: str | None,
    connect: int | None,
    connections: int | None,
    pause: str | None,
) -> dict[str, object] | None:
    """Choose where our TCP replaces the kernel's, if anywhere; refuse options that have no effect."""
    for option, value in (("--sender", sender), ("--receiver", receiver)):
        if value not in (None, "airpath", "kernel"):
            raise ScenarioError(option, f"'{value}' is no TCP", "write airpath or kernel")
    ends = {"server": sender == "airpath", "ue": receiver == "airpath"}
    are_both = all(ends.values())
    if are_both and connect is not None:
        hint = "leave it out: the UE's end opens connections for what flow 0 sends"
        raise ScenarioError("--connect", "both ends are ours", hint)
    if not any(ends.values()):
        for option, given in {"--connect": connect, "--connections": connections, "--pause": pause}.items():
            if given is not None:
                hint = "add --sender airpath or --receiver airpath"
                raise ScenarioError(option, "there is no end of ours", hint)
        return None
    if server is not None:
        what = "the server's end is ours" if ends["server"] else "COMMAND runs on the server's side"
        raise ScenarioError("--server", what, "leave it out, and let COMMAND be the other end")
    if connect is not None and not 1 <= connect <= 65535:
        raise ScenarioError("--connect", f"{connect} is no port", "write 1 to 65535")
    if connections is not None:
        if connect is None and not are_both:
            raise ScenarioError("--connections", "our end opens none", "add --connect PORT")
        if not 1 <= connections <= MOST_CONNECTIONS:
            hint = f"write 1 to {MOST_CONNECTIONS}"
            raise ScenarioError("--connections", f"{connections} connections", hint)
    return {
        "end": "both" if are_both else "server" if ends["server"] else "ue",
        "connect": connect,
        "connections": connections or 1,
        "pause_s": 0.0 if pause is None else positive_seconds("--pause", pause),
    }


def parse_sysctls(settings: Sequence[str] | None) -> dict[str, str]:
    """Split the arguments of --sysctl; refuse those that are not NAME=VALUE or not of a network namespace."""
    parsed = {}
    for setting in settings or ():
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not value:
            hint = "write --sysctl NAME=VALUE, such as --sysctl net.ipv4.tcp_sack=0"
            raise ScenarioError("--sysctl", f"'{setting}' does not name a setting and its value", hint)
        if not NETWORK_SYSCTL.fullmatch(name) or ".." in name:
            hint = "only what begins with net. can be set at both ends of the link"
            raise ScenarioError("--sysctl", f"'{name}' is not a setting of a network", hint)
        parsed[name] = value
    return parsed


def choose_view(wanted: bool | None, shell: bool) -> bool:
    """Decide whether to show the view; by default, where it is visible and disturbs nothing."""
    is_seen = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if wanted and shell:
        raise ScenarioError("--view", "a shell has the terminal to itself", "name a COMMAND behind --")
    if wanted and not is_seen:
        raise ScenarioError("--view", "standard error is no terminal", "redirect standard output only")
    return is_seen and not shell if wanted is None else wanted
