"""The claims of Alcaraz and Cerdan's paper that do not hold, and which experiment shows it."""

from __future__ import annotations

NOT_REPRODUCED: dict[str, str] = {}
"""Claims that do not hold under the default reading, and why."""
