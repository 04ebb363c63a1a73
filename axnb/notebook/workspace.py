"""What the cells of `01_triage.ipynb` call: one call a cell, each with an answer of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from axnb.ax.versions import resolve
from axnb.case.case import Case
from axnb.errors import AxnbError, UsageError, VerdictError
from axnb.evidence.load import LoadOptions
from axnb.lab.choice import ChoiceView
from axnb.lab.conversations import ConversationsView
from axnb.lab.desk import Desk
from axnb.lab.findings import FindingsView
from axnb.lab.progress import shown_progress
from axnb.lab.summary import SummaryView
from axnb.lab.tables import TablesView
from axnb.lab.timeline import TimelineView
from axnb.loading import load_or_reuse, load_witnesses
from axnb.notebook.parameters import check_types, refuse_secrets
from axnb.notebook.shipped import shipped
from axnb.report.folder import write_folder
from axnb.report.triage_result import Asked, triage_result
from axnb.result import EXIT_CODES, Result
from axnb.settings import Settings
from axnb.triaging import Question, Triage, triage

#: What the notebook reads if nobody names a log.
_SAMPLE = "sample_data/log.sqlite"

Progress = Callable[[str], None]


class TriageWorkspace:
    """A triaged case, and what each cell of the notebook shows of it."""

    def __init__(self, chosen: dict[str, Any], progress: Progress) -> None:
        self._chosen = chosen
        opened = _Opened.open(chosen, progress)
        self._desk = Desk(opened.case, opened.triage, opened.result)
        self._choice = ChoiceView(self._desk, chosen, self.save(), self._open_anew)
        self._summary = SummaryView(self._desk)
        self._conversations = ConversationsView(self._desk)
        self._timeline = TimelineView(self._desk)
        self._findings = FindingsView(self._desk)
        self._tables = TablesView(self._desk)

    @property
    def case(self) -> Case:
        """The case: `work.case.frame("select …")` gives a DataFrame of any query."""
        return self._desk.case

    @property
    def triage(self) -> Triage:
        """The triage."""
        return self._desk.triage

    def result(self) -> Result:
        """The triage in the form of a result."""
        return self._desk.result

    def choice(self) -> ChoiceView:
        """What was chosen and read; with a person, a place to choose anew."""
        return self._choice

    def summary(self) -> SummaryView:
        """The verdict, and how far it reaches."""
        return self._summary

    def conversations(self) -> ConversationsView:
        """Which conversations need attention, and which calls must be read back."""
        return self._conversations

    def timeline(self) -> TimelineView:
        """One conversation, row by row."""
        return self._timeline

    def findings(self) -> FindingsView:
        """What was found."""
        return self._findings

    def tables(self) -> TablesView:
        """Rows, comparisons and SQL."""
        return self._tables

    def finish(self) -> str:
        """Say the verdict; raise VerdictError on failed, and on inconclusive unless accepted."""
        verdict = self.triage.verdict
        accepted = verdict == "inconclusive" and self._chosen["accept_inconclusive"]
        if verdict == "ok" or accepted:
            return f"The verdict is {verdict}."
        raise VerdictError(f"the verdict is {verdict}.", EXIT_CODES[verdict])

    def save(self) -> str:
        """Write the result folder, and say where it is."""
        return _save(self.result(), self._chosen["out"], self.case)

    def _open_anew(self, values: Mapping[str, Any], progress: Progress) -> str:
        """Open what a person chose, and let it take the place of what was open."""
        chosen = {**self._chosen, **values}
        _check(chosen)
        opened = _Opened.open(chosen, progress)
        try:
            # Whoever has stopped it by now does not want it.
            progress("writing the result …")
            saved = _save(opened.result, chosen["out"], opened.case)
        except BaseException:
            opened.case.close()
            raise
        self._chosen.update(chosen)
        self._desk.replace(opened.case, opened.triage, opened.result)
        return saved


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

    An entry of `beside` is another log, `client=FILE`, `server-log=FILE`, `expect-last=ID=N` or
    `ax-config=FILE`, as the options of `axnb triage` have it.

    Raises UsageError for a value that cannot be meant, SourceError if the log cannot be read.
    """
    chosen = {
        "source": _sample(source),
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
    _check(chosen)
    with shown_progress() as progress:
        return TriageWorkspace(chosen, progress)


def _sample(source: str) -> str:
    """The sample log lies beside the notebooks or in the package, wherever a notebook is run."""
    if source != _SAMPLE or Path(source).exists():
        return source
    return str(shipped("sample_data", "log.sqlite"))


def _save(result: Result, out: str, case: Case) -> str:
    if not out:
        return "Nothing was written: the parameter out names no folder."
    folder = Path(out)
    write_folder(result, folder, case.settings.environment)
    return f"The result is in {folder}."


def _check(chosen: Mapping[str, Any]) -> None:
    refuse_secrets(chosen)
    check_types(chosen, open_triage)


@dataclass(frozen=True)
class _Opened:
    """A case that was loaded and triaged."""

    case: Case
    triage: Triage
    result: Result

    @classmethod
    def open(cls, chosen: Mapping[str, Any], progress: Progress) -> _Opened:
        where = Path(chosen["settings"]) if chosen["settings"] else None
        only = (chosen["conversation"],) if chosen["conversation"] else ()
        beside = _Beside.parse(chosen["beside"])
        asked = Asked.now(
            chosen["ax_version"],
            chosen["harnesses"],
            only,
            beside.expected,
            where,
            accept_inconclusive=chosen["accept_inconclusive"],
            live=chosen["live"],
            ax_config=beside.ax_config,
            sources=[chosen["source"], *beside.logs],
        )
        case = Case(chosen["case"] or None, Settings.read(where))
        try:
            answer = _ask(case, chosen, only, beside, progress)
            return cls(case, answer, triage_result(case, answer, asked))
        except KeyboardInterrupt:
            case.close()
            raise AxnbError("stopped; nothing was changed.") from None
        except BaseException:
            case.close()
            raise


def _question(chosen: Mapping[str, Any], only: Sequence[str], beside: _Beside) -> Question:
    """How the server is asked; what makes no sense is refused."""
    if chosen["ax_version"]:
        resolve(chosen["ax_version"])
    return Question.parse(chosen["ax_version"], chosen["harnesses"], beside.expected, only)


def _ask(
    case: Case,
    chosen: Mapping[str, Any],
    only: Sequence[str],
    beside: _Beside,
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
    progress("looking for findings …")
    question = replace(question, harnesses=question.harnesses or loaded.harnesses)
    return triage(case, question, only, (*loaded.skipped, *witnesses.skipped))


@dataclass(frozen=True)
class _Beside:
    """What stands beside the log, by what it is."""

    logs: list[str]
    clients: list[str]
    server_logs: list[str]
    expected: list[str]
    ax_configs: list[str]

    @property
    def ax_config(self) -> Path | None:
        """The ax.yaml that says what would run now; the last one, as on the command line."""
        return Path(self.ax_configs[-1]) if self.ax_configs else None

    @classmethod
    def parse(cls, entries: Sequence[str]) -> _Beside:
        """Sort entries. Raises UsageError for an empty one."""
        beside = cls([], [], [], [], [])
        kinds = {
            "client": beside.clients,
            "server-log": beside.server_logs,
            "expect-last": beside.expected,
            "ax-config": beside.ax_configs,
        }
        for entry in entries:
            kind, separator, value = entry.partition("=")
            known = kinds.get(kind) if separator else None
            if not entry or (known is not None and not value):
                raise UsageError(f"the parameter beside has an entry without a value: {entry!r}.")
            (beside.logs if known is None else known).append(entry if known is None else value)
        return beside
