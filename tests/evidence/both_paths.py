"""Load a log and compare what the fast path says of each row with what the careful path says."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from axnb.ax import rows
from axnb.ax.json_text import Members, Number, PayloadError, dump, parse
from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case, run_sql
from axnb.evidence import careful
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate

from .odd_rows import Cast, Column, Written

#: What each generation takes for a configuration under `harness_config`.
_CONFIG_KINDS = {"G3": "none", "G4": "text", "G8": "none"}
_PARTS = 'select "row", kind, "role", call_id, tool, is_error, "text", arguments, result from parts'


@dataclass(frozen=True)
class Difference:
    """One thing that the two paths do not agree on."""

    what: str
    fast: Any
    careful: Any
    payload: str

    def __str__(self) -> str:
        return (
            f"{self.what}: the fast path says {self.fast!r}, the careful path {self.careful!r}\n"
            f"    {self.payload!r}"
        )


@dataclass(frozen=True)
class Loaded:
    """What a load gave: the routes it took, and where its paths disagree."""

    read: int
    parsed: int
    rejected: int
    fast: int
    differences: tuple[Difference, ...]


def write_log(path: Path, column: Column, written: Sequence[Written]) -> None:
    """Write rows into a new log. AX's own table has a key, which some of the odd rows break."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            f"create table conversation_log (conversation_id TEXT, {column} INTEGER, payload TEXT)"
        )
        database.executemany(
            # A text that is no UTF-8 gets into a column of text by a cast only.
            "insert into conversation_log values "
            "(?1, ?2, case when ?4 then cast(?3 as text) else ?3 end)",
            [(w.conversation_id, w.step, w.payload, isinstance(w.payload, Cast)) for w in written],
        )
        database.commit()


def load(path: Path, column: Column) -> Loaded:
    """Load a log and compare its fast rows with the careful path."""
    with Case() as case:
        load_log(case, locate(str(path), {}).log)
        read, parsed, rejected = case.rows("select read, parsed, rejected from sources")[0]
        fast = _fast_events(case)
        parts: dict[int, list[tuple[Any, ...]]] = {}
        for number, *part in case.rows(f'{_PARTS} order by "row", part'):
            parts.setdefault(number, []).append(tuple(part))
        found: list[Difference] = []
        readings = _readings(case)
        once = "select conversation_id from conversations where rows_read = 1"
        alone = {conversation_id for (conversation_id,) in case.rows(once)}
        for event in fast:
            found += _compare(event, parts.get(event["row"], []), column)
            if event["conversation_id"] in alone:
                found += _compare_readings(event, readings)
    return Loaded(read, parsed, rejected, len(fast), tuple(found))


def _fast_events(case: Case) -> list[dict[str, Any]]:
    with case.reading() as session:
        found = session.execute("select * from events where route = 'fast' order by \"row\"")
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, values, strict=True)) for values in found.fetchall()]


# --- what was stored ---------------------------------------------------------------------------


def _compare(event: dict[str, Any], parts: list[tuple[Any, ...]], column: str) -> list[Difference]:
    payload = event["payload"]
    decoded = careful._decode(careful._refused(event), column)
    expected, reject = decoded.event, decoded.reject
    if expected is None:
        reason = (reject or {}).get("reason")
        return [Difference("readable", True, f"refused: {reason}", payload)]
    pairs = [
        ("state", event["state"], rows.state_name(expected["state"])),
        ("shape", event["shape"], expected["shape"]),
        ("content_count", event["content_count"], expected["content_count"]),
        ("owner", event["harness_id"], expected["harness_id"]),
        ("exec_id", event["exec_id"], expected["exec_id"]),
        ("config", as_json(event["config"]), as_json(expected["config"])),
        ("parts", list(map(_plain, parts)), list(map(_part, expected["contents"]))),
        ("digest", bytes(event["digest"]), expected["digest"]),
    ]
    return [Difference(what, fast, slow, payload) for what, fast, slow in pairs if fast != slow]


def _plain(part: tuple[Any, ...]) -> tuple[Any, ...]:
    *key, text, arguments, result = part
    return (*key, text, as_json(arguments), as_json(result))


def _part(part: dict[str, Any]) -> tuple[Any, ...]:
    """A part of the careful path as the view `parts` shows it."""
    kind, value = part["kind"], part["value"]
    key = (kind, part["role"], part["call_id"], part["tool"], part["is_error"])
    return (
        *key,
        None if kind in ("tool_call", "tool_result") else value,
        as_json(value) if kind == "tool_call" else None,
        as_json(value) if kind == "tool_result" else None,
    )


def as_json(text: str | None) -> str | None:
    """A JSON text without its white space and its spelling; other text as it is.

    A minus before a zero is spelling too: the fast path takes one only where the row was not
    written by AX.
    """
    if text is None:
        return None
    try:
        tree = [parse(text)]
    except PayloadError:
        return text
    stack: list[list[Any]] = [tree]
    while stack:
        node = stack.pop()
        for at, item in enumerate(node):
            name, value = item if isinstance(node, Members) else (None, item)
            if isinstance(value, Number):
                value = Number(repr(float(value) + 0.0))
                node[at] = (name, value) if isinstance(node, Members) else value
            elif isinstance(value, list):
                stack.append(value)
    return dump(tree)


# --- what each generation makes of it ----------------------------------------------------------


def _readings(case: Case) -> dict[str, dict[str, tuple[Any, ...]]]:
    """By generation and conversation: what `histories.sql` says that a server decodes."""
    with case.reading() as session:
        return {name: _histories(session, name) for name in rows.SCHEMA_READERS}


def _histories(session: duckdb.DuckDBPyConnection, name: str) -> dict[str, tuple[Any, ...]]:
    generation = GENERATIONS[name]
    found = run_sql(
        session,
        "case",
        "histories.sql",
        {
            "generation": name,
            "owner_key": generation.owner_key or "",
            "content_key": generation.content_key,
            "config_kind": _CONFIG_KINDS.get(name, "object"),
            "ids": None,
        },
    )
    return {
        conversation_id: (readable, pending, owner, decoded)
        for _, conversation_id, readable, pending, owner, _, decoded, _, _ in found
    }


def _compare_readings(
    event: dict[str, Any], readings: dict[str, dict[str, tuple[Any, ...]]]
) -> list[Difference]:
    """A conversation of one row is read as that row is."""
    found: list[Difference] = []
    try:
        tree = parse(event["payload"])
    except PayloadError:
        # No generation reads it; that the row was taken at all is told already.
        return found
    for name, histories in readings.items():
        readable, pending, owner, decoded = histories[event["conversation_id"]]
        reading = rows.reading(tree, GENERATIONS[name])
        fast: tuple[Any, ...] = (readable, pending, owner, decoded)
        slow = (reading.readable, reading.state == 1, reading.owner, reading.content_count)
        if not readable and not reading.readable:
            continue
        if fast != slow:
            found.append(Difference(f"reading of {name}", fast, slow, event["payload"]))
    return found
