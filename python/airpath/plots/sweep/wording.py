"""Names of keys, metrics and values in figures: the field's words, units in brackets."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from airpath.plots.sweep.quantity import SUFFIXES, Value

_WORDS = {
    "ack": "ACK",
    "acks": "ACKs",
    "bler": "BLER",
    "cc": "congestion control",
    "dupack": "duplicate ACK",
    "dupacks": "duplicate ACKs",
    "ecn": "ECN",
    "iw": "initial window",
    "mss": "MSS",
    "pdu": "PDU",
    "pdus": "PDUs",
    "rlc": "RLC",
    "rms": "RMS",
    "rtt": "round-trip time",
    "sack": "SACK",
    "sdu": "SDU",
    "sdus": "SDUs",
    "sinr": "SINR",
    "ssthresh": "ssthresh",
    "tcp": "TCP",
    "tti": "TTI",
    "ue": "UE",
    "ues": "UEs",
}
"""Single words of keys."""
_STATISTICS = {
    **{"mean": "mean", "min": "minimum", "max": "maximum", "median": "median", "total": ""},
    **{"p50": "median", "p90": "90th percentile", "p95": "95th percentile", "p99": "99th percentile"},
}
_PHRASES = {"one_way_delay": "one-way delay", "jain_index": "Jain's index", "go_back_n": "go-back-N"}
"""Wordings of whole keys of results, without unit."""
_TIMES = {
    "busy_s": "busy time",
    "received_s": "time to receive all",
    "simulated_s": "simulated time",
    "start_s": "start time",
    "transfer_s": "transfer time",
}
"""Keys of results that are times; with another unit or word, such as `received_bps`, they are none."""
_RATES = ("goodput", "throughput", "rate")
"""A key in bit/s that has none of these words is a rate: `received_bps`."""
_COUNTED = {"initial_window": "segments", "packets": "packets", "dupack_threshold": "duplicate ACKs"}
"""Keys of scenarios that are counts, and what they count."""
_NAMED = {
    "packets": "queue length",
    "pdu": "PDU size",
    "recovery": "loss recovery",
    "start": "start time",
    "undo": "undo",
}
"""Wordings of keys of scenarios, by their last part."""
_VAGUE = ("rate", "delay", "loss", "size", "interval", "min", "max", "mean", "packets", "pdu", "tti", "bler")
"""Keys that need a direction or the word before them."""
_DIRECTIONS = ("downlink", "uplink")
_VALUES = {
    "ack_regulator": "Ack Regulator",
    "bbr": "BBR",
    "bbr3": "BBRv3",
    "codel": "CoDel",
    "copa": "Copa",
    "cubic": "CUBIC",
    "dctcp": "DCTCP",
    "drophead": "drop-head",
    "droptail": "drop-tail",
    "dsack": "DSACK",
    "dualpi2": "DualPI2",
    "eifel": "Eifel",
    "fq_codel": "FQ-CoDel",
    "frto": "F-RTO",
    "lia": "LIA",
    "new_reno": "NewReno",
    "newreno": "NewReno",
    "olia": "OLIA",
    "pdpc": "PDPC",
    "pie": "PIE",
    "prague": "Prague",
    "predicted_sojourn": "predicted sojourn",
    "red": "RED",
    "reno": "Reno",
    "sack": "SACK",
    "tahoe": "Tahoe",
    "westwood": "Westwood",
    "westwood_plus": "Westwood+",
}

_MORE_IS_BETTER = (
    *("goodput", "throughput", "utilisation", "jain"),
    *("received_bps", "target_bps", "mean_rate_bps", "harmonic_fps", "qoe"),
)
_LESS_IS_BETTER = (
    *("rtt", "delay", "transfer_s", "received_s", "wait", "queued", "lost", "dropped", "discarded"),
    *("retransmi", "timeout", "spurious", "dupack", "loss_", "errors", "resets"),
    *("freeze", "frames_late", "frames_skipped", "stall", "startup_s", "switches", "completion"),
    *("page_load_s", "first_byte_s", "blocking_s", "connect_s", "tls_s", "complete_s"),
)


def key_label(key: str) -> str:
    """Name of a scenario's key, without unit: ``"radio.dch.downlink.rate"`` is the downlink rate."""
    parts = [part for part in key.split(".") if not part.isdecimal()]
    last = parts[-1] if parts else key
    name = _NAMED.get(last) or _in_words(last)
    if last not in _VAGUE:
        return name
    before = next((part for part in reversed(parts[:-1]) if part in _DIRECTIONS), None)
    if before is None and len(parts) > 1 and last not in _NAMED:
        before = _in_words(parts[-2])
    return f"{before} {name}" if before else name


def counted(key: str) -> str:
    """What the value of a scenario's key counts; empty if not known."""
    return _COUNTED.get(key.rpartition(".")[2], "")


def metric_label(metric: str) -> str:
    """Name of a metric, without unit: ``"rtt_ms.mean"`` is the mean round-trip time."""
    statistic, words, whose = "", [], ""
    parts = metric.split(".")
    for place, part in enumerate(parts):
        of = parts[place - 1] if place else ""
        if part == "*" or part.isdecimal():
            whose += _whose(of, part)
        elif part in _STATISTICS and place:
            statistic = _STATISTICS[part]
        elif part not in ("flows", "elements", "ues"):
            words.append(_part_words(part))
    name = " ".join(words) if not words or words[0] in _DIRECTIONS else ", ".join(words)
    return " ".join(f"{statistic} {name}".split()) + whose


def better(metric: str) -> int:
    """Say 1 if more is better, -1 if less is, 0 if that is not known."""
    if any(word in metric for word in _MORE_IS_BETTER):
        return 1
    return -1 if any(word in metric for word in _LESS_IS_BETTER) else 0


def distinct_labels(names: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Labels; the names themselves where two labels are equal."""
    return [name if labels.count(label) > 1 else label for name, label in zip(names, labels, strict=True)]


def value_label(value: Value) -> str:
    """Name of a value: ``"{ westwood_plus = {} }"`` is Westwood+."""
    if value is None:
        return "as in the scenario"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if value.lstrip().startswith(("{", "[")):
        try:
            return _table_words(tomllib.loads(f"v = {value}")["v"]) or "none"
        except tomllib.TOMLDecodeError:
            return value
    return _VALUES.get(value, value)


def with_unit(label: str, unit: str) -> str:
    """Label of an axis."""
    return f"{label} ({'µs' if unit == 'us' else unit})" if unit else label


def _table_words(value: object) -> str:
    if isinstance(value, list):
        return " + ".join(_table_words(entry) for entry in value)
    if isinstance(value, dict):
        return ", ".join(
            name
            if inner in ({}, [])
            else f"{name} ({_table_words(inner)})"
            if isinstance(inner, dict)
            else f"{name} {_table_words(inner)}"
            for name, inner in ((_VALUES.get(key, _in_words(key)), inner) for key, inner in value.items())
        )
    return value_label(value) if isinstance(value, (str, int, float, bool)) else str(value)


def _whose(of: str, index: str) -> str:
    """The flow or UE of a metric; empty for the first."""
    known = {"flows": ("flow", "flows"), "ues": ("UE", "UEs")}
    if of not in known or index == "0":
        return ""
    one, all_ = known[of]
    return f", mean of all {all_}" if index == "*" else f", {one} {index}"


def _part_words(part: str) -> str:
    """A part of a metric's name in words, without unit."""
    if part in _TIMES:
        return _TIMES[part]
    name = _in_words(_bare(part))
    return f"{name} rate" if part.endswith("_bps") and not {*_RATES} & {*name.split()} else name


def _bare(part: str) -> str:
    return next((part.removesuffix(suffix) for suffix in SUFFIXES if part.endswith(suffix)), part)


def _in_words(name: str) -> str:
    return _PHRASES.get(name) or " ".join(_WORDS.get(word, word) for word in name.split("_"))
