"""`airpath doctor`: tries everything that `airpath live` needs, and says what works."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from airpath.arguments import JsonOption
from airpath.errors import LiveError
from airpath.live import driver
from airpath.live.driver import Driver
from airpath.terminal import Table, console_for

WORDS = {True: "ok", False: "missing", None: "not tried"}
NEEDED_MISSING = 1


def doctor(json_: JsonOption = False) -> None:
    """Say whether `airpath live` works here, by trying: namespaces, TUN, real-time scheduling.

    The exit status is 0 if everything that is needed works, and 1 if not.
    """
    checks = _check()
    if json_:
        typer.echo(json.dumps(checks, indent=2))
    else:
        table = Table("", "", "", words=(0, 1, 2), keys=2)
        for check in checks:
            table.add(WORDS[check["ok"]], check["check"], found(check))
        table.print(console_for())
    if not all(check["ok"] for check in checks if check["needed"]):
        raise typer.Exit(NEEDED_MISSING)


def found(check: dict[str, Any]) -> str:
    """Say what a check has found, and what to do about it."""
    text = str(check["found"])
    if check["ok"] is False and not check["needed"]:
        text += " (live works without it, less well)"
    return f"{text}; {check['remedy']}" if check["remedy"] else text


def _check() -> list[dict[str, Any]]:
    """Have the driver try everything; where there is none, that is the only finding."""
    try:
        command = driver.driver_command()
    except LiveError as error:
        said = {"found": error.problem, "remedy": error.remedy}
        return [{"check": "Linux", "ok": False, **said, "needed": True}]
    examined = Driver(command, {"mode": "doctor"})
    checks: list[dict[str, Any]] = []
    try:
        while True:
            checks += [frame.json() for frame in examined.receive(wait=True) or () if frame.kind == "D"]
    except EOFError:
        pass
    finally:
        how = examined.end()
    if not checks:
        what = f"the process that tries everything {how} and found nothing out"
        raise LiveError("driver", what, f"check that {sys.executable} can be run")
    return checks
