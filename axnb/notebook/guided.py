"""A drill in which a person does steps by hand, beside the cells of its notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from axnb.lab.drill import MatrixView, PointView
from axnb.lab.summary import SummaryView
from axnb.result import Result

if TYPE_CHECKING:
    from axnb.notebook.drills import DrillWorkspace
    from axnb.runtimes.command import Ask


class GuidedDrill:
    """What the cells call while the drill goes on, and once it is over.

    The first cell shows what is to be done and the button for it. Until the end every other raises
    AxnbError, which says so; then it is run again.
    """

    def __init__(self, work: Callable[[Ask], DrillWorkspace]) -> None:
        from axnb.lab.guide import Guide

        self._guide = Guide()
        self._guide.begin(work)

    def choice(self) -> Any:
        """The step that is to be done, and its button."""
        return self._guide.widget

    def result(self) -> Result:
        """What the drill found."""
        return self._over().result()

    def summary(self) -> SummaryView:
        """The verdict, and why."""
        return self._over().summary()

    def matrix(self) -> MatrixView:
        """The verdict of each check at each point."""
        return self._over().matrix()

    def point(self, policy: str = "", point: int = 0) -> PointView:
        """What happened at a point, and what was checked; without one, the worst of all."""
        return self._over().point(policy, point)

    def save(self) -> str:
        """Write the result folder, and say where it is."""
        return self._over().save()

    def finish(self) -> str:
        """Say the verdict; raise VerdictError on failed, and on inconclusive unless accepted."""
        return self._over().finish()

    def _over(self) -> DrillWorkspace:
        work: DrillWorkspace = self._guide.result()
        return work
