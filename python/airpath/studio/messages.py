"""Messages of clients: read, and checked before anything is done with them.

A message is a JSON object that says what to `do`, under a number that the answers carry. What is not exactly
as it must be is refused with a `MessageError`; nothing else comes out of here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from airpath.errors import AirpathError

MOST_BYTES = 256 * 1024
"""Size of a message."""
MOST_CHANGES = 1000
LARGEST_ID = 2**32 - 1
LARGEST_SEED = 2**64 - 1


class MessageError(AirpathError):
    """A client's message cannot be used."""


@dataclass(frozen=True)
class Message:
    """A client's request."""

    do: str
    id: int
    name: str | None = None
    """What to open: a listed name; what was named first if there is none."""
    base: str = ""
    set: tuple[str, ...] = ()
    seed: int = 1
    change: Mapping[str, Any] = field(default_factory=dict)
    """What changes in a live run, as a request of `airpath.live.control`."""


def read_message(data: str | bytes) -> Message:
    """Read a message.

    Raises
    ------
    MessageError
        If it is not exactly as it must be.
    """
    if isinstance(data, bytes):
        raise MessageError("message", "octets, not text", "send JSON")
    try:
        content = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise MessageError("message", "is not JSON", "send a JSON object") from error
    if not isinstance(content, dict):
        raise MessageError("message", "is no JSON object", "send an object with 'do' and 'id'")
    do, wanted = content.pop("do", None), None
    if isinstance(do, str):
        wanted = _FIELDS.get(do)
    if wanted is None:
        raise MessageError("do", "there is no such request", f"choose from {', '.join(_FIELDS)}")
    unknown = content.keys() - wanted.keys()
    missing = {name for name, (_, is_needed) in wanted.items() if is_needed} - content.keys()
    if unknown or missing:
        what = f"'{do}' lacks {', '.join(sorted(missing))}" if missing else f"'{do}' takes no such field"
        raise MessageError("message", what, f"{do} has {', '.join(wanted)}")
    for name, value in content.items():
        check, _ = wanted[name]
        check(name, value)
    if "set" in content:
        content["set"] = tuple(content["set"])
    return Message(do, **content)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise MessageError(name, "is no text", "write text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise MessageError(name, "has half of a character", "write text in UTF-8") from error


def _texts(name: str, value: Any) -> None:
    if not isinstance(value, list) or len(value) > MOST_CHANGES:
        raise MessageError(name, "is no list, or too long", f"write at most {MOST_CHANGES} changes in a list")
    for item in value:
        _text(name, item)


def _number_to(largest: int) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= largest:
            raise MessageError(name, "is no whole number in range", f"write one from 0 to {largest}")

    return check


def _object(name: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise MessageError(name, "is no object", 'write {"set": {"wired.rate": "1 Mbit/s"}}')


_ID = {"id": (_number_to(LARGEST_ID), True)}
_SCENARIO = {"base": (_text, True), "set": (_texts, False)}
_FIELDS: Mapping[str, Mapping[str, tuple[Callable[[str, Any], None], bool]]] = {
    "scenarios": _ID,
    "schema": _ID,
    "studies": _ID,
    "open": _ID | {"name": (_text, False)},
    "resolve": _ID | _SCENARIO,
    "text": _ID | {"base": (_text, True)},
    "run": _ID | _SCENARIO | {"seed": (_number_to(LARGEST_SEED), False)},
    "waterfall": _ID | _SCENARIO | {"seed": (_number_to(LARGEST_SEED), False)},
    "change": _ID | {"change": (_object, True)},
    "cancel": _ID,
}
"""What each request has: a check of each field, and whether it is needed."""
