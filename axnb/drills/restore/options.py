"""What a restore drill is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axnb.ax.behaviour import Harness
from axnb.ax.versions import resolve
from axnb.errors import UsageError
from axnb.evidence.buckets import BucketLocator
from axnb.evidence.locators import locate
from axnb.settings import DSN_VARIABLE, Settings
from axnb.triaging import Expectation, Question

#: How many conversations are asked to go on, of each sort, unless another number is given.
ASKED = 20


@dataclass(frozen=True)
class RestoreOptions:
    """What a restore drill is asked. Raises UsageError for what makes no sense."""

    #: The log that the backup is of; None where it is gone.
    source: str | None = None
    #: Other copies of it: as it was before a restore, or as it went on after one.
    others: Sequence[str] = ()
    #: A backup: a file or a folder; None: the drill takes one.
    backup: Path | None = None
    #: How the drill takes it; None: the best way that the store has.
    how: str | None = None
    #: Is the source a SQLite file in use?
    live: bool = False
    #: Of a base backup: segments of WAL, and the point in time.
    wal_archive: Path | None = None
    target_time: str | None = None
    #: The bucket that the log goes with, and a copy of it; without a copy the drill takes one.
    snapshots: str | None = None
    snapshots_backup: str | None = None
    records: Sequence[Path] = ()
    #: What others remember: clients, a server's log, cursors, the result of a former drill.
    clients: Sequence[Path] = ()
    server_logs: Sequence[Path] = ()
    expectations: Sequence[Expectation] = ()
    seal: Path | None = None
    #: The server of the rehearsal: its version and its harnesses; else those of the log.
    ax_version: str | None = None
    harnesses: Sequence[Harness] = ()
    ax_bin: Sequence[Path] = ()
    #: Steps that may be lost.
    rpo_steps: int = 0
    #: Conversations that are asked to go on, of the finished and of the interrupted ones.
    asked: int = ASKED
    keep: Path | None = None
    settings: Settings = field(default_factory=Settings)
    #: What the file of the settings is called, where one was named.
    settings_name: str = ""

    def __post_init__(self) -> None:
        if self.source is None and self.backup is None:
            raise UsageError(
                f"name a log (a path or a DSN) or a backup (--backup), or set {DSN_VARIABLE}."
            )
        if self.backup is not None and self.how is not None:
            raise UsageError("--how says how a backup is taken, and --backup names one.")
        if self.snapshots_backup is not None and self.snapshots is None and self.source is None:
            raise UsageError("--snapshots-backup goes with a log or a bucket.")
        if self.rpo_steps < 0 or self.asked < 1:
            raise UsageError("--rpo-steps is at least 0, and --asked at least 1.")

    @classmethod
    def parse(
        cls,
        sources: Sequence[str],
        ax_version: str | None,
        harnesses: Sequence[str],
        expected: Sequence[str],
        settings: Settings,
        **asked: Any,
    ) -> RestoreOptions:
        """Options as a person types them: the log first, then other copies of it.

        Without a log and a backup, the log is the one that AX_EVENTLOG_DSN names. An ax.yaml says
        which harnesses there are, unless some are named. Raises UsageError.
        """
        environment = settings.environment
        if not sources and asked.get("backup") is None and environment.get(DSN_VARIABLE):
            sources = (DSN_VARIABLE,)
        if ax_version:
            resolve(ax_version)
        located = [locate(source, environment) for source in sources]
        for bucket in (asked.get("snapshots"), asked.get("snapshots_backup")):
            if bucket:
                BucketLocator.parse(bucket, environment)
        registered = next((found.harnesses for found in located if found.harnesses), ())
        question = Question.parse(ax_version, harnesses, expected)
        return cls(
            source=sources[0] if sources else None,
            others=tuple(sources[1:]),
            ax_version=question.ax_version,
            harnesses=question.harnesses or registered,
            expectations=question.expectations,
            settings=settings,
            **asked,
        )
