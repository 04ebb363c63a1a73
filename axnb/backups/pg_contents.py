"""What a dump says that it holds, and whether it is whole; no server is needed for it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from axnb.backups.model import Backup, BadBackupError, Flaw
from axnb.backups.pg_script import COMPLETE
from axnb.backups.programs import program, run
from axnb.evidence.layout import EXECUTION_TABLE, LOG_TABLE
from axnb.settings import Settings

_TAIL = 4096
_LINE = 1000
_MOST = 100

_NAME = r'("(?:[^"]|"")+"|[A-Za-z_][A-Za-z0-9_$]*)'
_TABLE = re.compile(
    rf"CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(?:{_NAME}\.)?{_NAME} ".encode()
)
_ROWS = re.compile(rf"(?:COPY|INSERT INTO) (?:{_NAME}\.)?{_NAME} ".encode())
_SCHEMA = re.compile(rf"CREATE SCHEMA {_NAME};".encode())
#: Whom a plain dump names; what is found too much is only a role that may nothing.
_ROLE = re.compile(rf"\b(?:OWNER TO|TO|FROM) {_NAME}(?:;| WITH GRANT)".encode())

_LOGS = f"({LOG_TABLE}|{EXECUTION_TABLE})"
#: A line of a table of contents. Names are not quoted in it, and may hold spaces.
_ENTRY = re.compile(rf"\d+; \d+ \d+ (TABLE DATA|TABLE) (.+?) {_LOGS} ")
_SCHEMA_ENTRY = re.compile(r"\d+; \d+ \d+ SCHEMA - (.+)")


@dataclass
class Contents:
    """Of AX's tables: schema and name, and those that it has rows of; schemas that it creates, and
    roles that it names."""

    tables: set[tuple[str, str]] = field(default_factory=set)
    filled: set[tuple[str, str]] = field(default_factory=set)
    schemas: set[str] = field(default_factory=set)
    roles: list[str] = field(default_factory=list)
    #: Rows of a partitioned table are those of other tables.
    has_partitions: bool = False

    @property
    def needed_schemas(self) -> list[str]:
        """Schemas of AX's tables that it does not create, as dumps of single tables do not."""
        return sorted({schema for schema, _ in self.tables} - self.schemas - {"", "public"})


def contents_of(backup: Backup, settings: Settings) -> Contents:
    """What a dump says that it holds. Raises BadBackupError where that cannot be read."""
    if backup.kind == "pg-plain":
        return _of_plain(backup.path)
    code, said = _pg_restore(backup, settings, "--list")
    if code:
        raise BadBackupError(unreadable(backup, said))
    found = Contents(has_partitions=" TABLE ATTACH " in said)
    created = []
    for line in said.splitlines():
        if entry := _ENTRY.match(line):
            kind, schema, name = entry.groups()
            (found.filled if kind == "TABLE DATA" else found.tables).add((schema, name))
        elif entry := _SCHEMA_ENTRY.match(line):
            created.append(entry[1])
    used = {schema for schema, _ in found.tables}
    # Its owner stands behind a schema's name.
    found.schemas = {name for name in used if any(f"{c} ".startswith(f"{name} ") for c in created)}
    return found


def _of_plain(path: Path) -> Contents:
    """From lines that look like statements; one inside a text would say too much, never too
    little."""
    found = Contents()
    roles: dict[str, None] = {}
    with path.open("rb") as file:
        for whole in file:
            line = whole[:_LINE]
            if line.startswith((b"COPY ", b"INSERT INTO ")):
                _add(found.filled, _ROWS.match(line))
            elif line.startswith(b"CREATE "):
                if table := _TABLE.match(line):
                    _add(found.tables, table)
                elif schema := _SCHEMA.match(line):
                    found.schemas.add(_unquoted(schema[1]))
            elif line.startswith((b"ALTER ", b"GRANT ", b"REVOKE ")):
                roles |= dict.fromkeys(map(_unquoted, _ROLE.findall(line)))
                found.has_partitions |= b" ATTACH PARTITION " in line
    found.roles = [name for name in roles if name.lower() != "public"][:_MOST]
    return found


def _add(tables: set[tuple[str, str]], found: re.Match[bytes] | None) -> None:
    if found and (name := _unquoted(found[2])) in (LOG_TABLE, EXECUTION_TABLE):
        tables.add((_unquoted(found[1]), name))


def _unquoted(name: bytes | None) -> str:
    text = (name or b"").decode(errors="replace")
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def judge_dump(backup: Backup, settings: Settings) -> tuple[Flaw, ...]:
    """What speaks against a dump, without a server; an archive is read to its end."""
    try:
        flaws = list(_of_contents(backup, contents_of(backup, settings)))
    except BadBackupError as err:
        return (err.flaw,)
    if backup.kind == "pg-plain":
        with backup.path.open("rb") as file:
            file.seek(max(0, backup.path.stat().st_size - _TAIL), os.SEEK_SET)
            if COMPLETE not in file.read():
                flaws.append(cut_off(backup))
        return tuple(flaws)
    code, said = _pg_restore(backup, settings, "--file=/dev/null")
    return (*flaws, unreadable(backup, said)) if code else tuple(flaws)


def _of_contents(backup: Backup, found: Contents) -> Iterator[Flaw]:
    if LOG_TABLE not in {name for _, name in found.tables}:
        yield Flaw(
            "wrong-database",
            "error",
            f"{backup.place} creates no table {LOG_TABLE}: it is a dump of another database.",
        )
    elif not found.has_partitions and LOG_TABLE not in {name for _, name in found.filled}:
        yield Flaw(
            "no-data",
            "error",
            f"{backup.place} creates {LOG_TABLE} and holds no rows for it, as with --schema-only.",
        )


def cut_off(backup: Backup) -> Flaw:
    """The flaw of a script without its last line."""
    return Flaw(
        "truncated", "error", f"{backup.place} is cut off: pg_dump's last line is not there."
    )


def unreadable(backup: Backup, said: str) -> Flaw:
    """The flaw of an archive that pg_restore cannot read."""
    if re.search(r"unsupported version|not supported|does not support", said):
        return Flaw(
            "needs-server",
            "doubt",
            f"{backup.place} was written by a newer pg_dump, or packed in a way, that the programs "
            "here do not know.",
        )
    cut = re.search(r"end of file|could not read|No such file|could not open", said)
    kind, words = ("truncated", "cut off") if cut else ("damaged", "damaged")
    return Flaw(kind, "error", f"{backup.place} is {words}: pg_restore cannot read it to its end.")


def _pg_restore(backup: Backup, settings: Settings, word: str) -> tuple[int, str]:
    return run(
        [program("pg_restore"), word, str(backup.path.resolve())],
        environment=dict(os.environ) | {"LC_ALL": "C"},
        seconds=settings.statement_timeout,
    )
