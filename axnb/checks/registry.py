"""The registry of checks: every `.sql` file of this folder with its header.

A check is a query over the tables of a case. Its header says what it is; the query returns
(source, conversation_id, step, sentence, witness), where the witness is a list of
(step, digest); of buckets and records also (snapshot, object, actor). `needs: answers` means that
it also reads `answers`, what the asked server does next with each conversation; `needs: witnesses`
that it holds a log against what stands beside it (client transcripts, server logs, expectations,
other logs); `needs: snapshots` that it reads what `axnb.mapping` made of a bucket and of records.
Such a check runs at triage, all others when a source is loaded.
`empty without: compared, rejects or oddities` means that it can find nothing unless `compared` has
rows, and one of the others: to plan it takes longer than to look. The tables that `axnb.mapping`
makes have names there, too. `only with: gaps` means the same of a sign: `signs/answers.sql` looks
for those of checks that need answers, `signs/log.sql` for all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Literal, cast

import duckdb

from axnb.case.case import has_rows, sql_text, statements
from axnb.errors import UsageError

_FIELD = re.compile(r"-- (id|name|severity|needs|empty without|only with): (.+)")


@dataclass(frozen=True)
class Check:
    """A finding class."""

    id: str
    name: str
    severity: Literal["info", "warning", "error"]
    needs: tuple[str, ...]
    #: It finds nothing unless one table of each of these groups has rows.
    empty_without: tuple[tuple[str, ...], ...]
    #: It finds nothing where this is not seen; empty if nothing tells that beforehand.
    sign: str
    explanation: str
    sql: str

    @property
    def signs(self) -> str:
        """The file of `signs` that looks for its sign."""
        return "answers" if "answers" in self.needs else "log"

    def page(self) -> str:
        """What `axnb explain` prints."""
        needs = f"\nNeeds: {', '.join(self.needs)}." if self.needs else ""
        return f"{self.id} {self.name} ({self.severity})\n\n{self.explanation}{needs}\n\n{self.sql}"


@cache
def checks() -> tuple[Check, ...]:
    """All checks, by id."""
    found = [
        _parse(entry.read_text(encoding="utf-8"))
        for entry in files("axnb.checks").iterdir()
        if entry.name.endswith(".sql")
    ]
    return tuple(sorted(found, key=lambda check: check.id))


def catalogue() -> str:
    """All checks as a page of Markdown: `docs/findings.md`, derived from the headers."""
    rooms = {1: "The log", 2: "Tool calls", 3: "Snapshots", 5: "Contexts", 6: "Secrets"}
    lines = [
        "# Findings",
        "",
        "What axnb can find, from the headers of `axnb/checks/`; `axnb explain ID` also prints",
        "the query. A finding has an id, a sentence, and the smallest rows that prove it. An",
        "`error` makes a triage fail; a `warning` and an `info` do not.",
    ]
    room = 0
    for check in checks():
        if int(check.id[2]) != room:
            room = int(check.id[2])
            lines += ["", f"## {rooms[room]}"]
        lines += ["", f"### {check.id} {check.name} ({check.severity})", "", check.explanation]
    return "\n".join(lines) + "\n"


def find_check(text: str) -> Check:
    """The check of an id or a name; UsageError if there is none."""
    for check in checks():
        if text.upper() == check.id or text.lower() == check.name:
            return check
    known = ", ".join(check.id for check in checks())
    raise UsageError(f"there is no finding {text[:80]!r}; axnb knows {known}.")


def _parse(text: str) -> Check:
    fields: dict[str, str] = {}
    explanation: list[str] = []
    lines = text.splitlines()
    body = next(n for n, line in enumerate(lines) if not line.startswith("--"))
    for line in lines[:body]:
        if match := _FIELD.fullmatch(line):
            fields[match.group(1)] = match.group(2)
        else:
            explanation.append(line.removeprefix("--").strip())
    return Check(
        id=fields["id"],
        name=fields["name"],
        severity=cast(Literal["info", "warning", "error"], fields["severity"]),
        needs=_listed(fields.get("needs", "")),
        empty_without=tuple(
            tuple(group.split(" or ")) for group in _listed(fields.get("empty without", ""))
        ),
        sign=fields.get("only with", ""),
        explanation="\n".join(explanation).strip(),
        sql="\n".join(lines[body:]).strip(),
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def run_checks(
    session: duckdb.DuckDBPyConnection,
    wanted: Iterable[Check],
    values: Mapping[str, object] | None = None,
) -> None:
    """Run checks in a session and append what they find to the temp table `found`."""
    session.execute(
        "create or replace temp table found (id varchar, name varchar, severity varchar, "
        "source varchar, conversation_id varchar, step bigint, sentence varchar, "
        "witness struct(step bigint, digest varchar)[], "
        "snapshot varchar, object varchar, actor varchar)"
    )
    is_filled = cache(partial(has_rows, session))
    seen = cache(partial(signs, session))
    for check in wanted:
        if not all(any(map(is_filled, group)) for group in check.empty_without):
            continue
        if check.sign and check.sign not in seen(check.signs):
            continue
        header = {"id": check.id, "name": check.name, "severity": check.severity}
        used = {name: value for name, value in (values or {}).items() if f"${name}" in check.sql}
        (statement,) = statements(
            session,
            "insert into found by name "
            f"select $id as id, $name as name, $severity as severity, * from ({check.sql})",
        )
        session.execute(statement, {**header, **used})


def signs(session: duckdb.DuckDBPyConnection, name: str) -> frozenset[str]:
    """The signs that a case shows, of those that `signs/NAME.sql` looks for."""
    (statement,) = statements(session, sql_text("checks", f"signs/{name}.sql"))
    result = session.execute(statement)
    names = [column[0] for column in result.description or ()]
    (shown,) = result.fetchall()
    return frozenset(sign for sign, is_shown in zip(names, shown, strict=True) if is_shown)
