"""What a migrator's own table says of the schema that a log lies in.

AX keeps no version of its log, but others keep theirs beside it: goose in `goose_db_version`,
golang-migrate in `schema_migrations`. What a table holds is told by its columns and never by these;
a schema that is marked as dirty was left in the middle of a change, and nobody knows where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: A migrator's table -> the columns by which it is known.
MIGRATORS: Mapping[str, frozenset[str]] = {
    "goose_db_version": frozenset({"version_id", "is_applied"}),
    "schema_migrations": frozenset({"version", "dirty"}),
}

_VERSION = {
    "goose_db_version": "select max(version_id), false from {table} where is_applied",
    "schema_migrations": "select max(version), max(case when dirty then 1 else 0 end) from {table}",
}


@dataclass(frozen=True)
class Told:
    """What a reader hands on: notes, and why the log may be incomplete."""

    notes: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()


def told_versions(
    tables: Mapping[str, Sequence[str]],
    place: str,
    query: Callable[[str], Sequence[Sequence[Any]]],
    qualified: Callable[[str], str] = str,
) -> Told:
    """Read the migrators' tables among `tables` (name -> columns) of one schema, called `place`.

    `query` runs a statement, `qualified` names a table in it.
    """
    notes, incomplete = [], []
    for name, columns in MIGRATORS.items():
        if not columns <= set(tables.get(name, ())):
            continue
        ((version, dirty),) = query(_VERSION[name].format(table=qualified(name)))
        if version is not None:
            notes.append(
                f"{name} of {place} says version {version}: another program's word; axnb goes by "
                "the columns of the tables."
            )
        if dirty:
            incomplete.append(
                f"{name} of {place} is marked dirty: a migration broke off there, and nobody knows "
                "what it had done."
            )
    return Told(tuple(notes), tuple(incomplete))
