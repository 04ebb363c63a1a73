"""What the workspaces of all notebooks share: opening, saving, the verdict, and opening anew."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from axnb.case.case import Case
from axnb.errors import AxnbError, VerdictError
from axnb.lab.choice import ChoiceView
from axnb.lab.desk import CaseDesk
from axnb.lab.findings import FindingsView
from axnb.lab.summary import SummaryView
from axnb.report.folder import write_folder
from axnb.result import EXIT_CODES, Result
from axnb.settings import Settings

Progress = Callable[[str], None]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Opened(Generic[Answer]):
    """A case that was loaded, and the answer that it gave."""

    case: Case
    answer: Answer
    result: Result


def opened(
    chosen: Mapping[str, Any], ask: Callable[[Case], tuple[Answer, Result]]
) -> Opened[Answer]:
    """Open the case that was chosen and ask it; after an error it is closed again."""
    where = Path(chosen["settings"]) if chosen["settings"] else None
    case = Case(chosen["case"] or None, Settings.read(where))
    try:
        return Opened(case, *ask(case))
    except KeyboardInterrupt:
        case.close()
        raise AxnbError("stopped; nothing was changed.") from None
    except BaseException:
        case.close()
        raise


class Workspace(ABC):
    """An answered case, and what each cell of a notebook shows of it."""

    _choice_view: type[ChoiceView] = ChoiceView

    def __init__(self, chosen: dict[str, Any], desk: CaseDesk) -> None:
        self._chosen = chosen
        self._desk = desk
        self._choice = self._choice_view(desk, chosen, self.save(), self._open_anew)
        self._summary = SummaryView(desk)
        self._findings = FindingsView(desk)

    @abstractmethod
    def _open(self, chosen: Mapping[str, Any], progress: Progress) -> Opened[Any]:
        """Check what was chosen, load it and ask."""

    @property
    def case(self) -> Case:
        """The case: `work.case.frame("select …")` gives a DataFrame of any query."""
        return self._desk.case

    def result(self) -> Result:
        """The answer in the form of a result."""
        return self._desk.result

    def choice(self) -> ChoiceView:
        """What was chosen and read; with a person, a place to choose anew."""
        return self._choice

    def summary(self) -> SummaryView:
        """The verdict, and how far it reaches."""
        return self._summary

    def findings(self) -> FindingsView:
        """What was found."""
        return self._findings

    def finish(self) -> str:
        """Say the verdict; raise VerdictError on failed, and on inconclusive unless accepted."""
        return concluded(self.result(), self._chosen["accept_inconclusive"])

    def save(self) -> str:
        """Write the result folder, and say where it is."""
        return saved(self.result(), self._chosen["out"], self.case.settings.environment)

    def _open_anew(self, values: Mapping[str, Any], progress: Progress) -> str:
        """Open what a person chose, and let it take the place of what was open."""
        chosen = {**self._chosen, **values}
        found = self._open(chosen, progress)
        try:
            # Whoever has stopped it by now does not want it.
            progress("writing the result …")
            told = saved(found.result, chosen["out"], found.case.settings.environment)
        except BaseException:
            found.case.close()
            raise
        self._chosen.update(chosen)
        self._desk.replace(found.case, found.answer, found.result)
        return told


def saved(result: Result, out: str, environment: Mapping[str, str]) -> str:
    """Write a result folder, and say where it is; nothing where `out` is empty."""
    if not out:
        return "Nothing was written: the parameter out names no folder."
    folder = Path(out)
    write_folder(result, folder, environment)
    return f"The result is in {folder}."


def concluded(result: Result, accepts_inconclusive: bool) -> str:
    """Say the verdict; raise VerdictError on failed, and on inconclusive unless it is accepted."""
    verdict = result.verdict
    if verdict == "ok" or (verdict == "inconclusive" and accepts_inconclusive):
        return f"The verdict is {verdict}."
    raise VerdictError(f"the verdict is {verdict}.", EXIT_CODES[verdict])
