"""The recipe of the container says what the project says, and what it copies is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
RECIPE = (TOP / "Containerfile").read_text(encoding="utf-8")


def steps() -> list[tuple[str, str]]:
    """The recipe's instructions, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", RECIPE)
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def arguments(wanted: str) -> list[str]:
    return [rest for name, rest in steps() if name == wanted]


def test_it_has_the_versions_of_rust_and_python_that_the_project_names() -> None:
    images = [argument.split()[0] for argument in arguments("FROM")]
    rust = tomllib.loads((TOP / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    python = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"rust:{rust['rust-version']}-bookworm" in images
    assert f"python:{python['requires-python'].removeprefix('>=')}-slim-bookworm" in images


def test_its_stages_and_targets_of_make_exist() -> None:
    stages = {argument.partition(" AS ")[2] for argument in arguments("FROM")} - {""}
    sources = [argument for argument in arguments("FROM") if argument.split()[0] in stages]
    copied = re.findall(r"--from=(\S+)", RECIPE)
    named = re.findall(r"--target (\S+)", RECIPE)
    assert {argument.split()[0] for argument in sources} | {*copied, *named} <= stages
    targets = re.findall(r"^([a-z-]+(?: [a-z-]+)*):", (TOP / "Makefile").read_text(encoding="utf-8"), re.M)
    made = [word for run in arguments("RUN") for word in re.findall(r"\bmake ([a-z-]+)", run)]
    assert made == ["wheels", "test"]
    assert set(made) <= {target for line in targets for target in line.split()}


def test_the_wheel_is_where_make_puts_it() -> None:
    (out,) = re.findall(r"MATURIN\) build .*--out (\S+)", (TOP / "Makefile").read_text(encoding="utf-8"))
    assert f"/airpath/{out}/*.whl" in RECIPE


def test_nothing_built_outside_gets_into_it() -> None:
    left_out = (TOP / ".containerignore").read_text(encoding="utf-8").split()
    not_tracked = (TOP / ".gitignore").read_text(encoding="utf-8").split()
    folders = {line.strip("/") for line in not_tracked if line.startswith("/") and line.count("/") == 2}
    assert folders - {"fuzz/target"} <= {*left_out}
    assert not [line for line in left_out if line != ".git" and line in {"python", "crates", "tests"}]
