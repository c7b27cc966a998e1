"""Output folders under attack: links, renames and second writers while a process writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import airpath
from airpath.errors import OutputError
from airpath.files.atomic import write_whole
from airpath.files.folder import Folder
from airpath.runs.folder import run_to_folder
from airpath.runs.recorder import LOCK, UNFINISHED, CtrlC, Recorder, prepare

NOBODY = 65534
SHORT = airpath.load("umts-384").with_("flow.0.app.file.size", "5 kB")


def run_while(out: Path, disturb) -> None:
    """Write a run into a folder; `disturb` is called when it has begun and its files are open."""
    with prepare(out, force=False) as folder:
        recorder = Recorder(folder, SHORT, 1, {})
        disturb()
        recorder.write({}, b"packets")
        recorder.close()
        with CtrlC() as ctrl_c:
            recorder.finish("{}", ctrl_c, title="", drawn=False)


def test_a_folder_put_in_place_of_the_output_folder_stays_empty(tmp_path):
    out, moved = tmp_path / "out", tmp_path / "moved"

    def disturb():
        out.rename(moved)
        out.mkdir()
        victim = tmp_path / "victim"
        victim.write_text("precious")
        for name in ("results.json", "manifest.json", "capture.pcapng", UNFINISHED):
            (out / name).symlink_to(victim)

    with pytest.raises(OutputError, match="was moved during the run"):
        run_while(out, disturb)
    assert (tmp_path / "victim").read_text() == "precious"
    assert all(entry.is_symlink() for entry in out.iterdir())
    assert (moved / "results.json").read_text() == "{}\n"
    assert not (moved / UNFINISHED).exists()


def test_links_that_come_during_a_run_are_replaced_and_not_written_through(tmp_path):
    out, victim = tmp_path / "out", tmp_path / "victim"
    victim.write_text("precious")

    def disturb():
        for name in ("results.json", "manifest.json", "capture.pcapng", "scenario.resolved.toml"):
            (out / name).symlink_to(victim)

    run_while(out, disturb)
    assert victim.read_text() == "precious"
    assert not (out / "results.json").is_symlink()
    assert (out / "capture.pcapng").read_bytes() == b"packets"


def test_a_link_in_place_of_the_trace_folder_ends_the_run(tmp_path):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    with pytest.raises(OutputError, match="cannot write to"):
        run_while(out, lambda: (out / "trace").symlink_to(elsewhere))
    assert not any(elsewhere.iterdir())


def test_a_moved_unfinished_folder_gets_the_files_and_its_replacement_none(tmp_path):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()

    def disturb():
        (out / UNFINISHED).rename(out / "taken")
        (out / UNFINISHED).symlink_to(elsewhere)

    run_while(out, disturb)
    assert not any(elsewhere.iterdir())
    assert (out / "capture.pcapng").read_bytes() == b"packets"


@pytest.mark.slow
def test_a_second_run_into_a_folder_is_refused_and_told_who_holds_it(tmp_path):
    with prepare(tmp_path, force=False):
        with pytest.raises(OutputError, match=f"in use: process {os.getpid()} on .* is writing") as refused:
            run_to_folder(SHORT, 1, tmp_path, force=True)
        assert "choose another folder" in str(refused.value)
        words = [sys.executable, "-m", "airpath", "run", "umts-384", "--out", str(tmp_path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"process {os.getpid()} on " in done.stderr
    assert not any(tmp_path.iterdir())
    run_to_folder(SHORT, 1, tmp_path)


@pytest.mark.slow
def test_the_lock_of_a_killed_process_is_taken_over(tmp_path):
    program = (
        "import os, pathlib, signal, sys\n"
        "from airpath.runs.recorder import prepare\n"
        "held = prepare(pathlib.Path(sys.argv[1]), force=False)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert (tmp_path / LOCK).exists()
    run_to_folder(SHORT, 1, tmp_path)
    assert not (tmp_path / LOCK).exists()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_stands_in_place_of_the_lock_is_left_alone(tmp_path, kind):
    out, victim = tmp_path / "out", tmp_path / "victim"
    out.mkdir()
    victim.write_text("precious")
    match kind:
        case "link":
            (out / LOCK).symlink_to(victim)
        case "pipe":
            os.mkfifo(out / LOCK)
        case "folder":
            (out / LOCK).mkdir()
    with pytest.raises(OutputError):
        run_to_folder(SHORT, 1, out)
    assert victim.read_text() == "precious"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of two users")
def test_root_follows_no_link_of_another_user(tmp_path):
    folder, link, victim = tmp_path / "folder", tmp_path / "link", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("precious")
    link.symlink_to(folder)
    run_to_folder(SHORT, 1, link)  # root's own link
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(OutputError, match="link of another user"):
        run_to_folder(SHORT, 1, link / "deeper", force=True)
    report = tmp_path / "report.json"
    report.symlink_to(victim)
    os.chown(report, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(PermissionError, match="link of another user"):
        write_whole(report, "overwritten")
    assert victim.read_text() == "precious"


def test_a_temporary_name_that_is_a_link_is_not_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".report.json.tmp").symlink_to(victim)
    write_whole(tmp_path / "report.json", "report")
    assert victim.read_text() == "precious"
    assert (tmp_path / "report.json").read_text() == "report"


def test_a_folder_names_the_file_in_its_errors(tmp_path):
    (tmp_path / "there").write_text("")
    with Folder.open(tmp_path) as folder:
        with pytest.raises(FileExistsError) as failed:
            folder.create("there")
        assert failed.value.filename == str(tmp_path / "there")
        with pytest.raises(OSError) as failed:
            folder.enter("there")
        assert failed.value.filename == str(tmp_path / "there")
