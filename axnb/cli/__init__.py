"""The command line: thin verbs over the same objects that a notebook uses.

Answers go to stdout, messages and progress to stderr. Exit codes: 0 ok, 1 failed, 2 wrong usage,
3 inconclusive or not run, 4 axnb itself could not run.

A module holds one family of verbs and imports what a verb needs when the verb runs: `axnb --help`
needs no database.
"""

from __future__ import annotations

import click

from axnb import __version__
from axnb.cli import (
    cases,
    drill_migration,
    drill_reconciliation,
    drill_restore,
    drills,
    findings,
    logs,
    maps,
    migrations,
    notebooks,
    results,
    secrets,
)
from axnb.cli.group import Group


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="axnb")
def main() -> None:
    """Recovery notebook kit for Agent Executor (AX): what happened, what can be resumed, what is
    unknown, and what a person must decide. Sources are only ever read."""


for _verb in (
    logs.triage,
    logs.show,
    maps.map_state,
    cases.load,
    cases.sql,
    findings.explain,
    secrets.secrets,
    migrations.migrate,
    drills.drill,
    drills.serve,
    results.report,
    notebooks.notebook,
    notebooks.demo,
):
    main.add_command(_verb)

drills.drill.add_command(drill_restore.restore)
drills.drill.add_command(drill_reconciliation.reconciliation)
drills.drill.add_command(drill_migration.migration)
