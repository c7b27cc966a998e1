"""How elements' reports are shown: `SHOWN` has a function for each element that has something to show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import Any

from airpath.report.document import Column, Note, Part, Table
from airpath.runs.flows import paths_of
from airpath.runs.metrics import bearers, split_bearer
from airpath.terminal import counted, number_text

# More flows and UEs than this are left to results.json.
MOST_ROWS = 20

Element = dict[str, Any]
Results = dict[str, Any]
Show = Callable[[Element, Results], Iterable[Part]]


def element_parts(element: Element, results: Results) -> Iterable[Part]:
    """Show what an element did: its report among the elements in `results.json`, and all of that."""
    show = SHOWN.get(element["element"])
    yield from show(element, results) if show else ()
    yield Table.of(
        [
            {**outage, "ue": interface_name(results, outage["ue"])}
            for outage in element.get("outages", [])[:MOST_ROWS]
        ],
        (f"outage\n{_where(element)}", "ue"),
        ("from\ns", "at_s", 3),
        ("for\ns", "outage_s", 3),
        ("bearers", "bearers"),
        words=(3,),
    )
    yield _activity(element, results)


def interface_name(results: Results, ue: int) -> Any:
    """Name of an interface, or of its UE if the bearer is split; its number if no flow has its name."""
    if split := split_bearer(results, ue):
        return split["name"]
    paths = (path for flow in results["flows"] for path in paths_of(flow))
    return next((path["interface"] for path in paths if path["ue"] == ue and "interface" in path), ue)


def _where(element: Element) -> str:
    cell = element.get("node", "").partition(" ")[2]
    return f"in {cell}" if cell else "of UE"


def _served(element: Element, results: Results) -> list[dict[str, Any]]:
    """UEs of a cell, named. Each of several cells reports all interfaces: those that it served are shown."""

    def is_served(ue: dict[str, Any]) -> bool:
        halves = (ue.get(direction) or {} for direction in ("downlink", "uplink"))
        return any(half.get("sdus_delivered", 0) + half.get("sdus_dropped", 0) for half in halves)

    several = _where(element) != "of UE"
    served = (one for one in enumerate(element.get("ues", [])) if not several or is_served(one[1]))
    return [{"ue": interface_name(results, number), **ue} for number, ue in islice(served, MOST_ROWS)]


_STATES = {
    "active": "active",
    "drx": "DRX",
    "shared": "FACH",
    "inactive": "INACTIVE",
    "idle": "IDLE",
    "promotion": "promotion",
}


def _activity(element: Element, results: Results) -> Table:
    """How long each UE was in each state, how often it was woken, and its energy."""
    rows = [
        {"ue": ue["ue"], **ue["activity"], "woken": sum(ue["activity"]["woken"].values())}
        for ue in _served(element, results)
        if "activity" in ue
    ]
    has = [state for state in _STATES if any(state in row["time_s"] for row in rows)]
    energy: tuple[Column, ...] = (("energy\nJ", "energy_j", 1),)
    return Table.of(
        rows,
        (f"activity\n{_where(element)}", "ue"),
        *((f"{_STATES[state]}\ns", f"time_s.{state}", 3) for state in has),
        ("times\nwoken", "woken"),
        *(energy if any("energy_j" in row for row in rows) else ()),
        words=(),
    )


def flow_name(flow: dict[str, Any]) -> str:
    """Name a flow by its UE (or the UE's named interface), its ID and direction."""
    return f"{flow.get('interface', flow['ue'])}.{flow['flow']} {flow['direction']}"


def percent(share: float | None) -> float | None:
    """Turn a share into percent."""
    return None if share is None else 100 * share


def _split_bearers(element: Element, results: Results) -> Iterable[Part]:
    """What each leg of a split bearer carried, and what PDCP held to restore the order."""
    for bearer in element["bearers"][:MOST_ROWS]:
        for direction in ("downlink", "uplink"):
            half = bearer[direction]
            total = sum(leg["bytes"] for leg in half["legs"])
            rows = [
                {
                    **leg,
                    "cell": _cell_of(results, leg["ue"], direction),
                    "share": leg["bytes"] / total if total else None,
                }
                for leg in half["legs"]
            ]
            yield Table.of(
                rows,
                (f"{bearer['name']} {direction}\nleg", "cell"),
                ("PDUs", "pdus"),
                ("MB", lambda leg: leg["bytes"] / 1e6, 3),
                ("share\n%", lambda leg: percent(leg["share"]), 1),
                ("returned\nPDUs", "returned_pdus"),
                ("recovered\nPDUs", "recovered_pdus"),
            )
            yield Note(
                f"{bearer['name']} {direction}: PDCP held {half['most_held_bytes'] / 1e3:.0f} kB at most for "
                f"the order, and its timer expired {half['pdcp']['reordering_timeouts']} times"
            )


def _cell_of(results: Results, ue: int, direction: str) -> str:
    """The cell that carried most of an interface; its number if none did."""
    found = bearers(results, ue, direction)
    return max(found, key=lambda one: one[1]["sdus_delivered"])[0] if found else f"UE {ue}"


def _umts(element: Element, _results: Results) -> Iterable[Part]:
    """When each UE could send, the traffic of its tunnels at the Iu, and the core network's drops."""

    def headers(ue: dict[str, Any]) -> float | None:
        ways = [ue["iu"][direction] for direction in ("downlink", "uplink")]
        octets = sum(way["octets"] for way in ways)
        return 100 * sum(way["overhead_octets"] for way in ways) / octets if octets else None

    yield Table.of(
        element["ues"][:MOST_ROWS],
        ("UE", "ue"),
        ("traffic class", "class"),
        ("active\ns", "active_s", 3),
        ("G-PDUs\ndown", "iu.downlink.g_pdus"),
        ("G-PDUs\nup", "iu.uplink.g_pdus"),
        ("Iu kB\ndown", lambda ue: ue["iu"]["downlink"]["octets"] / 1e3, 1),
        ("Iu kB\nup", lambda ue: ue["iu"]["uplink"]["octets"] / 1e3, 1),
        ("Iu kB\nheaders %", headers, 1),
        ("changes\nof RNC", lambda ue: len(ue["relocations"])),
        words=(1,),
    )
    full = element["dropped_queue_full"]
    yield Note(
        f"core network: {counted(full['gn'], 'packet')} dropped at the Gn, {full['iu']} at the Iu, "
        f"{element['dropped_no_pdp_context']} without a PDP context"
    )


def _share_of_time(key: str) -> Callable[[Element], float | None]:
    return lambda row: 100 * row[key] / row["simulated_s"] if row["simulated_s"] else None


def _rnc_feedback(element: Element, results: Results) -> Iterable[Part]:
    """Segments that the box cached, ACKs that it flagged, and the senders' reactions."""
    flows = results["flows"][:MOST_ROWS]
    kept = sum(flow["rnf"]["wireless_fast_retransmits"] for flow in flows if flow.get("rnf"))
    yield Table.of(
        [element],
        ("feedback: segments\ncached", "segments_cached"),
        ("feedback: segments\nat once", "peak_cached_segments"),
        ("feedback: segments\nevicted", "evictions"),
        ("feedback: segments\ndropped", "forgotten_drops"),
        ("ACKs\nflagged", "acks_flagged"),
        ("rexmit,\nwindow kept", lambda _box: kept),
        words=(),
        keys=0,
    )


def _snoop(element: Element, _results: Results) -> Iterable[Part]:
    """The box's retransmissions by cause, and the ACKs that it withheld from the senders."""
    yield Table.of(
        [element],
        ("snoop\ncached", "segments_cached"),
        ("snoop\nat once", "peak_cached_packets"),
        ("rexmit\ndup. ACK", "local_retransmissions.dupack"),
        ("rexmit\ntimer", "local_retransmissions.timer"),
        ("rexmit\nspurious", "local_retransmissions.spurious"),
        ("dup. ACKs\nkept", "dupacks_suppressed"),
        ("dup. ACKs\npassed", "dupacks_passed"),
        ("sender\nrexmit", "sender_retransmissions"),
        ("NACKs\nto UEs", "nacks"),
        words=(),
        keys=0,
    )


def _freeze(element: Element, _results: Results) -> Iterable[Part]:
    """How often the box froze senders, and with which ACKs."""
    where = "network" if element["at"] == "network" else "UE"
    yield Note(
        f"freeze at the {where}: senders frozen {counted(element['freezes'], 'time')}; "
        f"{counted(element['zero_window_acks_made'], 'ACK')} made to close windows, "
        f"{element['windows_closed']} rewritten, {element['opening_acks_made']} made to open them; "
        f"{counted(element['probes_answered'], 'probe')} answered"
    )


def _evdo(element: Element, results: Results) -> Iterable[Part]:
    """What the forward link gave each UE, what the UE asked for, and how busy and fair the link was."""

    def asked(ue: dict[str, Any]) -> Any:
        drc = ue["downlink"]["drc"]
        return sum(share * float(rate.split()[0]) for rate, share in drc.items() if rate != "none")

    yield Table.of(
        _served(element, results),
        ("UE", "ue"),
        ("throughput\nkbit/s", lambda ue: ue["downlink"]["throughput_bps"] / 1e3, 1),
        ("slots\nserved", "downlink.slots_served"),
        ("asked for\nkbit/s", asked, 1),
        ("no rate\n%", lambda ue: 100 * ue["downlink"]["drc"].get("none", 0.0), 1),
        words=(),
    )
    busy, fairness = 100 * element["slots_busy_share"], number_text(element["jain_index"], 4)
    yield Note(f"forward link: {busy:.1f} % of the slots busy; Jain's index {fairness}")


def _rows(key: str, *columns: Column, words: Collection[int] = (0,)) -> Show:
    """A table with a row for each entry that an element has under a key."""

    def show(element: Element, results: Results) -> Iterable[Part]:
        rows = [{**row, "simulated_s": results["simulated_s"]} for row in element[key][:MOST_ROWS]]
        yield Table.of(rows, *columns, words=words)

    return show


SHOWN: dict[str, Show] = {
    "split_bearers": _split_bearers,
    "umts": _umts,
    "radio.evdo": _evdo,
    # Data that the box sent, held, and acknowledged early.
    "middlebox.split": _rows(
        "connections",
        ("split\nUE.flow", flow_name),
        ("segments\nsent", "segments_sent"),
        ("rexmit\ntotal", "retransmissions"),
        ("rexmit\nfast", "fast_retransmits"),
        ("timeouts", "timeouts"),
        ("buffer\npeak B", "buffer_bytes.peak"),
        ("ACKed ahead\nat most", "acked_ahead_bytes.peak"),
        ("ACKed ahead\nat end", "acked_ahead_bytes.at_end"),
    ),
    # How many ACKs the box held, and how often it let a packet be lost or marked.
    "middlebox.ack_regulator": _rows(
        "flows",
        ("regulator\nUE.flow", lambda flow: f"{flow['ue']}.{flow['flow']}"),
        ("ACKs\ntotal", "acks"),
        ("ACKs\nheld", "acks_held"),
        ("most held\nat once", "peak_held_acks"),
        ("released\nidle", "forced_releases.idle"),
        ("released\nfull", "forced_releases.hold_limit"),
        ("cautious\n%", _share_of_time("conservative_s"), 1),
        ("packets\nmarked", "packets_marked"),
    ),
    # How many ACKs of each UE the box held, for how long, and what drops in the bearer's buffer changed.
    "middlebox.ack_rate_control": _rows(
        "ues",
        ("ACK rate\nUE", "ue"),
        ("ACKs\ntotal", "acks"),
        ("ACKs\nheld", "acks_held"),
        ("most held\nat once", "peak_held_acks"),
        ("hold ms\nmean", "mean_hold_ms", 1),
        ("drops\nfollowed", "drops_followed"),
        ("after a\ndrop %", _share_of_time("t_id_after_drop_s"), 1),
        ("released\nidle", "forced_releases.idle"),
        ("released\nfull", "forced_releases.hold_limit"),
        words=(),
    ),
    "middlebox.rnc_feedback": _rnc_feedback,
    "middlebox.snoop": _snoop,
    "middlebox.freeze": _freeze,
}
