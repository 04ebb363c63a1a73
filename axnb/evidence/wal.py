"""Does a `-wal` belong to the database beside it?

SQLite applies any WAL whose checksums fit, also one of another day that was left beside a restored
file. What tells them apart: the WAL's own header and salts, the salts in `-shm`, and whether the
two together are a sound database in which no row of the log has vanished.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
import tempfile
from contextlib import closing
from pathlib import Path

from axnb.errors import SourceError, UsageError

_WAL_HEADER = struct.Struct(">8I")
_FRAME_HEADER = struct.Struct(">6I")
_MAGICS = (0x377F0682, 0x377F0683)


def check_wal(copy: Path, choice: str | None, place: str) -> list[str]:
    """Judge the WAL of a private copy, and remove it there if `choice` is `ignore`.

    `choice` is None, `apply` or `ignore`. Returns why the log may be incomplete, a sentence each.
    Raises SourceError if the pair does not fit and no choice was made: which of the two readings is
    right is not axnb's to say.
    """
    if choice not in (None, "apply", "ignore"):
        raise UsageError(f"--wal takes apply or ignore, not {choice!r}.")
    wal = copy.with_name(copy.name + "-wal")
    if not wal.exists() or wal.stat().st_size == 0:
        if not _is_wal_mode(copy):
            return []
        return [
            "The log is in WAL mode and came without its -wal: the newest commits may be missing."
        ]
    problem = _mismatch(copy, wal)
    doubt = None
    if problem is None:
        problem, doubt = _read_both_ways(copy)
    if problem is not None and choice is None:
        raise SourceError(
            f"{place} does not fit the -wal beside it ({problem}): read it with --wal ignore "
            "(the database alone) or --wal apply (both), and compare."
        )
    if choice == "ignore":
        for suffix in ("-wal", "-shm"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    if problem is not None:
        return [f"The log does not fit the -wal beside it ({problem}); read with --wal {choice}."]
    if choice == "ignore":
        return ["The log was read without its -wal (--wal ignore)."]
    return [f"{doubt}."] if doubt is not None else []


def _is_wal_mode(database: Path) -> bool:
    with database.open("rb") as file:
        head = file.read(20)
    return head[18:20] == b"\x02\x02"


def _mismatch(copy: Path, wal: Path) -> str | None:
    """Why the WAL does not belong to the database, or None if nothing speaks against it."""
    with wal.open("rb") as file:
        head = file.read(_WAL_HEADER.size)
        first = file.read(_FRAME_HEADER.size)
    if len(head) < _WAL_HEADER.size:
        return "the -wal is cut off inside its header"
    magic, _, wal_page, _, salt1, salt2, _, _ = _WAL_HEADER.unpack(head)
    if magic not in _MAGICS:
        return "the -wal has no WAL header"
    with copy.open("rb") as file:
        stored = int.from_bytes(file.read(18)[16:18], "big")
    if wal_page != (65536 if stored == 1 else stored):
        return "their page sizes differ"
    if len(first) == _FRAME_HEADER.size:
        _, _, frame_salt1, frame_salt2, _, _ = _FRAME_HEADER.unpack(first)
        if (frame_salt1, frame_salt2) != (salt1, salt2):
            return "the salts of the -wal's header and of its frames differ"
    if _shm_salts_differ(copy, head[16:24]):
        return "the salts in -wal and -shm differ"
    if _is_older(copy, wal, wal_page):
        return "the -wal is older than the database"
    return None


def _is_older(copy: Path, wal: Path, page_size: int) -> bool:
    """Does the WAL end at a change of the database that the file itself has left behind?

    Page 1 counts the changes, at byte 24; the file has the count of the last checkpoint.
    """
    with copy.open("rb") as file:
        stored = int.from_bytes(file.read(28)[24:28], "big")
    newest = None
    with wal.open("rb") as file:
        salts = file.read(_WAL_HEADER.size)[16:24]
        while len(head := file.read(_FRAME_HEADER.size)) == _FRAME_HEADER.size:
            page = file.read(page_size)
            if head[8:16] != salts:
                break
            if head[:4] == b"\x00\x00\x00\x01" and len(page) == page_size:
                newest = int.from_bytes(page[24:28], "big")
    return newest is not None and newest < stored


def _shm_salts_differ(copy: Path, salts: bytes) -> bool:
    """Compare the salts with those in the WAL index, where it holds any."""
    shm = copy.with_name(copy.name + "-shm")
    if not shm.exists():
        return False
    with shm.open("rb") as file:
        head = file.read(48)
    # The header is initialised (byte 12) and names frames (mxFrame, byte 16): salts at byte 32.
    used = len(head) == 48 and head[12] == 1 and any(head[16:20])
    return used and head[32:40] != salts


def _read_both_ways(copy: Path) -> tuple[str | None, str | None]:
    """Read in scratch with the WAL and without: a problem, or a doubt, or neither.

    A log only grows, but for conversations that are deleted: rows that vanish from one that is
    still there are a problem; a whole conversation that vanishes may have been deleted.
    """
    with tempfile.TemporaryDirectory(prefix="axnb-wal-", dir=copy.parent) as folder:
        both, alone = Path(folder, "both.sqlite"), Path(folder, "alone.sqlite")
        for target in (both, alone):
            shutil.copyfile(copy, target)
        shutil.copyfile(copy.with_name(copy.name + "-wal"), both.with_name("both.sqlite-wal"))
        problem, keys = _keys(both)
        alone_problem, alone_keys = _keys(alone)
    if problem is not None:
        what = "both are" if alone_problem else "together they are"
        return f"{what} damaged: {problem}", None
    if alone_problem is not None:
        # The database alone is in the middle of a checkpoint; only the pair can be judged.
        return None, None
    kept = {key[0] for key in keys}
    vanished = alone_keys - keys
    if any(key[0] in kept for key in vanished):
        return f"with it, {len(vanished)} rows of the log vanish or change", None
    if vanished:
        gone = len({key[0] for key in vanished})
        return None, (
            f"With its -wal {gone} conversations of the log are gone: they were deleted, or the "
            "-wal is older than the database; --wal ignore shows them"
        )
    return None, None


def _keys(database: Path) -> tuple[str | None, set[tuple[object, ...]]]:
    """The first integrity problem, and (conversation, step, payload length) of each row."""
    try:
        with closing(sqlite3.connect(database)) as connection:
            connection.text_factory = bytes
            ((answer,),) = connection.execute("pragma integrity_check(1)").fetchall()
            problem = None if answer == b"ok" else answer.decode(errors="replace")
            columns = [
                row[1].decode() for row in connection.execute("pragma table_info(conversation_log)")
            ]
            number = next((name for name in ("step", "seq") if name in columns), None)
            if number is None or "payload" not in columns:
                return problem, set()
            rows = connection.execute(
                f"select conversation_id, {number}, length(payload) from conversation_log"
            )
            return problem, set(rows.fetchall())
    except sqlite3.DatabaseError as err:
        return str(err), set()
