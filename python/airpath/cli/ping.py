"""`airpath ping`: measures round trips to the other end of a live link."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from airpath.cli.arguments import JsonOption, argument, option
from airpath.cli.live_options import positive_seconds
from airpath.cli.output import as_text
from airpath.cli.status import INTERRUPTED
from airpath.errors import ScenarioError
from airpath.live.ping import MOST_BYTES, MOST_COUNT, Answer, Pinger, other_end

COUNT, INTERVAL, PAYLOAD, TIMEOUT = 5, "1s", 56, "10s"
NO_ANSWER = 1


def command(
    host: Annotated[
        str | None, argument("HOST", "Address or name; the other end of the link if absent.")
    ] = None,
    count: Annotated[int, option("N", f"Number of requests; {COUNT} if absent.", "--count", "-c")] = COUNT,
    interval: Annotated[
        str, option("TIME", f"From one request to the next, such as 200ms; {INTERVAL} if absent.")
    ] = INTERVAL,
    payload: Annotated[
        int, option("BYTES", f"Octets behind the header of ICMP in each request; {PAYLOAD} if absent.")
    ] = PAYLOAD,
    timeout: Annotated[
        str, option("TIME", f"How long to wait for answers after the last request; {TIMEOUT} if absent.")
    ] = TIMEOUT,
    json_: JsonOption = False,
) -> None:
    """Measure the RTT over a link, from the UE's side: airpath live umts-384 -- airpath ping.

    Sends ICMP echo requests to the kernel at the other end. The exit
    status is 0 if there was a reply, and 1 if there was none.
    """
    for key, value, least, most in (("--count", count, 1, MOST_COUNT), ("--payload", payload, 0, MOST_BYTES)):
        if not least <= value <= most:
            raise ScenarioError(key, f"{value} is out of range", f"write {least} to {most}")
    interval_s, timeout_s = positive_seconds("--interval", interval), positive_seconds("--timeout", timeout)
    answers: list[Answer] = []
    is_interrupted = False
    with Pinger(host or other_end(os.environ)) as pinger:
        try:
            for answer in pinger.answers(count, interval_s, payload, timeout_s):
                answers.append(answer)
                if not json_:
                    words = f"{answer.bytes} bytes from {pinger.address}"
                    typer.echo(f"{words}: icmp_seq={answer.number} time={_ms(answer.rtt_ms)} ms")
        except KeyboardInterrupt:
            is_interrupted = True
        found = _summary(pinger, answers)
    typer.echo(as_text(found) if json_ else _told(found))
    if is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if not answers:
        raise typer.Exit(NO_ANSWER)


def _ms(value: float) -> str:
    """Three digits, and whole milliseconds above a hundred."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _summary(pinger: Pinger, answers: list[Answer]) -> dict[str, Any]:
    rtts = [answer.rtt_ms for answer in answers]
    return {
        "host": pinger.address,
        "sent": pinger.sent,
        "received": len(answers),
        "rtt_ms": {
            "samples": len(rtts),
            "mean": sum(rtts) / len(rtts) if rtts else None,
            "min": min(rtts, default=None),
            "max": max(rtts, default=None),
        },
        "answers": [{"number": answer.number, "rtt_ms": answer.rtt_ms} for answer in answers],
    }


def _told(found: dict[str, Any]) -> str:
    lost = 100 * (1 - found["received"] / found["sent"]) if found["sent"] else 0
    told = f"{found['host']}: {found['sent']} sent, {found['received']} received, {lost:.3g} % lost"
    if not found["received"]:
        return told
    rtt = found["rtt_ms"]
    return (
        f"{told}; round trip: min {_ms(rtt['min'])} ms, mean {_ms(rtt['mean'])} ms, max {_ms(rtt['max'])} ms"
    )
