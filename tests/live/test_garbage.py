"""Garbage from either end: nothing stops the driver, honest traffic is intact, everything is counted."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from pathlib import Path

import pytest
from programs import needs

from live.harness import FAST, OPAQUE, check_books

SCRIPT = Path(__file__).with_name("garbage.py")
PACKETS, PER_SECOND = 4000, 4000
# Kinds that the driver must recognise in every packet; the kernel itself sends none of these.
CERTAIN = ("encrypted", "fragment", "malformed")
SIZE = 1_000_000


def garbage(seed: int, file: Path, *kinds: str) -> str:
    """A shell command that sends garbage and writes what it sent."""
    return f"{sys.executable} {SCRIPT} {PACKETS} {PER_SECOND} {seed} {' '.join(kinds)} > {file}"


def both_ends(folder: Path, *kinds: str) -> dict[str, object]:
    """Server and COMMAND that send garbage, while a file is downloaded."""
    (folder / "file").write_bytes(random.Random(1).randbytes(SIZE))
    done = folder / "done"
    serve = f"exec {sys.executable} -m http.server --bind :: --directory {folder} 8000 > /dev/null 2>&1"
    command = f"""
        {garbage(2, folder / "ue.json", *kinds)} &
        until curl -sS -m 40 -o {folder / "got"} http://$AIRPATH_SERVER:8000/file; do sleep 0.02; done
        wait
        until [ -e {done} ]; do sleep 0.02; done
        ping -q -c 1 -W 20 $AIRPATH_SERVER
    """
    server = f"({garbage(1, folder / 'server.json', *kinds)}; touch {done}) & {serve}"
    return {"server": server, "command": ["sh", "-c", command]}


def sent_by(folder: Path, end: str) -> dict[str, int]:
    """What the script at this end sent."""
    counts: dict[str, int] = json.loads((folder / f"{end}.json").read_text())["sent"]
    return counts


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
@needs("curl", "ping")
def test_a_download_among_garbage_is_intact_and_every_packet_is_accounted_for(live, tmp_path):
    outcome = live(*FAST, out=True, **both_ends(tmp_path))
    assert outcome.code == 0, outcome.err
    assert digest(tmp_path / "got") == digest(tmp_path / "file")
    assert check_books(outcome.results) == {"downlink": 0, "uplink": 0}
    for name, end in outcome.live["ends"].items():
        sent = sent_by(tmp_path, name)
        assert sum(sent.values()) > PACKETS / 2
        # What the kernel dropped at the device never came to us.
        assert end["sent"] + end["tun_dropped"] >= sum(sent.values())
        assert min(end["opaque"].values()) > 0


@pytest.mark.slow
@needs("curl", "ping")
def test_each_packet_is_counted_as_what_it_is(live, tmp_path):
    kinds = (*CERTAIN, "other_protocol", "largest", "tcp")
    outcome = live(*FAST, out=True, **both_ends(tmp_path, *kinds))
    assert outcome.code == 0, outcome.err
    for name, end in outcome.live["ends"].items():
        sent, opaque = sent_by(tmp_path, name), end["opaque"]
        assert end["tun_dropped"] == end["refused_by_kernel"] == 0
        assert set(opaque) == set(OPAQUE)
        assert {kind: opaque[kind] for kind in CERTAIN} == {kind: sent[kind] for kind in CERTAIN}
        # The kernel answers some, by ICMP.
        assert opaque["other_protocol"] >= sent["other_protocol"] + sent["largest"]


def test_what_the_kernel_refuses_is_not_dropped_by_the_device(live):
    command = [sys.executable, SCRIPT, 200, PER_SECOND, 3, "no_version"]
    outcome = live(*FAST, out=True, command=command)
    server = outcome.live["ends"]["server"]
    assert server["refused_by_kernel"] == server["received"] == json.loads(outcome.out)["sent"]["no_version"]
    assert outcome.live["ends"]["ue"]["opaque"]["malformed"] == server["received"]
    assert server["tun_dropped"] == 0
    assert not any("never saw" in reason for reason in outcome.live["invalid_because"])
