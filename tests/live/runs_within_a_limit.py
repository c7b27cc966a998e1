"""Kills runs, one after the other, where the kernel allows two network namespaces: in a user namespace.

    python runs_within_a_limit.py MARKER OPTIONS...

A run after each must find room for its own two. The kernel takes namespaces away some milliseconds after
their last process has gone.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

AIRPATH = Path(sys.executable).with_name("airpath")
MARKER = "AIRPATH_TEST_MARKER"
GONE_WITHIN_S = 5


def main() -> None:
    """Run."""
    marker, *options = sys.argv[1:]
    Path("/proc/sys/user/max_net_namespaces").write_text("2")
    environment = {**os.environ, MARKER: marker}
    run = [AIRPATH, "live", *options, "--"]
    rng = random.Random(3)
    for _ in range(4):
        killed = subprocess.Popen(
            [*run, "sh", "-c", "echo ready; sleep 1000"], stdout=subprocess.PIPE, env=environment
        )
        assert killed.stdout is not None
        if rng.random() < 0.7:
            assert killed.stdout.readline() == b"ready\n"
            # Both are in use: there is no room for another run.
            assert subprocess.run([*run, "true"], env=environment, capture_output=True).returncode == 2
        else:
            time.sleep(rng.uniform(0.2, 0.7))
        killed.kill()
        killed.wait()
        deadline = time.monotonic() + GONE_WITHIN_S
        while (done := subprocess.run([*run, "true"], env=environment, capture_output=True)).returncode:
            if time.monotonic() > deadline:
                sys.exit(f"after {GONE_WITHIN_S} s there is no room: {done.stderr.decode()}")


if __name__ == "__main__":
    main()
