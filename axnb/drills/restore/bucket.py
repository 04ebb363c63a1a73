"""The bucket beside the log: copied, restored into a fresh place, and held against the log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from axnb.backups import Flaw
from axnb.backups.bucket import copy_bucket
from axnb.backups.bucket_compare import compare_bucket
from axnb.backups.model import timed
from axnb.drills.restore import complete, consistent, usable
from axnb.drills.restore.cutting import cuts
from axnb.drills.restore.options import RestoreOptions
from axnb.drills.scratch import private
from axnb.drills.steps import Check
from axnb.errors import SourceError
from axnb.loading import load_state
from axnb.mapping import state_map
from axnb.text import count

if TYPE_CHECKING:
    from axnb.drills.restore.rehearsing import Rehearsed


def rehearse_bucket(options: RestoreOptions, done: Rehearsed, folder: Path) -> None:
    """Copy the bucket, or judge its copy; find for each conversation the newest consistent cut."""
    looked, settings = done.looked, options.settings
    assert looked is not None
    assert options.snapshots is not None
    environment = settings.environment
    try:
        copy = options.snapshots_backup
        if copy is None:
            with timed(done.phases, "copy bucket"):
                taken = copy_bucket(options.snapshots, private(folder / "copy"), environment)
            copy = taken.locator
        with timed(done.phases, "restore bucket"):
            restored = copy_bucket(copy, private(folder / "restored"), environment)
        before = compare_bucket(options.snapshots, environment)
        itself = compare_bucket(copy, environment)
        beside = compare_bucket(copy, environment, options.snapshots)
    except SourceError as err:
        expected = "the bucket is copied, and the copy restored"
        done.add("complete", "bucket", Check(expected, str(err).rstrip("."), "failed"))
        return
    told = count(restored.objects, "object")
    known, own = ({_told(flaw): flaw for flaw in flaws} for flaws in (before, itself))
    wounds = f", with {count(len(known), 'wound')} that the bucket has itself" if known else ""
    new = [flaw for key, flaw in own.items() if key not in known]
    done.add("consistent", "bucket", consistent.check_bucket(new, f"{told}{wounds}"))
    apart = [flaw for flaw in beside if _told(flaw) not in own]
    done.add("complete", "bucket", consistent.check_bucket_copy(apart, told))
    found = load_state(looked.case, [restored.locator], list(options.records), verify=True)
    done.scope += found.skipped
    calls: dict[str, list[int]] = {}
    for call in looked.calls:
        if call.call_step is not None:
            calls.setdefault(call.conversation_id, []).append(call.call_step)
    source = looked.source.name if looked.source else None
    done.cuts = cuts(looked.case, looked.restored, source, restored.locator, calls)
    is_faithful = not any(flaw.severity == "error" for flaw in (*new, *apart))
    done.add("complete", "cut", complete.check_cut(done.cuts, is_faithful=is_faithful))
    done.add("usable", "snapshots", usable.check_snapshots(done.cuts, state_map(looked.case)))


def _told(flaw: Flaw) -> tuple[str, tuple[str, ...]]:
    """What a flaw says, wherever the bucket lies in which it was seen."""
    return flaw.kind, flaw.evidence
