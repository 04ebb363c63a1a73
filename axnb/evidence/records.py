"""Load exports of the control plane into a case: actors, snapshots, tags, templates and more.

Lists of the control plane are paged and no transaction. So a list can be exported twice, before
and after a bucket is listed: of files that hold the same kind and atespaces, the later one is the
second export.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from axnb.case.case import Case, define_links, run_sql
from axnb.case.sources import source_name
from axnb.errors import SourceError, UnavailableError
from axnb.evidence import record_rows
from axnb.evidence.tables import as_text, insert_rows
from axnb.substrate.comparing import Comparison, compare
from axnb.substrate.records import KINDS, Export, Limits, Record, join, read_export
from axnb.text import count, is_path

_TABLES = (
    *("actors", "templates", "template_containers", "tags", "record_assets", "record_snapshots"),
    *("record_remarks", "record_coverage", "record_duplicates", "sources"),
)

#: What an empty list is a list of, by a word of its file's name: protojson prints nothing of it.
_NAMED = {
    "actor": "actor",
    "actors": "actor",
    "snapshots": "snapshot",
    "snapshot": "snapshot",
    "tags": "tag",
    "tag": "tag",
    "templates": "template",
    "actortemplates": "template",
    "workers": "worker",
    "atespaces": "atespace",
    "sandboxconfigs": "sandbox-config",
    "workerpools": "worker-pool",
}

_FEW = 10


@dataclass
class _File:
    """One file of an export."""

    path: Path
    export: Export
    size: int
    sha256: str
    #: When it was written: no earlier than what it says.
    written: datetime


@dataclass
class _Exports:
    """The files of an export, and of a second one."""

    before: list[_File] = field(default_factory=list)
    after: list[_File] = field(default_factory=list)
    _spaces: dict[str, set[str]] = field(default_factory=dict)

    def add(self, file: _File) -> None:
        """Sort a file in: it belongs to the second export if the first has what it lists."""
        found = _spaces(file.export)
        again = any(
            kind in self._spaces and (not spaces or spaces & self._spaces[kind])
            for kind, spaces in found.items()
        )
        (self.after if again else self.before).append(file)
        for kind, spaces in found.items():
            self._spaces.setdefault(kind, set()).update(spaces)


def _spaces(export: Export) -> dict[str, set[str]]:
    """Kinds that an export lists, and the atespaces or namespaces of their records."""
    found: dict[str, set[str]] = {
        kind: set() for document in export.documents for kind in document.kinds
    }
    names = {known: kind for kind, known in KINDS.items()}
    for record in export.records:
        found.setdefault(names[type(record)], set()).add(record.owner)
    return found


def load_records(case: Case, paths: Sequence[Path], *, everywhere: bool = False) -> str:
    """Load exports and return the name of their source in the case.

    `everywhere` says that they were taken of all atespaces and namespaces (`-A`). Exports that are
    loaded again replace those that were there. Raises SourceError if one cannot be read, or holds
    nothing that is a record; then the case is as it was before.
    """
    exports = _Exports()
    files = [_read(path) for path in paths]
    for file in files:
        exports.add(file)
    first = join([file.export for file in exports.before])
    second = join([file.export for file in exports.after]) if exports.after else None
    found = compare(first, second, everywhere=everywhere)
    written = max((file.written for file in files), default=datetime.now(UTC))
    case.make_room(sum(file.size for file in files), whole=False)
    with case.writing() as session:
        define_links(session)
        source = source_name(session, "records", "records", "records")
        for table in _TABLES:
            session.execute(f"delete from {table} where source = ?", [source])
        _keep(session, source, found, first, second, written)
        _note(session, source, files, first, second)
    return source


def _read(path: Path) -> _File:
    if not is_path(str(path)):
        raise UnavailableError("a path with a NUL in it names no file.")
    limit = Limits().size
    try:
        with path.open("rb") as opened:
            data = opened.read(limit + 1)
            written = os.fstat(opened.fileno()).st_mtime
    except OSError as err:
        raise UnavailableError(f"{path} cannot be read: {err.strerror}.") from err
    export = read_export(data, _asked(path))
    if not export.documents or not (export.records or any(d.kinds for d in export.documents)):
        reason = export.rejects[0].reason if export.rejects else "it holds no list that is known"
        raise SourceError(f"{path} is no export of Substrate's control plane: {reason}.")
    return _File(
        path,
        export,
        len(data),
        hashlib.sha256(data).hexdigest(),
        datetime.fromtimestamp(written, UTC),
    )


def _asked(path: Path) -> str:
    """The kind that a file's name tells, for a list that is empty."""
    words = path.stem.lower().replace("_", "-").split("-")
    return next((_NAMED[word] for word in reversed(words) if word in _NAMED), "")


def _keep(
    session: duckdb.DuckDBPyConnection,
    source: str,
    found: Comparison,
    first: Export,
    second: Export | None,
    written: datetime,
) -> None:
    rows = record_rows.Rows(source, found, written)
    tables: Mapping[str, Iterator[dict[str, Any]]] = {
        "actors": rows.actors(),
        "templates": rows.templates(),
        "template_containers": rows.containers(),
        "tags": rows.tags(),
        "record_assets": rows.assets(),
        "record_snapshots": rows.snapshots(),
        "record_remarks": rows.remarks(),
        "record_coverage": rows.coverage(first, second),
        "record_duplicates": rows.duplicates(first, second),
    }
    for table, made in tables.items():
        insert_rows(session, table, made)


def _note(
    session: duckdb.DuckDBPyConnection,
    source: str,
    files: Sequence[_File],
    first: Export,
    second: Export | None,
) -> None:
    exports = [first, *([second] if second else [])]
    records: list[Record] = [record for export in exports for record in export.records]
    rejects = [reject for export in exports for reject in export.rejects]
    digest = hashlib.sha256("".join(file.sha256 for file in files).encode()).hexdigest()
    told = {f.path.name: {"size": f.size, "sha256": f.sha256} for f in files}
    values = {
        "source": source,
        "kind": "records",
        "locator": "records",
        "read": len(records) + len(rejects),
        "parsed": len(records),
        "rejected": len(rejects),
        "custody": json.dumps({"sha256": digest, "files": told}, sort_keys=True),
        "notes": [as_text(note) for note in _notes(exports)],
        "incomplete": [as_text(s) for file in files for s in _losses(file)],
    }
    run_sql(session, "evidence", "landing/witness_source.sql", values)


def _notes(exports: Sequence[Export]) -> Iterator[str]:
    unknown = sorted({path for export in exports for path in export.unknown})
    if unknown:
        more = f", … {len(unknown) - _FEW:,} more" if len(unknown) > _FEW else ""
        yield f"Records have fields that axnb has no name for: {', '.join(unknown[:_FEW])}{more}."


def _losses(file: _File) -> Iterator[str]:
    """Why a file may hold less than the control plane had."""
    name, export = file.path.name, file.export
    if any(document.cut for document in export.documents):
        yield f"{name} ends too early: records are missing from it; export it again."
    if any(document.more for document in export.documents):
        yield f"{name} holds one page of a list that has more; export it again, whole."
    reasons: dict[str, int] = {}
    for reject in export.rejects:
        reasons[reject.reason] = reasons.get(reject.reason, 0) + 1
    for reason, number in sorted(reasons.items()):
        first = next(r for r in export.rejects if r.reason == reason)
        yield (
            f"{count(number, 'record')} of {name} could not be read ({reason}), the first at "
            f"document {first.place.document}, entry {first.place.index or 0}."
        )
