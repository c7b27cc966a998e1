"""Tries everything that a live run needs."""

from __future__ import annotations

import sys
from typing import Any

from airpath.errors import LiveError
from airpath.live import driver
from airpath.live.driver import Driver


def examine() -> list[dict[str, Any]]:
    """Let the driver test everything; without a driver, that is the only finding.

    Raises
    ------
    LiveError
        If the driver dies.
    """
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


def found(check: dict[str, Any]) -> str:
    """Describe the result of a check, and the remedy."""
    text = str(check["found"])
    if check["ok"] is False and not check["needed"]:
        text += " (live works without it, less well)"
    return f"{text}; {check['remedy']}" if check["remedy"] else text


def missing(checks: list[dict[str, Any]]) -> str:
    """Name what is needed and missing, each with its remedy; empty if there is nothing."""
    return ". ".join(
        f"{check['check']}: {found(check)}" for check in checks if check["needed"] and check["ok"] is False
    )
