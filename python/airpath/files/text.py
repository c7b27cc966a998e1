"""Text files that others wrote: read up to a limit, and parsed with errors of two kinds alone.

All that airpath reads from a path that a user names goes through here: `OSError` if it cannot be read,
`ValueError` (`UnicodeDecodeError` among them) if it is not what it should be.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import tomllib
from pathlib import Path
from types import UnionType
from typing import IO, Any

from airpath import _core
from airpath.errors import ScenarioError
from airpath.files.atomic import is_descriptor

MOST_BYTES = 64_000_000
"""No scenario or sweep is larger: the core reads traces up to this size."""

MOST_RESULTS_BYTES = 200_000_000
"""No file that airpath writes as JSON is larger: ten thousand flows take 30 MB."""

MOST_VALUES = 5_000_000
"""No such file has more values; of TOML the core says how many there may be."""

MOST_PARTS = 32
"""No key of a scenario or a sweep has more parts between dots."""
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_PARTS},}}")


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Read a file of UTF-8 text.

    A pipe is read if it is an open descriptor, such as `/dev/stdin` or what a shell makes of `<(...)`. One
    with a name in a folder is refused: without a writer it would block for ever. `most` limits the size in
    bytes.

    Raises
    ------
    OSError
        If it cannot be read, is larger, or is a pipe.
    UnicodeDecodeError
        If it is not UTF-8.
    """
    with open_to_read(path) as file:
        content = file.read(most + 1) or b""  # Nothing yet: a file of the kernel that would block.
    if len(content) > most:
        raise OSError(errno.EFBIG, f"is larger than {most / 1e6:g} MB", str(path))
    return content.decode()


def open_to_read(path: Path) -> IO[bytes]:
    """Open a file, or an open descriptor such as `/dev/stdin`.

    Raises
    ------
    OSError
        If it cannot be opened, or is a pipe with a name in a folder, a socket or a device: reading might
        never end.
    """
    # Opened without waiting, and examined once it is open: the name may change in between.
    if sys.platform == "win32":
        descriptor = os.open(path, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)
    else:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if sys.platform != "win32" and is_descriptor(path):
        os.set_blocking(descriptor, True)
    elif not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a folder" if stat.S_ISDIR(mode) else "a device"
        raise OSError(errno.EINVAL, f"is {kind} and not a file", str(path))
    return open(descriptor, "rb")


def parse_json(text: str, most: int = MOST_VALUES) -> Any:
    """Parse JSON.

    Raises
    ------
    ValueError
        If it is not JSON, is nested too deeply, has more than `most` values, or has numbers or letters
        that JSON forbids.
    """
    if sum(map(text.count, ",[{")) > most:  # Python takes 100 bytes for each.
        raise ValueError(f"it has more than {most} values")
    try:
        content = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\ud" in text.lower():
        # Half of a pair: the text could not be printed.
        json.dumps(content, ensure_ascii=False).encode()
    return content


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises
    ------
    ValueError
        If it is not TOML, is nested too deeply, or has too many values.
    """
    if _DEEP_KEY.search(text):  # Python's parser takes minutes and gigabytes for 40 kB of one key.
        raise ValueError(f"it has a key of more than {MOST_PARTS} parts")
    try:
        _core.check_size(text)
    except ScenarioError as error:
        raise ValueError(error.problem) from None
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def misfit(content: Any, shape: Any, name: str = "it") -> str:
    """Say where parsed JSON differs from what its reader relies on; an empty text if nowhere.

    A shape is a dict of shapes for keys that must be there, a list with the one shape of all items, or a
    type or several (``int | None``), where `float` alone stands for any number. `name` is what the content
    is called.
    """
    if isinstance(shape, (type, UnionType)):
        fits = isinstance(content, (int, float) if shape is float else shape)
        # Python counts truth values among whole numbers.
        fits = fits and (shape is bool or not isinstance(content, bool))
        fits = fits and (shape is not float or abs(content) <= sys.float_info.max)
        return "" if fits else f"{name} is {_briefly(content)}"
    if not isinstance(content, type(shape)):
        return f"{name} is {_briefly(content)}"
    if isinstance(shape, list):
        found = (misfit(item, shape[0], f"{name}[{i}]") for i, item in enumerate(content))
    else:
        prefix = "" if name == "it" else f"{name}."
        found = (
            misfit(content[key], inner, f"{prefix}{key}") if key in content else f"{name} has no {key}"
            for key, inner in shape.items()
        )
    return next(filter(None, found), "")


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number in JSON")


def _briefly(content: Any) -> str:
    text = json.dumps(content)
    return text if len(text) <= 40 else f"{text[:40]}..."
