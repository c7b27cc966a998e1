"""The output folder of a live run belongs to the run: whatever COMMAND or another run does to it."""

from __future__ import annotations

import os
import pwd
import tempfile
from pathlib import Path

import pytest

from live.harness import AIRPATH, FAST, NOBODY, PATIENCE_S, as_root, finish, wait_until

NAMES = (
    "results.json",
    "manifest.json",
    "scenario.resolved.toml",
    "capture.pcapng",
    "plot.png",
    "page.html",
    "trace",
)
PLANT = """
cd {place}; mv out moved 2>/dev/null; mkdir -p out
for folder in out moved; do
  for name in {names}; do rm -rf "$folder/$name"; ln -s {secret} "$folder/$name"; done
done
for own in .*unfinished* moved/.*unfinished*; do
  [ -d "$own" ] && mv "$own" "$own.moved" && ln -s {room} "$own"
done
sleep 0.2
"""


@pytest.fixture
def nobodys(tmp_path):
    """A folder that COMMAND's user owns, with root's file and folder outside of it."""
    if as_root():
        pytest.skip("needs root")
    # pytest's folders (a worker has an additional one) are closed to other users.
    top = Path(tempfile.gettempdir())
    for folder in (tmp_path, *tmp_path.parents):
        if folder == top or top not in folder.parents:
            break
        os.chmod(folder, 0o755)
    place, room, secret = (tmp_path / name for name in ("place", "room", "secret"))
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)
    room.mkdir(mode=0o700)
    secret.write_text("secret")
    secret.chmod(0o600)
    return place, room, secret


@pytest.mark.slow
@pytest.mark.parametrize("is_there", [False, True], ids=["new", "force"])
def test_root_writes_through_no_link_that_command_puts_into_its_folder(is_there, nobodys, start):
    place, room, secret = nobodys
    if is_there:
        (place / "out").mkdir()
        os.chown(place / "out", NOBODY, NOBODY)
    script = PLANT.format(place=place, room=room, secret=secret, names=" ".join(NAMES))
    user = pwd.getpwuid(NOBODY).pw_name
    options = ["--out", place / "out", "--user", user, *(["--force"] if is_there else [])]
    process = start(*FAST, *options, command=["sh", "-c", script])
    _, said = finish(process)
    assert process.returncode in (0, 2), said
    assert "Traceback" not in said
    assert any(own.is_symlink() for own in place.rglob("*"))
    assert secret.read_text() == "secret" and not list(room.iterdir())


@pytest.mark.slow
def test_a_second_run_into_the_folder_is_told_who_has_it(start, tmp_path):
    first = start(*FAST, "--out", tmp_path / "out", command=["sh", "-c", "echo ready; sleep 3"])
    assert first.stdout is not None
    wait_until(lambda: first.stdout.readline() == "ready\n", "the link is up", PATIENCE_S)
    second = start(*FAST, "--out", tmp_path / "out", command=["true"])
    _, said = finish(second)
    assert second.returncode == 2 and str(first.pid) in said and said.count("\n") == 1
    finish(first)
    assert first.returncode == 0 and (tmp_path / "out" / "results.json").exists()


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_with_closed_standard_streams_leaves_its_files(closed, start, tmp_path):
    launcher = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    process = start(*FAST, "--out", tmp_path / "out", command=["true"], launcher=launcher)
    finish(process)
    assert process.returncode == 0 and (tmp_path / "out" / "results.json").exists()


@pytest.mark.slow
def test_live_inside_live_says_that_it_is_behind_a_link_already(live):
    outcome = live(*FAST, command=[AIRPATH, "live", *FAST, "--", "true"])
    assert outcome.code == 2 and "behind a link already" in outcome.err and "root" not in outcome.err
