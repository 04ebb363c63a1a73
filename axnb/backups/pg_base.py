"""A base backup: judged with its WAL, and recovered, maybe to a point in time.

It is recovered in a server of ours on a copy of it. That server has the source's identity, so its
log is dumped and restored once more, into a server that shares nothing with the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from axnb.backups.model import Backup, BadBackupError, Flaw, Restored, timed
from axnb.backups.pg_dumps import restore_dump
from axnb.backups.pg_recover import RecoveredPostgres
from axnb.backups.pg_take import dump
from axnb.backups.pg_wal import Control
from axnb.backups.pg_wal_judge import judge_wal, read_wal, stopped_early
from axnb.backups.programs import bare_environment, program, run
from axnb.errors import UsageError
from axnb.settings import Settings
from axnb.text import count, cut_middle, safe

_FEW = 5

#: Without these a rehearsal here is impossible; the backup itself may be good.
_NOT_HERE = ("needs-server", "links")


def judge_base(
    backup: Backup, settings: Settings, target_time: str | None = None
) -> tuple[Flaw, ...]:
    """What speaks against a base backup and its WAL. A gap behind `target_time` does not count:
    whether that lies before it, a recovery shows."""
    return tuple(_judged(backup, settings, target_time))


def _judged(backup: Backup, settings: Settings, target_time: str | None) -> Iterator[Flaw]:
    if any(path.is_symlink() for path in backup.path.rglob("*")):
        yield Flaw(
            "links",
            "doubt",
            f"{backup.place} holds links (tablespaces, or pg_wal elsewhere), which lead out of the "
            "backup and are not followed: axnb cannot rehearse it.",
        )
        return
    if flaw := _of_version(backup):
        yield flaw
        return
    control = _control(backup)
    if control is None:
        yield Flaw("damaged", "error", f"{backup.place} has a pg_control that cannot be read.")
        return
    yield from _of_manifest(backup, settings)
    if any(backup.path.rglob("INCREMENTAL.*")):
        yield Flaw(
            "incremental",
            "error",
            f"{backup.place} is an incremental backup, and nothing without those before it: put "
            "them together by pg_combinebackup.",
        )
    if (target := _target(target_time)) and control.time and target < control.time:
        yield Flaw(
            "target-outside",
            "error",
            f"the target time lies before {backup.place} was begun "
            f"({control.time:%Y-%m-%d %H:%M:%S} UTC): take an older base backup.",
        )
    wal = read_wal(backup, control)
    if wal is not None:
        yield from judge_wal(backup, wal, target_time)
    elif not control.is_shut_down:
        yield Flaw(
            "no-backup-label",
            "error",
            f"{backup.place} has no backup_label, and its server ran when it was copied: the files "
            "are of different moments.",
        )


def _of_version(backup: Backup) -> Flaw | None:
    major = (backup.path / "PG_VERSION").read_text(encoding="ascii", errors="replace").strip()
    _, said = run([program("postgres"), "--version"], environment=bare_environment(), seconds=60)
    ours = re.search(r"(\d+)(?:\.\d+|\w+)", said)
    if ours and major == ours[1]:
        return None
    return Flaw(
        "needs-server",
        "doubt",
        f"{backup.place} is of PostgreSQL {safe(major)[:10]}, and the programs here are of "
        f"{ours[1] if ours else 'another version'}: put those of its version first on PATH.",
    )


def _control(backup: Backup) -> Control | None:
    code, said = run(
        [program("pg_controldata"), str(backup.path.resolve())],
        environment=bare_environment(),
        seconds=60,
    )
    values = dict(re.findall(r"^([^:\n]+):\s+(.*)$", said, re.MULTILINE))
    size = values.get("Bytes per WAL segment", "")
    if code or "WARNING" in said or not size.isdigit() or int(size) < 1 << 20:
        return None
    state = values.get("Database cluster state", "")
    return Control(
        values.get("Database system identifier", ""),
        state.startswith("shut down"),
        int(size),
        _time(values.get("Time of latest checkpoint", "")),
    )


def _time(text: str) -> datetime | None:
    """A time as the C library writes it where LC_ALL is C and TZ is UTC."""
    try:
        return datetime.strptime(text, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _of_manifest(backup: Backup, settings: Settings) -> Iterator[Flaw]:
    if not (backup.path / "backup_manifest").is_file():
        yield Flaw(
            "no-manifest",
            "doubt",
            f"{backup.place} has no backup_manifest: damage of its files cannot be seen.",
        )
        return
    code, said = run(
        [program("pg_verifybackup"), "--no-parse-wal", "--quiet", str(backup.path.resolve())],
        environment=bare_environment(),
        seconds=settings.statement_timeout,
    )
    if code:
        names = list(dict.fromkeys(re.findall(r'"([^"\n]+)"', said)))
        yield Flaw(
            "damaged",
            "error",
            f"{backup.place} is not what its manifest says: {count(len(names), 'file')} missing, "
            "changed or added.",
            tuple(cut_middle(safe(name), 100) for name in names[:_FEW]),
        )


# --- the restore ---------------------------------------------------------------------------------


@contextmanager
def restore_base(
    backup: Backup,
    folder: Path,
    settings: Settings,
    *,
    target_time: str | None = None,
    database: str | None = None,
) -> Iterator[Restored]:
    """Recover a base backup, and restore its log into a fresh server; see the module.

    `database` holds the log, where more than one does; of a backup of ours it is known.

    Raises BadBackupError for what cannot be recovered, or not to `target_time`.
    """
    target = _target(target_time)
    database = database or backup.source.get("database")
    if target is not None and backup.wal_archive is None:
        raise UsageError("a point in time needs the WAL archive of the base backup.")
    phases: dict[str, float] = {}
    with timed(phases, "judge"):
        for flaw in judge_base(backup, settings, target_time):
            if flaw.severity == "error" or flaw.kind in _NOT_HERE:
                raise BadBackupError(flaw)
    dumped = folder / "recovered.dump"
    try:
        with (
            timed(phases, "recover"),
            _told(backup, settings),
            RecoveredPostgres(backup, target, settings) as server,
        ):
            if target is None and (stopped := _stopped(backup, server)):
                raise BadBackupError(stopped)
            database, schema, tables = server.find_log(database)
            facts, flaws = server.facts(database)
            with timed(phases, "dump"):
                dsn = server.dsn(database)
                place = f"the recovered {backup.place}"
                dump(dsn, place, dumped, "custom", (schema, tables), settings)
        phases["recover"] -= phases["dump"]
        logical = Backup("pg-custom", dumped, f"recovered, {backup.how}")
        with ExitStack() as stack:
            with _as_doubt(backup):
                restored = stack.enter_context(restore_dump(logical, settings, phases))
            named = {f"recovered_{name}": value for name, value in facts.items()}
            yield replace(
                restored,
                backup=backup,
                facts={**restored.facts, **named},
                flaws=(*flaws, *restored.flaws),
            )
    finally:
        dumped.unlink(missing_ok=True)


def _stopped(backup: Backup, server: RecoveredPostgres) -> Flaw | None:
    """Did the recovery end before the WAL that is at hand?"""
    control = _control(backup)
    wal = None if control is None else read_wal(backup, control)
    return None if wal is None else stopped_early(backup, wal, server.redo_end())


@contextmanager
def _as_doubt(backup: Backup) -> Iterator[None]:
    """What was recovered is sound, also where AX's tables alone do not make a database."""
    try:
        yield
    except BadBackupError as err:
        sentence = f"{backup.place} was recovered, but its log alone cannot be restored again: "
        told = replace(err.flaw, severity="doubt", sentence=f"{sentence}{err.flaw.sentence}")
        raise BadBackupError(told) from err


@contextmanager
def _told(backup: Backup, settings: Settings) -> Iterator[None]:
    """Tell with a target that was not reached why the WAL ends where it does, if it has a gap."""
    try:
        yield
    except BadBackupError as err:
        if err.flaw.kind == "target-outside":
            found = judge_base(backup, settings)
            gaps = [flaw for flaw in found if flaw.kind in ("wal-gap", "wal-damaged")]
            told = " ".join([err.flaw.sentence, *(gap.sentence for gap in gaps)])
            evidence = tuple(line for gap in gaps for line in gap.evidence)
            raise BadBackupError(replace(err.flaw, sentence=told, evidence=evidence)) from err
        raise


def _target(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        target = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError("the target time is no time such as 2026-11-30T21:00:00Z.") from None
    if target.tzinfo is None:
        raise UsageError("the target time has no zone: write 2026-11-30T21:00:00Z.")
    return target
