"""Verbs about findings: what one means."""

from __future__ import annotations

import click


@click.command()
@click.argument("identity", metavar="ID")
def explain(identity: str) -> int:
    """Say what a finding means.

    And print the query that finds it.
    """
    from axnb.checks.registry import find_check

    click.echo(find_check(identity).page())
    return 0
