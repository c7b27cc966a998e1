"""Tries what a machine with Rust, Python, make and a C linker alone can do: `make check-bare`.

Commands get a PATH of links to these programs and to those of Debian's essential packages, which every Debian
has (bash, coreutils, grep, util-linux and so on). So they find nothing else that is installed here: no git,
curl, ping, tshark or browser. What is built already stays in use.

1. The README's commands.
2. Documents with commands that need live runs, as `make site` executes them, and docs/testkit-pytest.md.
3. `make test` with the tests that need programs; with `--whole` all of it. It must pass and end with one line
   that says what was left out, and what to install.
4. Live tests, without TUN device and without namespaces: in a user namespace where these are
   taken away, or as this machine is, if it has none.

Needs Debian or a descendant of it, for `dpkg-query`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BIN = TOP / ".venv" / "bin"
COMPILERS = ("make", "cargo", "rustc", "rustdoc", "rustup", "cc", "gcc", "as", "ld", "ar", "awk")
"""In addition to the essential packages and Python."""
GONE = ("AIRPATH_ALL_TOOLS", "AIRPATH_LEFT_OUT", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON")
"""Variables that these commands do not see."""
WANTING = (
    *("captures", "peers", "runs/test_web.py", "studio/test_page.py", "studio/test_screens.py"),
    *("live/test_airpath_ping.py", "live/test_analyze_kernel.py", "live/test_files.py", "live/test_http.py"),
    *("live/test_mechanisms.py", "live/test_our_tcp.py", "live/test_ping.py", "live/test_power.py"),
    *("live/test_terminal.py", "test_left_out.py", "test_website.py"),
)
"""Tests that run programs, in `tests/`."""
WANTED = ("curl", "git", "iperf3", "iputils-ping", "ns2", "tshark")
"""Packages that the last line of `make test` names then."""
POWERLESS = (
    *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c"),
    "mount -t tmpfs none /dev/net && cd /proc/sys/user && echo 0 > max_user_namespaces && "
    'echo 0 > max_net_namespaces && cd "$OLDPWD" && PATH=$0 && exec "$@"',
)
"""Before a PATH and a command: it has neither TUN device nor namespaces."""
DOCUMENTS = """
import json, tempfile
from pathlib import Path
from website.pages import DOCS
from website.tutorial import RECORDED, RUN, executed
recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
for file in sorted(DOCS.rglob("*.md")):
    name = str(file.relative_to(DOCS))
    text = file.read_text(encoding="utf-8")
    if name.startswith(RUN) and "needs=" in text:
        with tempfile.TemporaryDirectory() as folder:
            executed(text, file, Path(folder) / file.name, recorded.get(name))
        print(name)
"""
PATIENCE_S = 3600


class BareError(Exception):
    """Something does not work on a bare machine."""


def essential() -> Iterator[Path]:
    """Programs of Debian's essential packages."""
    if shutil.which("dpkg-query") is None:
        raise BareError("there is no dpkg-query: it says what a Debian has at least")
    ask = ["dpkg-query", "--show", "--showformat", "${Essential} ${Package}\n"]
    packages = [line.split()[1] for line in output(ask).splitlines() if line.startswith("yes ")]
    for line in output(["dpkg-query", "--listfiles", *packages]).splitlines():
        file = Path(line)
        if file.parent.name in ("bin", "sbin") and file.is_file() and os.access(file, os.X_OK):
            yield file


def output(command: list[str]) -> str:
    """Run a command that has to succeed; gives what it prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def link_programs(folder: Path) -> None:
    """Fill a folder with links to the programs that a bare machine has."""
    programs = {file.name: file for file in essential()}
    for name in COMPILERS:
        if found := shutil.which(name):
            programs[name] = Path(found)
    # The interpreter itself, not a script that chooses among several.
    programs["python3"] = Path(sys.executable).resolve()
    for name, file in programs.items():
        (folder / name).symlink_to(file)


class Machine:
    """Runs commands as on a bare machine."""

    def __init__(self, programs: Path, scratch: Path) -> None:
        self.programs, self.scratch = programs, scratch
        self.environment = {name: value for name, value in os.environ.items() if name not in GONE}
        self.environment["PATH"] = str(programs)
        self.airpath = {**self.environment, "PATH": f"{BIN}:{programs}"}
        """With the environment of `make build` active, as the README says."""
        doctor = subprocess.run(["airpath", "doctor"], env=self.airpath, capture_output=True, text=True)
        self.can_live = doctor.returncode == 0
        if doctor.returncode not in (0, 1):
            raise BareError(f"airpath doctor ended with {doctor.returncode}:\n{doctor.stderr}")

    def run(self, command: list[str], folder: Path, environment: dict[str, str], status: int = 0) -> str:
        """Run a command that has to end with this status; gives what it printed."""
        begin = time.monotonic()
        words = command[2:] if command[:2] == ["bash", "-c"] else command
        first, *more = " ".join(words).strip().splitlines()
        print(f"$ {first[:100]}{' ...' if more or len(first) > 100 else ''}", flush=True)
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )
        if done.returncode != status:
            raise BareError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-20_000:]}")
        print(f"  {time.monotonic() - begin:.0f} s", flush=True)
        return done.stdout


def readme(machine: Machine) -> None:
    """Run the README's commands: `make` in the checkout, others next to a link to the documents."""
    text = (TOP / "README.md").read_text(encoding="utf-8")
    (machine.scratch / "docs").symlink_to(TOP / "docs")
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
            words = command.split("#")[0].split()
            if words[:2] == ["make", "test"]:
                continue  # Below.
            if words[:2] == ["airpath", "studio"]:
                studio(machine)
            elif words[:2] == ["airpath", "live"] and not machine.can_live:
                machine.run(["bash", "-c", command], machine.scratch, machine.airpath, status=2)
            else:
                folder = TOP if words[0] == "make" else machine.scratch
                environment = machine.environment if words[0] == "make" else machine.airpath
                machine.run(["bash", "-c", command], folder, environment)
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        machine.run(["python", "-c", block], machine.scratch, machine.airpath)


def studio(machine: Machine) -> None:
    """Start the studio, which serves until it is ended, and end it."""
    print("$ airpath studio", flush=True)
    with subprocess.Popen(
        ["airpath", "studio"],
        cwd=machine.scratch,
        env=machine.airpath,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            if not any("http://127.0.0.1:" in line for line in process.stdout):
                raise BareError("airpath studio printed no address")
        finally:
            process.send_signal(signal.SIGTERM)


def documents(machine: Machine) -> None:
    """Execute the documents that have commands with a need, and the tests of testkit-pytest.md."""
    environment = {**machine.airpath, "PYTHONPATH": str(TOP / "tools")}
    said = machine.run(["python", "-c", DOCUMENTS], machine.scratch, environment)
    if not said.split():
        raise BareError("no document has a command with a need")
    wanted = f"{TOP}/tests/live/test_pytest_plugin.py::test_the_tests_of_the_documentation_pass"
    machine.run([str(BIN / "python"), "-m", "pytest", "-q", wanted], TOP, machine.environment)


def tests(machine: Machine, whole: bool) -> None:
    """Run `make test`, or only the tests that need programs, and read its last line."""
    files = " ".join(f"tests/{name}" for name in WANTING)
    some = [] if whole else ["RUST_TESTED=-p airpath", f"PYTEST_FLAGS={files}"]
    line = last_line(machine.run(["make", "test", *some], TOP, machine.environment))
    named = line.partition("apt-get install")[2].split()
    if missing := [package for package in WANTED if package not in named]:
        raise BareError(f"the last line of make test does not name {', '.join(missing)}: {line}")
    print(f"  {line}")


def without_power(machine: Machine) -> None:
    """Run live tests where there can be no link: all are left out, with the reason."""
    some = ["RUST_TESTED=-p airpath", "PYTEST_FLAGS=tests/live/test_airpath_ping.py tests/cli/test_ping.py"]
    launcher: list[str] = []
    if machine.can_live:
        launcher = [shutil.which("unshare") or "unshare", *POWERLESS[1:], machine.environment["PATH"]]
    # The namespace is made by this machine's programs.
    environment = machine.environment | ({"PATH": os.environ["PATH"]} if launcher else {})
    # pytest removes folders of earlier runs: without power it cannot remove files of other users in them.
    own = machine.scratch / "without-power"
    own.mkdir()
    environment["PYTEST_DEBUG_TEMPROOT"] = str(own)
    line = last_line(machine.run([*launcher, "make", "test", *some], TOP, environment))
    if "airpath live does not work here: " not in line:
        raise BareError(f"the last line of make test does not say that live runs are left out: {line}")
    print(f"  {line}")


def last_line(said: str) -> str:
    """The last line of `make test`, behind pytest's own."""
    *_, closing, line = said.splitlines()
    if not line.startswith("left out: ") or not re.search(r"\d+ (passed|skipped).* in \d", closing):
        raise BareError(f"make test does not end with pytest's last line and its own:\n{closing}\n{line}")
    return line


def main() -> None:
    """Try everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--whole", action="store_true", help="all of `make test`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as programs, tempfile.TemporaryDirectory() as scratch:
        os.chmod(programs, 0o755)  # Programs are there for every user, as on any machine.
        link_programs(Path(programs))
        machine = Machine(Path(programs), Path(scratch))
        readme(machine)
        documents(machine)
        tests(machine, options.whole)
        without_power(machine)
    print("a bare machine can do what the README says")


if __name__ == "__main__":
    try:
        main()
    except BareError as error:
        sys.exit(f"bare: {error}")
