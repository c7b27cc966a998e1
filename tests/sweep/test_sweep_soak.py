"""The soak of sweeps, small: kills at random moments change no value."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sweep_soak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
SOAK = Path(sweep_soak.__file__)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["--no-dask", "--dask"])
def test_a_sweep_that_is_killed_again_and_again_has_the_same_rows(where):
    if where == "--dask":
        pytest.importorskip("distributed", reason="Dask is not installed")
    command = [sys.executable, SOAK, where, "--runs", "400", "--kills", "3", "--size", "500 kB"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "all 400 rows are equal, value for value" in ended.stdout
