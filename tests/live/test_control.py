"""Changes of a link while it runs: from the socket, and from the list of a scenario, live and simulated."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import threading
import time

import pyarrow.parquet as pq
import pytest

import airpath
from airpath.live.control import ask
from airpath.runs.folder import run_to_folder
from live.harness import AIRPATH, PATIENCE_S, wait_until

PORT = 8000
WIRED = airpath.Scenario(
    "wired",
    '[wired]\nrate = "20 Mbit/s"\ndelay = "5 ms"\n[radio.dch]\ndownlink.rate = "50 Mbit/s"\n'
    'uplink.rate = "50 Mbit/s"\n[[flow]]\napp.bulk = {}\n',
)


@pytest.fixture
def link(tmp_path):
    """A link that can be changed."""
    with airpath.RadioLink(WIRED, tmp_path / "link", control=True, trace=True, max_lateness_s=1) as link:
        yield link


def seconds_of(link: airpath.RadioLink, size: int) -> float:
    """How long a download of so many bytes takes."""
    with link.server.socket() as listener, link.ue.socket() as ue:
        listener.bind((link.server.address, 0))
        listener.listen()
        ue.connect(listener.getsockname())
        server, _ = listener.accept()
        with server:
            server.settimeout(PATIENCE_S)
            ue.settimeout(PATIENCE_S)
            began = time.monotonic()
            sender = threading.Thread(target=server.sendall, args=(bytes(size),))
            sender.start()
            left = size
            while left:
                left -= len(ue.recv(left))
            sender.join()
            return time.monotonic() - began


@pytest.mark.slow
def test_a_rate_holds_as_soon_as_it_is_answered(link):
    assert seconds_of(link, 500_000) < 0.8
    answer = link.set("wired.rate", "2 Mbit/s")
    assert answer.what == 'wired.rate = "2 Mbit/s"' and answer.elements == 1
    assert answer.values["wired.rate"] == "2 Mbit/s"
    assert 1.9 < seconds_of(link, 500_000) < 2.6
    assert link.set("wired.rate", "2 Mbit/s").elements == 0
    link.close()
    (change,) = link.results["changes"]
    assert change == {"at_s": answer.at_s, "what": answer.what}
    assert link.results["live"]["valid"], link.results["live"]["invalid_because"]


def test_an_outage_holds_packets_and_loses_none(link):
    with link.server.socket(type=socket.SOCK_DGRAM) as server, link.ue.socket(type=socket.SOCK_DGRAM) as ue:
        server.bind((link.server.address, PORT))
        server.settimeout(PATIENCE_S)
        link.outage("500 ms")
        began = time.monotonic()
        for number in range(10):
            ue.sendto(bytes([number]), (link.server.address, PORT))
        assert [server.recv(10)[0] for _ in range(10)] == list(range(10))
        assert 0.3 < time.monotonic() - began < 1
        assert link.outage("1 s").elements == 1
        assert link.outage("1 s").elements == 0


@pytest.mark.slow
def test_a_rebinding_gives_the_flow_another_port_and_an_address(link):
    with link.server.socket(type=socket.SOCK_DGRAM) as server, link.ue.socket(type=socket.SOCK_DGRAM) as ue:
        server.bind((link.server.address, PORT))
        ue.bind((link.ue.address, 5555))
        for end in (server, ue):
            end.settimeout(0.5)

        def seen() -> tuple[str, int]:
            ue.sendto(b"up", (link.server.address, PORT))
            data, source = server.recvfrom(10)
            server.sendto(data, source)
            assert ue.recvfrom(10) == (b"up", (link.server.address, PORT))
            return source

        assert seen() == (link.ue.address, 5555)
        link.rebind()
        address, port = seen()
        assert address == link.ue.address and port != 5555 and seen() == (address, port)
        server.sendto(b"lost", (link.ue.address, 5555))
        with pytest.raises(TimeoutError):
            ue.recv(10)
        link.rebind("address")
        assert seen()[0] not in {link.ue.address, link.server.address}
    link.close()
    assert link.results["live"]["rebinding_dropped"] == 1
    assert [change["what"][:14] for change in link.results["changes"]] == ["NAT rebinding:"] * 2


@pytest.mark.slow
def test_what_cannot_change_is_refused_and_changes_nothing(link):
    for key, value, words in [
        ("tcp.mss", "500 B", "does not change while the scenario runs; what may change here: radio.dch."),
        ("wired.rate", "fast", "set.wired.rate"),
        ("radio.lte.downlink.reception.mean_sinr", "3 dB", "radio"),
    ]:
        with pytest.raises(airpath.LiveError) as refused:
            link.set(key, value)
        assert words in str(refused.value)
    assert link.set().values["wired.rate"] == "20 Mbit/s"
    link.close()
    assert "changes" not in link.results or link.results["changes"] == []


@pytest.mark.slow
def test_the_command_and_lines_of_json_do_the_same(tmp_path):
    door = tmp_path / "door"
    run = subprocess.Popen(
        [AIRPATH, "live", "umts-384", "--control", str(door), "--", "sleep", "60"], stderr=subprocess.DEVNULL
    )
    try:
        wait_until(door.exists, "the socket")
        bler = "radio.dch.downlink.channel.bernoulli.bler"

        def control(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([AIRPATH, "control", str(door), *words], capture_output=True, text=True)

        wait_until(lambda: control().returncode == 0, "an answer")
        assert f"{bler} = " in control().stdout
        changed = control(f"{bler}=50 %")
        assert changed.stdout.endswith(f' s: {bler} = "50 %"\n'), changed
        refused = control("duration=3s")
        assert refused.returncode == 2 and "duration: does not change" in refused.stderr
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_S)
            client.connect(str(door))
            client.sendall(
                b'{"id": "a", "outage": "10 ms"}\n[]\nno\n{"sett": {}}\n{"set": {"x": 1}, "id": 7}\n'
            )
            lines = b""
            while lines.count(b"\n") < 5:
                lines += client.recv(1 << 16)
        # What is refused at once is answered first.
        answers = [json.loads(line) for line in lines.splitlines()]
        assert answers[0]["error"] == "no object"
        by_id = {answer.get("id"): answer for answer in answers}
        assert by_id["a"]["elements"] == 1 and "error" in by_id[7]
        assert not door.stat().st_mode & 0o077
    finally:
        run.terminate()
        run.wait(PATIENCE_S)
    assert not door.exists()
    with pytest.raises(airpath.LiveError, match="no link at"):
        ask(door, {})


@pytest.mark.slow
def test_a_list_of_changes_gives_the_same_events_live_and_simulated(tmp_path):
    changes = [(0.3, "wired.rate", "5 Mbit/s"), (0.6, "wired.loss", "1 %"), (0.9, "wired.delay", "9 ms")]
    listed = [{"at": f"{at_s} s", "set": {key: value}} for at_s, key, value in changes]
    scenario = WIRED.with_("change", listed).with_("duration", "2 s")
    simulated = airpath.run(scenario, seed=1)
    with airpath.RadioLink(scenario, tmp_path / "link") as link:
        time.sleep(1.5)
    told = [(change["at_s"], change["what"]) for change in link.results["changes"]]
    expected = [(change["at_s"], change["what"]) for change in simulated.summary["changes"]]
    assert [what for _, what in told] == [what for _, what in expected] and len(told) == 3
    assert all(abs(at_s - due_s) < 0.05 for (at_s, _), (due_s, _) in zip(told, expected, strict=True))


@pytest.mark.slow
def test_a_pause_holds_packets_until_it_ends(link):
    with link.server.socket(type=socket.SOCK_DGRAM) as server, link.ue.socket(type=socket.SOCK_DGRAM) as ue:
        server.bind((link.server.address, PORT))
        server.settimeout(0.3)
        assert link.resume().elements == 0
        assert link.pause().what == "pause of UE 0"
        ue.sendto(b"held", (link.server.address, PORT))
        with pytest.raises(TimeoutError):
            server.recv(10)
        assert link.outage("1 s").elements == 0
        assert link.resume().elements == 1
        assert server.recv(10) == b"held"


@pytest.mark.slow
def test_a_ue_is_handed_over_by_name(tmp_path):
    cells = "".join(
        f'[[cell]]\nname = "{name}"\nwired.rate = "{rate}"\n[cell.radio.lte]\n'
        for name, rate in [("west", "20 Mbit/s"), ("east", "2 Mbit/s")]
    )
    scenario = airpath.Scenario(
        "two", f'{cells}[[ue]]\nname = "phone"\nattach = ["west"]\n[[flow]]\nue = "phone"\napp.bulk = {{}}\n'
    )
    with airpath.RadioLink(scenario, tmp_path / "link", control=True) as link:
        assert seconds_of(link, 500_000) < 1.6
        answer = link.handover("east", "50 ms")
        assert answer.what == "hand-over of UE 0 from west to east, outage of 50 ms"
        # Both cells, and the forks in front of them and behind them.
        assert answer.elements == 4
        assert 1.9 < seconds_of(link, 500_000) < 3.5
        with pytest.raises(airpath.LiveError, match='there is no cell "north"; known: "west", "east"'):
            link.handover("north")


@pytest.mark.slow
def test_a_seed_renews_what_loses_packets(tmp_path):
    scenario = WIRED.with_("wired.loss", "10 %")
    with airpath.RadioLink(scenario, tmp_path / "link", control=True, trace=True) as link:
        assert link.reseed(7).what == "seed 7"
    assert [change["what"] for change in link.results["changes"]] == ["seed 7"]


def drawn(draws: random.Random, is_paused: bool) -> dict[str, object]:
    """A change of `WIRED`: a value, an outage, another seed, or a pause or its end."""
    key, value = draws.choice(
        [
            ("wired.rate", f"{draws.randint(5, 50)} Mbit/s"),
            ("wired.uplink.delay", f"{draws.randint(1, 20)} ms"),
            ("wired.delay", f"{draws.randint(1, 20)} ms"),
            ("wired.uplink.loss", f"{draws.choice([0, 0, 1, 5])} %"),
            ("radio.dch.uplink.rate", f"{draws.randint(5, 50)} Mbit/s"),
            ("radio.dch.uplink.queue.droptail.packets", str(draws.randint(1000, 2000))),
            ("outage", f"{draws.randint(1, 20)} ms"),
            ("seed", draws.randint(1, 1000)),
            ("pause", True),
        ]
    )
    if is_paused:
        return {"pause": False}
    return {key: value} if key in {"outage", "seed", "pause"} else {"set": {key: value}}


@pytest.mark.slow
@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_changes_at_any_time_lose_no_packet_and_are_those_of_a_list(link, count, tmp_path):
    """Datagrams go up all the while: those that come are all but those that a loss has taken."""
    draws, stop, door = random.Random(7), threading.Event(), link._control
    counts = {"sent": 0, "received": 0}
    asked, is_paused = [], False
    with link.server.socket(type=socket.SOCK_DGRAM) as server, link.ue.socket(type=socket.SOCK_DGRAM) as ue:
        server.bind((link.server.address, PORT))
        server.settimeout(0.2)

        def send() -> None:
            while not stop.is_set():
                ue.sendto(bytes(200), (link.server.address, PORT))
                counts["sent"] += 1
                time.sleep(0.002)

        def receive() -> None:
            while True:
                try:
                    server.recv(1000)
                    counts["received"] += 1
                except TimeoutError:
                    if stop.is_set():
                        return

        threads = [threading.Thread(target=send), threading.Thread(target=receive)]
        [thread.start() for thread in threads]
        while len(asked) < count or is_paused:
            time.sleep(draws.expovariate(200))
            change = drawn(draws, is_paused)
            answer = ask(door, change)
            # A pause does not begin in an outage.
            is_paused = bool(change.get("pause")) and answer["elements"] > 0
            asked.append((round(answer["at_s"] * 1e9), change))
        stop.set()
        [thread.join() for thread in threads]
    stats = link.close()
    outcomes = link.results["live"]["outcomes"]
    lost = outcomes["uplink"]["reasons"].get("link_loss", 0)
    assert counts["received"] == counts["sent"] - lost, (counts, outcomes)
    assert counts["sent"] > count / 2
    assert stats.uplink.dropped == lost and stats.downlink.dropped == 0, outcomes
    assert link.results["live"]["valid"], link.results["live"]["invalid_because"]
    # The same list in a simulation.
    assert asked == sorted(asked, key=lambda one: one[0])
    listed = WIRED.with_("duration", f"{asked[-1][0] + 10**9} ns").with_(
        "change", [{"at": f"{at_ns} ns", **change} for at_ns, change in asked]
    )
    run_to_folder(listed, 1, tmp_path / "run", probes=["change", "outage"])
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["changes"] == link.results["changes"]
    for kind in ("change", "outage"):
        live, simulated = (
            pq.read_table(folder / "trace" / f"{kind}.parquet").to_pylist()
            for folder in (link.folder, tmp_path / "run")
        )
        assert live == simulated and live, kind
    print(
        f"{len(asked)} changes, {len(results['changes'])} of which changed something; {counts}, lost {lost}"
    )
    print(f"lateness {link.results['live']['lateness_us']}")
