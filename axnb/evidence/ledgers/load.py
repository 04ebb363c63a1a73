"""Load the ledger of a tool system into a case: all of it or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from axnb.case.case import Case, run_sql
from axnb.case.sources import source_name
from axnb.errors import SourceError, UnavailableError, UsageError
from axnb.evidence.ledgers.records import Entry, LedgerReader
from axnb.evidence.lines import LineError, RejectedLines
from axnb.evidence.locators import PostgresLocator, locate
from axnb.settings import Settings
from axnb.settings_ledgers import LedgerSettings, is_ledger_name
from axnb.text import count, is_path

_BATCH = 20_000

_EFFECTS = pa.schema(
    [
        ("source", pa.string()),
        ("row", pa.int64()),
        ("tool", pa.string()),
        ("operation_id", pa.string()),
        ("conversation_id", pa.string()),
        ("status", pa.string()),
        ("state", pa.string()),
        ("happened_at", pa.timestamp("us")),
        ("reverses", pa.string()),
        ("business", pa.string()),
        ("compared", pa.list_(pa.string())),
        ("digest", pa.binary()),
    ]
)

#: Seconds since 1970, or thousandths, millionths and billionths of them: told apart by their size.
_EPOCH = re.compile(r"(\d{10}|\d{13}|\d{16}|\d{19})(?:\.(\d+))?")
_WHOLE = re.compile(r"-?[0-9]{1,15}\.0")
#: How Go writes a zone behind a time.
_GO_ZONE = re.compile(r" ([+-]\d{4})(?: [A-Z]{1,5})?$")


@dataclass(frozen=True)
class Ledger:
    """A ledger as a user names it: NAME=PLACE."""

    name: str
    place: str

    @classmethod
    def parse(cls, text: str) -> Ledger:
        """Raises UsageError; what may hold a password is not repeated."""
        name, equals, place = text.partition("=")
        if not equals or not place or not is_ledger_name(name):
            raise UsageError(
                "--effects takes NAME=PLACE, where NAME is of letters, digits, '.', '_' and '-', "
                "and PLACE a file or a PostgreSQL address."
            )
        return cls(name, place)


def load_ledger(case: Case, ledger: Ledger) -> str:
    """Load one ledger and return the name of its source in the case.

    One that is loaded again replaces what was there. Raises SourceError if it cannot be read or
    holds no entry that can be used; then the case is as it was before.
    """
    said = case.settings.ledgers.get(ledger.name, LedgerSettings())
    with _opened(ledger, said, case.settings) as reader, case.writing() as session:
        case.make_room(reader.size(), whole=False)
        source = _source(session, ledger.name)
        for table in ("effects", "ledgers", "sources"):
            session.execute(f"delete from {table} where source = ?", [source])
        _Load(session, reader, said, source).run(ledger)
    return source


def _source(session: duckdb.DuckDBPyConnection, name: str) -> str:
    """A ledger is what it is called: two may lie in one file."""
    if session.execute(
        "select 1 from sources where source = ? and kind <> 'ledger'", [name]
    ).fetchall():
        return source_name(session, "ledger", name, name)
    return name


def _opened(ledger: Ledger, said: LedgerSettings, settings: Settings) -> LedgerReader:
    """The reader for a place: by what a file holds, whatever it is called."""
    from axnb.evidence.ledgers import tables, texts

    place, needed = ledger.place, said.column("operation_id")
    if not is_path(place) or not os.path.exists(place):
        located = locate(place, settings.environment).log
        if isinstance(located, PostgresLocator):
            return tables.PostgresLedger(located, said.table, needed, settings.statement_timeout)
        place = str(located.path)
    path = Path(place)
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as err:
        raise UnavailableError(f"{path} cannot be read: {err.strerror}.") from err
    if head.startswith(b"SQLite format 3\0"):
        return tables.SqliteLedger(path, said.table, needed, settings.scratch)
    if head.startswith(b"PAR1"):
        return tables.ParquetFile(path)
    return texts.JsonLines(path) if texts.is_json(head) else texts.CsvFile(path)


class _Load:
    """One load: what its steps share."""

    def __init__(
        self,
        session: duckdb.DuckDBPyConnection,
        reader: LedgerReader,
        said: LedgerSettings,
        source: str,
    ) -> None:
        self._session, self._reader, self._said, self._source = session, reader, said, source
        self._rejected = RejectedLines()
        self._notes: Counter[str] = Counter()
        self._unclear: Counter[str] = Counter()
        self._tools: set[str] = set()
        self._seen: set[str] = set()
        self._parsed = 0

    def run(self, ledger: Ledger) -> None:
        theirs = {ours: self._said.column(ours) for ours in _OURS}
        wanted = list(dict.fromkeys((*theirs.values(), *self._said.kept())))
        self._refuse_missing(ledger, theirs["operation_id"])
        rows = self._rows(theirs, wanted)
        while batch := list(islice(rows, _BATCH)):
            self._session.register("incoming", pa.Table.from_pylist(batch, schema=_EFFECTS))
            self._session.execute("insert into effects by name select * from incoming")
            self._session.unregister("incoming")
            self._parsed += len(batch)
        if self._parsed and "operation_id" not in self._seen:
            raise SourceError(
                f"{self._reader.locator} has no entry with an operation id: say in axnb.toml, "
                f"under effects.{ledger.name}, what its columns are called."
            )
        if not self._parsed:
            why = ": it is empty" if not self._rejected.count else ""
            raise SourceError(f"{self._reader.locator} holds no entry of a ledger{why}.")
        self._keep(wanted)

    def _refuse_missing(self, ledger: Ledger, operation_id: str) -> None:
        """A ledger by another's names would be one without any operation."""
        columns = self._reader.columns
        for name in (operation_id, *self._said.kept()):
            if columns and name not in columns:
                raise SourceError(
                    f"{self._reader.locator} has no column {name[:80]}: say in axnb.toml, under "
                    f"effects.{ledger.name}, what its columns are called."
                )

    def _rows(self, theirs: Mapping[str, str], wanted: list[str]) -> Iterator[dict[str, Any]]:
        for number, entry in self._reader.entries(wanted):
            if isinstance(entry, LineError):
                self._rejected.add(number, entry)
                continue
            found = {ours: entry.get(name) or None for ours, name in theirs.items()}
            found |= {ours: _key(found[ours]) for ours in ("operation_id", "reverses", "tool")}
            if not any(value is not None for value in found.values()):
                self._rejected.add(number, LineError("none of the columns of a ledger"))
                continue
            yield {"source": self._source, "row": number, **self._effect(found, entry)}

    def _effect(self, found: dict[str, str | None], entry: Entry) -> dict[str, Any]:
        said = self._said
        kept = {name: entry.get(name) for name in said.kept()}
        status, told = found["status"], found.pop("time")
        found["tool"] = found["tool"] or said.tool
        state = said.state(status)
        if state == "unclear":
            self._unclear[str(status)] += 1
        if found["tool"] is not None:
            self._tools.add(found["tool"])
        self._seen.update(name for name in _OURS if (told if name == "time" else found[name]))
        texts = json.dumps([*found.values(), told, *kept.items()]).encode()
        return {
            **found,
            "state": state,
            "happened_at": self._moment(told),
            "business": self._business(kept),
            "compared": [kept[name] for name in sorted(said.arguments)],
            "digest": hashlib.sha256(texts).digest(),
        }

    def _business(self, kept: Entry) -> str | None:
        values = [kept[name] for name in self._said.business_key]
        return json.dumps(values) if values and None not in values else None

    def _moment(self, told: str | None) -> datetime | None:
        if told is None:
            return None
        found = moment(told)
        if found is None:
            self._notes["a time that cannot be read"] += 1
            return None
        if found.tzinfo is None:
            if self._said.zone is None:
                self._notes["a time without a zone, taken for UTC"] += 1
            found = found.replace(tzinfo=self._said.zone or UTC)
        try:
            return found.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            self._notes["a time that cannot be read"] += 1
            return None

    def _keep(self, wanted: list[str]) -> None:
        said, rejected = self._said, self._rejected
        custody = self._reader.custody()
        values = {
            "source": self._source,
            "kind": "ledger",
            "locator": self._reader.locator,
            "read": self._parsed + rejected.count,
            "parsed": self._parsed,
            "rejected": rejected.count,
            "custody": json.dumps(custody, sort_keys=True),
            "notes": self._sentences(wanted),
            "incomplete": rejected.sentences(self._source, foreign=False),
            "tools": sorted({*self._tools, *said.tools}),
            "covers_from": _naive(said.covers_from),
            "covers_to": _naive(said.covers_to),
            "lag": said.lag,
            "has_conversation": "conversation_id" in self._seen,
            "has_time": "time" in self._seen,
            "compared": sorted(said.arguments),
            "paths": [said.arguments[name] for name in sorted(said.arguments)],
            "has_business_key": bool(said.business_key),
        }
        run_sql(self._session, "evidence", "landing/witness_source.sql", values)
        run_sql(self._session, "evidence", "landing/ledger.sql", values)

    def _sentences(self, wanted: list[str]) -> list[str]:
        """What a reader must know; a status that nobody has explained is a stranger's word."""
        found = [f"{_entries(number)} with {what}." for what, number in self._notes.items()]
        if self._unclear:
            entries = _entries(sum(self._unclear.values()))
            words = count(len(self._unclear), "status", "statuses")
            found.append(
                f"{entries} of {words} that nobody has explained: say in axnb.toml what they mean."
            )
        for name in self._reader.inexact(wanted):
            found.append(f"The ledger keeps {name} as a floating-point number: digits may be lost.")
        return found


_OURS = ("tool", "operation_id", "conversation_id", "status", "reverses", "time")


def moment(told: str) -> datetime | None:
    """A time as ledgers write it: ISO 8601, or the time since 1970; None for anything else.

    A day alone is no moment, and neither are digits that may be the one or the other.
    """
    text = told.strip()
    found = _EPOCH.fullmatch(text)
    try:
        if found is None:
            return datetime.fromisoformat(_GO_ZONE.sub(r"\1", text)) if ":" in text else None
        whole, fraction = found[1], (found[2] or "").ljust(6, "0")[:6]
        seconds, micros = divmod(int(whole + fraction) // 10 ** (len(whole) - 10), 10**6)
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros)
    except (ValueError, OverflowError, OSError):
        return None


def _key(text: str | None) -> str | None:
    """A name or an id without space around it; a whole number that was kept as a float is whole.

    Calls are asked by the same (`drills/reconciliation/pairs.sql`).
    """
    text = (text or "").strip(" ")
    return (text[:-2] if _WHOLE.fullmatch(text) else text) or None


def _entries(number: int) -> str:
    return count(number, "entry", "entries")


def _naive(at: datetime | None) -> datetime | None:
    return None if at is None else at.replace(tzinfo=None)
