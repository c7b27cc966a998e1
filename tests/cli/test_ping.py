"""`airpath ping` outside of a link, and its checksum."""

from __future__ import annotations

import struct

import pytest
from conftest import check_error

from airpath.live import ping


@pytest.mark.parametrize(
    ("words", "key", "cause", "remedy"),
    [
        ((), "HOST", "not behind a link", "airpath live umts-384 -- airpath ping"),
        (("no.such.host.invalid",), "HOST", "'no.such.host.invalid' has no address", "write an address"),
        (("--count", "0"), "--count", "0 is out of range", "write 1 to 65535"),
        (("--count", "65536"), "--count", "65536 is out of range", "write 1 to 65535"),
        (("--payload", "65508"), "--payload", "65508 is out of range", "write 0 to 65507"),
        (("--interval", "0 s"), "--interval", "'0 s' is no time", "more than zero"),
        (("--timeout", "3"), "--timeout", "missing unit", "60 ms"),
    ],
)
def test_what_cannot_be_is_refused(words, key, cause, remedy, airpath_command, monkeypatch):
    for name in ("AIRPATH_SERVER", "AIRPATH_UE"):
        monkeypatch.delenv(name, raising=False)
    check_error(airpath_command("ping", *words), key, cause, remedy)


def test_the_checksum_is_that_of_rfc_1071():
    # Section 3: the sum of these octets is ddf2; the checksum is its complement.
    assert ping._checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xDDF2 ^ 0xFFFF
    # An odd octet is padded with zero on the right.
    assert ping._checksum(b"\x01") == 0x0100 ^ 0xFFFF


def test_a_packet_with_its_checksum_in_it_sums_to_nothing():
    header = ping.ECHO.pack(8, 0, 0, 4711, 9) + b"abc"
    whole = header[:2] + struct.pack("!H", ping._checksum(header)) + header[4:]
    assert ping._checksum(whole) == 0
