"""What the cells of `20_backup_restore_drill.ipynb` call: one call a cell, each with its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from axnb.drills.restore import RestoreOptions, run
from axnb.errors import AxnbError, UsageError
from axnb.lab.desk import RehearsalDesk
from axnb.lab.progress import shown_progress
from axnb.lab.rehearsal import (
    ChecksView,
    ForgottenView,
    LostItemsView,
    PhasesView,
    RestoreChoiceView,
)
from axnb.notebook.base import Progress
from axnb.notebook.beside import Beside
from axnb.notebook.parameters import check_types, refuse_secrets
from axnb.notebook.rehearsed import RehearsedWorkspace
from axnb.notebook.shipped import SAMPLE, sample_log
from axnb.result import Result
from axnb.settings import Settings


class RestoreWorkspace(RehearsedWorkspace):
    """A restore that was rehearsed, and what each cell of the notebook shows of it."""

    _desk: RehearsalDesk
    _choice_view = RestoreChoiceView

    def __init__(self, chosen: dict[str, Any], progress: Progress) -> None:
        desk = RehearsalDesk(self._run(chosen, progress))
        super().__init__(chosen, desk, _settings(chosen).environment)
        self._checks = ChecksView(desk)
        self._lost = LostItemsView(desk)
        self._calls = ForgottenView(desk)
        self._phases = PhasesView(desk)

    def checks(self) -> ChecksView:
        """Consistent, complete and usable: each with its checks."""
        return self._checks

    def lost(self) -> LostItemsView:
        """What is lost of each conversation."""
        return self._lost

    def calls(self) -> ForgottenView:
        """What to read back before anything runs again."""
        return self._calls

    def phases(self) -> PhasesView:
        """How long it took."""
        return self._phases

    def _run(self, chosen: Mapping[str, Any], progress: Progress) -> Result:
        asked = _asked(chosen)
        try:
            return run(asked, progress=lambda told: progress(f"{told} …"))
        except KeyboardInterrupt:
            raise AxnbError("stopped; what the drill had started has ended.") from None


def open_restore_drill(
    source: str = SAMPLE,
    backup: str = "",
    beside: Sequence[str] = (),
    snapshots: str = "",
    snapshots_backup: str = "",
    records: Sequence[str] = (),
    rpo_steps: int = 0,
    out: str = "",
    settings: str = "",
    accept_inconclusive: bool = False,
) -> RestoreWorkspace:
    """Restore a backup into a new runtime, hold it against its source, and write the result.

    An entry of `beside` is another copy of the log, `client=FILE`, `server-log=FILE` or
    `expect-last=ID=N`, as `axnb drill restore` has them. Raises UsageError for a value that cannot
    be meant, SourceError if what is to be backed up cannot be read.
    """
    chosen = {
        "source": sample_log(source),
        "backup": backup,
        "beside": beside,
        "snapshots": snapshots,
        "snapshots_backup": snapshots_backup,
        "records": records,
        "rpo_steps": rpo_steps,
        "out": out,
        "settings": settings,
        "accept_inconclusive": accept_inconclusive,
    }
    with shown_progress() as progress:
        return RestoreWorkspace(chosen, progress)


def _settings(chosen: Mapping[str, Any]) -> Settings:
    return Settings.read(Path(chosen["settings"]) if chosen["settings"] else None)


def _asked(chosen: Mapping[str, Any]) -> RestoreOptions:
    refuse_secrets(chosen)
    check_types(chosen, open_restore_drill)
    beside = Beside.parse(chosen["beside"])
    if beside.snapshots or beside.records or beside.ax_configs:
        raise UsageError("the parameter beside takes logs, client, server-log and expect-last.")
    sources = [chosen["source"]] if chosen["source"] else []
    return RestoreOptions.parse(
        [*sources, *beside.logs],
        None,
        (),
        beside.expected,
        _settings(chosen),
        backup=Path(chosen["backup"]) if chosen["backup"] else None,
        snapshots=chosen["snapshots"] or None,
        snapshots_backup=chosen["snapshots_backup"] or None,
        records=[Path(name) for name in chosen["records"]],
        clients=[Path(name) for name in beside.clients],
        server_logs=[Path(name) for name in beside.server_logs],
        rpo_steps=chosen["rpo_steps"],
        settings_name=Path(chosen["settings"]).name,
    )
