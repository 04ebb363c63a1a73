"""axnb: a recovery notebook kit for people who operate Agent Executor (AX).

from axnb import Case, load, triage

case = Case()
load(case, ["log.sqlite"])
print(triage(case).verdict)
case.frame("select * from tool_calls where outcome = 'unknown'")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from axnb.case.case import Case
    from axnb.errors import AxnbError, SourceError, UsageError
    from axnb.loading import load
    from axnb.triaging import Question, Triage, triage

__all__ = [
    "AxnbError",
    "Case",
    "Question",
    "SourceError",
    "Triage",
    "UsageError",
    "load",
    "triage",
]

_HOMES = {
    "AxnbError": "axnb.errors",
    "Case": "axnb.case.case",
    "Question": "axnb.triaging",
    "SourceError": "axnb.errors",
    "Triage": "axnb.triaging",
    "UsageError": "axnb.errors",
    "load": "axnb.loading",
    "triage": "axnb.triaging",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `axnb --help` needs no database."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'axnb' has no attribute {name!r}")
