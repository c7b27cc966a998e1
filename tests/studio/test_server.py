"""`airpath studio`: its responses, and the requests that it refuses."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import time

import pytest
from conftest import check_error
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import airpath
from airpath import _core
from airpath.errors import AirpathError
from airpath.runs.finished import FinishedRun
from airpath.scenario import bundled, load
from airpath.studio import messages, reading, runs, serve
from airpath.studio.document import SMALL_FRONTS, modules
from airpath.studio.guard import Guard
from airpath.studio.messages import MessageError, read_message
from airpath.studio.sources import GROUPS, Sources

from .client import LONG, PAGE_KEYS, Client, ask, cookie_of, exchange, goes_on

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
def server(serving):
    return serving()


UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Version": "13",
}


@pytest.fixture
def client(server):
    with Client(server, cookie_of(server)) as own:
        yield own


# What it answers.


def test_a_run_is_the_one_that_python_makes(client):
    run, events = client.run(base="umts-64-simple", set=["tcp.cc=reno"], seed=7)
    own = airpath.run(airpath.load("umts-64-simple", [("tcp.cc", "reno")]), 7, probes=list(_core.probes()))
    assert run["summary"] == own.summary
    assert (run["base"], run["changes"], run["title"]) == (
        "umts-64-simple",
        ["tcp.cc=reno"],
        "umts-64-simple",
    )
    assert run["scenario"] == own.scenario.text
    recorded = {kind: columns for kind, columns in own.trace.items() if len(columns["time_s"])}
    assert events.keys() == recorded.keys()
    for kind, columns in recorded.items():
        for name, values in columns.items():
            if name != "time_s":
                assert events[kind][name] == values.tolist(), (kind, name)


def test_of_a_folder_it_opens_the_first_run_that_has_a_trace(serving, tmp_path, airpath_command):
    for name, probes in (("a", ["--probes", ""]), ("b", [])):
        own = ("run", "umts-64-simple", "--set", "duration='2 s'", "--out", tmp_path / name, *probes)
        assert airpath_command(*own).code == 0
    server = serving(tmp_path)
    with Client(server, cookie_of(server)) as client:
        _, events = client.run("open")
    assert events


def test_it_opens_a_finished_run(serving, run_folder):
    folder = run_folder("umts-64-simple", tcp__cc="reno")
    server = serving(folder)
    with Client(server, cookie_of(server)) as client:
        run, events = client.run("open")
        recorded = FinishedRun.open(folder)
        assert run["summary"] == recorded.summary
        rows = {kind: len(columns["time_ns"]) for kind, columns in events.items()}
        # What the folder does not have is simulated again.
        assert rows.pop("packet") > 1000
        assert rows == {kind: count for kind in recorded.kinds if (count := recorded.count(kind))}
        listed = client.ask("scenarios")["answer"]
        assert {
            "name": str(folder),
            "about": "as this run was made",
            "group": "Runs",
            "local": True,
        } in listed
        # The run of the folder, made again.
        again, more = client.run(base=str(folder))
        assert again["summary"] == run["summary"]
        assert {kind: more[kind] for kind in events} == events
        assert again["base"] == "umts-64-simple"


def test_every_bundled_scenario_is_listed_in_a_group(client):
    listed = client.ask("scenarios")["answer"]
    assert sorted(own["name"] for own in listed) == sorted(bundled())
    assert list(dict.fromkeys(own["group"] for own in listed)) == list(GROUPS.values())
    assert all(own["about"] and own["name"] not in own["about"][: len(own["name"])] for own in listed)


def test_the_text_of_a_file_is_what_other_studios_read(tmp_path, run_folder):
    alone, with_file = tmp_path / "alone.toml", tmp_path / "recording.toml"
    alone.write_text(f"# Own.\n{_core.bundled()['umts-384']}")
    (tmp_path / "delays.txt").write_text("20 ms\n25 ms\n")
    with_file.write_text(
        "[radio.variable.downlink.channel.distribution]\nrate.constant = '1 Mbit/s'\n"
        "delay.empirical.file = 'delays.txt'\n[[flow]]\napp.bulk = {}\n"
    )
    sources = Sources([str(alone), str(with_file), str(run_folder("umts-384"))])
    assert sources.text(str(alone)) == alone.read_text()
    told = sources.text(str(with_file))
    assert "25 ms" in told and "delays.txt" not in told
    assert Sources().scenario(f"text:{told}", ()).scenario.text == told
    assert sources.text(str(run_folder("umts-384"))) == load("umts-384").text
    assert [own["name"] for own in sources.scenarios() if own.get("local")][:2] == [
        str(alone),
        str(with_file),
    ]


def test_it_resolves_scenarios_and_says_what_is_wrong_at_which_key(client):
    schema = client.ask("schema")
    assert schema == {"id": 1, "answer": json.loads(_core.schema())}
    changed = airpath.load("umts-384", [("radio.dch.downlink.rate", "128 kbit/s")])
    answer = client.ask("resolve", base="umts-384", set=["radio.dch.downlink.rate=128 kbit/s"])["answer"]
    assert answer["scenario"] == changed.text
    assert answer["values"]["radio"]["dch"]["downlink"]["rate"] == "128 kbit/s"
    text = client.ask("resolve", base=f"text:{changed.text}")["answer"]
    assert text == answer
    error = client.ask("resolve", id=4, base="umts-384", set=["radio.dch.downlink.rate=128"])
    assert error["id"] == 4 and error["error"] == {
        "path": "radio.dch.downlink.rate",
        "message": "missing unit",
        "hint": 'write "384 kbit/s" or "7.2 Mbit/s", not 128',
    }
    for wrong in (["x"], ["=1"], ["tcp.cc=none"], ["tcp={"], ["a.b.c=1"]):
        told = client.ask("resolve", base="umts-384", set=wrong)
        assert told["error"]["message"] and told["error"]["hint"], wrong
    assert client.ask("run", base="nothing")["error"]["path"] == "base"


def test_only_a_live_run_can_be_changed(client):
    error = client.ask("change", change={"set": {"wired.rate": "1 Mbit/s"}})["error"]
    assert error["path"] == "change" and error["message"] == "there is no live run"
    for wrong in ({}, {"change": "pause"}, {"change": {}, "ue": 0}):
        assert client.ask("change", **wrong)["error"]["message"], wrong


def test_a_run_is_cancelled_and_a_known_number_takes_its_place(client):
    client.say("run", id=1, base="umts-384", set=LONG)
    assert client.hear()[0] == 1  # A chunk.
    client.say("run", id=2, base="umts-384", set=LONG)
    client.say("cancel", id=1)
    client.say("scenarios", id=9)
    heard = client.until(lambda told: "answer" in told)
    assert heard["id"] == 9
    # Messages in transit may still arrive; after that nothing of the run does.
    client.say("run", id=2, base="umts-64-simple")
    client.until(lambda told: told == {"id": 2, "ended": True})
    client.say("cancel", id=77)
    client.say("schema", id=10)
    assert client.hear()["id"] == 10


def test_a_run_of_too_many_events_leaves_the_least_needed_kinds_out(client, monkeypatch):
    monkeypatch.setattr(runs, "MOST_EVENTS", 5000)
    run, events = client.run(base="umts-384")
    assert "rlc_confirmed" in run["left_out"] and set(run["left_out"].values()) == {None}
    assert not events.keys() & run["left_out"].keys() and "tcp_state" in events
    assert len(events["tcp_state"]["time_ns"]) > 500
    assert sum(len(columns["time_ns"]) for columns in events.values()) <= 5000


def test_a_run_of_too_many_events_of_one_kind_is_refused(client, monkeypatch):
    monkeypatch.setattr(runs, "MOST_EVENTS", 100)
    client.say("run", base="umts-384")
    error = client.until(lambda told: "error" in told)["error"]
    assert error["path"] == "duration" and "events of one kind" in error["message"]


def test_a_long_run_says_how_far_it_is(client, monkeypatch):
    monkeypatch.setattr(runs, "TELL_S", 0)
    client.say("run", id=5, base="umts-384")
    heard = client.until(lambda told: "progress" in told)
    assert heard["id"] == 5 and 0 < heard["progress"]["share"] < 1 and heard["progress"]["now_s"] == 0.25


def test_of_a_folder_with_too_many_events_the_least_needed_are_left_out(serving, run_folder, monkeypatch):
    monkeypatch.setattr(reading, "MOST_EVENTS", 5000)
    server = serving(run_folder("umts-384"))
    with Client(server, cookie_of(server)) as client:
        run, events = client.run("open")
    assert run["left_out"]["rlc_data"] > 6000 and "rlc_data" not in events and "tcp_state" in events


def test_a_finished_run_that_takes_long_is_not_simulated_again(serving, run_folder, tmp_path, monkeypatch):
    """The folder of a stranger may say anything of its scenario."""
    folder = shutil.copytree(run_folder("umts-64-simple"), tmp_path / "run")
    text = folder / "scenario.resolved.toml"
    long = _core.resolve(text.read_text(), [("duration", "40000 h"), ("flow.0.app", "{ bulk = {} }")])
    text.write_text(long)
    monkeypatch.setattr(reading, "MOST_AGAIN_S", 2)
    begun = time.monotonic()
    with Client(server := serving(folder), cookie_of(server)) as own:
        run, events = own.run("open")
    assert time.monotonic() - begun < 10
    assert run["not_again"] == "to simulate it again would take longer than 2 s"
    assert "tcp_state" in events and "packet" not in events


def test_the_start_page_and_its_modules(server):
    cookie = cookie_of(server)
    answer = ask(server, Cookie=cookie)
    assert answer.status == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "*" not in policy
    assert f"connect-src 'self' ws://127.0.0.1:{server.port}" in policy and "frame-ancestors 'none'" in policy
    text = answer.body.decode()
    imports = json.loads(re.findall(r'<script type="importmap">(.*?)</script>', text)[0])["imports"]
    assert imports == {f"studio/{name}": f"/{name}.js" for name, _ in modules() if name not in SMALL_FRONTS}
    for name, code in modules():
        module = ask(server, f"/{name}.js", Cookie=cookie)
        assert module.body.decode() == code
        assert module.headers["content-type"] == "text/javascript; charset=utf-8"
        assert module.headers["x-content-type-options"] == "nosniff"


# Whom it refuses.


def test_the_token_works_once_and_becomes_a_cookie(server):
    target = server.address.removeprefix(server.origin)
    assert len(target.removeprefix("/?token=")) >= 43  # 256 bits
    first, second = ask(server, target), ask(server, target)
    assert (first.status, second.status) == (200, 403)
    cookie = first.headers["set-cookie"]
    assert cookie.startswith(f"airpath-studio-{server.port}=") and "set-cookie" not in second.headers
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert target.removeprefix("/?token=") not in cookie
    assert ask(server, Cookie=f"a=b; {cookie.split(';')[0]}; c=d").status == 200
    assert ask(server, target, Cookie=cookie.split(";")[0]).status == 200


@pytest.mark.parametrize(
    ("target", "status", "headers"),
    [
        ("/", 403, {}),
        ("/?token=", 403, {}),
        ("/?token=wrong", 403, {}),
        ("/main.js?TOKEN", 403, {}),
        ("/socket?TOKEN", 403, {}),
        ("/?TOKEN&TOKEN", 403, {}),
        ("/", 403, {"Cookie": "COOKIE-NAME=wrong"}),
        ("/", 403, {"Cookie": "airpath-studio-1=KEY"}),
        ("/", 421, {"Host": "localhost:PORT"}),
        ("/", 421, {"Host": "evil.example:PORT"}),
        ("/", 421, {"Host": "127.0.0.1"}),
        ("/", 421, {"Host": "127.0.0.1:PORT.evil.example"}),
        ("/", 421, {"Host": None}),
        ("/", 421, {"Host": "127.0.0.1:PORT\r\nHost: 127.0.0.1:PORT"}),
        ("/", 403, {"Origin": "http://evil.example"}),
        ("/", 403, {"Origin": "null"}),
        ("/", 403, {"Origin": "http://localhost:PORT"}),
        ("/", 403, {"Origin": "http://127.0.0.1:1"}),
        ("/", 200, {"Origin": "http://127.0.0.1:PORT"}),
    ],
)
def test_a_wrong_request_is_refused(server, target, status, headers):
    """With the right cookie, where it is the host or the origin that is wrong."""
    token = server.address.partition("?")[2]
    cookie = {} if status == 403 and "Origin" not in headers else {"Cookie": cookie_of(server)}
    known = {
        "PORT": str(server.port),
        "COOKIE-NAME": f"airpath-studio-{server.port}",
        "KEY": token,
        "TOKEN": token,
    }

    def filled(text: str | None) -> str | None:
        for word, value in known.items() if text else ():
            text = text.replace(word, value)
        return text

    answer = ask(server, filled(target), **cookie, **{name: filled(value) for name, value in headers.items()})
    assert answer.status == status
    assert answer.headers["cache-control"] == "no-store" and answer.headers["x-frame-options"] == "DENY"
    # A refused token is as good as before.
    assert status == 200 or cookie or ask(server, f"/?{token}").status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 101),
        ({"Cookie": None}, 403),
        ({"Cookie": "x=y"}, 403),
        ({"Origin": None}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
    ],
)
def test_the_websocket_is_opened_for_our_page_alone(server, headers, status):
    cookie = cookie_of(server)
    right = {"Host": f"127.0.0.1:{server.port}", "Cookie": cookie, "Origin": server.origin}
    target = f"/socket?key={PAGE_KEYS[cookie]}"
    with socket.create_connection(("127.0.0.1", server.port), 10) as own:
        fields = {**UPGRADE, **right, **headers}
        lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
        own.sendall("\r\n".join([f"GET {target} HTTP/1.1", *lines, "", ""]).encode())
        assert int(own.recv(1000).split()[1]) == status


@pytest.mark.parametrize("query", ["", "?", "?key=", "?key=wrong", "?key=KEY&", "?KEY"])
def test_the_cookie_alone_which_other_ports_get_too_opens_no_websocket(server, query):
    cookie = cookie_of(server)
    filled = query.replace("KEY", PAGE_KEYS[cookie])
    with pytest.raises(InvalidStatus, match="403"):
        connect(
            f"ws://127.0.0.1:{server.port}/socket{filled}",
            origin=server.origin,
            additional_headers={"Cookie": cookie},
        )
    page = ask(server, Cookie=cookie)
    assert page.status == 200
    assert PAGE_KEYS[cookie].encode() not in page.body
    assert goes_on(server, cookie)


def test_a_token_does_not_open_the_websocket(server):
    with pytest.raises(InvalidStatus, match="403"):
        connect(
            f"ws://127.0.0.1:{server.port}/socket?{server.address.partition('?')[2]}", origin=server.origin
        )
    assert goes_on(server, cookie_of(server))


@pytest.mark.parametrize(
    "target",
    [
        *(
            "/../pyproject.toml",
            "/../../../../etc/passwd",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/..%2f..%2fetc/passwd",
        ),
        *("/..\\..\\x", "//etc/passwd", "/etc/passwd", "/main.js/../serve.py", "/serve.py", "/index.html"),
        *(
            "/main.js%00",
            "/main",
            "/MAIN.JS",
            "/./main.js",
            "/vendor/uplot/LICENSE",
            "/socket/",
            "/favicon.ico",
        ),
        *("main.js", "http://127.0.0.1/main.js", "*", f"/{MARKUP.replace(' ', '%20')}", "/" + "a" * 8000),
    ],
)
def test_no_path_leads_anywhere_but_to_the_named_files(server, target):
    answer = ask(server, target, Cookie=cookie_of(server))
    assert answer.status == 404 and answer.body == b"There is no such file.\n"


@pytest.mark.parametrize(
    "method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get", "X"]
)
def test_other_methods_are_refused(server, method):
    cookie = cookie_of(server)
    assert ask(server, method=method, Cookie=cookie).status == 405
    # One with a body is not even read.
    assert ask(server, method=method, body="x" * 10, Content_Length="10", Cookie=cookie).status is None
    assert goes_on(server, cookie)


@pytest.mark.parametrize(
    ("octets", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200) + b"\n", None),  # TLS
        (b"GET\r\n\r\n", None),
        (b"GET / HTTP/9\r\n\r\n", None),
        (b"GET /\xff HTTP/1.1\r\n\r\n", None),
        (b"\x00" * 5000 + b"\r\n", None),
        (b"GET /" + b"a" * 10_000_000, 414),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10_000 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 100_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", None),
    ],
)
def test_what_is_no_request_is_refused(server, octets, status):
    assert exchange(server, octets).status in (
        status,
        None,
    )  # The answer may be lost with what we still send.
    assert goes_on(server, cookie_of(server))


LINES = st.sampled_from(
    [b"GET / HTTP/1.1", b"GET /socket HTTP/1.1", b"Host: 127.0.0.1", b"Cookie: a=b; c", b"Upgrade: websocket"]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.lists(LINES | st.binary(max_size=30), max_size=6).map(b"\r\n".join))
def test_any_octets_are_refused_or_nothing(server, octets):
    assert exchange(server, octets + b"\r\n\r\n").status in {None, *range(400, 500)}


def test_a_request_that_does_not_arrive_is_given_up(serving, monkeypatch):
    monkeypatch.setattr(serve, "ARRIVE_S", 0.5)
    server = serving()
    with socket.create_connection(("127.0.0.1", server.port), 10) as slow:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for octet in b"GET / HTTP/1.1":
                slow.sendall(bytes([octet]))
                time.sleep(0.1)
            assert slow.recv(10) == b""
        assert time.monotonic() - began < 8
    assert goes_on(server, cookie_of(server))


def test_a_client_that_answers_no_ping_is_gone(serving, monkeypatch):
    monkeypatch.setattr(serve, "PING_S", 0.2)
    server = serving()
    cookie = cookie_of(server)
    fields = {
        **UPGRADE,
        "Host": f"127.0.0.1:{server.port}",
        "Cookie": cookie,
        "Origin": server.origin,
    }
    with socket.create_connection(("127.0.0.1", server.port), 10) as deaf:
        lines = [f"{name}: {value}" for name, value in fields.items()]
        target = f"/socket?key={PAGE_KEYS[cookie]}"
        deaf.sendall("\r\n".join([f"GET {target} HTTP/1.1", *lines, "", ""]).encode())
        assert deaf.recv(1000).startswith(b"HTTP/1.1 101 ")
        while deaf.recv(1000):
            pass


# What it makes of messages.


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("", "message"),
        ("x", "message"),
        ("[]", "message"),
        ("null", "message"),
        ('"run"', "message"),
        ("[" * 200_000, "message"),
        ('{"do":' * 20_000, "message"),
        ('{"do": "run", "id": 1, "base": "umts-384", "set": ' + "[" * 5000 + "]" * 5000 + "}", "message"),
        ('{"do": "run", "id": 1, "base": "umts-384", "set": [[]]}', "set"),
        ('{"id": 1}', "do"),
        ('{"do": "shutdown", "id": 1}', "do"),
        ('{"do": ["run"], "id": 1}', "do"),
        ('{"do": {"run": 1}, "id": 1}', "do"),
        ('{"do": "run", "base": "umts-384"}', "message"),
        ('{"do": "run", "id": null, "base": "umts-384"}', "id"),
        ('{"do": "run", "id": true, "base": "umts-384"}', "id"),
        ('{"do": "run", "id": 1.0, "base": "umts-384"}', "id"),
        ('{"do": "run", "id": -1, "base": "umts-384"}', "id"),
        ('{"do": "run", "id": 4294967296, "base": "umts-384"}', "id"),
        ('{"do": "run", "id": "1", "base": "umts-384"}', "id"),
        ('{"do": "run", "id": 1, "base": "umts-384", "seed": 1e99}', "seed"),
        ('{"do": "run", "id": 1, "base": "umts-384", "seed": NaN}', "message"),
        ('{"do": "run", "id": 1, "base": "umts-384", "seed": ' + "9" * 10_000 + "}", "message"),
        ('{"do": "run", "id": 1, "base": 7}', "base"),
        ('{"do": "run", "id": 1, "base": "\\ud800"}', "base"),
        ('{"do": "run", "id": 1, "base": "umts-384", "set": ["a\\udfff=1"]}', "set"),
        ('{"do": "run", "id": 1, "base": "umts-384", "set": "tcp.cc=reno"}', "set"),
        ('{"do": "run", "id": 1, "base": "umts-384", "path": "/etc/passwd"}', "message"),
        ('{"do": "open", "id": 1, "name": "/etc"}', "base"),
        ('{"do": "open", "id": 1, "name": "../../etc/passwd"}', "base"),
        ('{"do": "open", "id": 1, "name": "docs/../README.md"}', "base"),
        ('{"do": "run", "id": 1, "base": "/etc/passwd"}', "base"),
        ('{"do": "run", "id": 1, "base": "umts-384\\u0000"}', "base"),
        (b"\xff\x00{}", "message"),
        (b"", "message"),
    ],
)
def test_a_wrong_message_is_answered_with_what_is_wrong(client, message, path):
    client.socket.send(message)
    heard = client.hear()
    assert heard["error"]["path"] == path and heard["error"]["message"] and heard["error"]["hint"]
    assert client.ask("schema", id=3)["id"] == 3


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["run", "umts-384", 1]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
FIELDS = st.sampled_from(["do", "id", "base", "set", "seed", "name", "x"])


@pytest.mark.slow
@given(st.text() | st.binary() | VALUES.map(json.dumps) | st.dictionaries(FIELDS, VALUES).map(json.dumps))
def test_reading_a_message_gives_a_message_or_what_is_wrong(data):
    try:
        message = read_message(data)
    except MessageError as error:
        assert error.key and error.problem and error.remedy
    else:
        assert message.do in messages._FIELDS and 0 <= message.id <= messages.LARGEST_ID


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_base_and_any_change_is_a_scenario_or_an_error(base, changes):
    for begin in ("", "text:"):
        with contextlib.suppress(AirpathError):
            SOURCES.scenario(begin + base, [])
    with contextlib.suppress(AirpathError):
        SOURCES.scenario("umts-384", changes)


SOURCES = Sources()


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 1000], ids=["at once", "in pieces"])
def test_a_message_of_100_MB_closes_its_connection_and_no_other(server, pieces):
    cookie = cookie_of(server)
    with Client(server, cookie) as other, Client(server, cookie) as client:
        whole = "x" * (100_000_000 // pieces)
        with pytest.raises(ConnectionClosed):
            client.socket.send(whole if pieces == 1 else (whole for _ in range(pieces)))
            client.socket.recv(10)
        assert client.socket.close_code == 1009
        assert other.ask("schema")["id"] == 1


def test_markup_in_names_and_texts_comes_back_as_text(client):
    told = client.ask("resolve", base=MARKUP)["error"]
    assert "<" not in told["message"] + told["hint"]
    text = f"# {MARKUP}\n{airpath.load('umts-64-simple').text}"
    run, _ = client.run(base=f"text:{text}")
    assert run["base"] is None and run["changes"] is None and run["title"] == "own text"


def test_too_many_runs_of_a_client_are_refused(client):
    for id in range(serve.MOST_RUNS):
        client.say("run", id=id, base="umts-384", set=LONG)
    client.say("run", id=1000, base="umts-384")
    heard = client.until(lambda told: "error" in told)
    assert heard["id"] == 1000 and "are not over" in heard["error"]["message"]
    for id in range(serve.MOST_RUNS):
        client.say("cancel", id=id)
    client.say("run", id=1000, base="umts-64-simple")
    client.until(lambda told: told == {"id": 1000, "ended": True})


def test_a_scenario_reads_files_of_its_own_folder_alone(serving, tmp_path):
    mine, secret = tmp_path / "mine", tmp_path / "secret.txt"
    mine.mkdir()
    for file in (secret, mine / "own.txt"):
        file.write_text("20 ms\n25 ms\n")
    (mine / "link.txt").symlink_to(secret)
    text = airpath.load("variable-3g").text
    (mine / "own.toml").write_text(text)
    server = serving(mine / "own.toml")
    key = "radio.variable.uplink.channel"

    def reads(file: str) -> str:
        return f"{{ distribution = {{ rate.constant = '1 Mbit/s', delay.empirical.file = '{file}' }} }}"

    with Client(server, cookie_of(server)) as client:
        name = str(mine / "own.toml")
        assert client.ask("scenarios")["answer"][0]["name"] == name
        right = client.ask("resolve", base=name, set=[f"{key}={reads('own.txt')}"])["answer"]["scenario"]
        assert right == airpath.load(name, [(key, reads("own.txt"))]).text and "25 ms\n" in right
        outside = [str(secret), "../secret.txt", "link.txt", "/etc/passwd", "/dev/zero", "nothing", ".."]
        for wrong in outside:
            told = client.ask("resolve", base=name, set=[f"{key}={reads(wrong)}"])["error"]
            assert told["path"].startswith(key) and "is no file below" in told["message"], told
            told = client.ask("resolve", base=f"text:{text}", set=[f"{key}={reads(wrong)}"])["error"]
            assert told["path"].startswith(key) and "in no folder" in told["message"], told


def test_a_folder_whose_files_lead_out_of_it_is_refused(run_folder, tmp_path, airpath_command):
    shutil.copytree(run_folder("umts-64-simple"), tmp_path / "run")
    (tmp_path / "run" / "results.json").unlink()
    (tmp_path / "run" / "results.json").symlink_to("/etc/passwd")
    outcome = airpath_command("studio", tmp_path / "run", "--no-browser")
    check_error(outcome, str(tmp_path / "run" / "results.json"), "leads out of", "name the folder")


# The rules themselves.


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_no_other_host_is_ours(host):
    guard = Guard(8000)
    headers = Headers(Host=host, Cookie=guard.cookie.split(";")[0])
    refused = guard.refusal("GET", "/", headers, is_socket=False, is_used=False)
    assert (refused is None) == (host == "127.0.0.1:8000")


def test_secrets_are_not_shown():
    guard = Guard(8000)
    assert guard.token not in repr(guard) and guard.key not in repr(guard)
    assert guard.token != Guard(8000).token and len({guard.token, guard.key}) == 2
