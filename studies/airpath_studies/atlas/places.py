"""Where the atlas measures: the conditions of the five papers, and two cells of today."""

from __future__ import annotations

from dataclasses import dataclass

from airpath_studies.base.cell import Overrides


@dataclass(frozen=True)
class Place:
    """A bundled scenario's path and radio; the atlas brings the senders, the buffer and the flows."""

    name: str
    what: str
    """Rate and link, for the reader."""
    scenario: str
    kind: str
    """Its key below `[radio]`."""
    rate_kbps: int
    """About what a user gets, kbit/s; the step of ACK rate control follows from it."""
    packets: int
    """Room of the buffer, packets of 1500 bytes."""
    seconds: int
    """Length of a run, seconds."""
    page_bytes: int
    """Size of a page, bytes."""
    options: Overrides = ()
    box: str = ""
    """The path's own box, as TOML."""

    @property
    def label(self) -> str:
        """Name, rate and link."""
        return f"{self.name}: {self.what}"


_ALONE: Overrides = (
    ("radio.hsdpa.ues", "1"),
    ("radio.hsdpa.downlink.reception.mean_sinr", '"6 dB"'),
)

PLACES: dict[str, Place] = {
    place.name: place
    for place in (
        Place("Lundsten", "384 kbit/s, blocks overtake", "lundsten-dch", "dch", 384, 30, 120, 100_000),
        Place(
            "Zhang",
            "64 kbit/s, blocks overtake",
            "zhang-dch",
            "dch",
            64,
            10,
            240,
            20_000,
            options=(("radio.dch.downlink.rate", '"64 kbit/s"'),),
        ),
        Place(
            "Chan", "rate swings around 200 kbit/s", "chan-variable-rate", "variable", 200, 30, 120, 50_000
        ),
        Place("Alcaraz", "384 kbit/s, RLC AM in fading", "alcaraz-384", "dch", 384, 50, 120, 100_000),
        Place(
            "Jayanathan",
            "46 kbit/s, 5 % lost at the UE",
            "jayanathan-46",
            "dch",
            46,
            10,
            240,
            20_000,
            box='{ packet_loss = { at = "ue", downlink = { loss = "5 %" } } }',
        ),
        Place(
            "HSDPA",
            "7.2 Mbit/s at most",
            "hsdpa-7.2",
            "hsdpa",
            3000,
            133,
            30,
            300_000,
            _ALONE,
        ),
        Place("LTE", "10 MHz", "lte-10mhz-still", "lte", 30_000, 666, 30, 1_000_000),
    )
}
"""By name: a paper's, or the kind of cell."""
