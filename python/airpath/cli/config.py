"""`airpath config`: prints a complete scenario."""

from __future__ import annotations

import typer

from airpath.cli.arguments import ScenarioArgument, SetOption, load_changed


def command(scenario: ScenarioArgument, set_: SetOption = None) -> None:
    """Print a scenario with every default written out."""
    typer.echo(load_changed(scenario, set_).text.rstrip("\n"))
