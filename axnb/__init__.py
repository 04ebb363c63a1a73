"""axnb: a recovery notebook kit for people who operate Agent Executor (AX).

from axnb import Case, load, load_state, state_map, triage

case = Case()
load(case, ["log.sqlite"])
print(triage(case).verdict)
case.frame("select * from tool_calls where outcome = 'unknown'")

load_state(case, ["s3://bucket/prefix"], ["actors.json"], verify=True)
state_map(case).snapshots
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from axnb.case.case import Case
    from axnb.errors import AxnbError, SourceError, UsageError
    from axnb.loading import load, load_state
    from axnb.mapping import StateMap, state_map
    from axnb.triaging import Question, Triage, triage

__all__ = [
    "AxnbError",
    "Case",
    "Question",
    "SourceError",
    "StateMap",
    "Triage",
    "UsageError",
    "load",
    "load_state",
    "state_map",
    "triage",
]

_HOMES = {
    "AxnbError": "axnb.errors",
    "Case": "axnb.case.case",
    "Question": "axnb.triaging",
    "SourceError": "axnb.errors",
    "StateMap": "axnb.mapping",
    "Triage": "axnb.triaging",
    "UsageError": "axnb.errors",
    "load": "axnb.loading",
    "load_state": "axnb.loading",
    "state_map": "axnb.mapping",
    "triage": "axnb.triaging",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `axnb --help` needs no database."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'axnb' has no attribute {name!r}")
