"""Programs on ns-3: compile one, run it, and query ns-3's version."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Options = dict[str, Any]


def build(name: str, modules: Iterable[str], flags: Iterable[str] = ()) -> Path:
    """Compile a program of this folder and return it."""
    program = Path(tempfile.gettempdir()) / f"airpath-ns3-{name}"
    libraries = [f"-lns3-{module}" for module in modules]
    command = ["g++", "-std=c++17", "-O2", str(HERE / f"{name}.cc"), "-o", str(program), *flags, *libraries]
    subprocess.run(command, check=True)
    return program


def simulate(program: Path, options: Options) -> dict[str, Any]:
    """Run the program and return what it prints."""
    command = [str(program), *(f"--{key}={value}" for key, value in options.items())]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def version() -> str:
    """Return ns-3's version as its package says."""
    command = ["pkg-config", "--modversion", "ns3-core"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.strip() or "unknown"


def rows(table: dict[str, Any]) -> str:
    """Return a table as JSON, a line for each entry."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table.items()) + "}"
