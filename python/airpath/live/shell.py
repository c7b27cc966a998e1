"""The shell that runs where no COMMAND is given, with a prompt that says so."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping


def marked_shell(name: str, environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Choose the shell and mark its prompt.

    Parameters
    ----------
    name : str
        Goes into the prompt: the scenario's.
    environ : mapping
        Our environment.

    Returns
    -------
    command : list of str
        The user's shell, or sh.
    environment : dict
        What it needs in its environment beside that.
    """
    shell = environ.get("SHELL") or "sh"
    # Shells expand their prompts: nothing of a file's name may mean something to them.
    mark = f"(airpath {re.sub(r'[^A-Za-z0-9._+-]', '_', name)}) "
    if os.path.basename(shell) == "bash":
        # Start-up files set PS1 but run before the first prompt; a mark that is there stays alone.
        mend = f"PS1={shlex.quote(mark)}${{PS1#{shlex.quote(mark)}}}"
        before = environ.get("PROMPT_COMMAND")
        return [shell], {"PROMPT_COMMAND": f"{before}; {mend}" if before else mend}
    plain = "# " if os.geteuid() == 0 else "$ "
    return [shell], {"PS1": mark + environ.get("PS1", plain)}
