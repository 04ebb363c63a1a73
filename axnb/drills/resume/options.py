"""What a resume drill is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from axnb.ax.versions import Generation, resolve
from axnb.errors import UsageError
from axnb.runtimes import POINTS, POLICIES, Kind, Policy, Retry
from axnb.settings import Settings

Store = Literal["sqlite", "postgres"]

#: Generations whose log the embedded runtime writes in a drill.
GENERATIONS = ("G5", "G6", "G8")

#: The tool of the drill's task.
TOOL = "reserve"

_MOST_REPEATS = 10_000


@dataclass(frozen=True)
class ResumeOptions:
    """What a resume drill is asked. Raises UsageError for what makes no sense."""

    runtime: Kind = "embedded"
    policies: Sequence[Policy] = ("ax",)
    #: Does the tool take a second request with one operation id for the first?
    idempotent: bool = False
    store: Store = "sqlite"
    #: A generation or a release.
    generation: str = "G8"
    points: Sequence[int] = tuple(POINTS)
    #: Where snapshots go: a folder or s3://…; empty: a folder in scratch; None: nowhere.
    snapshots: str | None = ""
    #: The address of an Alertmanager; empty: a small receiver of our own.
    alertmanager: str = ""
    #: For the runtime `ax`: its binary, or the older and the newer one; empty: `ax` of PATH.
    ax_bin: Sequence[Path] = ()
    repeat: int = 1
    #: By which places and moments of an interruption are drawn from the second repetition on.
    seed: int = 0
    #: A folder that is kept, with all that the processes wrote; None: it is removed.
    keep: Path | None = None
    #: Did a person confirm that commands of `axnb.toml` may run?
    confirmed: bool = False
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if self.runtime not in get_args(Kind):
            raise UsageError(f"runtime {self.runtime!r:.80} is none of {_list(get_args(Kind))}.")
        if self.store not in get_args(Store):
            raise UsageError(f"store {self.store!r:.80} is none of {_list(get_args(Store))}.")
        _check_all("policy", self.policies, tuple(POLICIES))
        _check_all("point", self.points, tuple(POINTS))
        if resolve(self.generation).name not in GENERATIONS:
            raise UsageError(
                f"a drill writes no log of {resolve(self.generation).label}; use one of "
                f"{_list(GENERATIONS)}."
            )
        if not 1 <= self.repeat <= _MOST_REPEATS:
            raise UsageError(f"repeat is not between 1 and {_MOST_REPEATS:,}.")

    @property
    def target(self) -> Generation:
        """The generation that is asked for."""
        return resolve(self.generation)

    @property
    def retry(self) -> Retry:
        """How the task's operation may be repeated."""
        tool = self.settings.tools.get(TOOL)
        if tool is not None and tool.retry is not None:
            return tool.retry
        return "idempotent" if self.idempotent else "write"


def _check_all(what: str, chosen: Sequence[object], known: Sequence[object]) -> None:
    if not chosen:
        raise UsageError(f"no {what} is named; use one or more of {_list(known)}.")
    for value in chosen:
        if value not in known:
            raise UsageError(f"{what} {value!r:.80} is none of {_list(known)}.")
    if len(set(chosen)) < len(chosen):
        raise UsageError(f"a {what} is named twice.")


def _list(names: Sequence[object]) -> str:
    return ", ".join(str(name) for name in names)


def planned(options: ResumeOptions) -> list[str]:
    """What a drill does and reads, a line each, in the order in which it is done."""
    points = ", ".join(map(str, options.points))
    times = f" {options.repeat} times" if options.repeat > 1 else ""
    where = f"{'point' if len(options.points) == 1 else 'points'} {points}{times}"
    reads = "the log, the tool's ledger, the alerts"
    reads += "" if options.snapshots is None else ", the snapshots"
    return [
        *(
            f"{policy}: interrupt a task at {where}, and once cancel it after the commit"
            for policy in options.policies
        ),
        f"after each: resume, ask for the next turn, read {reads}, and undo the effect",
    ]
