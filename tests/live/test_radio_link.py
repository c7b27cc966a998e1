"""A link in the hands of a Python program: sockets and programs at both ends, and what it leaves."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

import airpath
from live.harness import GONE_WITHIN_S, MARKER, PATIENCE_S, marked, wait_until

PORT = 8000
# Up and away at once.
FAST = airpath.Scenario(
    "fast",
    '[radio.dch]\ndownlink.rate = "100 Mbit/s"\nuplink.rate = "100 Mbit/s"\n[[flow]]\napp.bulk = {}\n',
)


@pytest.fixture
def link(marker, monkeypatch, tmp_path):
    """A fast link; nothing of it remains."""
    monkeypatch.setenv(MARKER, marker)
    with airpath.RadioLink(FAST, tmp_path / "link") as link:
        yield link


@contextlib.contextmanager
def connected(link: airpath.RadioLink) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection, at the server's and at the UE's end."""
    with link.server.socket() as listener, link.ue.socket() as ue:
        listener.bind((link.server.address, PORT))
        listener.listen()
        ue.connect((link.server.address, PORT))
        server, _ = listener.accept()
        with server:
            for end in (server, ue):
                end.settimeout(PATIENCE_S)
            yield server, ue


def received(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = end.recv(size - len(data))
        assert piece, len(data)
        data += piece
    return data


@pytest.mark.slow
def test_tcp_goes_both_ways(link):
    down, up = os.urandom(50_000), os.urandom(20_000)
    with connected(link) as (server, ue):
        server.sendall(down)
        ue.sendall(up)
        assert received(ue, len(down)) == down
        assert received(server, len(up)) == up
        assert server.getpeername()[0] == link.ue.address == "10.77.0.2"
    stats = link.close()
    assert stats.downlink.delivered_bytes > 50_000 > stats.uplink.delivered_bytes > 20_000
    assert stats.downlink.delivered <= stats.downlink.sent
    (flow,) = (flow for flow in link.results["flows"] if flow["protocol"] == "tcp")
    assert flow["bytes_received"] == 50_000
    assert flow["server_address"] == f"10.77.0.1:{PORT}"


@pytest.mark.slow
def test_the_capture_has_every_packet(link):
    with connected(link) as (server, ue):
        server.sendall(bytes(30_000))
        received(ue, 30_000)
    stats = link.close()
    (connection,) = airpath.captures.analyze(link.capture)["connections"]
    assert (connection["server"], connection["opening"]) == (f"{link.server.address}:{PORT}", "whole")
    assert connection["payload_bytes"] == 30_000
    assert stats.downlink.dropped == 0


@pytest.mark.slow
def test_what_the_link_drops_is_counted_by_reason(tmp_path):
    changes = {"radio.dch.downlink.queue.droptail.packets": 5}
    with airpath.RadioLink("umts-384", tmp_path, changes=changes) as link:
        there, here = (end.socket(type=socket.SOCK_DGRAM) for end in (link.server, link.ue))
        with there, here:
            here.bind((link.ue.address, PORT))
            here.settimeout(PATIENCE_S)
            for _ in range(30):
                there.sendto(bytes(1000), (link.ue.address, PORT))
            here.recv(2000)
            # The packets queued behind the first one take a tenth of a second.
            time.sleep(1)
        downlink = link.close().downlink
    assert (downlink.sent, downlink.opaque) == (30, 30)
    assert downlink.reasons == {"queue_full": downlink.dropped} and downlink.dropped > 15
    assert downlink.sent == downlink.delivered + downlink.dropped and downlink.marked == 0


@pytest.mark.slow
def test_datagrams_cross_in_ipv6(link):
    kind = (socket.AF_INET6, socket.SOCK_DGRAM)
    with link.ue.socket(*kind) as here, link.server.socket(*kind) as there:
        there.bind((link.server.address6, PORT))
        there.settimeout(PATIENCE_S)
        here.sendto(b"hello", (link.server.address6, PORT))
        data, source = there.recvfrom(100)
    assert (data, source[0]) == (b"hello", link.ue.address6)


@pytest.mark.slow
def test_a_program_has_the_streams_the_folder_and_the_environment_that_it_is_given(link, tmp_path):
    show = "cat; pwd; echo $AIRPATH_SERVER $MINE; echo to stderr >&2; exit 7"
    program = link.ue.popen(
        ["sh", "-c", show],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "MINE": "value"},
        text=True,
    )
    out, err = program.communicate("from stdin\n", timeout=PATIENCE_S)
    assert out.splitlines() == ["from stdin", str(tmp_path), f"{link.server.address} value"]
    assert (err, program.returncode) == ("to stderr\n", 7)


@pytest.mark.slow
def test_a_program_runs_at_its_end(link):
    show = "import socket; s = socket.socket(); s.bind(('10.77.0.{}', 1)); print('bound')"
    for end, number in ((link.server, 1), (link.ue, 2)):
        for address in (1, 2):
            command = end.command(sys.executable, "-c", show.format(address))
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
            assert done.stdout == ("bound\n" if address == number else ""), done.stderr


@pytest.mark.slow
def test_signals_reach_a_program_and_what_it_dies_of_is_told(link):
    script = "trap 'echo heard; exit 3' USR1; echo ready; while :; do sleep 0.02; done"
    with link.server.popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "ready\n"
        program.send_signal(signal.SIGUSR1)
        assert program.stdout.readline() == "heard\n"
        assert program.wait(PATIENCE_S) == 3
    with link.ue.popen(["sh", "-c", "echo ready; exec sleep 1000"], stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        program.terminate()
        assert program.wait(PATIENCE_S) == -signal.SIGTERM


@pytest.mark.slow
def test_a_program_is_killed_with_its_group_when_the_process_in_its_place_is(link, marker):
    before = set(marked(marker))
    with link.ue.popen(["sh", "-c", "sleep 1000 & echo ready; wait"], stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        assert len(set(marked(marker)) - before) == 3
        program.kill()
        program.wait(PATIENCE_S)
        wait_until(lambda: not set(marked(marker)) - before, "the group is gone", GONE_WITHIN_S)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "status", "said"),
    [("airpath-no-such", 127, "No such file or directory"), ("/etc", 126, "Permission denied")],
)
def test_a_program_that_cannot_be_run_is_named(word, status, said, link):
    done = subprocess.run(link.ue.command(word), capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (status, f"airpath: {word}: {said}\n")


@pytest.mark.slow
def test_programs_end_with_the_link_and_sockets_are_refused(link):
    with link.server.popen(
        ["sh", "-c", "setsid sleep 1000 & echo ready; wait"], stdout=subprocess.PIPE
    ) as program:
        program.stdout.readline()
        stats = link.close()
        assert program.wait(PATIENCE_S) == -signal.SIGKILL
    assert link.close() == stats
    assert link.results["complete"] and link.results["live"]["exit_status"] == 0
    with pytest.raises(OSError):
        link.ue.socket()
    done = subprocess.run(link.ue.command("true"), capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (126, "airpath: true: the link has ended\n")


@pytest.mark.slow
def test_what_the_kernel_refuses_is_an_error(link):
    with pytest.raises(OSError, match="not supported"):
        link.ue.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_UDP)
    # And nothing is the worse for it.
    link.ue.socket().close()


@pytest.mark.slow
def test_a_process_that_holds_what_is_ours_keeps_no_link_open(link):
    ours = [pipe.fileno() for pipe in (link._process.stdin, link._process.stdout)]
    with subprocess.Popen(["sleep", "1000"], pass_fds=ours) as heir:
        began = time.monotonic()
        link.close()
        # It would be killed after a minute.
        assert time.monotonic() - began < 30
        heir.kill()


def test_results_come_with_the_end(link):
    with pytest.raises(airpath.LiveError, match="has not ended"):
        _ = link.results


def test_a_scenario_is_changed_and_gets_boxes(tmp_path):
    changes = {"radio.dch.downlink.rate": "128 kbit/s", "wired.delay": "5 ms"}
    boxes = ["snoop", {"packet_loss": {"downlink": {"loss": "1 %"}}}]
    with airpath.RadioLink("umts-384", tmp_path, seed=7, changes=changes, boxes=boxes) as link:
        pass
    names = [element["element"] for element in link.results["elements"]]
    assert names == ["link", "middlebox.snoop", "radio.dch", "middlebox.packet_loss"]
    assert link.results["seed"] == 7
    assert 'rate = "128 kbit/s"' in (tmp_path / "scenario.resolved.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (["umts"], {}, "umts: no such scenario"),
        (["umts-384"], {"seed": -1}, "seed: -1 is out of range"),
        (["umts-384"], {"changes": {"radio.nothing": 1}}, "radio.nothing: unknown"),
        (["umts-384"], {"boxes": ["splitt"]}, "splitt"),
        (["umts-384"], {"cc": "none"}, "--cc: the kernel has no 'none' for TCP"),
        (["umts-384"], {"sysctl": {"kernel.panic": "1"}}, "sysctl: kernel.panic"),
        (["umts-384"], {"sysctl": {"kernel.panic": 1}}, "sysctl: kernel.panic"),
    ],
)
def test_what_cannot_be_used_is_named(arguments, options, said, tmp_path, monkeypatch, marker):
    monkeypatch.setenv(MARKER, marker)
    with pytest.raises(airpath.AirpathError) as refused:
        airpath.RadioLink(*arguments, tmp_path, **options)
    assert said in str(refused.value)


@pytest.mark.slow
def test_two_links_do_not_know_of_each_other(link, tmp_path):
    with airpath.RadioLink(FAST, tmp_path / "other") as other:
        for one, word in ((link, b"first"), (other, b"other")):
            with connected(one) as (server, ue):
                server.sendall(word)
                assert received(ue, 5) == word
        assert other.close().downlink.delivered > 0
    assert link.close().downlink.delivered > 0
