"""What the cells of `01_triage.ipynb` call: one call a cell, an answer and a table each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axnb.ax.behaviour import Harness
from axnb.case.case import Case
from axnb.errors import VerdictError
from axnb.evidence.load import LoadOptions
from axnb.loading import load
from axnb.notebook.parameters import check_types, refuse_secrets
from axnb.report.folder import write_folder
from axnb.report.tables import frame
from axnb.report.terminal import render_triage
from axnb.report.triage_result import Asked, triage_result
from axnb.result import EXIT_CODES, Result
from axnb.settings import Settings
from axnb.text import safe
from axnb.triaging import Question, Triage, UnresolvedCall, triage

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class TriageWorkspace:
    """A triaged case, as tables for a notebook."""

    case: Case
    triage: Triage
    chosen: dict[str, Any]
    asked: Asked

    def parameters(self) -> pandas.DataFrame:
        """What was chosen, a row each."""
        import pandas as pd

        shown = [(name, _shown(value)) for name, value in self.chosen.items()]
        return pd.DataFrame(shown, columns=["parameter", "value"]).set_index("parameter")

    def summary(self) -> None:
        """Print the triage as the command line does."""
        print(render_triage(self.triage))

    def conversations(self) -> pandas.DataFrame:
        """One row a conversation that needs attention; all of them if none does."""
        found = frame(self.triage)
        needing = found[found.action != "nothing"]
        shown = needing if len(needing) else found
        return _safe(shown.drop(columns="source").reset_index(drop=True))

    def unresolved_calls(self) -> pandas.DataFrame:
        """Calls whose outcome the log does not tell, with the id to read them back by."""
        import pandas as pd

        columns = ["conversation_id", *UnresolvedCall.__dataclass_fields__]
        rows = [
            {"conversation_id": c.conversation_id, **call.as_dict()}
            for c in self.triage.conversations
            for call in c.unresolved
        ]
        return _safe(pd.DataFrame(rows, columns=columns).astype({"step": "Int64"}))

    def findings(self) -> pandas.DataFrame:
        """What was found, a row each."""
        import pandas as pd

        rows = [
            (f.id, f.name, f.severity, f.conversation_id, f.step, f.sentence)
            for f in self.triage.findings
        ]
        columns = ["id", "name", "severity", "conversation_id", "step", "sentence"]
        return _safe(pd.DataFrame(rows, columns=columns).astype({"step": "Int64"}))

    def sources(self) -> pandas.DataFrame:
        """What was read, with its custody."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "source": s.name,
                    "generations": " ".join(s.generations),
                    "read": s.read,
                    "parsed": s.parsed,
                    "rejected": s.rejected,
                    "custody": s.custody.get("sha256") or s.custody.get("lsn"),
                }
                for s in self.triage.sources
            ]
        )

    def result(self) -> Result:
        """The triage in the form of a result."""
        return triage_result(self.case, self.triage, self.asked)

    def save(self) -> str:
        """Write `result.json` and its views into the result folder, and say where it is."""
        if not self.chosen["out"]:
            return "Nothing was written: the parameter out names no folder."
        folder = Path(self.chosen["out"])
        result = self.result()
        write_folder(result, folder)
        return f"The result is in {folder}."

    def finish(self) -> str:
        """Say the verdict; raise VerdictError on failed, and on inconclusive unless accepted."""
        verdict = self.triage.verdict
        accepted = verdict == "inconclusive" and self.chosen["accept_inconclusive"]
        if verdict == "ok" or accepted:
            return f"The verdict is {verdict}."
        raise VerdictError(f"the verdict is {verdict}.", EXIT_CODES[verdict])


def open_triage(
    source: str,
    out: str = "",
    ax_version: str = "",
    harnesses: Sequence[str] = (),
    conversation: str = "",
    case: str = "",
    settings: str = "",
    accept_inconclusive: bool = False,
) -> TriageWorkspace:
    """Load a log and triage it. Raises UsageError for a value that cannot be meant."""
    chosen = {
        "source": source,
        "out": out,
        "ax_version": ax_version,
        "harnesses": harnesses,
        "conversation": conversation,
        "case": case,
        "settings": settings,
        "accept_inconclusive": accept_inconclusive,
    }
    refuse_secrets(chosen)
    check_types(chosen)
    only = (conversation,) if conversation else ()
    where = Path(settings) if settings else None
    asked = Asked.now(
        ax_version, harnesses, only, settings=where, accept_inconclusive=accept_inconclusive
    )
    opened = Case(case or None, Settings.read(where))
    read = conversation if conversation and not case else None
    loaded = load(opened, [source] if source else [], LoadOptions(conversation=read))
    named = tuple(Harness.parse(text) for text in harnesses) or loaded.harnesses
    answer = triage(opened, Question(ax_version or None, named), only)
    return TriageWorkspace(opened, answer, chosen, asked)


def _safe(table: pandas.DataFrame) -> pandas.DataFrame:
    """A table in which no text of a stranger moves a cursor or hides a letter."""
    return table.map(lambda value: safe(value) if isinstance(value, str) else value)


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return safe(", ".join(map(str, value))) or "–"
    return "–" if value == "" else safe(str(value))
