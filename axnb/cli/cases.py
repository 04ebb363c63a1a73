"""Verbs about a case file: load it, query it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from axnb.cli.loading import load_effects, load_sources, load_state, open_case
from axnb.cli.options import (
    StateChoice,
    case_option,
    effects_option,
    source_options,
    state_options,
)
from axnb.errors import UsageError
from axnb.text import safe


@click.command()
@source_options
@state_options
@effects_option
def load(
    sources: tuple[str, ...],
    case_path: Path | None,
    settings: Path | None,
    live: bool,
    wal: str | None,
    state: StateChoice,
    effects: tuple[str, ...],
    ax_config: Path | None,
) -> int:
    """Load logs, buckets, records and ledgers into a case file."""
    from axnb.case.case import ask
    from axnb.evidence.ledgers.load import Ledger
    from axnb.evidence.load import LoadOptions
    from axnb.loading import Loaded

    if case_path is None:
        raise UsageError("say where to keep it: --case FILE.duckdb.")
    with open_case(case_path, settings) as case:
        loaded = Loaded()
        options = LoadOptions(live=live, wal=wal)
        ledgers = [Ledger.parse(text) for text in effects]
        if sources or not (state.snapshots or state.records or ledgers):
            loaded = load_sources(case, sources, options, ax_config, may_reuse=False)
        loaded = load_effects(case, load_state(case, loaded, state), ledgers)
        with case.reading() as session:
            found = ask(session, "sources")
    for source in found:
        counts = "read {read:,} = parsed {parsed:,} + rejected {rejected:,}".format(**source)
        click.echo(f"{source['name']}   {safe(source['locator'])}   {counts}")
        told = source["notes"] if source["kind"] == "ledger" else []
        for sentence in (*source["incomplete"], *told):
            click.echo(f"      {safe(sentence)}")
    doubtful = any(s["rejected"] or s["incomplete"] or not s["read"] for s in found)
    return 3 if doubtful or loaded.skipped else 0


@click.command()
@click.argument("query", required=False)
@case_option
def sql(query: str | None, case_path: Path | None) -> int:
    """Run a query on a case, read-only.

    Without QUERY each query of stdin is run, and without one the tables are listed.
    """
    from axnb.report.query import print_queries

    if case_path is None:
        raise UsageError("say which case: --case FILE.duckdb.")
    with open_case(case_path, None) as case:
        if query is None and not sys.stdin.isatty():
            query = sys.stdin.read().strip() or None
        print_queries(case, query or "show tables", click.echo)
    return 0
