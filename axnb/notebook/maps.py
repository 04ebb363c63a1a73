"""What the cells of `02_snapshots.ipynb` call: one call a cell, each with an answer of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from axnb.case.case import Case
from axnb.lab.choice import MapChoiceView
from axnb.lab.desk import MapDesk
from axnb.lab.progress import shown_progress
from axnb.lab.state import RelatedView, SecretsView, StateMapView
from axnb.loading import Loaded, load, load_state
from axnb.mapping import StateMap, state_map
from axnb.notebook.base import Opened, Progress, Workspace, opened
from axnb.notebook.parameters import check_types, refuse_secrets
from axnb.notebook.shipped import shipped
from axnb.report.map_result import AskedMap, map_result
from axnb.result import Result

#: What the notebook reads if nobody names a bucket.
_SAMPLE = "sample_data/snapshots"


class MapWorkspace(Workspace):
    """A mapped case, and what each cell of the notebook shows of it."""

    _desk: MapDesk
    _choice_view = MapChoiceView

    def __init__(self, chosen: dict[str, Any], progress: Progress) -> None:
        found = self._open(chosen, progress)
        super().__init__(chosen, MapDesk(found.case, found.answer, found.result))
        self._state_map = StateMapView(self._desk)
        self._conversations = RelatedView(self._desk)
        self._secrets = SecretsView(self._desk)

    @property
    def state(self) -> StateMap:
        """The map."""
        return self._desk.state

    def state_map(self) -> StateMapView:
        """Which snapshot belongs to what, and what a restore gives back."""
        return self._state_map

    def conversations(self) -> RelatedView:
        """Which conversations have no good snapshot."""
        return self._conversations

    def secrets(self) -> SecretsView:
        """What to rotate."""
        return self._secrets

    def _open(self, chosen: Mapping[str, Any], progress: Progress) -> Opened[StateMap]:
        refuse_secrets(chosen)
        check_types(chosen, open_map)
        verify, everywhere = chosen["verify"], chosen["all_atespaces"]
        asked = AskedMap.now(
            Path(chosen["settings"]) if chosen["settings"] else None,
            verify=verify,
            everywhere=everywhere,
            accept_inconclusive=chosen["accept_inconclusive"],
        )

        def ask(case: Case) -> tuple[StateMap, Result]:
            logs = Loaded()
            if chosen["logs"]:
                logs = load(
                    case, chosen["logs"], progress=lambda rows: progress(f"read {rows:,} rows")
                )
            buckets = [chosen["snapshots"]] if chosen["snapshots"] else []
            found = load_state(
                case,
                buckets,
                chosen["records"],
                verify=verify,
                everywhere=everywhere,
                progress=progress,
            )
            progress("looking for findings …")
            answer = state_map(case, (*logs.skipped, *found.skipped))
            return answer, map_result(case, answer, asked)

        return opened(chosen, ask)


def open_map(
    snapshots: str,
    records: Sequence[str] = (),
    logs: Sequence[str] = (),
    out: str = "",
    verify: bool = False,
    all_atespaces: bool = False,
    case: str = "",
    settings: str = "",
    accept_inconclusive: bool = False,
) -> MapWorkspace:
    """Load a bucket with records and logs, map what belongs to what, and write the result.

    Raises UsageError for a value that cannot be meant. A source that cannot be read is a doubt of
    the verdict.
    """
    chosen = {
        "snapshots": snapshots,
        "records": records,
        "logs": logs,
        "out": out,
        "verify": verify,
        "all_atespaces": all_atespaces,
        "case": case,
        "settings": settings,
        "accept_inconclusive": accept_inconclusive,
    }
    with shown_progress() as progress:
        return MapWorkspace(_sample(chosen), progress)


def _sample(chosen: dict[str, Any]) -> dict[str, Any]:
    """The sample bucket comes with records, a log and settings, wherever a notebook is run."""
    if chosen["snapshots"] != _SAMPLE:
        return chosen
    found = {**chosen, "snapshots": str(shipped("sample_data", "snapshots"))}
    own = {
        "records": [str(shipped("sample_data", "records"))],
        "logs": [str(shipped("sample_data", "log.sqlite"))],
        "settings": str(shipped("sample_data", "axnb.toml")),
    }
    return {name: value or own.get(name, value) for name, value in found.items()}
