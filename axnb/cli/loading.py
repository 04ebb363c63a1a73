"""What verbs do first: open the case, load what is named, ask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from axnb.cli.group import say
from axnb.cli.options import StateChoice

if TYPE_CHECKING:
    from axnb.case.case import Case
    from axnb.evidence.ledgers.load import Ledger
    from axnb.evidence.load import LoadOptions
    from axnb.loading import Loaded
    from axnb.triaging import Triage


def open_case(case_path: Path | None, settings: Path | None) -> Case:
    """The case of a path, or a private one, with the settings of a file or of this folder."""
    from axnb.case.case import Case
    from axnb.settings import Settings

    return Case(case_path, Settings.read(settings))


def load_sources(
    case: Case,
    sources: Sequence[str],
    options: LoadOptions,
    ax_config: Path | None = None,
    *,
    may_reuse: bool = True,
) -> Loaded:
    """Load the sources, or reuse what the case holds if none is named."""
    from axnb.loading import load, load_or_reuse

    read = load_or_reuse if may_reuse else load
    return _told(read(case, sources, options, _progress(), ax_config))


def load_beside(
    case: Case, loaded: Loaded, clients: Sequence[Path], server_logs: Sequence[Path]
) -> Loaded:
    """Load what stands beside the logs."""
    from axnb.loading import load_witnesses

    beside = _told(load_witnesses(case, clients, server_logs))
    return replace(loaded, skipped=(*loaded.skipped, *beside.skipped))


def load_effects(case: Case, loaded: Loaded, ledgers: Sequence[Ledger]) -> Loaded:
    """Load ledgers of tool systems."""
    if not ledgers:
        return loaded
    from axnb.loading import load_ledgers

    found = _told(load_ledgers(case, ledgers))
    return replace(loaded, skipped=(*loaded.skipped, *found.skipped))


def load_state(case: Case, loaded: Loaded, state: StateChoice) -> Loaded:
    """Load buckets and records."""
    if not state.snapshots and not state.records:
        return loaded
    from axnb import loading

    found = loading.load_state(
        case,
        state.snapshots,
        state.records,
        verify=state.verify,
        everywhere=state.everywhere,
        progress=_sentences(),
    )
    _told(found)
    return replace(loaded, skipped=(*loaded.skipped, *found.skipped))


def _told(loaded: Loaded) -> Loaded:
    for sentence in loaded.told:
        say(f"axnb: {sentence}")
    return loaded


def _progress() -> Callable[[int], None] | None:
    """Rows read so far."""
    show = _sentences()
    return None if show is None else lambda rows: show(f"read {rows:,} rows")


def _sentences() -> Callable[[str], None] | None:
    """How far it is, on one line of stderr, if a person is looking."""
    if not sys.stderr.isatty():
        return None
    from time import monotonic

    started = shown = monotonic()

    def show(sentence: str) -> None:
        nonlocal shown
        now = monotonic()
        if now - started > 1 and now - shown > 0.2:
            shown = now
            click.echo(f"\r{sentence:<60}", err=True, nl=False)

    return show


def ask_case(
    case: Case,
    ax_version: str | None,
    harnesses: Sequence[str],
    loaded: Loaded,
    conversations: Sequence[str],
    expected: Sequence[str],
) -> Triage:
    """Triage what the case holds, with a question as it was typed."""
    from axnb.triaging import Question, triage

    question = Question.parse(ax_version, harnesses, expected, conversations)
    question = replace(question, harnesses=question.harnesses or loaded.harnesses)
    return triage(case, question, conversations, loaded.skipped)
