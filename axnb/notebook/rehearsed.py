"""What the workspaces of all drills share: the run, the result folder, the verdict, another run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from axnb.lab.choice import ChosenView
from axnb.lab.desk import RunDesk
from axnb.lab.summary import SummaryView
from axnb.notebook.base import Progress, concluded, saved
from axnb.result import Result


class RehearsedWorkspace(ABC):
    """A drill that was run, and what each cell of its notebook shows of it."""

    _choice_view: type[ChosenView]

    def __init__(
        self, chosen: dict[str, Any], desk: RunDesk, environment: Mapping[str, str]
    ) -> None:
        self._chosen, self._desk, self._environment = chosen, desk, environment
        self._choice = self._choice_view(desk, chosen, self.save(), self._run_anew)
        self._summary = SummaryView(desk)

    @abstractmethod
    def _run(self, chosen: Mapping[str, Any], progress: Progress) -> Result:
        """Check what was chosen, and run the drill."""

    def result(self) -> Result:
        """What the drill found."""
        return self._desk.result

    def choice(self) -> ChosenView:
        """What was asked for; with a person, a place to run it again."""
        return self._choice

    def summary(self) -> SummaryView:
        """The verdict, and why."""
        return self._summary

    def save(self) -> str:
        """Write the result folder, and say where it is."""
        return saved(self.result(), self._chosen["out"], self._environment)

    def finish(self) -> str:
        """Say the verdict; raise VerdictError on failed, and on inconclusive unless accepted."""
        return concluded(self.result(), self._chosen["accept_inconclusive"])

    def _run_anew(self, values: Mapping[str, Any], progress: Progress) -> str:
        """Run what a person chose, and let it take the place of what was shown."""
        chosen = {**self._chosen, **values}
        result = self._run(chosen, progress)
        # Whoever has stopped it by now does not want it.
        progress("writing the result …")
        told = saved(result, chosen["out"], self._environment)
        self._chosen.update(chosen)
        self._desk.replace(result)
        return told
