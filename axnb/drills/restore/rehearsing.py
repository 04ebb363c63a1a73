"""One restore from the backup to the first answers of a server, and what each part showed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from axnb import backups
from axnb.backups import Backup, BadBackupError, Flaw, Restored
from axnb.backups.model import timed
from axnb.backups.sources import structure_of_source
from axnb.case.case import Case
from axnb.drills.restore import complete, consistent, usable
from axnb.drills.restore.asking import Served, serve
from axnb.drills.restore.bucket import rehearse_bucket
from axnb.drills.restore.cutting import Cut
from axnb.drills.restore.looking import Looked, look
from axnb.drills.restore.losing import Loss, find_loss
from axnb.drills.restore.options import RestoreOptions
from axnb.drills.restore.seals import seal_of
from axnb.drills.scratch import private
from axnb.drills.steps import Check
from axnb.errors import SourceError
from axnb.runtimes.rehearsing import World
from axnb.text import count
from axnb.triaging import ConversationTriage

Checked = tuple[str, str, Check]
Progress = Callable[[str], None]

#: What a recovery has to do before anybody is answered again; taking a backup and comparing it with
#: its source are the drill's own.
NOT_RTO = frozenset({"take", "compare", "copy bucket"})


@dataclass
class Rehearsed:
    """What a restore showed, as far as it came."""

    checks: list[Checked] = field(default_factory=list)
    backup: Backup | None = None
    looked: Looked | None = None
    loss: Loss | None = None
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    seal: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    scope: list[str] = field(default_factory=list)

    def add(self, word: str, name: str, check: Check | None) -> None:
        """Add a check; None is one that nobody asked for."""
        if check is not None:
            self.checks.append((word, name, check))

    @property
    def rto_seconds(self) -> float | None:
        """Seconds until the restored log was served again; None where it never was."""
        if "first answers" not in self.phases:
            return None
        return round(sum(s for name, s in self.phases.items() if name not in NOT_RTO), 3)


def rehearse(options: RestoreOptions, scratch: Path, progress: Progress) -> Rehearsed:
    """Take or judge a backup, restore it, look at it, and serve it.

    A backup that cannot be restored is what the drill shows, and no error of its own. Raises
    SourceError if the source of a backup that is to be taken cannot be read.
    """
    done = Rehearsed()
    settings = options.settings
    with ExitStack() as stack:
        restored = _restore(options, done, scratch, stack, progress)
        if restored is not None:
            case = stack.enter_context(Case(None, settings))
            progress("reading what was restored")
            _look(options, done, restored, case)
        if restored is not None and done.looked is not None:
            if options.snapshots is not None:
                progress("restoring the snapshots")
                rehearse_bucket(options, done, scratch / "bucket")
            progress("serving what was restored")
            runtime = private(scratch / "runtime")
            world = World(runtime, idempotent=False, keep=options.keep is not None)
            stack.callback(world.close)
            _serve(options, done, world, scratch)
            _keep(options, restored, scratch)
    _add_unreached(done)
    return done


def _keep(options: RestoreOptions, restored: Restored, scratch: Path) -> None:
    """Keep the restored log as its server left it, where it is a file: its own place is emptied."""
    if options.keep is not None and restored.backup.kind == "sqlite":
        shutil.copy(restored.log, scratch / "served.sqlite")


def _restore(
    options: RestoreOptions, done: Rehearsed, scratch: Path, stack: ExitStack, progress: Progress
) -> Restored | None:
    """The restored log, inspected; None where there is none."""
    flaws: list[Flaw] = []
    try:
        with timed(done.phases, "take"):
            progress("taking a backup" if options.backup is None else "judging the backup")
            done.backup = _backup(options, scratch)
        with timed(done.phases, "judge"):
            flaws += _judge(done.backup, options)
        progress("restoring the backup")
        folder = private(scratch / "restored")
        entered = backups.restore(
            done.backup, folder, options.settings, target_time=options.target_time
        )
        restored = stack.enter_context(entered)
        inspected = backups.inspect(restored, options.settings)
    except BadBackupError as err:
        flaws = _named_alone([*flaws, err.flaw], options)
        done.add("consistent", "backup", consistent.check_backup(flaws, ""))
        return None
    done.facts = restored.facts
    for name, seconds in restored.phases.items():
        done.phases[name] = done.phases.get(name, 0.0) + seconds
    size = sum(told["size"] for told in done.backup.files.values())
    flaws = _named_alone([*flaws, *restored.flaws], options)
    looked_at = [
        replace(flaw, sentence=flaw.sentence.replace(restored.log, "the restored log"))
        for flaw in _named_alone(inspected, options)
    ]
    wounds = _wounds(options)
    new = [flaw for flaw in looked_at if (flaw.kind, flaw.evidence) not in wounds]
    done.add(
        "consistent", "backup", consistent.check_backup(flaws, f"{count(size, 'byte')}, whole")
    )
    told = f"as in the source, with {count(len(wounds), 'wound')} of it"
    told = told if wounds else "as AX writes them"
    done.add("consistent", "store", consistent.check_store(new, told))
    done.add("usable", "first-write", consistent.check_first_write(looked_at, "it takes both"))
    return restored


def _wounds(options: RestoreOptions) -> set[tuple[str, tuple[str, ...]]]:
    """What is odd about the source itself: told, and not counted against its backup."""
    if options.source is None:
        return set()
    try:
        found = structure_of_source(options.source, options.settings, live=options.live)
    except SourceError:
        return set()
    return {(flaw.kind, flaw.evidence) for flaw in found}


def _judge(backup: Backup, options: RestoreOptions) -> tuple[Flaw, ...]:
    """What speaks against a backup, beside its source if that can be read.

    Raises BadBackupError for one of something else: there is nothing in it to restore.
    """
    flaws = _judged(backup, options)
    for flaw in flaws:
        if flaw.kind == "wrong-database" and flaw.severity == "error":
            raise BadBackupError(flaw)
    return flaws


def _judged(backup: Backup, options: RestoreOptions) -> tuple[Flaw, ...]:
    told = {"target_time": options.target_time}
    try:
        return backups.judge(backup, options.settings, source=options.source, **told)
    except BadBackupError:
        raise
    except SourceError:
        return backups.judge(backup, options.settings, **told)


def _named_alone(flaws: Iterable[Flaw], options: RestoreOptions) -> list[Flaw]:
    """Flaws in which the backup is called by its name: a result is the same for a copy of it."""
    if options.backup is None:
        return list(flaws)
    place, name = str(options.backup), options.backup.name
    return [replace(flaw, sentence=flaw.sentence.replace(place, name)) for flaw in flaws]


def _backup(options: RestoreOptions, scratch: Path) -> Backup:
    if options.backup is not None:
        return backups.recognise(options.backup, options.wal_archive)
    assert options.source is not None
    folder = private(scratch / "backup")
    return backups.take(options.source, options.how, folder, options.settings, live=options.live)


def _look(options: RestoreOptions, done: Rehearsed, restored: Restored, case: Case) -> None:
    with timed(done.phases, "compare"):
        try:
            done.looked = looked = look(case, restored.log, options)
        except SourceError as err:
            done.add("complete", "rows", Check(_ROWS, str(err).rstrip("."), "failed"))
            return
        done.loss = find_loss(looked)
        done.seal = seal_of(looked.sealed)
    done.add("consistent", "decoded", consistent.check_decoded(looked))
    done.add("consistent", "apart", consistent.check_apart(restored, looked))
    done.add("complete", "rows", complete.check_rows(looked))
    done.add("complete", "seal", complete.check_seal(looked))
    done.add("complete", "loss", complete.check_loss(looked, done.loss, options.rpo_steps))
    done.add("complete", "numbers", complete.check_numbers(done.loss))


def _serve(options: RestoreOptions, done: Rehearsed, world: World, scratch: Path) -> None:
    assert done.looked is not None
    chosen = choose(done.looked.conversations, options.asked)
    left = len(done.looked.conversations) - len(chosen)
    if left:
        done.scope.append(f"{count(left, 'conversation')} of the restored log not asked (--asked).")
    served = serve(done.looked, chosen, world, scratch / "embedded", options.settings)
    done.phases |= served.phases
    done.add("usable", "goes-on", usable.check_goes_on(served))
    interrupted = [c for c in done.looked.conversations if c.state == "interrupted"]
    done.add("usable", "quiet", usable.check_quiet(served, interrupted))
    for number, path in enumerate(options.ax_bin, 1):
        _serve_real(options, done, world, scratch / f"ax-{number}", path)


def _serve_real(
    options: RestoreOptions, done: Rehearsed, world: World, folder: Path, path: Path
) -> None:
    """The same on a real binary, which has the built-in harness alone."""
    from axnb.runtimes.ax.binary import find
    from axnb.runtimes.ax.probing import probe

    assert done.looked is not None
    (found,) = find([path])
    binary = probe(found, world, folder / "probe")
    name = f"real-{path.name}"
    if binary.generation.name != done.looked.generation.name:
        told = f"{path.name} is {binary.generation.label}, and the log is served as "
        told += f"{done.looked.generation.label}: see axnb drill migration."
        served = Served(told=told, is_not_run=True)
        done.add("usable", name, usable.check_goes_on(served))
        return
    if binary.kind == "embedded":
        done.scope.append(f"{path.name} is axnb's own program, and proves no AX binary.")
    own = [c for c in done.looked.conversations if c.harness in (None, "", "antigravity")]
    chosen = choose(own, options.asked)
    served = serve(done.looked, chosen, world, folder, options.settings, binary)
    done.add("usable", name, usable.check_goes_on(served))


def choose(conversations: Sequence[ConversationTriage], most: int) -> list[ConversationTriage]:
    """Which conversations are asked: some of those that go on, and some of those that do not."""
    on = [c for c in conversations if c.state == "finished"]
    off = [c for c in conversations if c.state != "finished"]
    return [*on[:most], *off[:most]]


_ROWS = "each conversation is as in the source, from step 1 to where the backup ends"

#: What is told as not run where the backup could not be restored.
_EXPECTED: Mapping[tuple[str, str], str] = {
    ("consistent", "store"): "tables, keys, storage classes and encodings are as AX writes them",
    ("complete", "rows"): _ROWS,
    ("complete", "loss"): "nothing was written after the backup",
    ("complete", "numbers"): "no number that somebody remembers is handed out again",
    ("usable", "first-write"): "the store takes the next row",
    ("usable", "goes-on"): "each asked conversation does what this version does with it",
}


def _add_unreached(done: Rehearsed) -> None:
    known = {(word, name) for word, name, _ in done.checks}
    why = "nothing was restored"
    for (word, name), expected in _EXPECTED.items():
        if (word, name) not in known:
            done.add(word, name, Check(expected, why, "not-run"))
