"""A log with a wound, one as near to it as can be without, and what must be found in the first."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from axnb.ax.behaviour import Harness
from axnb.case.case import Case, define_links
from axnb.checks.kept import keep_findings
from axnb.loading import load, load_witnesses
from axnb.result import Finding
from axnb.secrets.keeping import Secret, keep_secrets
from axnb.settings import Settings, Tool
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, say
from axnb.triaging import Expectation, Question, Triage, triage

#: conversation, step, steps of the witness
Found = tuple[str | None, int | None, list[int | None]]


@dataclass(frozen=True)
class Evidence:
    """A log with what stands beside it: another log, files of lines, settings, harnesses."""

    log: LogBuilder
    other: LogBuilder | None = None
    client: tuple[dict[str, Any], ...] = ()
    server_log: tuple[dict[str, Any], ...] = ()
    expected: tuple[Expectation, ...] = ()
    #: What axnb.toml says of tools.
    tools: tuple[Tool, ...] = ()
    #: As `--harness` takes them.
    harnesses: tuple[str, ...] = ()
    #: An ax.yaml that says what would run now.
    ax_yaml: str = ""
    #: Rows of tables that no reader of logs fills, such as `actors`; absent columns are NULL.
    tables: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    #: What else was found, as by a look into a bucket.
    secrets: tuple[Secret, ...] = ()
    #: Does the table have AX's key, and AX's types?
    keyed: bool = True
    typed: bool = True

    @property
    def settings(self) -> Settings:
        """The settings of a case that holds it."""
        return Settings(tools={tool.name: tool for tool in self.tools})

    def load(self, case: Case, folder: Path) -> None:
        """Write it all into a folder and load it."""
        logs = [log for log in (self.log, self.other) if log is not None]
        paths = [
            log.write_sqlite(folder / f"{n}.sqlite", keyed=self.keyed, typed=self.typed)
            for n, log in enumerate(logs)
        ]
        config = folder / "ax.yaml" if self.ax_yaml else None
        if config is not None:
            config.write_text(self.ax_yaml, encoding="utf-8")
        load(case, [str(path) for path in paths], ax_config=config)
        if self.tables:
            with case.writing() as session:
                define_links(session)
                for name, rows in self.tables.items():
                    for row in rows:
                        _insert(session, name, row)
        if self.secrets:
            with case.writing() as session:
                keep_secrets(session, self.secrets)
                keep_findings(session)
        files = {}
        for name, lines in (("client", self.client), ("server", self.server_log)):
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            files[name] = [folder / name] if lines else []
            (folder / name).write_text(text, encoding="utf-8")
        assert load_witnesses(case, files["client"], files["server"]).skipped == ()

    def question(self, ax_version: str | None) -> Question:
        """How its server is asked."""
        return Question(ax_version, tuple(map(Harness.parse, self.harnesses)), self.expected)


def _insert(session: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> None:
    names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    session.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))


Make = Callable[[], LogBuilder | Evidence]


@dataclass(frozen=True)
class Pair:
    """A log with the wound of a check, one without it, and what must be found in the first."""

    wounded: Make
    found: list[Found]
    healthy: Make
    ask_wounded_as: str | None = None
    ask_healthy_as: str | None = None


def evidence(made: LogBuilder | Evidence) -> Evidence:
    """A log alone is evidence, too."""
    return made if isinstance(made, Evidence) else Evidence(made)


@dataclass(frozen=True)
class Looked:
    """What a triage says, and (class, conversation, step) of the findings that the case keeps."""

    triage: Triage
    kept: list[tuple[str, str | None, int | None]]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found."""
        return self.triage.findings


_KEPT = """
    select id, conversation_id, step from findings
    order by conversation_id nulls first, step nulls first, sentence
"""


def triage_of(made: LogBuilder | Evidence, asked: str | None = None) -> Triage:
    """What a triage says of a log and of what stands beside it."""
    return _look(evidence(made), asked).triage


def findings(made: LogBuilder | Evidence, asked: str | None = None) -> tuple[Finding, ...]:
    """All findings of a triage."""
    return triage_of(made, asked).findings


@cache
def look(make: Make, asked: str | None) -> Looked:
    """What is found in what a function makes, looked for once."""
    return _look(evidence(make()), asked)


def _look(made: Evidence, asked: str | None) -> Looked:
    with tempfile.TemporaryDirectory() as folder, Case(settings=made.settings) as case:
        made.load(case, Path(folder))
        return Looked(triage(case, made.question(asked)), case.rows(_KEPT))


def seen(found: tuple[Finding, ...], identity: str) -> list[Found]:
    """The findings of one class."""
    return [
        (f.conversation_id, f.step, [witness.step for witness in f.witness])
        for f in found
        if f.id == identity
    ]


# --- logs that several modules begin with --------------------------------------------------------


def healthy(generation: str = "G8") -> LogBuilder:
    """Steps 1 to 5 of `fine`: the input, a call, its result, the text `done`, the end."""
    log = LogBuilder(generation)
    log.turn("fine", "hi", call("charge", {"n": 1}), answer({"ok": True}), say("done"))
    return log


def talk(generation: str = "G8") -> LogBuilder:
    """Steps 1 to 5 of `c`: the input, three texts, the end."""
    log = LogBuilder(generation)
    log.turn("c", "hi", say("a"), say("b"), say("d"))
    return log


def changed(make: Callable[[], LogBuilder], *changes: Callable[[LogBuilder], Any]) -> Make:
    """A log with something done to it."""

    def made() -> LogBuilder:
        log = make()
        for change in changes:
            change(log)
        return log

    return made


def beside(make: Make, **more: Any) -> Make:
    """A log or evidence with more beside it."""
    return lambda: replace(evidence(make()), **more)


def drop(*steps: int) -> Callable[[LogBuilder], None]:
    """Take rows out of a log of one conversation."""

    def change(log: LogBuilder) -> None:
        log.rows = [row for row in log.rows if row.step not in steps]

    return change


def store(step: int, /, **columns: Any) -> Callable[[LogBuilder], None]:
    """Put other values into the columns of the row at a step."""

    def change(log: LogBuilder) -> None:
        log.rows = [replace(row, **columns) if row.step == step else row for row in log.rows]

    return change


def rewrite(step: int, old: str, new: str) -> Callable[[LogBuilder], None]:
    """Replace a piece of the payload at a step, which must be there."""

    def change(log: LogBuilder) -> None:
        (n,) = (n for n, row in enumerate(log.rows) if row.step == step)
        row = log.rows[n]
        assert old in row.payload
        log.rows[n] = replace(row, payload=row.payload.replace(old, new, 1))

    return change


def put(step: Any, payload: Any, conversation_id: Any = "c") -> Callable[[LogBuilder], None]:
    """Add a row as it is."""
    return lambda log: log.rows.append(StoredRow(conversation_id, step, payload))
