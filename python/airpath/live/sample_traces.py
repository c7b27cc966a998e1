"""Sample traces of delivery opportunities, in mahimahi's form, that come with airpath.

`make traces` makes each from the scenario beside it: a run that keeps the link busy, exported as `mm-trace`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True)
class SampleTrace:
    """A trace that comes with airpath.

    Attributes
    ----------
    file : Path
        Milliseconds, one opportunity to send 1500 bytes in each line.
    scenario : Path
        The scenario that makes it.
    """

    file: Path
    scenario: Path

    @property
    def shows(self) -> str:
        """Its description: the first comment line of its scenario."""
        return self.scenario.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")


def sample_traces() -> dict[str, SampleTrace]:
    """The traces by their names."""
    folder = Path(str(resources.files("airpath"))) / "traces"
    return {
        file.stem: SampleTrace(file.with_suffix(".trace"), file) for file in sorted(folder.glob("*.toml"))
    }
