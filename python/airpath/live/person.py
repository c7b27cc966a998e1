"""Who COMMAND and the server's program run as, and their environment."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass

from airpath.errors import ScenarioError

KEPT = ("PATH", "TERM", "LANG", "LANGUAGE", "TZ", "HOME", "USER", "LOGNAME", "SHELL")
"""Variables that a clean environment has, and those that begin with LC_."""


@dataclass(frozen=True)
class Person:
    """A user whom root lets programs run as."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str

    @property
    def environment(self) -> dict[str, str]:
        """What a login would set."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name, "SHELL": self.shell or "/bin/sh"}

    def as_json(self) -> dict[str, object]:
        """Numbers for the driver."""
        groups = os.getgrouplist(self.name, self.gid)
        return {"uid": self.uid, "gid": self.gid, "groups": groups}


def choose_person(name: str | None, environ: Mapping[str, str]) -> Person | None:
    """Find the user that `--user` names, or who called sudo; None if programs run as who this is.

    Raises
    ------
    ScenarioError
        If there is no such user, or this process is not root and would have to be.
    """
    if name is None:
        called_by = environ.get("SUDO_UID", "")
        if os.geteuid() != 0 or not called_by.isdecimal():
            return None
        name = called_by
    try:
        known = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except (KeyError, OverflowError):
        hint = "name one that 'getent passwd' lists, by name or number, such as root"
        raise ScenarioError("--user", f"there is no user '{name}'", hint) from None
    if known.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        what = f"only root can let a program run as '{name}'"
        raise ScenarioError("--user", what, "leave it out, or run airpath with sudo")
    return Person(known.pw_name, known.pw_uid, known.pw_gid, known.pw_dir, known.pw_shell)


def kept(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a clean environment has of this one."""
    return {name: value for name, value in environ.items() if name in KEPT or name.startswith("LC_")}
