"""`airpath live`: runs a program, or a shell, behind a simulated bearer.

All messages go to standard error: standard output belongs to COMMAND.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from airpath import _core
from airpath.cli.arguments import (
    SCENARIO,
    CaptureIuOption,
    CaptureRlcOption,
    ForceOption,
    OnceEach,
    OutOption,
    PageOption,
    ProbesOption,
    SeedOption,
    SetOption,
    choose_probes,
    flag,
    option,
    refuse_without_out,
    wanted_interfaces,
)
from airpath.cli.live_options import (
    choose_endpoint,
    choose_scenario,
    choose_view,
    congestion_control_of,
    parse_sysctls,
    positive_seconds,
)
from airpath.errors import ScenarioError
from airpath.live import driver
from airpath.live.link import Direction, Link
from airpath.live.shell import finds_airpath, marked_shell
from airpath.runs.memory import check_seed
from airpath.scenario import Scenario

STATUS_INTERVAL_S, TCP_INFO_INTERVAL_S = 0.2, 0.02
# Captured bytes of each packet: all headers, and enough to distinguish payloads.
SNAPLEN, LEAST_SNAPLEN = 128, 64


class BeforeCommand(OnceEach):
    """Parses the arguments before the first `--`; COMMAND follows, unparsed."""

    allow_extra_args = True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Split at `--`, then parse."""
        here = args.index("--") if "--" in args else len(args)
        ctx.obj = args[here + 1 :]
        return super().parse_args(ctx, args[:here])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Add COMMAND."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


COMMAND_CLASS = BeforeCommand


def command(
    context: typer.Context,
    scenario: Annotated[str | None, SCENARIO] = None,
    set_: SetOption = None,
    seed: SeedOption = 1,
    server: Annotated[str | None, option("CMD", "What runs on the server's side, as for sh -c.")] = None,
    sender: Annotated[
        str | None, option("TCP", "Use airpath's TCP instead of the kernel's at the server (value: airpath).")
    ] = None,
    receiver: Annotated[
        str | None, option("TCP", "airpath: our TCP is the UE's end, and COMMAND runs on the server's side.")
    ] = None,
    connect: Annotated[
        int | None, option("PORT", "Our end opens the connection, to this port of COMMAND's.")
    ] = None,
    connections: Annotated[
        int | None, option("N", "With --connect: number of connections, one after the other; 1 if absent.")
    ] = None,
    pause: Annotated[
        str | None, option("TIME", "Our end reads nothing during this time after a connection has begun.")
    ] = None,
    duration: Annotated[str | None, option("TIME", "End COMMAND after this, such as 30s.")] = None,
    out: OutOption = None,
    force: ForceOption = False,
    sysctl: Annotated[
        list[str] | None, option("NAME=VALUE", "Set at both ends, such as net.ipv4.tcp_sack=0. Repeatable.")
    ] = None,
    cc: Annotated[
        str | None,
        option("NAME", "Congestion control of the kernel's TCP, such as cubic; see airpath doctor."),
    ] = None,
    ue: Annotated[
        str | None,
        option("NAME", "The UE that is real, by name or number; the first if absent."),
    ] = None,
    user: Annotated[
        str | None,
        option("NAME", "Run COMMAND as this user. [default: the user who called sudo, or the current user]"),
    ] = None,
    clean_env: Annotated[
        bool, flag("--clean-env", "COMMAND gets nothing of the environment but PATH, HOME and the like.")
    ] = False,
    snaplen: Annotated[
        int | None, option("BYTES", f"Bytes of each packet in the capture; {SNAPLEN} if absent.")
    ] = None,
    capture: Annotated[bool, flag("--capture/--no-capture", "Whether there is a capture in DIR.")] = True,
    capture_rlc: CaptureRlcOption = False,
    capture_iu: CaptureIuOption = False,
    probes: ProbesOption = None,
    page: PageOption = True,
    studio: Annotated[
        bool, flag("--studio", "Print an address, under which a browser shows the run while it goes on.")
    ] = False,
    attach: Annotated[
        str | None,
        option(
            "PID|NETNS",
            "Shape the packets of this process's network namespace, or of one by name. Needs root.",
        ),
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        option(
            "INSIDE OUTSIDE",
            "Be the gateway between two interfaces: of a phone or machine, and of the world. Needs root.",
        ),
    ] = None,
    keep_addresses: Annotated[
        bool, flag("--keep-addresses", "With --between: no address translation; the world has routes back.")
    ] = False,
    control: Annotated[
        Path | None,
        option("SOCKET", "Listen on this unix socket for changes of the link; see 'airpath control'."),
    ] = None,
    max_lateness: Annotated[
        str, option("TIME", "If more than 1 % of the packets are later than this, the run is not valid.")
    ] = "1ms",
    view: Annotated[
        bool | None, flag("--view/--no-view", "Show rates and buffers while COMMAND runs.")
    ] = None,
    downlink_trace: Annotated[
        str | None,
        option(
            "FILE",
            "In place of SCENARIO: a mahimahi trace, CSV of time and rate, a sample by name, or a rate.",
        ),
    ] = None,
    uplink_trace: Annotated[str | None, option("FILE", "The same for the other direction.")] = None,
    delay: Annotated[str | None, option("TIME", "With traces: one-way delay, such as 20ms.")] = None,
    downlink_queue: Annotated[
        str | None,
        option("NAME", "With traces: infinite (if absent), or a discipline such as droptail or codel."),
    ] = None,
    downlink_queue_args: Annotated[
        str | None, option("ARGS", "Its parameters, such as packets=100,bytes=64kB; see 'airpath list'.")
    ] = None,
    uplink_queue: Annotated[str | None, option("NAME", "The same for the other direction.")] = None,
    uplink_queue_args: Annotated[str | None, option("ARGS", "The same for the other direction.")] = None,
    once: Annotated[bool, flag("--once", "With traces: the link ends with its trace.")] = False,
    opportunity_bytes: Annotated[
        int | None, option("BYTES", "With traces: 1500 of IP a line, or 1504 as mahimahi counts.")
    ] = None,
    trace_offset: Annotated[
        str | None, option("TIME", "With traces: where in them the link begins, or random, by the seed.")
    ] = None,
) -> None:
    """Run a program behind a simulated bearer.

    COMMAND runs as the UE; the server's address is in $AIRPATH_SERVER. Without COMMAND there is a shell.
    A UE of several interfaces has a device for each, with addresses in $AIRPATH_SERVER_1 and so on.
    With --attach COMMAND runs in that namespace, with --between in the present one; without COMMAND the link
    stays until Ctrl-C or --duration.
    With --receiver airpath COMMAND runs as the server; the UE's address is in $AIRPATH_UE. With --sender
    airpath too there is no end for it, and it says how long the run lasts.
    The exit status is COMMAND's. Needs Linux: `airpath doctor` says whether everything is there.
    """
    if context.args:
        words = " ".join(context.args)
        hint = f"write COMMAND after --, as in: airpath live umts-384 -- {words}"
        raise ScenarioError("command line", f"'{words}' is neither scenario nor option", hint)
    link = Link(
        Direction(downlink_trace, downlink_queue, downlink_queue_args),
        Direction(uplink_trace, uplink_queue, uplink_queue_args),
        delay,
        once,
        opportunity_bytes,
        trace_offset,
    )
    chosen = choose_scenario(scenario, set_, link)
    check_seed(seed)
    captures = {"capture_rlc": capture_rlc, "capture_iu": capture_iu}
    refuse_without_out(out, force=force, probes=probes, no_page=not page, snaplen=snaplen, **captures)
    for name, given in captures.items():
        if given and not capture:
            key = f"--{name.replace('_', '-')}"
            raise ScenarioError(key, "there is no capture", "leave --no-capture out")
    if snaplen is not None and snaplen < LEAST_SNAPLEN:
        hint = f"write {LEAST_SNAPLEN} or more"
        raise ScenarioError("--snaplen", f"{snaplen} bytes do not hold the headers", hint)
    kinds = choose_probes(probes) if out else {}
    endpoint = choose_endpoint(sender, receiver, server, connect, connections, pause)
    if endpoint is not None:
        refuse_several_paths(chosen)
    command: list[str] = context.obj
    if keep_addresses and between is None:
        hint = "name two interfaces with --between, or leave it out"
        raise ScenarioError("--keep-addresses", "there is no gateway", hint)
    stays = (attach is not None or between is not None) and not command
    if stays:
        command = ["sleep", "infinity"]
    shell = not command
    has_view = choose_view(view, shell)
    pdus, iu = wanted_interfaces(chosen, capture_rlc, capture_iu)
    configuration = {
        "mode": "run",
        "scenario": chosen.text,
        "seed": seed,
        "probes": list(_core.probes() if studio else kinds),
        "capture": capture and out is not None,
        "capture_rlc": pdus,
        "capture_iu": iu,
        "snaplen": snaplen or SNAPLEN,
        "ue": ue,
        "server": server,
        "clean_environment": clean_env,
        "endpoint": endpoint,
        "duration_s": None if duration is None else positive_seconds("--duration", duration),
        "sysctl": parse_sysctls(sysctl),
        "congestion_control": cc,
        "expected_congestion_control": None if scenario is None else congestion_control_of(chosen),
        "status_interval_s": STATUS_INTERVAL_S,
        "tcp_info_interval_s": TCP_INFO_INTERVAL_S,
        "control": control is not None,
        "attach": attach,
        "between": between,
        "keep_addresses": keep_addresses,
        "lateness_bound_us": 1e6 * positive_seconds("--max-lateness", max_lateness),
    }
    program = driver.driver_command()
    # Imported here: they use modules that exist on Unix only.
    from airpath.cli.live_run import carry_out
    from airpath.live.person import choose_person, kept

    person = choose_person(user, os.environ)
    environment = person.environment if person else {}
    if clean_env:
        environment = kept(os.environ) | environment
    environment = environment | finds_airpath(os.environ.get("PATH", os.defpath))
    if shell:
        command, marks = marked_shell(chosen.name, {**os.environ, **environment})
        environment |= marks
    _check_text("COMMAND", *command)
    _check_text("--server", server or "")
    _check_text("environment", *environment.values())
    configuration |= {
        "command": command,
        "environment": environment,
        "user": person.as_json() if person else None,
    }
    status = carry_out(
        chosen,
        configuration,
        program,
        out,
        force,
        kinds,
        view=has_view,
        shell=shell,
        stays=stays,
        has_page=page and bool(kinds),
        has_studio=studio,
        control=control,
    )
    raise typer.Exit(status)


def refuse_several_paths(scenario: Scenario) -> None:
    """Refuse flows over several paths: airpath's TCP at one end of a live link has one."""
    for number, flow in enumerate(tomllib.loads(scenario.text).get("flow", ())):
        if isinstance(flow.get("over"), list):
            what = "airpath's TCP has one path where a run is live"
            hint = "give the flow one path, or let the kernel's Multipath TCP use both links"
            raise ScenarioError(f"flow[{number}].over", what, hint)


def _check_text(key: str, *texts: str) -> None:
    """Refuse bytes that are not UTF-8, which frames cannot carry."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            what = f"{text!a} is not UTF-8"
            raise ScenarioError(key, what, "put what needs such bytes into a script and name that") from error
