"""Pages, downloads and uploads through a live link: bytes arrive unchanged."""

from __future__ import annotations

import hashlib
import random
import sys

import pytest
from programs import needs

from live.harness import FAST, check_books

SIZE = 1_000_000
# Takes one upload and writes it to a file.
TAKE = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        with open(sys.argv[1], "wb") as file:
            file.write(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(201)
        self.end_headers()
http.server.HTTPServer(("", 8000), Handler).serve_forever()
"""
# Ten packets of 1500 B wait for 8 Mbit/s, 20 ms away: less than the kernel's first window in flight.
REGULATED = """
[[middlebox]]
ack_regulator.alpha = 2
[radio.dch.downlink]
rate = "8 Mbit/s"
delay = "20 ms"
queue.droptail = { packets = 10, in_service = "excluded" }
[radio.dch.uplink]
rate = "1 Mbit/s"
[[flow]]
app.bulk = {}
"""
CHROMIUM = (
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--dump-dom"),
)


@pytest.fixture
def page(tmp_path):
    """A folder to serve, with a file of a megabyte in it."""
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "file").write_bytes(random.Random(1).randbytes(SIZE))
    return folder


def digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def serving(folder) -> str:
    return f"exec {sys.executable} -m http.server --bind :: --directory {folder} 8000"


@pytest.mark.slow
@needs("curl")
@pytest.mark.parametrize("host", ["$AIRPATH_SERVER", "[$AIRPATH_SERVER6]"])
def test_a_download_arrives_as_it_was_sent(host, live, page, tmp_path):
    curl = f"exec curl -sSg -m 30 -o {tmp_path / 'got'} http://{host}:8000/file"
    outcome = live(*FAST, server=serving(page), command=["sh", "-c", curl], out=True)
    assert outcome.code == 0, outcome.err
    assert digest(tmp_path / "got") == digest(page / "file")
    (flow,) = outcome.flows("tcp")
    assert flow["direction"] == "downlink"
    assert flow["server_address"].endswith(":8000")
    # The file, and its HTTP header.
    assert SIZE < flow["bytes_received"] < SIZE + 1000
    check_books(outcome.results)


@pytest.mark.slow
@needs("curl")
def test_a_download_arrives_whose_acks_are_regulated(live, page, tmp_path):
    curl = f"exec curl -sS -m 30 -o {tmp_path / 'got'} http://$AIRPATH_SERVER:8000/file"
    link = tmp_path / "regulated.toml"
    link.write_text(REGULATED)
    outcome = live(link, server=serving(page), command=["sh", "-c", curl], out=True)
    assert outcome.code == 0, outcome.err
    assert digest(tmp_path / "got") == digest(page / "file")
    box = next(part for part in outcome.results["elements"] if part["element"] == "middlebox.ack_regulator")
    (flow,) = (flow for flow in box["flows"] if flow["acks"] > 0)
    # What carries a FIN lets everything go; whatever came has gone.
    assert flow["acks_held"] > 0
    assert flow["held_at_end"] == 0
    check_books(outcome.results)


@pytest.mark.slow
@needs("curl")
def test_an_upload_arrives_as_it_was_sent(live, page, tmp_path):
    script, got = tmp_path / "take.py", tmp_path / "got"
    script.write_text(TAKE)
    curl = f"exec curl -sS -m 30 -T {page / 'file'} http://$AIRPATH_SERVER:8000/"
    server = f"exec {sys.executable} {script} {got}"
    outcome = live(*FAST, server=server, command=["sh", "-c", curl], out=True)
    assert outcome.code == 0, outcome.err
    assert digest(got) == digest(page / "file")
    (flow,) = outcome.flows("tcp")
    assert flow["direction"] == "uplink"
    assert SIZE < flow["bytes_received"] < SIZE + 1000


@needs("curl")
def test_the_report_shows_ipv6_addresses(live, page):
    curl = "exec curl -sSg -m 30 -o /dev/null http://[$AIRPATH_SERVER6]:8000/"
    outcome = live(*FAST, server=serving(page), command=["sh", "-c", curl])
    assert "[fd61:6972:7061::1]:8000" in outcome.err.replace("\n", "")


@pytest.mark.slow
@needs("chromium")
def test_a_browser_shows_what_a_pages_script_made(live, page, tmp_path):
    (page / "index.html").write_text('<body><img src="a.svg"><script src="a.js"></script></body>')
    (page / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="37" height="5"/>')
    # The text exists only in the page that was carried, assembled and run.
    (page / "a.js").write_text(
        'onload = () => document.body.append("made by " + "script, image " + document.images[0].width)'
    )
    browse = f"exec {' '.join(CHROMIUM)} --user-data-dir={tmp_path / 'profile'} http://$AIRPATH_SERVER:8000/"
    outcome = live(*FAST, "--delay", "10ms", server=serving(page), command=["sh", "-c", browse])
    assert outcome.code == 0, outcome.err
    assert "made by script, image 37" in outcome.out
