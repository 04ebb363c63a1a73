"""What a user's file or folder is, by its content and never by its name."""

from __future__ import annotations

from pathlib import Path

from axnb.backups.model import Backup, BadBackupError, Kind, bad, digests, files_of, shown_path
from axnb.case.custody import SIDECARS
from axnb.errors import SourceError

_SQLITE = b"SQLite format 3\x00"
_DUMP = b"PGDMP"
_TAR_OF_DUMP = b"toc.dat\x00"
_HEAD = 64 << 10

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}

#: What a plain dump says of itself, or at least does.
_PLAIN = (b"PostgreSQL database dump", b"CREATE TABLE ", b"INSERT INTO ", b"COPY ")


def recognise(path: Path, wal_archive: Path | None = None) -> Backup:
    """What lies at `path`, with the hashes of its files.

    Raises BadBackupError for what is no backup, SourceError for what cannot be read.
    """
    # SQLite keeps its sidecars beside the file itself, not beside a link to it.
    path = path.resolve()
    place = shown_path(path)
    try:
        kind = _of_folder(path) if path.is_dir() else _of_file(path)
    except OSError as err:
        raise SourceError(f"{place} cannot be read: {err.strerror}.") from err
    if wal_archive is not None and kind != "pg-base":
        raise SourceError(f"{place} is no base backup: a WAL archive means nothing to it.")
    if wal_archive is not None and not wal_archive.is_dir():
        raise SourceError(f"{shown_path(wal_archive)} is no folder of WAL segments.")
    return Backup(kind, path, "given", wal_archive, digests(parts(kind, path)))


def parts(kind: Kind, path: Path) -> dict[str, Path]:
    """The files that make up a backup: of SQLite, what lies beside the database belongs to it."""
    if kind != "sqlite":
        return files_of(path)
    beside = [path.with_name(path.name + suffix) for suffix in SIDECARS]
    return {found.name: found for found in beside if found.is_file()}


def _of_file(path: Path) -> Kind:
    place = shown_path(path)
    if not path.is_file():
        raise SourceError(f"{place} is no file or folder that exists.")
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise bad("zero-bytes", f"{place} has 0 bytes: a copy that failed, not an empty log.")
    if head.startswith(_SQLITE):
        return "sqlite"
    if head.startswith((_DUMP, _TAR_OF_DUMP)):
        return "pg-custom"
    if not head.strip(b"\x00"):
        raise bad(
            "zero-filled",
            f"{place} begins with {len(head):,} zero bytes: never written.",
        )
    for magic, program in _PACKED.items():
        if head.startswith(magic):
            raise bad("packed", f"{place} is packed by {program}: unpack it first.")
    if b"PostgreSQL database cluster dump" in head:
        raise bad(
            "whole-cluster",
            f"{place} is a dump of a whole cluster (pg_dumpall): dump the one database.",
        )
    if b"\x00" not in head and any(words in head for words in _PLAIN):
        return "pg-plain"
    raise _no_backup(path)


def _of_folder(path: Path) -> Kind:
    place = shown_path(path)
    if (path / "PG_VERSION").is_file() and (path / "global/pg_control").is_file():
        return "pg-base"
    if (path / "toc.dat").is_file():
        with (path / "toc.dat").open("rb") as file:
            if file.read(len(_DUMP)) == _DUMP:
                return "pg-directory"
    if any(path.glob("base.tar*")):
        raise bad("packed", f"{place} holds a base backup in tar format: unpack it first.")
    if not any(path.iterdir()):
        raise bad("zero-bytes", f"{place} is an empty folder: a copy that failed.")
    raise _no_backup(path)


def _no_backup(path: Path) -> BadBackupError:
    return bad(
        "no-backup",
        f"{shown_path(path)} is no backup that axnb knows: neither a SQLite database nor what "
        "pg_dump or pg_basebackup write.",
    )
