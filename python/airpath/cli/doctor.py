"""`airpath doctor`: tests everything that `airpath live` needs."""

from __future__ import annotations

import typer

from airpath.cli.arguments import JsonOption
from airpath.cli.output import tell
from airpath.live.doctor import examine, found
from airpath.report.document import Table

WORDS = {True: "ok", False: "missing", None: "not tried"}
NEEDED_MISSING = 1


def command(json_: JsonOption = False) -> None:
    """Say whether `airpath live` works here, by trying: namespaces, TUN, real-time scheduling.

    The exit status is 0 if everything that is needed works, and 1 if not.
    """
    checks = examine()
    words = ("", lambda check: WORDS[check["ok"]])
    tell(json_, checks, [Table.of(checks, words, ("", "check"), ("", found), words=range(3), keys=2)])
    if not all(check["ok"] for check in checks if check["needed"]):
        raise typer.Exit(NEEDED_MISSING)
