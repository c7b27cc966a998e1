"""The claims of Jayanathan et al. that do not hold, and which experiment shows it."""

from __future__ import annotations

NOT_REPRODUCED: dict[str, str] = {
    "jayanathan-c4": (
        "the gain grows with the drop rate: 2.4, 9.6, 13.9 and 16.3 %. Published are 20.3 % at 5 % and 13.9 "
        "% at 15 %, each from one run, and the former rests on a misprinted value. The gain of a single pair "
        "of runs scatters by 3 points at 5 % and by 10 at 15 %, so that one of each tells no order"
    ),
}
"""Claims that do not hold under the default reading, and why."""
