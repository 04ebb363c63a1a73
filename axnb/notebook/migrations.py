"""What the cells of `30_version_migration_drill.ipynb` call: each has its own answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from axnb.drills.migration import MigrationDrillOptions, run
from axnb.errors import AxnbError
from axnb.lab.desk import RehearsalDesk
from axnb.lab.migration import (
    CompatibilityView,
    FatesView,
    MigrationChoiceView,
    MigrationPlanView,
)
from axnb.lab.progress import shown_progress
from axnb.lab.rehearsal import ChecksView
from axnb.notebook.base import Progress
from axnb.notebook.parameters import check_types, refuse_secrets
from axnb.notebook.rehearsed import RehearsedWorkspace
from axnb.notebook.shipped import SAMPLE, sample_log
from axnb.report.rehearsal_text import step_line
from axnb.result import Result
from axnb.settings import Settings


class MigrationWorkspace(RehearsedWorkspace):
    """A migration that was rehearsed, and what each cell of the notebook shows of it."""

    _desk: RehearsalDesk
    _choice_view = MigrationChoiceView

    def __init__(self, chosen: dict[str, Any], progress: Progress) -> None:
        desk = RehearsalDesk(self._run(chosen, progress))
        super().__init__(chosen, desk, _settings(chosen).environment)
        self._matrix = CompatibilityView(desk)
        self._checks = ChecksView(desk)
        self._conversations = FatesView(desk)
        self._plan = MigrationPlanView(desk)

    def matrix(self) -> CompatibilityView:
        """What every AX version makes of the log, as it is and migrated."""
        return self._matrix

    def checks(self) -> ChecksView:
        """The matrix, the copy, the server, the rollback and the plan: each with its checks."""
        return self._checks

    def conversations(self) -> FatesView:
        """What becomes of each conversation."""
        return self._conversations

    def plan(self) -> MigrationPlanView:
        """What the migration does, and what an operator does."""
        return self._plan

    def _run(self, chosen: Mapping[str, Any], progress: Progress) -> Result:
        asked = _asked(chosen)
        try:
            return run(
                chosen["source"],
                asked,
                lambda point, check, found: progress(step_line(point, check, found.as_dict())),
            )
        except KeyboardInterrupt:
            raise AxnbError("stopped; what the drill had started has ended.") from None


def open_migration_drill(
    source: str = SAMPLE,
    to: str = "G8",
    ax_bin: Sequence[str] = (),
    harnesses: Sequence[str] = (),
    default_harness: str = "",
    accept_loss: Sequence[str] = (),
    snapshots: str = "",
    out: str = "",
    settings: str = "",
    accept_inconclusive: bool = False,
) -> MigrationWorkspace:
    """Migrate a copy of a log, serve it, take it back, and write the result.

    Raises UsageError for a value that cannot be meant, SourceError if the log cannot be read.
    """
    chosen = {
        "source": sample_log(source),
        "to": to,
        "ax_bin": ax_bin,
        "harnesses": harnesses,
        "default_harness": default_harness,
        "accept_loss": accept_loss,
        "snapshots": snapshots,
        "out": out,
        "settings": settings,
        "accept_inconclusive": accept_inconclusive,
    }
    with shown_progress() as progress:
        return MigrationWorkspace(chosen, progress)


def _settings(chosen: Mapping[str, Any]) -> Settings:
    return Settings.read(Path(chosen["settings"]) if chosen["settings"] else None)


def _asked(chosen: Mapping[str, Any]) -> MigrationDrillOptions:
    refuse_secrets(chosen)
    check_types(chosen, open_migration_drill)
    return MigrationDrillOptions(
        to=chosen["to"],
        ax_bin=tuple(Path(path) for path in chosen["ax_bin"]),
        harnesses=tuple(chosen["harnesses"]),
        default_harness=chosen["default_harness"],
        accept_loss=tuple(chosen["accept_loss"]),
        snapshots=(chosen["snapshots"],) if chosen["snapshots"] else (),
        settings=_settings(chosen),
    )
