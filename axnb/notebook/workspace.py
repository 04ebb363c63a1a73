"""What the cells of `01_triage.ipynb` call: one call a cell, each with an answer of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from axnb.ax.versions import resolve
from axnb.case.case import Case
from axnb.evidence.load import LoadOptions
from axnb.lab.conversations import ConversationsView
from axnb.lab.desk import Desk
from axnb.lab.progress import shown_progress
from axnb.lab.tables import TablesView
from axnb.lab.timeline import TimelineView
from axnb.loading import load_or_reuse, load_state, load_witnesses
from axnb.notebook.base import Opened, Progress, Workspace, opened
from axnb.notebook.beside import Beside
from axnb.notebook.parameters import check_types, refuse_secrets
from axnb.notebook.shipped import sample_log
from axnb.report.triage_result import Asked, triage_result
from axnb.result import Result
from axnb.triaging import Question, Triage, triage


class TriageWorkspace(Workspace):
    """A triaged case, and what each cell of the notebook shows of it."""

    _desk: Desk

    def __init__(self, chosen: dict[str, Any], progress: Progress) -> None:
        found = self._open(chosen, progress)
        super().__init__(chosen, Desk(found.case, found.answer, found.result))
        self._conversations = ConversationsView(self._desk)
        self._timeline = TimelineView(self._desk)
        self._tables = TablesView(self._desk)

    @property
    def triage(self) -> Triage:
        """The triage."""
        return self._desk.triage

    def conversations(self) -> ConversationsView:
        """Which conversations need attention, and which calls must be read back."""
        return self._conversations

    def timeline(self) -> TimelineView:
        """One conversation, row by row."""
        return self._timeline

    def tables(self) -> TablesView:
        """Rows, comparisons and SQL."""
        return self._tables

    def _open(self, chosen: Mapping[str, Any], progress: Progress) -> Opened[Triage]:
        refuse_secrets(chosen)
        check_types(chosen, open_triage)
        only = (chosen["conversation"],) if chosen["conversation"] else ()
        beside = Beside.parse(chosen["beside"])
        asked = Asked.now(
            chosen["ax_version"],
            chosen["harnesses"],
            only,
            beside.expected,
            Path(chosen["settings"]) if chosen["settings"] else None,
            accept_inconclusive=chosen["accept_inconclusive"],
            live=chosen["live"],
            ax_config=beside.ax_config,
            sources=[chosen["source"], *beside.logs],
        )

        def ask(case: Case) -> tuple[Triage, Result]:
            answer = _ask(case, chosen, only, beside, progress)
            return answer, triage_result(case, answer, asked)

        return opened(chosen, ask)


def open_triage(
    source: str,
    out: str = "",
    beside: Sequence[str] = (),
    live: bool = False,
    ax_version: str = "",
    harnesses: Sequence[str] = (),
    conversation: str = "",
    case: str = "",
    settings: str = "",
    accept_inconclusive: bool = False,
) -> TriageWorkspace:
    """Load a log with what stands beside it, triage it, and write the result.

    An entry of `beside` is another log, `client=FILE`, `server-log=FILE`, `expect-last=ID=N`,
    `ax-config=FILE`, `snapshots=URL` or `records=FILE`, as the options of `axnb triage` have it.

    Raises UsageError for a value that cannot be meant, SourceError if the log cannot be read.
    """
    chosen = {
        "source": sample_log(source),
        "out": out,
        "beside": beside,
        "live": live,
        "ax_version": ax_version,
        "harnesses": harnesses,
        "conversation": conversation,
        "case": case,
        "settings": settings,
        "accept_inconclusive": accept_inconclusive,
    }
    with shown_progress() as progress:
        return TriageWorkspace(chosen, progress)


def _question(chosen: Mapping[str, Any], only: Sequence[str], beside: Beside) -> Question:
    """How the server is asked; what makes no sense is refused."""
    if chosen["ax_version"]:
        resolve(chosen["ax_version"])
    return Question.parse(chosen["ax_version"], chosen["harnesses"], beside.expected, only)


def _ask(
    case: Case,
    chosen: Mapping[str, Any],
    only: Sequence[str],
    beside: Beside,
    progress: Progress,
) -> Triage:
    # Before a case file changes.
    question = _question(chosen, only, beside)
    # One conversation of a private case is all that needs to be read.
    read = only[0] if only and case.path is None else None
    sources = [chosen["source"]] if chosen["source"] else []
    loaded = load_or_reuse(
        case,
        [*sources, *beside.logs],
        LoadOptions(conversation=read, live=chosen["live"]),
        lambda rows: progress(f"read {rows:,} rows"),
        beside.ax_config,
    )
    witnesses = load_witnesses(case, beside.clients, beside.server_logs)
    state = load_state(case, beside.snapshots, beside.records, progress=progress)
    progress("looking for findings …")
    question = replace(question, harnesses=question.harnesses or loaded.harnesses)
    return triage(case, question, only, (*loaded.skipped, *witnesses.skipped, *state.skipped))
