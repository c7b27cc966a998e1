"""What COMMAND may do: who it is, its capabilities, its environment."""

import os
import pwd
import subprocess

import pytest
from programs import needs

from live.harness import FAST, NOBODY, PATIENCE_S, as_root, without_power

SAYS = "grep -E '^(CapPrm|CapBnd|NoNewPrivs)' /proc/self/status; id -u; id -G"
# Over files, processes and networks; the bits are those of <linux/capability.h>.
ROOT_KEEPS = sum(1 << bit for bit in (0, 1, 2, 3, 4, 5, 6, 7, 10, 12, 13))


def said(text):
    """Capabilities permitted and at most, whether programs can get more, and who it is: user, all groups."""
    *lines, uid, groups = text.splitlines()
    permitted, most, stays = (line.split()[1] for line in lines)
    return int(permitted, 16), int(most, 16), stays == "1", int(uid), [int(group) for group in groups.split()]


@pytest.fixture
def root(monkeypatch):
    """Runs a command as root without a calling user."""
    launcher = as_root()
    monkeypatch.delenv("SUDO_UID", raising=False)
    return [*launcher, "env", "--unset=SUDO_UID"]


@pytest.mark.slow
def test_root_keeps_files_and_networks_and_no_program_gets_more(live, root):
    outcome = live(*FAST, command=["sh", "-c", SAYS], launcher=root)
    assert outcome.code == 0, outcome.err
    permitted, most, stays, uid, _ = said(outcome.out)
    assert (permitted & ~ROOT_KEEPS, most & ~ROOT_KEEPS, stays, uid) == (0, 0, True, 0)
    # Power over the networks of the link, which it is made for.
    assert permitted >> 12 & 1


@pytest.mark.slow
@needs("mount", "nsenter", "unshare")
def test_root_cannot_go_back_to_the_network_outside(live, root, tmp_path):
    outside = tmp_path / "outside"
    outside.touch()
    script = 'mount --bind /proc/self/ns/net "$0" && exec "$@"'
    launcher = [*root, "unshare", "--mount", "sh", "-c", script, str(outside)]
    enter = ["nsenter", f"--net={outside}", "true"]
    # In front of the link it is allowed.
    assert subprocess.run([*launcher, *enter], timeout=PATIENCE_S).returncode == 0
    outcome = live(*FAST, command=enter, launcher=launcher)
    assert (outcome.code, "Operation not permitted" in outcome.err) == (1, True)


@pytest.mark.slow
@needs("ping")
@pytest.mark.parametrize("how", ["--user", "SUDO_UID"])
def test_root_can_let_programs_run_as_somebody_else(how, live, root):
    nobody = pwd.getpwuid(NOBODY)
    words, launcher = {
        "--user": (["--user", nobody.pw_name], root),
        "SUDO_UID": ([], [*root, f"SUDO_UID={NOBODY}"]),
    }[how]
    script = f"{SAYS}; echo $HOME $USER >&2; ping -c 1 -q $AIRPATH_SERVER >&2"
    served = "id -u >&2; sleep 60"
    outcome = live(*FAST, *words, server=served, command=["sh", "-c", script], launcher=launcher)
    assert outcome.code == 0, outcome.err
    permitted, _, stays, uid, groups = said(outcome.out)
    assert (permitted, stays, uid) == (0, True, NOBODY)
    assert groups == sorted(os.getgrouplist(nobody.pw_name, nobody.pw_gid))
    assert f"{nobody.pw_dir} {nobody.pw_name}" in outcome.err
    assert str(NOBODY) in outcome.err.splitlines()


@pytest.mark.slow
def test_user_root_stays_root_whoever_called(live, root):
    launcher = [*root, f"SUDO_UID={NOBODY}"]
    outcome = live(*FAST, "--user", "root", command=["id", "-u"], launcher=launcher)
    assert outcome.out == "0\n"


@pytest.mark.slow
def test_others_have_power_over_the_networks_of_the_link_alone(live, tmp_path):
    launcher = without_power(tmp_path)
    outcome = live(*FAST, command=["sh", "-c", SAYS], launcher=launcher)
    assert outcome.code == 0, outcome.err
    permitted, _, stays, _, _ = said(outcome.out)
    # Also what the launcher leaves: to read the interpreter.
    assert (permitted & ~(1 << 2), stays) == (1 << 10 | 1 << 12 | 1 << 13, True)


def test_only_root_can_choose_a_user(live, tmp_path):
    outcome = live(*FAST, "--user", "root", command=["true"], launcher=without_power(tmp_path))
    assert outcome.code == 2
    assert "--user: only root can let a program run as 'root'; leave it out" in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nosuchuser", "4000000000", "", "99999999999999999999"])
def test_a_user_that_there_is_not_is_refused(name, live):
    outcome = live(*FAST, "--user", name, command=["true"])
    assert outcome.code == 2
    assert f"--user: there is no user '{name}'; name one that" in outcome.err


@pytest.mark.slow
def test_a_clean_environment_has_what_a_login_has_and_the_link(live, monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setenv("LC_TIME", "C")
    names = {}
    for words in ([], ["--clean-env"]):
        outcome = live(*FAST, *words, command=["env"])
        assert outcome.code == 0, outcome.err
        names[len(words)] = {line.partition("=")[0] for line in outcome.out.splitlines()}
    assert "SECRET" in names[0]
    assert {"PATH", "LC_TIME", "AIRPATH_SERVER", "MAHIMAHI_BASE"} <= names[1]
    assert not {"SECRET", "AIRPATH_TEST_MARKER"} & names[1]
