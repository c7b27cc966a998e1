"""Recordings of other tools: what is read from them, and how wrong files are refused."""

from __future__ import annotations

import gzip
import io
import lzma
import struct

import numpy as np
import pytest
from conftest import check_error

from airpath.errors import ScenarioError
from airpath.recordings.reader import is_foreign, read_recording

UCC_HEADER = (
    "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,"
    "DL_bitrate,UL_bitrate,State"
)


def ucc(second: int, rate: str, state: str = "D", rsrp: str = "-90") -> str:
    return f"2020.02.14_09.38.{second:02},-8.4,51.8,30,B,1,5G,{rsrp},-12,6,12,-,{rate},10,{state}"


def gophers(*rows: str) -> str:
    return "\n".join(["seq_num,Verizon_throughput_mbps,TMobile_throughput_mbps", *rows]) + "\n"


UCC = "\n".join(
    [
        UCC_HEADER,
        ucc(22, "1000"),
        ucc(22, "1500"),
        ucc(23, "2000", rsrp="-"),
        ucc(24, "9", "I"),
        ucc(25, "-"),
        ucc(26, "500"),
    ]
)
NORWAY = "\n".join(
    f"{1289406400 + i} {549_000 + 1000 * i} 59.85 10.78 {125 * (i + 1) * 1000} 1000" for i in range(4)
)

RATES = {
    "time and rate": (
        "time_s,rate_kbps,rsrp_dbm,mode\n0,100,-90,4G\n1,300,,5G\n3,0,-95,5G\n",
        [0, 1, 3],
        [100, 300, 0],
        5,
    ),
    "seconds and Mbit/s": ("0.0 1.5\n0.5 2\n1.0 0.25\n", [0, 0.5, 1], [1500, 2000, 250], 1.5),
    "bytes by interval": (NORWAY, [0, 1, 2, 3], [1000, 2000, 3000, 4000], 4),
    "UCC": (UCC, [0, 1, 4], [1000, 2000, 500], 5),
    "names in quotes, lines of spaces": (
        '\n\n"rate_kbps","time_s"\n"100","0"\n \n,\n300,1\n0,3\n',
        [0, 1, 3],
        [100, 300, 0],
        5,
    ),
    "lines that end with CR": ("time_s,rate_kbps\r0,100\r\n1,300\r3,0\r", [0, 1, 3], [100, 300, 0], 5),
    "a column of words": (
        "time_s,rate_kbps,utc\n0,100,10:00\n1,300,10:01\n3,0,-\n",
        [0, 1, 3],
        [100, 300, 0],
        5,
    ),
    "steps of microseconds": (
        "time_s,rate_kbps\n100000,1\n100000.000001,2\n",
        [0, pytest.approx(1e-6, rel=1e-4)],
        [1, 2],
        pytest.approx(2e-6, rel=1e-4),
    ),
    # 125 kB until 0.5 s, 250 kB in the next 2 s, 125 kB in the last half.
    "bytes by unequal intervals": (
        "1 500 1 1 125000 500\n2 2500 1 1 250000 2000\n3 3000 1 1 125000 500\n",
        [0, 0.5, 2.5],
        [2000, 1000, 2000],
        3,
    ),
    "5Gophers": ("seq_num,Verizon_throughput_mbps\n1,12.5\n2,\n3,400\n", [0, 2], [12500, 400000], 3),
}


@pytest.mark.parametrize("name", RATES)
def test_rates_of_a_log_are_read_with_its_units(name, tmp_path):
    text, times, rates, end = RATES[name]
    file = tmp_path / "log.csv"
    file.write_text(text)
    series = read_recording(file).series
    assert series.time_s.tolist() == times
    assert series.rate_kbps.tolist() == rates
    assert series.end_s == end


def test_notes_say_what_was_left_out_of_a_log(tmp_path):
    file = tmp_path / "ucc.csv"
    file.write_text(UCC)
    found = read_recording(file)
    assert found.is_goodput
    assert found.notes == (
        "1 doubled seconds are left out",
        "1 seconds of an idle phone are left out",
        "1 seconds without a rate are left out",
        "positions are dropped",
    )
    own = tmp_path / "own.csv"
    own.write_text(RATES["a column of words"][0])
    assert read_recording(own).notes == ("columns of words are left out: utc",)
    assert found.series.radio["rsrp_dbm"][0] == -90 and np.isnan(found.series.radio["rsrp_dbm"][1])
    assert read_recording(file, column="UL_bitrate").series.rate_kbps.tolist() == [10, 10, 10, 10]


def test_opportunities_are_counted_and_written_as_they_were(tmp_path):
    file = tmp_path / "drive.pps"
    file.write_text("0\n3\n3\n7\n")
    found = read_recording(file)
    assert found.counts.tolist() == [1, 0, 0, 2, 0, 0, 0, 1]
    assert found.text() == "0\n3\n3\n7\n"
    file.write_text("3\n1\n7\n")
    assert read_recording(file).notes == ("1 lines were out of order and have been sorted",)


def test_trains_of_a_light_recording_are_opportunities(tmp_path):
    file = tmp_path / "light"
    file.write_text("0 20 0 0 1\n500 21 0 3\n")
    found = read_recording(file)
    assert np.flatnonzero(found.counts).tolist() == [0, 1, 500, 503]
    assert "fit the heavy recording" in found.notes[0]


def test_a_compressed_recording_is_the_same(tmp_path):
    plain, packed = tmp_path / "a.ms", tmp_path / "a.ms.gz"
    plain.write_text("1\n2\n2\n")
    packed.write_bytes(gzip.compress(b"1\n2\n2\n"))
    assert read_recording(packed).counts.tolist() == read_recording(plain).counts.tolist()
    assert is_foreign(packed) and not is_foreign(plain)
    # As pigz and cat write them.
    packed.write_bytes(gzip.compress(b"1\n2\n") + gzip.compress(b"2\n"))
    assert read_recording(packed).counts.tolist() == read_recording(plain).counts.tolist()


def capture(packets: list[tuple[float, str, int]]) -> bytes:
    """A pcap of raw IPv4 packets: time, last octet of the destination, and length."""
    out = io.BytesIO()
    out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
    for time, to, length in packets:
        header = struct.pack(
            ">BBHHHBBH4B4B", 0x45, 0, length, 0, 0, 64, 17, 0, 10, 0, 0, 9, 10, 0, 0, int(to)
        )
        out.write(struct.pack("<IIII", int(time), round(time % 1 * 1e6), len(header), length) + header)
    return out.getvalue()


def test_a_capture_gives_the_bytes_of_the_heavier_direction(tmp_path):
    file = tmp_path / "transfer.pcap"
    packets = [(10 + 0.005 * i, "2", 1500) for i in range(100)] + [
        (10 + 0.01 * i, "1", 52) for i in range(50)
    ]
    file.write_bytes(capture(sorted(packets)))
    found = read_recording(file)
    assert np.flatnonzero(found.counts).tolist() == list(range(0, 500, 5))
    assert "10.0.0.2" in found.notes[0]
    assert found.mean_bps == pytest.approx(100 * 12000 / 0.496)


WRONG = {
    "empty": (b"", "line 1: the file is empty", "mahimahi"),
    "no text": (b"\xff\xfe\x00\x01", "is no text and no capture", "captures"),
    "words": (b"hello\nworld\n", "line 1: 'hello' is of no known format", "time_s and rate_kbps"),
    "a word among milliseconds": (
        b"1\n2\nx\n4\n5\n",
        "line 3: 'x' is not a whole number of milliseconds",
        "one in each line",
    ),
    "an underscore": (b"1\n2\n1_0\n", "line 3: '1_0' is not a whole number", "one in each line"),
    "before 0": (b"-5\n1\n2\n", "line 1: '-5' is not a whole number", "one in each line"),
    "a line too many ends": (b"0\r3\rx\r7\r", "line 3: 'x' is not a whole number", "one in each line"),
    "no length of trains": (b"0 20 0\n", "line 1: the recording has no length", "a last line above 0"),
    "compressed behind gzip": (gzip.compress(b"1\n2\n") + b"more", "is damaged", "fetch it again"),
    "compressed otherwise": (lzma.compress(b"1\n2\n"), "is no text and no capture", "by gzip or not"),
    "a field without an end": (
        b"time_s,rate_kbps\n0,1\n1," + b"9" * 200_000 + b"\n",
        "line 3: field larger than",
        "commas",
    ),
    "decimal commas": (
        b"time_s,rate_kbps\n0,0,100,5\n",
        "line 2: the line has 4 columns and the first 2",
        "decimal point",
    ),
    "a column twice": (
        b"time_s,rate_kbps,rate_kbps\n0,1,2\n1,1,2\n",
        "line 1: there are 2 columns 'rate_kbps'",
        "once",
    ),
    "an operator twice": (
        b"seq_num,A_throughput_mbps,A_throughput_mbps\n1,2,3\n2,2,3\n",
        "line 1: there are 2 columns 'A_throughput_mbps'",
        "once",
    ),
    "milliseconds of Unix": (
        b"time_s,rate_kbps\n1700000000000,1\n1700000001000,2\n",
        "line 2: 1.7e+12 s is no time",
        "seconds",
    ),
    "times of infinite distance": (b"time_s,rate_kbps\n-1e308,1\n1e308,2\n", "line 2: -1e+308 s", "seconds"),
    "nanoseconds": (b"time_s,rate_kbps\n0,1\n1e-9,2\n", "line 3: 1e-09 s is not after 0 s", "microsecond"),
    "bit/s for Mbit/s": (b"0 1\n1 150000000\n", "line 2: a rate of 1.5e+11 kbit/s is no link's", "unit"),
    "an hour back": (
        "\n".join(
            [UCC_HEADER, *(f"2020.10.25_0{time},{',' * 10},9,9,D" for time in ("1.59.59", "1.00.00"))]
        ).encode(),
        "line 3: the Timestamp is 3599 s before the last",
        "summer time",
    ),
    "no length": (b"0\n0\n", "line 2: the recording has no length", "a last line above 0"),
    "three days": (b"1\n259200001\n", "more than two days", "shorter"),
    "too few columns": (b"time_s,rate_kbps\n0,1\n1\n", "line 3: there is no rate_kbps", "complete the line"),
    "a word for a rate": (
        b"time_s,rate_kbps\n0,1\n1,fast\n",
        "line 3: rate_kbps is 'fast'",
        "write a number",
    ),
    "infinite": (b"time_s,rate_kbps\n0,1\n1,inf\n", "line 3: rate_kbps is 'inf'", "finite"),
    "negative": (b"time_s,rate_kbps\n0,1\n1,-1\n", "line 3: the rate is -1 kbit/s", "0 or more"),
    "time that falls": (
        b"time_s,rate_kbps\n0,1\n2,1\n1,1\n",
        "line 4: 1 s is not after 2 s",
        "times that rise",
    ),
    "one row": (b"time_s,rate_kbps\n0,1\n", "fewer than two rows", "longer"),
    "a stamp": (
        f"{UCC_HEADER}\n{ucc(22, '5')}\n".replace("2020.02", "2020-02").encode(),
        "Timestamp is '2020-02",
        "2020.02.14",
    ),
    "two operators": (
        gophers("1,2,3").encode(),
        "a column for each of Verizon, TMobile",
        "--column of airpath import",
    ),
    "damaged": (gzip.compress(b"1\n2\n" * 1000)[:-20], "is damaged: it ends early", "fetch it again"),
    "no packets": (capture([]), "has no IP packets", "a capture of a transfer"),
    "six columns with no length": (b"1 1 1 1 100 0\n" * 3, "line 1: 100 bytes in 0 ms", "a length above 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_with_its_line_and_a_remedy(name, tmp_path, airpath_command):
    content, cause, remedy = WRONG[name]
    file = tmp_path / "wrong"
    file.write_bytes(content)
    outcome = airpath_command("import", file, "--out", tmp_path / "out")
    check_error(outcome, str(file), cause, remedy)
    assert not (tmp_path / "out").exists()


def test_a_column_is_chosen_by_its_operator(tmp_path):
    file = tmp_path / "gophers.csv"
    file.write_text(gophers("1,10,20", "2,30,40"))
    assert read_recording(file, column="TMobile").series.rate_kbps.tolist() == [20000, 40000]
    with pytest.raises(ScenarioError, match="there is no column of 'Sprint'; choose from Verizon, TMobile"):
        read_recording(file, column="Sprint")
    file.write_text(UCC)
    with pytest.raises(ScenarioError, match="line 1: there is no column 'bitrate'; choose from Timestamp, "):
        read_recording(file, column="bitrate")


def test_a_long_gap_of_a_log_is_a_note(tmp_path):
    file = tmp_path / "gap.csv"
    file.write_text("time_s,rate_kbps\n" + "".join(f"{time},100\n" for time in (*range(9), 3600, 3601)))
    assert read_recording(file).notes == ("nothing is known from 8 to 3600 s: the rate before is kept",)


def test_the_size_of_a_file_is_limited(tmp_path, monkeypatch, airpath_command):
    monkeypatch.setattr("airpath.recordings.reader.MOST_BYTES", 1_000)
    file = tmp_path / "large"
    for content in (b"1\n" * 600, gzip.compress(b"1\n" * 600)):
        file.write_bytes(content)
        outcome = airpath_command("import", file, "--out", tmp_path / "out")
        check_error(outcome, str(file), "is larger than 0.001 MB", "a part")


def test_import_writes_both_files_or_none(tmp_path, airpath_command):
    source, out = tmp_path / "ucc.csv", tmp_path / "rates.csv"
    source.write_text(UCC)
    wrong = airpath_command("import", source, "--out", out, "--radio", tmp_path / "none" / "radio.csv")
    check_error(wrong, "--radio", "cannot write", "another place")
    wrong = airpath_command("import", source, "--out", out, "--radio", source)
    check_error(wrong, "--radio", "exists already", "--force")
    wrong = airpath_command("import", source, "--out", out, "--radio", tmp_path / "." / out.name)
    check_error(wrong, "--radio", "is the file of --out", "another")
    assert [one.name for one in tmp_path.iterdir()] == ["ucc.csv"]


def test_imported_rates_run_in_a_scenario_and_as_a_trace(tmp_path, airpath_command):
    source, out, radio = tmp_path / "ucc.csv", tmp_path / "rates.csv", tmp_path / "radio.csv"
    source.write_text("\n".join([UCC_HEADER, *(ucc(s, str(1000 + 500 * (s % 2))) for s in range(30))]))
    outcome = airpath_command("import", source, "--out", out, "--radio", radio)
    assert radio.read_text().splitlines()[:2] == [
        "time_s,rsrp_dbm,rsrq_db,snr_db,cqi,speed_kmh",
        "0,-90,-12,6,12,30",
    ]
    assert outcome.code == 0 and 'repeat = "30 s"' in outcome.out
    scenario = tmp_path / "link.toml"
    hint = outcome.out.splitlines()[-1].removeprefix("in a scenario: ")
    scenario.write_text(f'duration = "10 s"\n[radio.variable.downlink]\n{hint}\n[[flow]]\napp.bulk = {{}}\n')
    assert airpath_command("run", scenario).code == 0
