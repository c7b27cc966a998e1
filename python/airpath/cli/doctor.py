"""`airpath doctor`: tests everything that `airpath live` needs."""

from __future__ import annotations

import sys
from typing import Any

import typer

from airpath.cli.arguments import JsonOption
from airpath.cli.output import tell
from airpath.errors import LiveError
from airpath.live import driver
from airpath.live.driver import Driver
from airpath.report.document import Table

WORDS = {True: "ok", False: "missing", None: "not tried"}
NEEDED_MISSING = 1


def command(json_: JsonOption = False) -> None:
    """Say whether `airpath live` works here, by trying: namespaces, TUN, real-time scheduling.

    The exit status is 0 if everything that is needed works, and 1 if not.
    """
    checks = _check()
    words = ("", lambda check: WORDS[check["ok"]])
    tell(json_, checks, [Table.of(checks, words, ("", "check"), ("", found), words=range(3), keys=2)])
    if not all(check["ok"] for check in checks if check["needed"]):
        raise typer.Exit(NEEDED_MISSING)


def found(check: dict[str, Any]) -> str:
    """Describe the result of a check, and the remedy."""
    text = str(check["found"])
    if check["ok"] is False and not check["needed"]:
        text += " (live works without it, less well)"
    return f"{text}; {check['remedy']}" if check["remedy"] else text


def _check() -> list[dict[str, Any]]:
    """Let the driver test everything; without a driver, that is the only finding."""
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
