"""A Dask cluster on this machine, of processes started by their own commands as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DASK = Path(sys.executable).with_name("dask")
START_S = 60


class Cluster:
    """A scheduler and workers without nannies; a context manager that ends them."""

    def __init__(self, folder: Path, protocol: str = "tcp") -> None:
        self.folder, self._protocol = folder, protocol
        self.address = ""
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Cluster:
        if self._protocol == "tcp":
            self.start_scheduler()
        return self

    def __exit__(self, *_exception: object) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def start_scheduler(self, *more: object, **environment: str) -> None:
        """Start a scheduler at a port that is free, or at the one before."""
        told = self.folder / "scheduler.json"
        told.unlink(missing_ok=True)
        port = self.address.rpartition(":")[2] or "0"
        options = (
            "--protocol",
            self._protocol,
            "--host",
            "127.0.0.1",
            "--port",
            port,
            "--scheduler-file",
            told,
        )
        self._start("scheduler", *options, *more, environment=environment)
        limit = time.monotonic() + START_S
        while not self.address or not told.exists():
            assert self.processes["scheduler"].poll() is None, self.log("scheduler")
            assert time.monotonic() < limit, self.log("scheduler")
            time.sleep(0.02)
            try:
                self.address = str(json.loads(told.read_text())["address"])
            except (FileNotFoundError, ValueError):
                continue

    def start_worker(self, name: str, *options: object, threads: int = 1, **environment: str) -> None:
        """Start a worker; it is there some seconds later."""
        fixed = ("--no-nanny", "--nthreads", threads, "--local-directory", self.folder, "--name", name)
        self._start("worker", self.address, *fixed, *options, name=name, environment=environment)

    def await_worker(self, name: str) -> None:
        """Wait until a worker is known to the scheduler."""
        limit = time.monotonic() + START_S
        while "Registered to" not in self.log(name):
            assert self.processes[name].poll() is None and time.monotonic() < limit, self.log(name)
            time.sleep(0.02)

    def kill(self, name: str) -> None:
        """End a process as power cuts do."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def log(self, name: str) -> str:
        """What a process wrote."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _start(self, command: str, *options: object, name: str = "", environment: Any = None) -> None:
        name = name or command
        arguments = [str(DASK), command, *map(str, options), "--no-dashboard"]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=os.environ | (environment or {}),
            )
