"""The restore drill: can the log, and the bucket beside it, be restored to a new runtime?

A backup is taken or given, and restored into a runtime that shares nothing with the source. Three
words are kept apart: is what was restored consistent, is it complete, and is it usable?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from axnb.drills.restore.answer import restore_result
from axnb.drills.restore.options import RestoreOptions
from axnb.drills.restore.rehearsing import rehearse
from axnb.drills.scratch import scratch_folder
from axnb.result import Result
from axnb.started import Started

__all__ = ["RestoreOptions", "run"]


def run(
    options: RestoreOptions | None = None,
    progress: Callable[[str], None] = lambda _: None,
    **asked: Any,
) -> Result:
    """Rehearse a restore, and judge it. `progress` hears what is done next, in a few words.

    `run(source="log.sqlite")` is short for `run(RestoreOptions(…))`. All is in a scratch folder,
    which is removed unless `keep` names one; every server ends, and no source is changed. Raises
    SourceError if what is to be backed up cannot be read, UsageError for what cannot be meant.
    """
    options = options or RestoreOptions(**asked)
    started = Started()
    with scratch_folder(options.keep, options.settings.scratch) as scratch:
        # What axnb itself copies goes with the rest, even if we are killed.
        inside = replace(options, settings=replace(options.settings, scratch=scratch))
        return restore_result(options, rehearse(inside, scratch, progress), started)
