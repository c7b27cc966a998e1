"""A user's tests, in a separate folder, with the fixture `radio_link`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import needs

from airpath.runs.finished import FinishedRun
from live.harness import GONE_WITHIN_S, MARKER, finish, marked, wait_until

ROOT = Path(__file__).resolve().parents[2]
PYTEST = (sys.executable, "-P", "-m", "pytest", "-p", "airpath.pytest_plugin", "-p", "no:cacheprovider")
# A download of 20 kB, which takes a second.
DOWNLOAD = """
def test_download(radio_link):
    link = radio_link("umts-384")
    listener = link.server.socket()
    listener.bind((link.server.address, 8000))
    listener.listen()
    client = link.ue.socket()
    client.connect((link.server.address, 8000))
    server, _ = listener.accept()
    server.sendall(bytes(20_000))
    server.close()
    assert len(client.makefile("rb").read()) == 20_000
"""
# As late as any packet is.
NEVER_VALID = DOWNLOAD.replace('"umts-384"', '"umts-384", max_lateness_s=1e-9')

Start = Callable[..., subprocess.Popen[str]]


class Outcome:
    """How a run of pytest ended."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.out, self.err = finish(process)
        self.code = process.returncode
        last = self.out.strip().splitlines()[-1].partition(" in ")[0]
        # A warning says that packets were late, which is the machine's affair.
        self.counts = {what: int(number) for number, what in re.findall(r"(\d+) (\w+ed)", last)}


@pytest.fixture
def start(marker, tmp_path) -> Start:
    """Start pytest on a file of tests in a folder of its own."""

    def call(tests: str, *options: str, launcher: tuple[str, ...] | list[str] = (), **environment: str):
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        (folder / "test_theirs.py").write_text(textwrap.dedent(tests))
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return subprocess.Popen(
            [*launcher, *PYTEST, "-rA", f"--basetemp={tmp_path / 'temp'}", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**clean, "PYTEST_ADDOPTS": "--airpath-invalid=warn", MARKER: marker, **environment},
        )

    return call


@pytest.fixture
def theirs(start) -> Callable[..., Outcome]:
    """Run pytest on a file of tests to its end."""
    return lambda *arguments, **options: Outcome(start(*arguments, **options))


@pytest.mark.slow
def test_ten_lines_in_an_empty_folder_are_a_test(theirs):
    done = theirs(DOWNLOAD)
    assert (done.code, done.counts) == (0, {"passed": 1}), done.out + done.err


@pytest.mark.slow
def test_the_tests_of_the_documentation_pass(theirs):
    text = (ROOT / "docs" / "testkit-pytest.md").read_text()
    done = theirs("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)))
    assert done.code == 0 and set(done.counts) == {"passed"}, done.out + done.err


@pytest.mark.slow
def test_nothing_is_imported_before_a_link_is_wanted(theirs):
    done = theirs(
        """
        import sys

        def test_modules():
            ours = {name for name in sys.modules if name.partition(".")[0] == "airpath"}
            assert ours == {"airpath", "airpath.pytest_plugin"}
        """
    )
    assert done.code == 0, done.out


@pytest.mark.slow
def test_coroutines_of_both_ends_share_a_test(theirs):
    done = theirs(
        """
        import asyncio
        from socket import SOCK_DGRAM

        class Echo(asyncio.DatagramProtocol):
            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, data, source):
                self.transport.sendto(data, source)

        async def ping(link):
            loop = asyncio.get_running_loop()
            here, there = (end.socket(type=SOCK_DGRAM) for end in (link.ue, link.server))
            there.bind((link.server.address, 7))
            here.connect((link.server.address, 7))
            here.setblocking(False)
            server, _ = await loop.create_datagram_endpoint(Echo, sock=there)
            began = loop.time()
            await loop.sock_sendall(here, b"ping")
            assert await asyncio.wait_for(loop.sock_recv(here, 100), 30) == b"ping"
            server.close()
            here.close()
            # Twice the delay of the bearer.
            assert loop.time() - began > 0.1

        def test_ping(radio_link):
            asyncio.run(ping(radio_link("umts-384")))
        """
    )
    assert done.code == 0, done.out


@pytest.mark.slow
def test_a_marker_says_what_link_and_arguments_change_it(theirs):
    done = theirs(
        """
        import pytest

        @pytest.mark.radio_link("umts-64", seed=5, boxes=["snoop"])
        def test_marked(radio_link):
            for arguments, name, seed in ((["umts-128"], "umts-128", 5), ([], "umts-64", 6)):
                link = radio_link(*arguments, **({} if arguments else {"seed": 6}))
                link.close()
                assert (link.scenario.name, link.results["seed"]) == (name, seed)
                assert "middlebox.snoop" in [part["element"] for part in link.results["elements"]]
        """,
        "--strict-markers",
    )
    assert done.code == 0, done.out


@pytest.mark.slow
def test_the_files_of_a_test_that_fails_are_kept(theirs, tmp_path):
    tests = DOWNLOAD + "    assert not 'enough'\n" + DOWNLOAD.replace("test_download", "test_that_passes")
    done = theirs(tests, "--airpath-out", "kept")
    assert (done.code, done.counts) == (1, {"failed": 1, "passed": 1})
    kept = tmp_path / "project" / "kept"
    assert f"files in {kept}/test_theirs.py-test_download/0\n" in done.out
    assert "umts-384, seed 1: " in done.out
    assert os.listdir(kept) == ["test_theirs.py-test_download"]
    run = FinishedRun.open(kept / "test_theirs.py-test_download" / "0")
    assert run.summary["complete"] and run.count("bearer_enqueued") > 14
    assert (run.folder / "capture.pcapng").stat().st_size > 20 * 128


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "code", "counts"),
    [
        ("fail", 1, {"failed": 1}),
        ("skip", 0, {"skipped": 1}),
        ("warn", 0, {"passed": 1}),
    ],
)
def test_a_link_that_is_not_valid_is_treated_as_wanted(wanted, code, counts, theirs, tmp_path):
    # Failing is the default.
    asked = "" if wanted == "fail" else f"--airpath-invalid={wanted}"
    kept = tmp_path / "kept"
    done = theirs(NEVER_VALID, "--airpath-out", str(kept), PYTEST_ADDOPTS=asked)
    assert (done.code, done.counts) == (code, counts), done.out
    assert re.search(r"umts-384, seed 1: NOT VALID, do not use these results: p99 lateness \d+ us", done.out)
    assert kept.exists() == (wanted == "fail")


@pytest.mark.slow
def test_a_test_that_fails_over_a_link_that_is_not_valid_keeps_its_own_failure(theirs):
    done = theirs(NEVER_VALID + "    assert not 'enough'\n", PYTEST_ADDOPTS="")
    assert done.counts == {"failed": 1}
    assert "assert not 'enough'" in done.out and "NOT VALID" in done.out


@pytest.mark.slow
def test_a_scenario_that_is_not_there_is_named_at_the_line_of_the_test(theirs):
    done = theirs(DOWNLOAD.replace("umts-384", "umts-385"))
    assert done.counts == {"failed": 1}
    assert "airpath.ScenarioError: umts-385: no such scenario; did you mean umts-384?" in done.out
    assert "radio_link.py" not in done.out


NO_TUN = "mount -t tmpfs none /dev/net"
NO_NAMESPACES = "echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_net_namespaces"


@pytest.mark.slow
@needs("mount", "unshare")
@pytest.mark.parametrize("required", ["0", "1"])
@pytest.mark.parametrize(
    ("without", "words"),
    [
        (
            NO_TUN,
            "TUN device: /dev/net/tun: No such file or directory (os error 2); load the kernel's module",
        ),
        (
            NO_NAMESPACES,
            "user namespace: cannot be made: No space left on device (os error 28); run as root, ",
        ),
    ],
)
def test_where_there_can_be_no_link_doctor_says_why(without, words, required, theirs):
    launcher = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{without}; exec "$@"', "sh"]
    tests = DOWNLOAD + DOWNLOAD.replace("test_download", "test_again")
    done = theirs(tests, launcher=launcher, AIRPATH_REQUIRED=required)
    assert done.counts == {"failed" if required == "1" else "skipped": 2}, done.out
    assert f"there is no radio link here: {words}" in done.out


@pytest.mark.slow
def test_four_tests_go_side_by_side(theirs):
    short = DOWNLOAD.replace("20_000", "2_000")
    tests = "".join(short.replace("test_download", f"test_{number}") for number in range(4))
    done = theirs(tests, "-n", "4")
    assert (done.code, done.counts["passed"]) == (0, 4), done.out


@pytest.mark.slow
@needs("unshare")
def test_it_works_without_power(theirs):
    # The owner of these files, except in a namespace without a mapped owner.
    tests = DOWNLOAD + "    assert link.close() and link.results['live']['user_namespace']\n"
    done = theirs(tests, launcher=["unshare", "--user", "--map-user=1000", "--map-group=1000"])
    assert (done.code, done.counts) == (0, {"passed": 1}), done.out + done.err


HANGS = """
def test_hangs(radio_link):
    link = radio_link("umts-384")
    programs = [end.popen(["sh", "-c", "setsid -f sleep 1000; sleep 1000"]) for end in (link.ue, link.server)]
    print("ready", link.ue.command()[-1], flush=True)
    programs[0].wait(60)
"""


@needs("setsid")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_whatever_ends_pytest_nothing_remains(number, start, marker):
    process = start(HANGS, "-s")
    assert process.stdout is not None
    door = Path(next(line for line in process.stdout if "ready" in line).split()[-1])
    assert door.is_socket() and door.parent.parent == Path(tempfile.gettempdir())
    # Two ushers, and what they started, are among them.
    wait_until(lambda: len(marked(marker)) > 8, "they have started", GONE_WITHIN_S)
    process.send_signal(number)
    finish(process)
    # For processes that is looked at after each test.
    wait_until(lambda: not door.parent.exists(), "the folder of sockets is gone", GONE_WITHIN_S)
