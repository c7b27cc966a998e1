"""Sweeps on a Dask cluster: the same rows whichever process is killed, and errors that say what to do."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from importlib.util import find_spec

import pytest
from conftest import check_error
from programs import needs
from test_sweep import SHORT, SMALL, plan_of, rows_of, written

from airpath import _core
from airpath.errors import SweepError
from airpath.experiments.sweep.readers import ReadMetrics
from airpath.experiments.sweep.run import run_sweep
from airpath.runner import cluster as cluster_module
from airpath.runner import driver as driver_module
from airpath.runner.work import Task, answer_of, carry_out_as, check, versions

# Imported where it is used: it takes long, and all processes of pytest collect this file.
if find_spec("distributed") is None:
    pytest.skip("Dask is not installed: python -m pip install 'airpath[dask]'", allow_module_level=True)

from dask_cluster import Cluster  # After the check, as it looks for the command.

WAIT_S = 60
AIRPATH = [sys.executable, "-c", "import sys; from airpath.cli.main import main; sys.exit(main())"]


@pytest.fixture
def cluster(tmp_path):
    """A scheduler without workers."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    with Cluster(folder) as running:
        yield running


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The rows of the short sweep from this machine."""
    folder = tmp_path_factory.mktemp("local")
    run_sweep(plan_of(folder), folder / "out", 1)
    return rows_of(folder / "out")


def staffed(cluster, count=2, *words, **options):
    for number in range(count):
        cluster.start_worker(f"worker{number}", *words, **options)
    for number in range(count):
        cluster.await_worker(f"worker{number}")
    return cluster


def on(cluster, plan, out, **options):
    return run_sweep(plan, out, dask=cluster.address, dask_wait_s=WAIT_S, **options)


@pytest.mark.slow
def test_a_sweep_on_two_workers_one_of_them_killed_is_that_of_this_machine(
    tmp_path, cluster, local, monkeypatch
):
    # Many tasks, so that some are with the worker when it dies.
    monkeypatch.setattr(driver_module, "MAX_TASK_RUNS", 3)
    # A scheduler needs no airpath.
    (tmp_path / "hide.py").write_text("import sys\nsys.modules['airpath'] = None\n")
    cluster.kill("scheduler")
    cluster.start_scheduler("--preload", tmp_path / "hide.py")
    staffed(cluster)
    sizes = []

    def kill(progress, _worst):
        if progress.fresh >= 60 and "worker0" in cluster.processes:
            cluster.kill("worker0")
            sizes.append(progress.fresh)

    outcome = on(cluster, plan_of(tmp_path), tmp_path / "out", on_progress=kill)
    assert sizes and sizes[0] < 600
    assert (outcome.fresh, outcome.runs, outcome.interrupted) == (600, 600, False)
    assert rows_of(tmp_path / "out") == local


@pytest.mark.slow
def test_a_reproduction_on_two_workers_is_that_of_this_machine(tmp_path, cluster, airpath_command):
    staffed(cluster)
    command = ("reproduce", "lundsten", "--table", "3", "--runs", "2", "--json")
    here = airpath_command(*command, "--out", tmp_path / "here")
    there = airpath_command(*command, "--out", tmp_path / "there", "--dask", cluster.address)
    assert (here.code, there.code) == (0, 0), there.err
    assert there.out == here.out
    for name in ("index.html", "report.json"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


@pytest.mark.slow
def test_workers_may_come_later_and_have_several_threads(tmp_path, cluster, local):
    warnings = []

    def warn(text):
        warnings.append(text)
        cluster.start_worker("late", threads=4)

    outcome = on(cluster, plan_of(tmp_path), tmp_path / "out", warn=warn)
    assert outcome.fresh == 600
    assert len(warnings) == 1 and "waiting for one, 60 s at most" in warnings[0]
    assert rows_of(tmp_path / "out") == local


@pytest.mark.slow
def test_room_follows_the_threads_of_all_workers(tmp_path, cluster):
    staffed(cluster, 1, threads=3)
    with cluster_module.Cluster(
        cluster.address, ReadMetrics(("transfer_s",)), lambda _: 1, WAIT_S, pytest.fail
    ) as pool:

        def becomes(room):
            limit = time.monotonic() + WAIT_S
            while pool.room != room:
                assert time.monotonic() < limit
                assert pool.answers(0.1) == []

        becomes(6)
        cluster.start_worker("another", threads=2)
        becomes(10)
        cluster.kill("worker0")
        becomes(4)


@pytest.mark.slow
def test_a_scheduler_that_goes_away_leaves_what_is_done(
    tmp_path, cluster, local, monkeypatch, airpath_command
):
    monkeypatch.setattr(driver_module, "MAX_TASK_RUNS", 3)
    staffed(cluster, 1)
    out, told = tmp_path / "out", []

    def kill(progress, _worst):
        if progress.fresh >= 60 and "scheduler" in cluster.processes:
            cluster.kill("scheduler")
            told.append(progress.fresh)

    with pytest.raises(SweepError) as error:
        on(cluster, plan_of(tmp_path), out, on_progress=kill)
    assert error.value.args[0] == "--dask" and "is gone" in error.value.args[1]
    assert "the same command resumes" in error.value.args[2]
    there = len(rows_of(out))
    assert told[0] <= there < 600
    cluster.kill("worker0")
    cluster.start_scheduler()
    staffed(cluster, 1)
    outcome = airpath_command("sweep", written(tmp_path), "--out", out, "--dask", cluster.address)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"{600 - there} of them made now" in outcome.out
    assert rows_of(out) == local


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_not_waited_for_long(tmp_path, airpath_command, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    outcome = airpath_command("sweep", written(tmp_path), "--out", tmp_path / "out", "--dask", address)
    check_error(outcome, "--dask", f"no scheduler answers at '{address}' within 1 s", "dask scheduler")


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64), b"\xff" * 64])
def test_what_is_no_scheduler_ends_the_command_in_time_with_one_line(
    said, tmp_path, airpath_command, monkeypatch
):
    monkeypatch.setattr(cluster_module, "CONNECT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections = []

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    connections.append(server.accept()[0])
                    connections[-1].sendall(said)

        threading.Thread(target=answer, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        outcome = airpath_command("sweep", written(tmp_path), "--out", tmp_path / "out", "--dask", address)
        check_error(outcome, "--dask", f"no scheduler answers at '{address}' within 1 s", "dask scheduler")
        server.shutdown(socket.SHUT_RDWR)
    for connection in connections:
        connection.close()


def test_what_repeats_all_that_it_hears_is_no_scheduler(tmp_path, airpath_command, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT_S", 1.0)

    def repeat(connection):
        with connection, contextlib.suppress(OSError):
            while said := connection.recv(4096):
                connection.sendall(said)

    def serve(server):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=repeat, args=server.accept()[:1], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=[server], daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        begin = time.monotonic()
        outcome = airpath_command("sweep", written(tmp_path), "--out", tmp_path / "out", "--dask", address)
        check_error(outcome, "--dask", "another program listens there", "dask scheduler")
        assert time.monotonic() < begin + 10
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("address", ["foo:bar", "tcp://", "ucx://x:1", "inproc://1"])
def test_an_odd_address_of_a_scheduler_is_one_line(address, tmp_path, airpath_command):
    outcome = airpath_command("sweep", written(tmp_path), "--out", tmp_path / "out", "--dask", address)
    check_error(outcome, "--dask", f"no scheduler answers at '{address}'", "dask scheduler")


@pytest.mark.slow
def test_a_scheduler_without_workers_is_waited_for_as_long_as_is_asked(tmp_path, cluster):
    command = ["sweep", written(tmp_path), "--out", tmp_path / "out", "--dask", cluster.address]
    ended = subprocess.run(
        [*AIRPATH, *command, "--dask-wait", "2"], capture_output=True, text=True, timeout=WAIT_S
    )
    assert ended.returncode == 2
    warning, error = ended.stderr.splitlines()
    assert warning.startswith("warning: no worker at") and "2 s at most" in warning
    assert error.startswith("error: --dask: ") and "had no worker for 2 s; start some: dask worker" in error


def test_options_that_do_not_go_together_are_refused(tmp_path, airpath_command):
    path = written(tmp_path)
    both = airpath_command("sweep", path, "--dask", "tcp://127.0.0.1:1", "--workers", 2)
    check_error(both, "--workers", "with --dask", "leave it out")
    check_error(
        airpath_command("sweep", path, "--dask-wait", 3), "--dask-wait", "without --dask", "scheduler"
    )


def test_without_dask_the_command_says_how_to_install_it(tmp_path, airpath_command, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    outcome = airpath_command(
        "sweep", written(tmp_path), "--out", tmp_path / "out", "--dask", "tcp://127.0.0.1:1"
    )
    check_error(outcome, "--dask", "Dask is not installed", "python -m pip install 'airpath[dask]'")


OTHER_STREAMS = "from airpath import _core\n_core.RNG_VERSION = 'another/9'\n"


@pytest.mark.slow
def test_a_worker_with_other_random_streams_is_refused(tmp_path, cluster, airpath_command):
    (tmp_path / "other.py").write_text(OTHER_STREAMS)
    cluster.start_worker("other", "--preload", tmp_path / "other.py")
    out = tmp_path / "out"
    outcome = airpath_command("sweep", written(tmp_path), "--out", out, "--dask", cluster.address)
    lines = [line for line in outcome.err.splitlines() if not line.startswith("warning: no worker")]
    assert outcome.code == 2 and len(lines) == 1
    assert lines[0].startswith("error: workers: a worker on ") and "another/9" in lines[0]
    assert "install the same airpath" in lines[0]
    assert not (out / "runs").exists()


def test_a_worker_with_another_airpath_makes_no_run():
    refused = carry_out_as(("9.9", versions()[1]), [], ReadMetrics(("transfer_s",)))
    with pytest.raises(SweepError, match="airpath 9"):
        answer_of(refused)


def test_a_failure_of_any_kind_is_told_in_words(monkeypatch):
    class Panic(BaseException):
        def __reduce__(self):
            raise TypeError("cannot be pickled")

    def panic(*_):
        raise Panic("at the core")

    monkeypatch.setattr(_core, "run", panic)
    answer = answer_of(carry_out_as(versions(), [(3, "", (5, 6))], ReadMetrics(("transfer_s",))))
    assert answer.failure == (3, 5, "it or one soon after: Panic: at the core")


@pytest.mark.parametrize(
    "octets",
    [b"", b"\x80\x04N.", b"[]", b"{}", b'{"rows": 3}', b'{"rows": [[0, [1], 24]], "seconds": 1}\n12345'],
)
def test_what_is_no_answer_is_refused(octets):
    with pytest.raises(ValueError):
        answer_of(octets)


def answered(**changes):
    """Octets of an answer to seeds 1 and 2 of job 3, with two metrics each, except for some changes."""
    head = {"rows": [[3, [1, 2], 32]], "seconds": 0.1, "failure": None, "failed": []} | changes
    return json.dumps(head).encode() + b"\n" + struct.pack("<4d", 1, 2, 3, 4)


VALUES = [[[1.0, 2.0], "common"]] * 2


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": [[9, [1, 2], 32]]},
        {"rows": [[-1, [1, 2], 32]]},
        {"rows": [[3, [1, 7], 32]]},
        {"rows": [[3, [2, 1], 32]]},
        {"rows": [[3, [1, 2**80], 32]]},
        {"rows": [[3, [1], 16]]},
        {"rows": []},
        {"rows": [[3, [1, 2], 16]]},
        {"rows": [[3, [1, 2], 31]]},
        {"rows": [[3, [1, 2], -8]]},
        {"rows": [[3, [1, 2], 32], [3, [1, 2], 0]]},
        {"rows": [[3, [1, 2], VALUES[:1]]]},
        {"rows": [[3, [1, 2], [[["1", 2.0], "common"]] * 2]]},
        {"rows": [[3, [1, 2], [[[1.0], "common"]] * 2]]},
        {"rows": [[3, [1, 2], [[[1.0, 2.0], 5]] * 2]]},
        {"rows": [["3", [1, 2], 32]]},
        {"rows": [[3, 1, 32]]},
        {"failed": [[3, 9, "too many packets"]]},
        {"failed": [[3, 1]]},
        {"failure": [3, 1, "cause"]},
        {"rows": [[3, [1], 16]], "failure": [3, 1, "cause"]},
        {"seconds": -1},
        {"seconds": float("nan")},
        {"seconds": "x"},
    ],
)
def test_poisoned_rows_are_no_answer(changes):
    with pytest.raises(ValueError):
        check(answer_of(answered(**changes)), [(3, "text", (1, 2))], lambda _: 2)


def test_rows_of_the_task_are_an_answer():
    for changes in ({}, {"rows": [[3, [1, 2], VALUES]]}, {"failed": [[3, 2, "too many packets"]]}):
        check(answer_of(answered(**changes)), [(3, "text", (1, 2))], lambda _: 2)
    ended = answered(rows=[[3, [1], 16]], failure=[3, 2, "cause"])
    check(answer_of(ended), [(3, "text", (1, 2))], lambda _: 2)


POISON = """
from airpath.runner import work
def poisoned(runs, make_runs, carry_out=work.carry_out):
    return carry_out([(job + 1, *rest) for job, *rest in runs], make_runs)
work.carry_out = poisoned
"""


@pytest.mark.slow
def test_a_worker_that_sends_rows_of_other_runs_ends_the_sweep(tmp_path, cluster, airpath_command):
    (tmp_path / "poison.py").write_text(POISON)
    cluster.start_worker("poison", "--preload", tmp_path / "poison.py")
    out = tmp_path / "out"
    outcome = airpath_command("sweep", written(tmp_path), "--out", out, "--dask", cluster.address)
    line = outcome.err.splitlines()[-1]
    assert outcome.code == 2 and "error: run: a worker failed at point" in line, outcome.err
    assert "runs that it was not to make" in line
    assert not out.exists()


# A worker that gives an object whose pickle creates a file when opened, instead of bytes.
HOSTILE = """
import pathlib
from airpath.runner import work
class Opened:
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path({file!r}),)
work.carry_out_as = lambda *_: Opened()
"""


@pytest.mark.slow
def test_a_pickle_that_a_worker_gives_is_not_opened(tmp_path, cluster):
    opened = tmp_path / "opened"
    (tmp_path / "hostile.py").write_text(HOSTILE.format(file=str(opened)))
    cluster.start_worker("hostile", "--preload", tmp_path / "hostile.py")
    with pytest.raises(SweepError, match="a worker failed"):
        on(cluster, plan_of(tmp_path, SMALL), tmp_path / "out")
    assert not opened.exists()


def made_by_openssl(folder):
    """An authority, and certificates of two people that it signed: PEM files by name."""

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], cwd=folder, check=True, capture_output=True)

    for name in ("ca", "other"):
        whom = ("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 1, *whom)
    for name, authority in (("node", "ca"), ("driver", "ca"), ("stranger", "other")):
        whom = ("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("req", "-newkey", "rsa:2048", "-nodes", *whom)
        by = ("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", 1)
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *by)
    return {file.name: file for file in folder.iterdir()}


@needs("openssl")
@pytest.mark.slow
def test_a_cluster_with_tls_takes_those_whom_its_authority_knows(tmp_path, local, airpath_command):
    folder = tmp_path / "cluster"
    folder.mkdir()
    pem = made_by_openssl(folder)
    tls = [
        f"--tls-{what}={pem[file]}"
        for what, file in (("ca-file", "ca.pem"), ("cert", "node.pem"), ("key", "node.key"))
    ]
    with Cluster(folder, protocol="tls") as running:
        running.start_scheduler(*tls)
        staffed(running, 1, *tls)
        assert running.address.startswith("tls://")
        sweep = ("sweep", written(tmp_path, SHORT), "--dask", running.address, "--dask-wait", 5, "--out")
        files = ",".join(str(pem[name]) for name in ("ca.pem", "driver.pem", "driver.key"))
        outcome = airpath_command(*sweep, tmp_path / "out", "--dask-security", files)
        assert outcome.code == 0, outcome.err
        assert rows_of(tmp_path / "out") == local
        strange = ",".join(str(pem[name]) for name in ("ca.pem", "stranger.pem", "stranger.key"))
        for own in (("--dask-security", strange), ()):
            outcome = airpath_command(*sweep, tmp_path / "none", *own)
            check_error(outcome, "--dask", "no scheduler answers", "start one: dask scheduler")


def test_files_of_tls_are_checked_before_anything_begins(tmp_path, airpath_command):
    file = tmp_path / "ca.pem"
    file.touch()
    sweep = ("sweep", written(tmp_path), "--out", tmp_path / "out")
    for own, key, what in (
        (("--dask", "tls://127.0.0.1:1", "--dask-security", "ca.pem"), "--dask-security", "three files"),
        (
            ("--dask", "tls://127.0.0.1:1", "--dask-security", f"{file},{file},none"),
            "--dask-security",
            "no file 'none'",
        ),
        (("--dask", "tcp://127.0.0.1:1", "--dask-security", f"{file},{file},{file}"), "--dask", "of TLS"),
        (("--dask-security", f"{file},{file},{file}"), "--dask-security", "without --dask"),
    ):
        check_error(airpath_command(*sweep, *own), key, what, "")


@pytest.mark.slow
def test_a_worker_without_airpath_is_named_as_such(tmp_path, cluster):
    (tmp_path / "hide.py").write_text("import sys\nsys.modules['airpath.runner.work'] = None\n")
    cluster.start_worker("without", "--preload", tmp_path / "hide.py")
    with pytest.raises(SweepError) as error:
        on(cluster, plan_of(tmp_path, SMALL), tmp_path / "out")
    assert error.value.args[0] == "workers"
    assert "cannot load airpath" in error.value.args[1] and "install airpath" in error.value.args[2]


@pytest.mark.slow
def test_a_metric_that_is_not_there_ends_the_sweep(tmp_path, cluster, airpath_command):
    staffed(cluster, 1)
    path = written(tmp_path, SMALL.replace("transfer_s", "transfre_s"))
    outcome = airpath_command("sweep", path, "--out", tmp_path / "out", "--dask", cluster.address)
    check_error(outcome, "run", "results have no 'transfre_s' there", "correct it and give the same command")


LETHAL = """
import os
from airpath import _core

if _core.run.__name__ == "run":  # Dask loads this twice.
    run, measure = _core.run, _core.measure

def die_at(text, seeds):
    if 3 in seeds and 'initial_window = 4' in text:
        os._exit(9)

def lethal_run(text, seed):
    die_at(text, [seed])
    return run(text, seed)

def lethal_measure(text, seeds, paths):
    die_at(text, seeds)
    return measure(text, seeds, paths)

_core.run, _core.measure = lethal_run, lethal_measure
"""


@pytest.mark.slow
def test_a_run_that_kills_workers_ends_the_sweep_with_its_seed(tmp_path, cluster):
    # As many workers die of it as Dask and airpath allow; the others continue with the harmless tasks.
    (tmp_path / "lethal.py").write_text(LETHAL)
    cluster.kill("scheduler")
    cluster.start_scheduler(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
    text = SMALL.replace('"radio.dch.downlink.channel.bernoulli.bler" = ["1 %", "10 %"]', "")
    started = 0

    def replace(progress, _worst):
        nonlocal started
        for name, process in list(cluster.processes.items()):
            if process.poll() is not None:
                cluster.kill(name)
        while len(cluster.processes) < 3:
            started += 1
            assert started < 20
            cluster.start_worker(f"worker{started}", "--preload", tmp_path / "lethal.py")

    with pytest.raises(SweepError) as error:
        on(cluster, plan_of(tmp_path, text), tmp_path / "out", on_progress=replace)
    assert error.value.args[:2] == ("workers", "2 workers died at point 1, seed 3"), error.value.args
    assert {(row["point"], row["seed"]) for row in rows_of(tmp_path / "out")} <= {
        (point, seed) for point in (0, 1) for seed in range(1, 6) if (point, seed) != (1, 3)
    }


def test_runs_under_suspicion_are_made_one_at_a_time(tmp_path):
    from distributed import KilledWorker

    # A task that dies with its neighbour is split, and nothing else is submitted but its parts.
    plan = plan_of(tmp_path, SMALL)
    pool = cluster_module.Cluster(
        "tcp://127.0.0.1:1", ReadMetrics(plan.metrics), lambda _: 2, WAIT_S, pytest.fail
    )
    pool._threads, pool._heard = 4, time.monotonic()
    pool._staffed, pool._has_warned = pool._heard, False
    handed = []
    pool.hand_in = lambda task: (handed.append(task), pool._tasks.update({len(handed): task}))
    pool.hand_in(Task([(0, plan.points[0].text, (1, 2)), (1, plan.points[1].text, (1,))]))
    pool._outcomes.put((1, KilledWorker("key", None, 3)))
    assert pool.answers(0.1) == []
    assert pool.room == 0
    for count, run in enumerate([(0, 1), (0, 2), (1, 1)], 2):
        pool.answers(0.01)
        assert len(handed) == count and len(pool._tasks) == 1
        ((point, _, (seed,)),) = handed[-1].runs
        assert (point, seed) == run and pool.room == 0
        if run != (1, 1):
            pool._outcomes.put((count, carry_out_as(versions(), handed[-1].runs, ReadMetrics(plan.metrics))))
            assert len(pool.answers(0.1)) == 1
    pool._outcomes.put((4, KilledWorker("key", None, 3)))
    assert pool.answers(0.1) == []
    with pytest.raises(SweepError, match="4 workers died"):
        pool.answers(0.1)


@pytest.mark.slow
def test_ctrl_c_ends_a_sweep_on_a_cluster_with_what_is_done_written(tmp_path, cluster):
    staffed(cluster, 1)
    out = tmp_path / "out"
    # Some seconds of runs; the first rows are written after two.
    text = SHORT.replace("50 kB", "2 MB").replace("runs = 150", "runs = 2000")
    command = [*AIRPATH, "sweep", written(tmp_path, text), "--out", out, "--dask", cluster.address]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + WAIT_S
    while not (out / "runs").is_dir() or not list((out / "runs").glob("part-*")):
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=WAIT_S)
    assert (process.returncode, printed) == (130, "")
    count = len(rows_of(out))
    assert 0 < count < 8000
    assert errors == f"warning: interrupted: {count} runs in {out}; the same command resumes\n"
