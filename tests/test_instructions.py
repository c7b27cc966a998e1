"""What a packet costs, in instructions: those of the last release, unless a change of them is meant."""

from __future__ import annotations

import json
import shutil

import instructions
import pytest
from programs import needs


def test_every_workload_has_a_figure_of_each_profile():
    for profile in instructions.PROFILES:
        assert instructions.before(profile).keys() == instructions.WORKLOADS.keys()


@pytest.fixture(scope="module")
def program():
    return instructions.build("release")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo here: https://rustup.rs")
@needs("valgrind")
@pytest.mark.parametrize("workload", instructions.WORKLOADS)
def test_a_packet_costs_the_instructions_of_the_last_release(program, workload):
    before = instructions.before("release")[workload]
    now = instructions.per_packet(program, workload)
    record = json.loads(instructions.RECORD.read_text())
    compilers = f"counted with {record['rustc']}, now {instructions.compiler()}"
    assert now == pytest.approx(before, rel=instructions.TOLERANCE), (
        f"{workload}: {now} instructions per packet, {before} in the last release ({compilers}). "
        "If that is meant, or only the compiler is another: make instructions"
    )
