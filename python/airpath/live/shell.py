"""The shell that runs if no COMMAND is given, with a marked prompt, and a PATH that leads to `airpath`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sysconfig
from collections.abc import Mapping


def marked_shell(name: str, environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Choose the user's shell, or sh, and variables that mark its prompt with the scenario's name."""
    shell = environ.get("SHELL") or "sh"
    # Shells expand prompts: the name must hold nothing special to them.
    mark = f"(airpath {re.sub(r'[^A-Za-z0-9._+-]', '_', name)}) "
    if os.path.basename(shell) == "bash":
        # Start-up files may set PS1, so the mark is added at each prompt, once.
        mend = f"PS1={shlex.quote(mark)}${{PS1#{shlex.quote(mark)}}}"
        before = environ.get("PROMPT_COMMAND")
        return [shell], {"PROMPT_COMMAND": f"{before}; {mend}" if before else mend}
    plain = "# " if os.geteuid() == 0 else "$ "
    return [shell], {"PS1": mark + environ.get("PS1", plain)}


def finds_airpath(path: str) -> dict[str, str]:
    """Return a PATH that also leads to this installation's `airpath`; nothing if `path` finds one."""
    if shutil.which("airpath", path=path):
        return {}
    return {"PATH": os.pathsep.join(filter(None, [path, sysconfig.get_path("scripts")]))}
