"""What the cells of `10_resume_drill.ipynb` call: one call a cell, each with its own answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axnb.drills.resume import ResumeOptions, run
from axnb.drills.resume.points import read_points
from axnb.errors import AxnbError
from axnb.lab.desk import DrillDesk
from axnb.lab.drill import DrillChoiceView, MatrixView, PointView
from axnb.lab.kernel import has_person
from axnb.lab.progress import shown_progress
from axnb.notebook.base import Progress
from axnb.notebook.guided import GuidedDrill
from axnb.notebook.parameters import check_types, refuse_secrets
from axnb.notebook.rehearsed import RehearsedWorkspace
from axnb.report.drill_text import point_line
from axnb.result import Result
from axnb.settings import Settings

if TYPE_CHECKING:
    from axnb.runtimes.command import Ask

#: What the parameter snapshots says where there is to be no bucket.
_NO_BUCKET = "none"


class DrillWorkspace(RehearsedWorkspace):
    """A drill that was run, and what each cell of the notebook shows of it."""

    _desk: DrillDesk
    _choice_view = DrillChoiceView

    def __init__(self, chosen: dict[str, Any], progress: Progress, ask: Ask | None = None) -> None:
        """`ask` asks a person to do what has no command, in a drill that is guided."""
        asked = _asked(chosen)
        desk = DrillDesk(_run(asked, progress, ask))
        super().__init__(chosen, desk, asked.settings.environment)
        self._matrix = MatrixView(desk)
        self._point = PointView(desk)

    def matrix(self) -> MatrixView:
        """The verdict of each check at each point."""
        return self._matrix

    def point(self, policy: str = "", point: int = 0) -> PointView:
        """What happened at a point, and what was checked; without one, the worst of all."""
        if point:
            self._desk.choose((policy, str(point)))
        return self._point

    def _run(self, chosen: Mapping[str, Any], progress: Progress) -> Result:
        return _run(_asked(chosen), progress)


def open_resume_drill(
    policies: Sequence[str] = ("ax",),
    points: str = "",
    idempotent: bool = False,
    generation: str = "G8",
    store: str = "sqlite",
    snapshots: str = "",
    runtime: str = "embedded",
    out: str = "",
    settings: str = "",
    accept_inconclusive: bool = False,
) -> DrillWorkspace | GuidedDrill:
    """Interrupt a task at each point with each policy, and write the result.

    Where a person is to do steps by hand, it goes on beside the cells. Raises UsageError for a
    value that cannot be meant.
    """
    chosen = {
        "policies": policies,
        "points": points,
        "idempotent": idempotent,
        "generation": generation,
        "store": store,
        "snapshots": snapshots,
        "runtime": runtime,
        "out": out,
        "settings": settings,
        "accept_inconclusive": accept_inconclusive,
    }
    if _is_guided(_asked(chosen)):
        return GuidedDrill(lambda ask: DrillWorkspace(chosen, lambda _: None, ask))
    with shown_progress() as progress:
        return DrillWorkspace(chosen, progress)


def _is_guided(asked: ResumeOptions) -> bool:
    command = asked.settings.command
    return asked.runtime == "command" and bool(command and command.guided) and has_person()


def _asked(chosen: Mapping[str, Any]) -> ResumeOptions:
    refuse_secrets(chosen)
    check_types(chosen, open_resume_drill)
    snapshots = chosen["snapshots"]
    return ResumeOptions(
        policies=tuple(chosen["policies"]),
        points=read_points(chosen["points"]),
        idempotent=chosen["idempotent"],
        generation=chosen["generation"],
        store=chosen["store"],
        snapshots=None if snapshots == _NO_BUCKET else snapshots,
        runtime=chosen["runtime"],
        settings=Settings.read(Path(chosen["settings"]) if chosen["settings"] else None),
    )


def _run(asked: ResumeOptions, progress: Progress, ask: Ask | None = None) -> Result:
    if ask is not None:
        ask("This drill interrupts your own deployment, step by step. Done begins it.")
        asked = replace(asked, confirmed=True)
    try:
        return run(asked, progress=lambda judged: progress(point_line(judged)), ask=ask)
    except KeyboardInterrupt:
        raise AxnbError("stopped; what the drill had started has ended.") from None
