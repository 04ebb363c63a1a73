"""Which sections a triage asks for, in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import duckdb

from axnb.case.case import Case
from axnb.errors import UsageError
from axnb.plans.changes import NoChangeError, find_change
from axnb.plans.literals import POSTGRES, SQLITE, comment
from axnb.plans.log import MODULUS, TAIL_BYTES, LogRow, read_rows
from axnb.plans.migration import find_migration
from axnb.plans.notes import advice, describe, owner_advice, to_read_back
from axnb.plans.render import as_comment, render
from axnb.plans.section import Plan, Section
from axnb.text import count
from axnb.triaging import ACTIONS, ConversationTriage, SourceTriage, Triage

#: Actions for which the store may have to be changed.
_CHANGES = ("quarantine", "name-owner", "unblock", "read-back-then-unblock")

#: Findings that a migration answers.
_MIGRATED = ("AX141", "AX142")


def plan(case: Case, triage: Triage, ready: Collection[str] = ()) -> Plan:
    """The plan for what a triage advises.

    Of the conversations in `ready` a person has read the calls back: their statements can run as
    they stand, where those of others wait as comments. Raises UsageError if the triage is about
    more than one log: a plan is for one store.
    """
    logs = [source for source in triage.sources if source.is_log]
    if len(logs) != 1:
        raise UsageError("a plan is for one log: name one source.")
    planner = _Planner(triage, logs[0], ready)
    with case.reading() as session:
        sections = tuple(planner.sections(session))
    changing = [section for section in sections if section.statements]
    values = {
        "conversations": any(section.action != "migrate" for section in changing),
        "modulus": MODULUS,
        "tail_bytes": TAIL_BYTES,
    }
    return Plan(
        dialect=planner.dialect.name,
        preface=as_comment(planner.preface(sections)),
        head=render(planner.dialect, "head", **values) if changing else "",
        sections=sections,
    )


class _Planner:
    """Makes the sections of one source."""

    def __init__(self, triage: Triage, source: SourceTriage, ready: Collection[str]) -> None:
        self._triage = triage
        self._ready = ready
        self._source = source
        self._asked = triage.target.generation
        self.dialect = POSTGRES if source.locator.startswith("postgresql://") else SQLITE
        order = {action: number for number, action in enumerate(ACTIONS)}
        self._conversations = sorted(
            (c for c in triage.conversations if c.action != "nothing"),
            key=lambda c: (order[c.action], c.conversation_id),
        )

    def preface(self, sections: Sequence[Section]) -> list[str]:
        """What the plan is for, and how to run and undo it."""
        where, asked = comment(self._source.locator), self._asked.label
        lines = [f"Plan for {where} ({self.dialect.title}), asked as {asked}."]
        if not sections:
            return [*lines, "Nothing to do."]
        changing = [section for section in sections if section.statements]
        waiting = sum(section.waits for section in changing)
        lines.append(
            f"{count(len(changing) - waiting, 'section')} to run, {waiting} to run after a person "
            f"has read calls back, {len(sections) - len(changing)} to read only."
        )
        if not changing:
            return lines
        is_sqlite = self.dialect is SQLITE
        run = "sqlite3 -bail LOG < FILE" if is_sqlite else "psql -v ON_ERROR_STOP=1 -f FILE DSN"
        head = "/^-- head$/,/^-- end of head$/p; " if is_sqlite else ""
        lines += [
            "Stop every AX server on this log and keep a copy of it. Then run it:",
            f"  {run}",
            "A check that fails stops it: the log has moved on, so triage again.",
            "The statements that undo section N:",
            f"  sed -n '{head}s/^--undo N> //p' FILE",
        ]
        if waiting:
            lines += [
                "Those of a section N that waits, once a person has read its calls back:",
                f"  sed -n '{head}s/^--run N> //p' FILE",
            ]
        return lines

    def sections(self, session: duckdb.DuckDBPyConnection) -> Iterator[Section]:
        """The sections in order; a migration stands alone, since it changes every row."""
        foreign = [c for c in self._conversations if _needs_migration(c)]
        rest = [c for c in self._conversations if not _needs_migration(c)]
        if foreign:
            section = self._migration(session, foreign, len(rest))
            yield section
            if section.statements:
                return
        ids = [c.conversation_id for c in rest if c.action in _CHANGES]
        rows = read_rows(session, self._source.name, self._asked, ids) if ids else {}
        for number, c in enumerate(rest, 2 if foreign else 1):
            yield self._conversation(number, c, rows.get(c.conversation_id, []))

    def _migration(
        self, session: duckdb.DuckDBPyConnection, foreign: list[ConversationTriage], others: int
    ) -> Section:
        asked = self._asked.label
        section = Section(
            number=1,
            source=self._source.name,
            conversation_ids=tuple(c.conversation_id for c in foreign),
            action="migrate",
            findings=tuple(sorted({f.id for f in self._triage.findings} & set(_MIGRATED))),
            notes=(f"Send {asked} no request on this log before: it does not read it as it is.",),
        )
        try:
            migration = find_migration(session, self._source, self._asked)
        except NoChangeError as err:
            return replace(section, notes=(*section.notes, f"No migration: {err}"))
        more = f", and {count(others, 'other conversation')} may need something" if others else ""
        notes = (
            f"Writes all {count(migration.rows, 'row')} in the words of {asked} into a new table; "
            "the old one stays as conversation_log_before_migration.",
            *migration.losses,
            *(["Needs SQLite 3.38 or later."] if self.dialect is SQLITE else []),
            f"Triage again afterwards: what was interrupted still is{more}.",
            "When the undo is no longer needed: drop table conversation_log_before_migration.",
        )
        return self._filled(section, notes, "migration", m=migration)

    def _conversation(self, number: int, c: ConversationTriage, rows: list[LogRow]) -> Section:
        target = self._triage.target
        section = Section(
            number=number,
            source=self._source.name,
            conversation_ids=(c.conversation_id,),
            action=c.action,
            findings=c.findings,
            notes=tuple(to_read_back(c)),
        )
        if c.action not in _CHANGES:
            return replace(section, notes=(*section.notes, *advice(c, target)))
        try:
            change = find_change(rows, c.action, target, self.dialect.max_step)
        except NoChangeError as err:
            told = owner_advice(c, target) or [f"No statement helps: {err}"]
            return replace(section, notes=(*section.notes, *told))
        waits = change.terminal is not None and bool(section.notes)
        section = replace(section, waits=waits and c.conversation_id not in self._ready)
        notes = tuple(describe(change, c, target))
        return self._filled(section, notes, "conversation", change=change)

    def _filled(
        self, section: Section, notes: tuple[str, ...], template: str, **values: Any
    ) -> Section:
        """The section with its statements and their undo."""
        values |= {
            "section": section.number,
            "column": self._source.column,
            "schema": self._source.custody.get("schema", ""),
        }
        return replace(
            section,
            notes=(*section.notes, *notes),
            statements=render(self.dialect, template, **values),
            undo=render(self.dialect, f"{template}_undo", **values),
        )


def _needs_migration(c: ConversationTriage) -> bool:
    """Does the asked server look for another column, or for content under other keys?"""
    return c.action == "do-not-touch" and (
        c.next.empty == "wrong-column" or c.next.history in ("lost", "part")
    )
