"""The hook that checks commit subjects, `tools/hooks/commit-msg`."""

import subprocess
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[1] / "tools/hooks/commit-msg"


def refusal(path: Path, message: str) -> str:
    path.write_text(message, encoding="utf-8")
    done = subprocess.run(["sh", str(HOOK), str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(done.stderr)
    return done.stderr


@pytest.mark.parametrize(
    "message",
    [
        "tcp: Count SACKed segments once\n",
        "README: Name the two commands\n\nWhy: new users look there first.\n",
        "docs, tests/live: Speed up the page of µs\n# a comment of git\n",
        f"radio: Keep {'µ' * 60}\n",
        "Merge branch 'nr' into main\n",
        'Revert "tcp: counted twice"\n',
    ],
)
def test_subjects_that_follow_the_rule_pass(tmp_path, message):
    assert refusal(tmp_path / "message", message) == ""


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (f"radio: Keep {'µ' * 61}\n", "72 characters"),
        ("Count SACKed segments once\n", "names no area"),
        ("tcp: count SACKed segments once\n", "capital letter"),
        ("tcp: Counted SACKed segments once\n", "imperative"),
        ("tcp: Counting SACKed segments once\n", "imperative"),
        ("tcp: Count SACKed segments once.\n", "full stop"),
        ("tcp: Count SACKed segments once\nWhy: they were counted twice.\n", "empty line"),
        ("\n", "names no area"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_to_write(tmp_path, message, why):
    said = refusal(tmp_path / "message", message)
    assert why in said and "area: Imperative" in said
