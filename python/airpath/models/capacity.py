"""The cost of a target block error rate for a WCDMA cell with a dedicated channel for each user.

**Power.** Downlink load equation: users take the share `load` of the station's power, which bounds the rate
of all of them together,

    load = sum_j v R_j (Eb/N0)_j ((1 - alpha) + i) / W,

with W the chip rate, v the activity, alpha the orthogonality of the codes and i the interference from other
cells over that of the own one. H. Holma, A. Toskala, "WCDMA for UMTS", Wiley 2000, radio network planning;
K. Sipila et al., "Estimation of capacity and required transmission power of WCDMA downlink based on a
downlink pole equation", IEEE VTC 2000 Spring.

**Block errors.** The logarithm of the block error rate falls in proportion to Eb/N0 in dB, by a decade in
every `slope_db`; so 3GPP joins the points of its tests (TS 25.102 8.2.1.1: "piece-wise linear").
:data:`SLOPES_DB` are what its tests have between 10 and 1 %.

Left out: the limit of a single bearer's power, soft hand-over, codes that run out, the users' places (one
Eb/N0 for all), and errors in bursts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from airpath.models.inputs import positive

CHIP_RATE_KBPS = 3840.0
"""W: TS 25.213, FDD."""

SLOPES_DB = {"static": 0.3, "fast fading": 0.8, "slow fading": 4.1}
"""dB for a tenth of the block errors, 384 kbit/s.

Static: TS 25.102 Table 8.3, test 4, 2.7 and 3.0 dB. Fast fading, 120 km/h: TS 25.101 8.3, case 3, -5.9 and
-5.1 dB. Slow fading, 3 km/h, no fast power control: TS 25.101 8.3, case 1, -6.3 and -2.2 dB.
"""


@dataclass(frozen=True)
class Cell:
    """A cell and its block error curve.

    Attributes
    ----------
    slope_db : float
        Rise of Eb/N0 that divides block errors by ten, dB.
    eb_n0_db : float
        Eb/N0 that 10 % block errors need, dB. ASSUMED: 5 dB, usual in planning for data.
    load : float
        Share of the pole capacity in use, above 0 and at most 1. ASSUMED: 0.75, as usual.
    orthogonality : float
        alpha, 0 to 1: 1 if codes do not interfere. ASSUMED: 0.6, a large cell.
    other_cells : float
        i, interference from other cells over that of the own one. ASSUMED: 0.65, three sectors.
    activity : float
        v, share of the time in which a bearer sends: above 0 and at most 1.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    slope_db: float
    eb_n0_db: float = 5.0
    load: float = 0.75
    orthogonality: float = 0.6
    other_cells: float = 0.65
    activity: float = 1.0

    def __post_init__(self) -> None:
        positive("slope_db", self.slope_db, "dB")
        for name in ("load", "activity"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} = {getattr(self, name):g} must be above 0 and at most 1")
        if not 0 <= self.orthogonality <= 1:
            raise ValueError(f"orthogonality = {self.orthogonality:g} must be between 0 and 1")
        if not self.other_cells >= 0 or self.interference == 0:
            raise ValueError(
                f"other_cells = {self.other_cells:g} must be at least 0, and above it if orthogonality is 1"
            )

    @property
    def interference(self) -> float:
        """Interference over the power received from the own cell: (1 - alpha) + i."""
        return 1 - self.orthogonality + self.other_cells

    def needed_db(self, bler: float) -> float:
        """Eb/N0 that a block error rate above 0 and below 1 needs, dB."""
        return self.eb_n0_db - self.slope_db * (math.log10(_checked(bler)) + 1)

    def rate_kbps(self, bler: float) -> float:
        """Rate of all bearers together at a block error rate, kbit/s, including retransmitted blocks."""
        eb_n0 = 10 ** (self.needed_db(bler) / 10)
        return self.load * CHIP_RATE_KBPS / (eb_n0 * self.activity * self.interference)

    def delivered_kbps(self, bler: float) -> float:
        """Goodput of all bearers, kbit/s, with a link layer that sends lost blocks again and never idles."""
        return self.rate_kbps(bler) * (1 - bler)

    @property
    def best_bler(self) -> float:
        """The block error rate with the highest goodput: s / (s + 10), with `slope_db` for s.

        The rate goes with b^k, where b is the block error rate and k = s / 10, and b^k (1 - b) is largest at
        k / (1 + k).
        """
        return self.slope_db / (self.slope_db + 10)


def _checked(bler: float) -> float:
    if not 0 < bler < 1:
        raise ValueError(f"bler = {bler:g} must be above 0 and below 1")
    return bler
