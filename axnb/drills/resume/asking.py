"""What a person asks a resume drill for, in texts: checked before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from axnb.ax.versions import resolve
from axnb.drills.resume.options import ResumeOptions
from axnb.errors import UsageError
from axnb.runtimes import POINTS, POLICIES, Kind, Policy
from axnb.settings import Settings
from axnb.text import count

#: What is interrupted: real processes of axnb's own, a real AX, a deployment of the operator's.
RUNTIMES: Sequence[Kind] = ("embedded", "ax", "command")

#: Where the log of the drill is.
STORES = ("sqlite", "postgres")

#: Generations whose rows a drill can make.
GENERATIONS = ("G5", "G6", "G8")

_PART = re.compile(r"\s*(\d{1,4})\s*(?:-\s*(\d{1,4})\s*)?")


def resume_options(
    *,
    policies: Iterable[str] = (),
    points: str = "",
    runtime: str = "embedded",
    store: str = "sqlite",
    generation: str = "G8",
    repeat: int = 1,
    settings: Path | None = None,
    **more: Any,
) -> ResumeOptions:
    """What is asked for, as the drill takes it. Raises UsageError with what cannot be meant.

    Without a policy it is `ax`, without points all of them; `generation` may be a release. `more`
    are fields of ResumeOptions.
    """
    if repeat < 1:
        raise UsageError(f"a drill is repeated once or more, not {repeat} times.")
    return ResumeOptions(
        runtime=cast(Kind, _one("runtime", runtime, RUNTIMES)),
        policies=tuple(dict.fromkeys(_policy(name) for name in policies)) or ("ax",),
        store=_one("store", store, STORES),
        generation=_generation(generation),
        points=read_points(points),
        repeat=repeat,
        settings=Settings.read(settings),
        **more,
    )


def read_points(text: str) -> tuple[int, ...]:
    """`1,3`, `1-4` or `1-3,8` as points in order; all of them for an empty text.

    Raises UsageError with the part that names none.
    """
    if not text.strip():
        return tuple(POINTS)
    found: set[int] = set()
    for part in text.split(","):
        matched = _PART.fullmatch(part)
        if matched is None:
            raise UsageError(f"{part.strip()!r:.40} names no point: write 1,3 or 1-4.")
        first, last = int(matched[1]), int(matched[2] or matched[1])
        if first > last:
            raise UsageError(f"the points {part.strip()} go backwards: write {last}-{first}.")
        found.update(range(first, last + 1))
    if unknown := sorted(found - POINTS.keys()):
        raise UsageError(f"there is no point {unknown[0]}; the drill has {_points()}.")
    return tuple(sorted(found))


def _points() -> str:
    return f"{count(len(POINTS), 'point')}, {min(POINTS)} to {max(POINTS)}"


def _policy(name: str) -> Policy:
    return cast(Policy, _one("policy", name, POLICIES))


def _one(what: str, name: str, known: Sequence[str] | Mapping[Any, str]) -> str:
    if name not in known:
        *most, last = known
        raise UsageError(f"there is no {what} {name!r:.40}; name {', '.join(most)} or {last}.")
    return name


def _generation(version: str) -> str:
    found = resolve(version)
    if found.name not in GENERATIONS:
        raise UsageError(
            f"a drill writes rows of {', '.join(GENERATIONS[:-1])} or {GENERATIONS[-1]}, and not "
            f"of {found.label}."
        )
    return found.name
