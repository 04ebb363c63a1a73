"""What one rehearsal showed, and its log as axnb itself reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import duckdb

from axnb.ax.versions import GENERATIONS
from axnb.case.case import Case, ask
from axnb.checks.kept import digest_key
from axnb.evidence.buckets import BucketLocator
from axnb.evidence.load import LoadOptions, load_log
from axnb.evidence.locators import locate
from axnb.evidence.snapshots import load_snapshots
from axnb.runtimes import Answer, Interruption, Observation, Output, Policy, Task
from axnb.settings import Settings
from axnb.text import cut_middle, safe
from axnb.triaging import histories

#: What follows may be a piece of a payload.
_QUOTING = re.compile(r"(unmarshal event:).*", re.DOTALL)
_PORT = re.compile(r"(127\.0\.0\.1|\[::1\]|localhost):[0-9]+")


@dataclass(frozen=True)
class LoggedPart:
    """One piece of content of a row."""

    kind: str
    role: str = ""
    call_id: str = ""
    tool: str = ""
    #: Its text, or its arguments or result as JSON text.
    value: str = ""


@dataclass(frozen=True)
class LoggedRow:
    """A row of the conversation."""

    step: int
    #: `STATE_PENDING`, …
    state: str
    owner: str
    #: sha256 of the payload's text.
    digest: str
    parts: tuple[LoggedPart, ...]

    @property
    def mark(self) -> str:
        """What the row is, in a word: `input`, `end`, or the kind of its first part."""
        if not self.parts:
            return "end" if self.state != "STATE_PENDING" else "empty"
        first = self.parts[0]
        # G5 names no owner where it is the default.
        is_input = self.owner or (first.kind, first.role) == ("text", "user")
        return "input" if is_input else first.kind


@dataclass(frozen=True)
class Log:
    """The log of a rehearsal as it is at the end."""

    rows: tuple[LoggedRow, ...]
    #: Does every row decode for the server that serves now, and how much of the content does it
    #: decode?
    readable: bool
    decoded: int
    stored: int
    rejected: int
    #: By which digests are keyed: whoever has the log can derive it, and nobody else.
    key: bytes = b""

    @property
    def last_step(self) -> int:
        """The highest number; 0 of a conversation without a row."""
        return max((row.step for row in self.rows), default=0)

    @property
    def last_end(self) -> int:
        """The step that ended the last turn that has an end; 0 where none has."""
        return max((row.step for row in self.rows if row.mark == "end"), default=0)

    @property
    def outputs(self) -> list[int]:
        """Steps of what a client is sent."""
        return [row.step for row in self.rows if row.mark not in ("input", "end")]

    @property
    def completed(self) -> int:
        """Turns that have an end."""
        marks = [row.mark for row in self.rows]
        return min(marks.count("end"), marks.count("input"))

    @property
    def is_over(self) -> bool:
        """Has every turn an end?"""
        marks = [row.mark for row in self.rows]
        return bool(marks) and marks.count("end") >= marks.count("input") and marks[-1] == "end"

    def parts(self, kind: str) -> Iterator[tuple[LoggedRow, LoggedPart]]:
        """Every part of a kind, with its row."""
        return ((row, part) for row in self.rows for part in row.parts if part.kind == kind)


@dataclass(frozen=True)
class Seen:
    """What one rehearsal showed."""

    point: int
    policy: Policy
    task: Task
    first: Answer
    interruption: Interruption
    #: The log right after the interruption, and at the end.
    before: Log
    resumed: Answer
    next: Answer
    observation: Observation
    log: Log
    #: The log right after the interruption as another version reads it; None where none does.
    taken_over: Log | None = None
    #: What is wrong with snapshots of the bucket, a sentence each.
    torn: tuple[str, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Was the last request answered?"""
        return self.next.error is None

    @property
    def called_before(self) -> bool:
        """Did the log have the call when it was cut?"""
        return bool(self._of_task(self.before, "tool_call"))

    @property
    def results(self) -> list[tuple[LoggedRow, LoggedPart]]:
        """Results of the task's tool that the log holds and that are of its operation."""
        return self._of_task(self.log, "tool_result")

    @property
    def calls(self) -> list[tuple[LoggedRow, LoggedPart]]:
        """Calls of the task's operation that the log holds."""
        return self._of_task(self.log, "tool_call")

    @property
    def asks(self) -> list[tuple[LoggedRow, LoggedPart]]:
        """Questions that wait for a person."""
        return list(self.log.parts("confirmation"))

    @property
    def answers(self) -> tuple[Answer, Answer, Answer, Answer]:
        """What clients got, in order."""
        return self.first, self.interruption.answer, self.resumed, self.next

    def _of_task(self, log: Log, kind: str) -> list[tuple[LoggedRow, LoggedPart]]:
        return [
            (row, part)
            for row, part in log.parts(kind)
            if part.tool == self.task.tool
            and _object(part).get("operation_id") == self.task.operation_id
        ]


def _object(part: LoggedPart) -> dict[str, Any]:
    """What arguments or a result say; empty for what says nothing, or is nested beyond reason."""
    try:
        value = json.loads(part.value or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def reservation_of(part: LoggedPart) -> str:
    """What the tool called the effect, by a result; empty where it does not say."""
    found = _object(part).get("reservation")
    return found if isinstance(found, str) else ""


def told_error(answer: Answer) -> str | None:
    """The error that a client got, without what differs from run to run: ports, and how a library
    words that a connection is gone."""
    if answer.error is None:
        return None
    code, _, words = answer.error.partition(": ")
    if code == "UNAVAILABLE" and "harness" not in words:
        return f"{code}: the connection was lost"
    told = _PORT.sub(r"\1:…", answer.error)
    return cut_middle(safe(_QUOTING.sub(r"\1 …", told)), 200)


def delivered(answer: Answer, kind: str) -> list[Output]:
    """Outputs of a kind that a client got."""
    return [output for output in answer.outputs if output.kind == kind]


@dataclass(frozen=True)
class Read:
    """What axnb itself reads of a log, and of a bucket beside it."""

    log: Log
    #: What is wrong with snapshots of the bucket, a sentence each.
    torn: tuple[str, ...] = ()


def read(
    locator: str,
    conversation_id: str,
    generation: str,
    settings: Settings,
    bucket: str = "",
    *,
    is_ours: bool = True,
) -> Read:
    """Read a log as `axnb load` does, and verify a bucket. Raises SourceError for what cannot be
    read.

    In a bucket that is not ours alone, what was torn before is not counted against a drill.
    """
    case = Case(None, settings)
    try:
        # No findings are asked for: the checks of the drill look at the rows themselves.
        options = LoadOptions(conversation=None if is_ours else conversation_id)
        load_log(case, locate(locator, settings.environment).log, options)
        with case.reading() as session:
            log = _log(session, conversation_id, generation)
        if not bucket:
            return Read(log)
        load_snapshots(case, BucketLocator.parse(bucket, settings.environment), verify=True)
        with case.reading() as session:
            torn = [
                f"{row['snapshot']}: {row['why']}"
                for row in ask(session, "unsound_snapshots")
                if row["actor"] == conversation_id or (row["actor"] is None and is_ours)
            ]
    finally:
        case.close()
    return Read(log, tuple(torn))


def _log(session: duckdb.DuckDBPyConnection, conversation_id: str, generation: str) -> Log:
    (source,) = [f["name"] for f in ask(session, "sources") if f["kind"] == "eventlog"]
    values = {"source": source, "id": conversation_id}
    (rejects,) = ask(session, "rejects_of", values)
    seen = histories(session, GENERATIONS[generation], [conversation_id])
    history = seen.get((source, conversation_id))
    return Log(
        rows=tuple(_rows(ask(session, "logged_parts", values))),
        readable=bool(history and history.readable and _is_column(history.column, generation)),
        decoded=history.contents_decoded if history else 0,
        stored=history.contents_stored if history else 0,
        rejected=int(rejects["rows"]),
        key=digest_key(session),
    )


def _is_column(column: str, generation: str) -> bool:
    return column == GENERATIONS[generation].step_column


def _rows(found: list[dict[str, Any]]) -> Iterator[LoggedRow]:
    for step, lines in groupby(found, key=lambda line: line["step"]):
        parts = list(lines)
        first = parts[0]
        yield LoggedRow(
            step=int(step),
            state=first["state"],
            owner=first["harness_id"] or "",
            digest=first["digest"],
            parts=tuple(
                LoggedPart(p["kind"], *(p[n] or "" for n in ("role", "call_id", "tool", "value")))
                for p in parts
                if p["kind"] is not None
            ),
        )
