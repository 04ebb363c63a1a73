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
from dataclasses import dataclass, field
from pathlib import Path

from axnb.errors import SourceError, UsageError

_WAL_HEADER = struct.Struct(">8I")
_FRAME_HEADER = struct.Struct(">6I")
_MAGICS = (0x377F0682, 0x377F0683)


@dataclass
class WalVerdict:
    """What was found, as sentences: notes, and reasons why the log may be incomplete."""

    notes: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)


def check_wal(copy: Path, choice: str | None, place: str) -> WalVerdict:
    """Judge the WAL of a private copy, and remove it there if `choice` is `ignore`.

    `choice` is None, `apply` or `ignore`. Raises SourceError if the pair does not fit and no choice
    was made: which of the two readings is right is not axnb's to say.
    """
    if choice not in (None, "apply", "ignore"):
        raise UsageError(f"--wal takes apply or ignore, not {choice!r}.")
    verdict = WalVerdict()
    wal = copy.with_name(copy.name + "-wal")
    if not wal.exists() or wal.stat().st_size == 0:
        if _is_wal_mode(copy):
            verdict.incomplete.append(
                f"{place} is in WAL mode and came without its -wal: the newest commits may be "
                "missing."
            )
        return verdict
    problem = _mismatch(copy, wal)
    if problem is None:
        return verdict
    if choice is None:
        raise SourceError(
            f"{place} does not fit the -wal beside it ({problem}): read it with --wal ignore "
            "(the database alone) or --wal apply (both), and compare."
        )
    verdict.incomplete.append(
        f"{place} does not fit the -wal beside it ({problem}); it was read with --wal {choice}."
    )
    if choice == "ignore":
        for suffix in ("-wal", "-shm"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    return verdict


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
    return _combination_problem(copy)


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


def _combination_problem(copy: Path) -> str | None:
    """Read both ways in scratch: does the pair break what the database alone keeps whole?"""
    with tempfile.TemporaryDirectory(prefix="axnb-wal-", dir=copy.parent) as folder:
        both, alone = Path(folder, "both.sqlite"), Path(folder, "alone.sqlite")
        for target in (both, alone):
            shutil.copyfile(copy, target)
        shutil.copyfile(copy.with_name(copy.name + "-wal"), both.with_name("both.sqlite-wal"))
        problem, keys = _keys(both)
        alone_problem, alone_keys = _keys(alone)
    if problem and not alone_problem:
        return f"together they are damaged: {problem}"
    if alone_problem:
        # The database alone is in the middle of a checkpoint; only the pair can be judged.
        return f"both are damaged: {problem}" if problem else None
    kept = {key for key, *_ in keys}
    vanished = [key for key in alone_keys - keys if key[0] in kept]
    if vanished:
        return f"with it, {len(vanished)} rows of the log vanish or change"
    return None


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
