"""What a migration drill is asked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from axnb.ax.behaviour import Harness
from axnb.ax.versions import BUILT_IN_HARNESSES, GENERATIONS, Generation, resolve
from axnb.errors import UsageError
from axnb.settings import Settings
from axnb.text import safe

#: Generations to which a log can be migrated.
TARGETS = ("G5b", "G6", "G7", "G8")

#: Generations that axnb's own server serves.
SERVED = ("G5", "G5b", "G6", "G7", "G8")

_MOST_ASKED = 100_000

#: Ids that a server takes for a harness.
_ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class MigrationDrillOptions:
    """What a migration drill is asked. Raises UsageError for what makes no sense."""

    #: A generation or a release.
    to: str = "G8"
    #: Real `ax` binaries, of whatever generation they turn out to be.
    ax_bin: Sequence[Path] = ()
    #: `ID[=accepts|refuses]`, the default first; without any, the default and those in the log.
    harnesses: Sequence[str] = ()
    #: Who owns a conversation of which no row names an owner; empty: the first harness.
    default_harness: str = ""
    #: Paths that may be lost, as `axnb migrate --accept-loss` takes them.
    accept_loss: Sequence[str] = ()
    #: Buckets of snapshots and exports of records, as `axnb map` takes them.
    snapshots: Sequence[str] = ()
    records: Sequence[Path] = ()
    #: How many conversations servers are asked about at most.
    conversations: int = 100
    #: A folder that is kept, with all copies and what the processes wrote; None: it is removed.
    keep: Path | None = None
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if self.target.name not in TARGETS:
            raise UsageError(
                f"no log is migrated to {self.target.label}; use one of {', '.join(TARGETS)}."
            )
        if not 1 <= self.conversations <= _MOST_ASKED:
            raise UsageError(f"conversations is not between 1 and {_MOST_ASKED:,}.")
        if len({harness.id for harness in self.declared}) < len(self.harnesses):
            raise UsageError("a harness is named twice.")
        for name in (*(harness.id for harness in self.declared), self.default):
            if not _ID.fullmatch(name):
                raise UsageError(f"no server registers a harness {name!r:.80}.")
        for path in self.ax_bin:
            if not path.is_file() or not os.access(path, os.X_OK):
                raise UsageError(f"--ax-bin {safe(str(path))} is no program.")
        if len(set(self.ax_bin)) < len(self.ax_bin):
            raise UsageError("an ax binary is named twice.")

    @property
    def target(self) -> Generation:
        """The generation that is asked for."""
        return resolve(self.to)

    @property
    def declared(self) -> tuple[Harness, ...]:
        """The harnesses that are named, the default first."""
        return tuple(Harness.parse(text) for text in self.harnesses)

    @property
    def default(self) -> str:
        """Who owns what nobody owns."""
        named = [harness.id for harness in self.declared]
        return self.default_harness or (named[0] if named else BUILT_IN_HARNESSES[0])


def can_register(name: str) -> bool:
    """Does a server take such an id for a harness?"""
    return bool(_ID.fullmatch(name))


def way_back(newest: str) -> Generation | None:
    """The generation to which a log goes back whose newest rows are of `newest`; None without one.

    To those of before G5b there is no migration.
    """
    name = "G5b" if newest == "G5|G5b" else newest
    return GENERATIONS[name] if name in TARGETS else None
