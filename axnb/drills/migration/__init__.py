"""The migration drill: what happens when another AX version reads this log, and does a migration
help?

The log is migrated in a copy and served by the target; interrupted conversations go there and back.
What the target would do with the log as it is, is foretold conversation by conversation and proved.
"""

from __future__ import annotations

from typing import Any

from axnb.drills.migration.answer import migration_result
from axnb.drills.migration.ground import Migrate, Progress
from axnb.drills.migration.options import MigrationDrillOptions
from axnb.drills.migration.rehearsing import rehearse
from axnb.drills.scratch import scratch_folder
from axnb.migrating import migrate
from axnb.result import Result
from axnb.started import Started

__all__ = ["MigrationDrillOptions", "run", "run_with"]


def run(
    source: str,
    options: MigrationDrillOptions | None = None,
    progress: Progress = lambda *_: None,
    **asked: Any,
) -> Result:
    """Rehearse a migration of `source`, a path or a DSN. `progress` hears of each step.

    `run("log.sqlite", to="G8")` is short for `run(…, MigrationDrillOptions(to="G8"))`. All is in a
    scratch folder, which is removed unless `keep` names one; every process ends, and the source is
    only read. Raises SourceError if it cannot be read, AxnbError where nothing can be rehearsed.
    """
    return run_with(migrate, source, options or MigrationDrillOptions(**asked), progress)


def run_with(
    migrate: Migrate,
    source: str,
    options: MigrationDrillOptions,
    progress: Progress = lambda *_: None,
) -> Result:
    """The same with a migration of one's own, such as one that a test sabotages."""
    started = Started()
    with scratch_folder(options.keep, options.settings.scratch) as scratch:
        return migration_result(
            rehearse(source, options, scratch, migrate, progress), source, started
        )
