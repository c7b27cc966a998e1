"""Install the wheels and the source distribution as a user would, and try everything but live runs.

Each is installed into an empty environment. The wheel's has no compiler, and its packages come as wheels; the
source distribution is built by Rust. Sizes and times are printed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

SWEEP = """scenario = "umts-64-simple"
metrics = ["transfer_s"]
runs = 2
[set]
"flow.0.app.file.size" = "20 kB"
[axes]
tcp.initial_window = [1, 4]
"""

COMMANDS = (
    "run umts-384 --out run",
    "page run --out page.html",
    "export run --format qlog --out run.qlog",
    "analyze run/capture.pcapng --out analysis",
    "sweep sweep.toml --out sweep",
    "results sweep",
    "plot sweep --x initial_window --y transfer_s --out sweep.png",
    "reproduce lundsten --table 3 --quick --runs 2 --out lundsten",
    "predict run",
    "list scenarios",
)
WRITTEN = (
    *("run/plot.png", "run/page.html", "page.html", "run.qlog", "analysis/index.html", "sweep.png"),
    "lundsten/report.json",
)


class Environment:
    """An empty environment of Python in a folder, where programs find only its contents."""

    def __init__(self, folder: Path, *programs: str) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        self.bin = folder / "venv" / "bin"
        path = os.pathsep.join([str(self.bin), *programs])
        kept = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ}
        self.environment = {**kept, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def run(self, *command: str | Path, status: int = 0, **environment: str) -> str:
        """Run a program in the folder that has to end with this status, and return what it prints."""
        done = subprocess.run(
            [self.bin / command[0], *command[1:]],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != status:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout + (done.stderr if status else "")

    def try_everything(self) -> None:
        """Run every kind of command but live ones."""
        (self.folder / "sweep.toml").write_text(SWEEP)
        for command in COMMANDS:
            self.run("airpath", *command.split())
        for name in WRITTEN:
            if not (self.folder / name).stat().st_size:
                sys.exit(f"{name} is empty")
        self.try_studio()

    def try_studio(self) -> None:
        """Start the studio, and load its page and each of the modules that it names."""
        with subprocess.Popen(
            [self.bin / "airpath", "studio", "--no-browser", "run"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as studio:
            assert studio.stdout
            try:
                found = re.search(r"(http://127\.0\.0\.1:\d+)/\S*", studio.stdout.readline())
                if not found:
                    sys.exit("airpath studio told no address")
                opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
                page = opener.open(found[0]).read().decode()
                for module in sorted(set(re.findall(r'href="(/\w+\.js)"', page))):
                    opener.open(found[1] + module).read()
            finally:
                studio.terminate()


def size(file: Path) -> str:
    """Name a file with its size."""
    return f"{file.name}: {file.stat().st_size / 1e6:.1f} MB"


def check_wheel(wheel: Path, studies: Path, more: list[str]) -> None:
    """Install the wheel where there is no compiler, without and with the papers, and try it."""
    with TemporaryDirectory(prefix="airpath-") as folder:
        own = Environment(Path(folder))
        install = ["pip", "install", "--quiet", "--only-binary", ":all:", *more]
        begin = time.monotonic()
        own.run(*install, wheel)
        installed = time.monotonic()
        own.run("airpath", "run", "umts-384", "--out", "first")
        end = time.monotonic()
        print(f"{size(wheel)}; pip install {installed - begin:.1f} s, first run {end - installed:.1f} s")
        told = own.run("airpath", "reproduce", "lundsten", status=2)
        if not told.rstrip().endswith("pip install airpath-studies"):
            sys.exit(f"airpath reproduce does not say what to install: {told}")
        own.run(*install, f"airpath[studio] @ {wheel.as_uri()}", studies)
        own.try_everything()
        print(f"{wheel.name}, {studies.name}: {len(COMMANDS)} commands and the studio work")


def check_sdist(sdist: Path, more: list[str]) -> None:
    """Build the source distribution with only Rust and Python, and run the result."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "bin"
    kept = {key: value for key, value in os.environ.items() if key.startswith("CARGO_")}
    with TemporaryDirectory(prefix="airpath-") as folder:
        own = Environment(Path(folder), str(cargo), "/usr/bin", "/bin")
        begin = time.monotonic()
        own.run("pip", "install", "--quiet", "--no-binary", "airpath", *more, str(sdist), **kept)
        print(f"{size(sdist)}; built and installed in {time.monotonic() - begin:.0f} s")
        own.run("airpath", "run", "umts-384", "--out", "first")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/dist"))
    parser.add_argument("--sdist", action="store_true", help="also build the source distribution (minutes)")
    parser.add_argument("--find-links", help="take packages from this folder alone, without a network")
    given = parser.parse_args()
    more = ["--no-index", "--find-links", str(Path(given.find_links).resolve())] if given.find_links else []
    (wheel,) = given.folder.resolve().glob("airpath-*.whl")
    (studies,) = given.folder.resolve().glob("airpath_studies-*.whl")
    (sdist,) = given.folder.resolve().glob("airpath-*.tar.gz")
    check_wheel(wheel, studies, more)
    if given.sdist:
        check_sdist(sdist, more)
