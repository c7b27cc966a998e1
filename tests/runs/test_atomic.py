"""Files that are written whole: what is there when writing fails, and what is refused."""

from __future__ import annotations

import os
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from airpath.files import atomic
from airpath.files.atomic import replacing, temporary, write_together, write_whole


def test_text_and_bytes_replace_what_was_there(tmp_path):
    file = tmp_path / "results.json"
    write_whole(file, "längst\n")
    assert file.read_bytes() == "längst\n".encode()
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["results.json"]


def test_a_failure_leaves_what_was_there(tmp_path):
    file = tmp_path / "results.json"
    file.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(file) as unfinished:
        unfinished.write(b"half of the n")
        assert file.read_text() == "old"
        _ = 1 / 0
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["results.json"]


def test_a_full_disk_leaves_what_was_there_and_the_error_names_the_file(tmp_path, monkeypatch):
    def fail(file, content):
        file.write(content[:1])
        raise OSError(28, "No space left on device")

    file = tmp_path / "results.json"
    file.write_text("old")
    monkeypatch.setattr(atomic, "write_all", fail)
    with pytest.raises(OSError, match="No space") as failed:
        write_whole(file, "new")
    assert failed.value.filename == str(file)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["results.json"]


def test_a_folder_that_is_missing_is_named_with_the_file(tmp_path):
    file = tmp_path / "nowhere" / "results.json"
    with pytest.raises(FileNotFoundError) as failed:
        write_whole(file, "new")
    assert failed.value.filename == str(file)


def test_kill_leaves_the_old_file_and_the_next_write_clears_up(tmp_path):
    file = tmp_path / "results.json"
    file.write_text("old")
    program = (
        "import os, pathlib, signal, sys\n"
        "from airpath.files.atomic import replacing\n"
        "with replacing(pathlib.Path(sys.argv[1])) as unfinished:\n"
        "    unfinished.write(b'half of the n')\n"
        "    unfinished.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert file.read_text() == "old"
    assert temporary(file).read_text() == "half of the n"
    write_whole(file, "new")
    assert os.listdir(tmp_path) == ["results.json"]


def test_a_link_keeps_pointing_to_its_file(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    write_whole(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_permissions_stay(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o640)
    write_whole(file, "new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize("kind", ["dangling link", "folder", "pipe", "socket"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / "there"
    match kind:
        case "dangling link":
            path.symlink_to(tmp_path / "elsewhere")
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(path))
    with pytest.raises(OSError) as failed:
        write_whole(path, "new")
    assert failed.value.filename == str(path)
    assert failed.value.strerror
    assert os.listdir(tmp_path) == ["there"]


def test_a_pipe_that_is_read_gets_the_content(tmp_path):
    pipe, content = tmp_path / "pipe", b"x" * 300_000
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = threading.Thread(target=write_whole, args=(pipe, content))
    writer.start()
    select.select([reader], [], [])  # Until the writer has come there is nothing, which looks like the end.
    os.set_blocking(reader, True)
    with open(reader, "rb") as end:
        assert end.read() == content
    writer.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_and_open_descriptors_are_written_and_not_replaced(tmp_path):
    inode = os.stat("/dev/null").st_ino
    write_whole(Path("/dev/null"), "nothing")
    assert os.stat("/dev/null").st_ino == inode
    program = (
        "import pathlib\n"
        "from airpath.files.atomic import write_whole\n"
        "write_whole(pathlib.Path('/dev/stdout'), 'said')\n"
    )
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "said"
    assert os.listdir(tmp_path) == ["out"]


def test_files_that_belong_together_are_not_written_through_links_in_their_folder(tmp_path):
    out, victim = tmp_path / "out", tmp_path / "victim"
    out.mkdir()
    victim.mkdir()
    (victim / "file").write_text("mine")
    (out / "page").symlink_to(victim / "file")
    (out / "report").symlink_to(victim / "new")
    os.mkfifo(out / "picture")
    write_together(out, {"page": "p", "picture": "q", "more/page": "r", "report": "s"})
    assert os.listdir(victim) == ["file"] and (victim / "file").read_text() == "mine"
    assert [(out / name).read_text() for name in ("page", "picture", "more/page", "report")] == [*"pqrs"]
    assert not any((out / name).is_symlink() for name in ("page", "picture", "report"))
    (out / "less").symlink_to(victim)
    with pytest.raises(OSError) as failed:
        write_together(out, {"less/page": "p", "report": "t"})
    assert failed.value.filename == str(out / "less")
    assert os.listdir(victim) == ["file"] and (out / "report").read_text() == "s"
    assert sorted(os.listdir(out)) == ["less", "more", "page", "picture", "report"]
