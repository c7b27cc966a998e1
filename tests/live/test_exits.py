"""How a live run ends, and how it does not begin: exit statuses, signals, refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest
from programs import needs

from live.harness import AIRPATH, FAST, MARKER, PATIENCE_S, finish

READY = "trap 'echo {name}; exit 7' {name}; echo ready; while :; do sleep 0.02; done"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 3"], 3),
        (["airpath-no-such-program"], 127),
        (["/etc"], 126),
        (["sh", "-c", "kill -9 $$"], 128 + signal.SIGKILL),
        (["sh", "-c", "kill $$"], 128 + signal.SIGTERM),
    ],
)
def test_the_exit_status_is_that_of_command_in_a_shell(command, code, live):
    assert live(*FAST, command=command).code == code


@pytest.mark.slow
def test_a_command_that_is_not_there_is_named(live):
    outcome = live(*FAST, command=["airpath-no-such-program"])
    assert "airpath: airpath-no-such-program: No such file" in outcome.err


@pytest.mark.slow
def test_what_becomes_of_the_server_is_a_notice(live):
    outcome = live(*FAST, server="exit 4", command=["true"], out=True)
    assert outcome.code == 0
    notice = "the server's command ended at once, with status 4"
    assert f"airpath: {notice}\n" in outcome.err
    assert outcome.live["notices"] == [notice]


@pytest.mark.slow
def test_both_sides_find_the_addresses_in_their_environment(live):
    names = ("AIRPATH_SERVER", "AIRPATH_UE", "AIRPATH_SERVER6", "AIRPATH_UE6", "MAHIMAHI_BASE")
    show = f"echo {' '.join(f'${name}' for name in names)}"
    outcome = live(*FAST, server=show, command=["sh", "-c", show])
    expected = "10.77.0.1 10.77.0.2 fd61:6972:7061::1 fd61:6972:7061::2 10.77.0.1"
    assert outcome.out.splitlines() == [expected, expected]


@pytest.mark.slow
def test_command_holds_no_descriptor_but_its_own_three(live):
    show = "for fd in $(seq 0 99); do if [ -e /proc/$$/fd/$fd ]; then echo $fd; fi; done"
    assert live(*FAST, command=["sh", "-c", show]).out.split() == ["0", "1", "2"]


@pytest.mark.slow
def test_command_starts_with_no_signal_blocked(live):
    outcome = live(*FAST, command=["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"])
    signals = dict(line.split(":\t") for line in outcome.out.splitlines())
    assert int(signals["SigBlk"], 16) == 0
    # glibc's own, 32 and 33, do not count.
    assert int(signals["SigIgn"], 16) & 0x7FFFFFFF == 0


@pytest.mark.slow
def test_a_duration_ends_a_command_that_sleeps(live):
    outcome = live(*FAST, "--duration", "0.3s", command=["sleep", "1000"], out=True)
    assert outcome.code == 128 + signal.SIGTERM
    assert outcome.live["ended_by"] == "duration"
    assert outcome.results["complete"] is True
    assert outcome.results["simulated_s"] < 5


@pytest.mark.slow
def test_a_duration_that_is_over_at_once_ends_command(live):
    outcome = live(*FAST, "--duration", "1us", command=["sleep", "1000"], out=True)
    assert outcome.code == 128 + signal.SIGTERM


@pytest.mark.slow
def test_a_command_that_will_not_end_is_killed(live):
    # What ignores SIGTERM, so that SIGKILL follows after five seconds.
    stubborn = "trap '' TERM; while :; do sleep 0.1; done"
    assert live(*FAST, "--duration", "0.1s", command=["sh", "-c", stubborn]).code == 128 + signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ended_by"),
    # Programs end because of the first four. What they do at others is their own affair.
    [("TERM", "signal"), ("INT", "signal"), ("HUP", "signal"), ("QUIT", "signal"), ("USR1", "command")],
)
def test_a_signal_to_airpath_is_the_commands(name, ended_by, start, tmp_path):
    command = ["sh", "-c", READY.format(name=name)]
    process = start(*FAST, "--out", tmp_path / "out", command=command)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.Signals[f"SIG{name}"])
    out, err = finish(process)
    assert (process.returncode, out) == (7, f"{name}\n"), err
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["live"]["ended_by"] == ended_by
    assert results["complete"] is (ended_by != "signal")


def check_refused(done: subprocess.CompletedProcess[str], key: str, remedy: str, written) -> None:
    """One line with cause and remedy, the status of bad input, and COMMAND did not run."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {key}: ")
    assert remedy in line.partition("; ")[2]
    assert not written.exists()


@pytest.mark.slow
def test_command_does_not_run_where_a_setting_cannot_be_made(tmp_path, marker):
    written = tmp_path / "written"
    words = [AIRPATH, "live", *FAST, "--sysctl", "net.ipv4.no_such=1", "--", "touch", str(written)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    check_refused(done, "sysctl", "net.*", written)


@pytest.mark.slow
@needs("unshare", "setpriv")
@pytest.mark.parametrize(
    ("limit", "power", "key"),
    [
        # Not even a user namespace, and no power to do without.
        ("max_user_namespaces", "sys_admin", "user namespace"),
        # A user namespace, but no network in it.
        ("max_net_namespaces", "nothing", "user namespace"),
    ],
)
def test_command_does_not_run_where_namespaces_are_refused(limit, power, key, tmp_path, marker):
    written = tmp_path / "written"
    words = [AIRPATH, "live", *FAST, "--", "touch", str(written)]
    drop = "" if power == "nothing" else f"setpriv --bounding-set=-{power} "
    script = f'echo 0 > /proc/sys/user/{limit} && exec {drop}"$@"'
    unshare = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", *words]
    environment = {**os.environ, MARKER: marker}
    done = subprocess.run(unshare, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    check_refused(done, key, "user.max_user_namespaces", written)


@needs("unshare", "setpriv")
def test_doctor_says_what_keeps_live_from_working(marker):
    script = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    unshare = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", AIRPATH, "doctor", "--json"]
    done = subprocess.run(unshare, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    checks = json.loads(done.stdout)
    failed = [check for check in checks if check["ok"] is False]
    assert len(failed) == 1 and failed[0]["needed"]
    assert "user.max_user_namespaces" in failed[0]["remedy"]
    assert any(check["ok"] is None for check in checks)
