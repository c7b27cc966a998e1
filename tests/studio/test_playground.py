"""The playground: the studio from plain files, with the simulator in the browser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from playground import write

import airpath
from airpath import _core
from airpath.errors import ScenarioError
from airpath.scenario import bundled
from airpath.studio.runs import falling, simulating
from airpath.studio.serve import _problem
from airpath.studio.sources import Sources, schema, values_of

from .conftest import file_server
from .test_edit import GOODPUT, RATE, Studio, goodput

ASKED = """async ([messages]) => {
  const worker = new Worker("worker/engine.js");
  const told = [];
  let open = messages.length;
  await new Promise((done) => {
    worker.onmessage = async ({ data }) => {
      if (data.events) {
        const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", data.events));
        const digits = [...hash].map((own) => own.toString(16).padStart(2, "0"));
        told.push({ id: data.id, events: digits.join("") });
      } else if (data.ended || data.error || "answer" in data) {
        open -= 1;
        told.push(data);
        if (!open) setTimeout(done, 100);
      } else if (!data.progress) told.push(data);
    };
    messages.forEach((message, id) => {
      if (message.capture) message.capture = new Uint8Array(message.capture).buffer;
      worker.postMessage({ ...message, id });
    });
  });
  worker.terminate();
  return told;
}"""
"""Sends messages to a separate worker, and returns its messages, chunks as their SHA-256."""


@pytest.fixture(scope="module")
def asked(browser, site):
    """Send messages to a worker; return lists of its messages, by message ID."""
    view = browser.new_page()
    view.goto(site.address)

    def ask(*messages: dict[str, Any]) -> list[list[dict[str, Any]]]:
        told = view.evaluate(ASKED, [messages])
        return [[each for each in told if each["id"] == number] for number in range(len(messages))]

    yield ask
    view.close()


@pytest.fixture
def studio(browser, site) -> Iterator[Studio]:
    """The playground, which may request only its own site and log nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    requests: list[str] = []
    context.on("request", lambda request: requests.append(request.url))
    own = Studio(context, site.address)
    yield own
    context.close()
    assert own.said == []
    assert requests and all(request.startswith(f"{site.origin}/") for request in requests)


@pytest.mark.slow
def test_a_changed_value_runs_the_model_in_the_page(studio):
    assert studio.state(GOODPUT) == goodput()
    studio.fill(RATE, "128 kbit/s")
    studio.until(f"{GOODPUT} < 128000")
    studio.run()
    assert studio.state(GOODPUT) == goodput((RATE, "128 kbit/s"))
    studio.fill(RATE, "128 kbt")
    studio.until("store.state.problem")
    assert studio.state("store.state.problem.path") == RATE


def test_a_long_run_can_be_stopped_and_the_next_one_made(studio):
    studio.fill("duration", "5000 h")
    studio.run()
    studio.fill("flow[0].app.file.size", "1000 GB")
    studio.view.locator("#busy progress").wait_for()
    studio.view.get_by_role("button", name="Cancel").click()
    studio.view.get_by_role("button", name="Run", exact=True).wait_for()
    studio.fill("flow[0].app.file.size", "1 MB")
    studio.run()
    assert studio.state("store.run.summary.flows[0].bytes_acked") == 1_000_000


@pytest.mark.parametrize("name", ["umts-384", "hsdpa-7.2-4ue", "hdr-4", "jayanathan-46", "lundsten-dch"])
def test_the_worker_tells_of_a_run_what_the_server_tells(asked, name):
    *chunks, native = [
        part
        for part in simulating(Sources().scenario(name, ["tcp.cc=cubic"]), 3)
        if isinstance(part, bytes | dict)
    ]
    (told,) = asked({"do": "run", "base": name, "set": ["tcp.cc=cubic"], "seed": 3})
    hashes = [own["events"] for own in told if "events" in own]
    assert hashes == [hashlib.sha256(chunk).hexdigest() for chunk in chunks]
    run = next(own["run"] for own in told if "run" in own)
    del run["facts"]["elapsed_s"], native["facts"]["elapsed_s"]
    assert run == json.loads(json.dumps(native))


def test_the_worker_analyses_packets_as_the_server_does(asked):
    wanted = {"base": "hsdpa-7.2-4ue", "set": ["duration=4 s"], "seed": 3}
    (told,) = asked({"do": "waterfall", **wanted})
    *_, native = falling(Sources().scenario(wanted["base"], wanted["set"]), 3)
    (rows,) = (own["answer"] for own in told if "answer" in own)
    assert rows == native.rows and len(rows) == 3


@pytest.mark.slow
def test_names_of_flows_are_the_servers_for_every_bundled_scenario(asked):
    short = ["duration=3 s"]
    told = asked(*({"do": "run", "base": name, "set": short} for name in bundled()))
    for name, parts in zip(bundled(), told, strict=True):
        *_, native = simulating(Sources().scenario(name, short), 1)
        run = next(own["run"] for own in parts if "run" in own)
        assert (run["names"], run["chosen"]) == (native["names"], native["chosen"]), name


@pytest.mark.slow
@pytest.mark.parametrize("page", ["index.html", "capture.html", "embed.html"])
def test_from_the_disk_it_says_how_to_serve_it(browser, wasm, tmp_path, page):
    write(wasm, tmp_path)
    view = browser.new_page(viewport={"width": 400, "height": 700})
    view.goto((tmp_path / page).as_uri())
    said = view.get_by_text("python -m http.server")
    said.wait_for()
    assert f"http://localhost:8000/{page}" in said.inner_text() and "Opening" not in said.inner_text()
    view.close()


def test_the_other_messages(asked):
    wrong = {"do": "resolve", "base": "umts-384", "set": ["tcp.mss=1"]}
    right = {"do": "resolve", "base": "umts-384", "set": ["tcp.cc=bbr"]}
    none = {"do": "run", "base": "nothing"}
    listed, found, refused, resolved, missing = asked(
        {"do": "scenarios"}, {"do": "schema"}, wrong, right, none
    )
    assert listed[0]["answer"] == Sources().scenarios()
    assert found[0]["answer"] == json.loads(schema())
    assert refused[0]["error"]["path"] == "tcp.mss"
    scenario = Sources().scenario("umts-384", ["tcp.cc=bbr"]).scenario
    assert resolved[0]["answer"] == {"scenario": scenario.text, "values": values_of(scenario)}
    assert missing[0]["error"]["message"] == "no scenario is called nothing"
    for name in ("nothing", "exam.toml", "out/first", 100 * "x", "<b>.toml"):
        ((told,),) = asked({"do": "run", "base": name})
        with pytest.raises(ScenarioError) as unknown:
            Sources().scenario(name, ())
        assert told["error"] == _problem(unknown.value)


def test_a_link_is_the_whole_address(studio, site):
    studio.view.locator("#link").click()
    studio.view.locator("#links[open]").wait_for()
    assert studio.view.locator("#link-text").input_value() == f"{site.address}#umts-384?seed=1"


def test_a_capture_is_explained_in_the_page(asked, tmp_path):
    file = tmp_path / "capture.pcapng"
    short = airpath.load("umts-384", [("flow.0.app.file.size", "20 kB")])
    file.write_bytes(airpath.run(short, capture=True, probes=()).capture)
    ((told,),) = asked({"do": "analyze", "capture": list(file.read_bytes())})
    assert told["answer"] == json.loads(_core.analyze(file))


@pytest.mark.slow
def test_without_the_engine_the_page_says_so(browser, wasm, tmp_path):
    write(wasm, tmp_path)
    (tmp_path / "worker" / "engine.wasm.gz").unlink()
    with file_server(tmp_path) as site:
        view = browser.new_page()
        view.goto(site.address)
        view.locator("html[data-ready=error]").wait_for()
        assert "engine.wasm.gz: cannot be loaded: 404" in view.locator("#said").inner_text()
        view.close()
