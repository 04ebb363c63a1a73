"""The plan of a migration: ordered statements for an operator, with stops. Never run here.

Names of strangers are quoted, and stand nowhere but in quotes; where one cannot be pasted, the
plan says LOG instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent

from axnb.ax.versions import Generation
from axnb.evidence.locators import PostgresLocator, SqliteLocator
from axnb.settings import DSN_VARIABLE
from axnb.text import as_argument, as_command, count, wrap

_WIDTH = 100
_PLAIN = re.compile("[a-z_][a-z0-9_]*")
_COPY = "migrated.sqlite"
_BACKUP = "before-migration.sqlite"
_COPY_VARIABLE = "AX_MIGRATED_DSN"


@dataclass(frozen=True)
class Planned:
    """What a plan is for."""

    source: SqliteLocator | PostgresLocator
    schema: str
    old: Generation
    new: Generation
    default_harness: str
    #: Paths that the target cannot hold.
    losses: Sequence[str]
    interrupted: int
    way_back: Generation | None


@dataclass(frozen=True)
class Statement:
    """One step of the plan, after which one can stop."""

    title: str
    before: Sequence[str]
    do: Sequence[str]
    after: Sequence[str]
    undo: Sequence[str]


def plan_text(planned: Planned) -> str:
    """The plan as text: seven steps, each with its checks and its undo."""
    old, new = planned.old.label, planned.new.label
    head = [
        f"From {old} to {new}. For an operator: axnb runs none of it.",
        "Stop after any step whose check does not hold, and undo what was done, the last first.",
    ]
    told = ["\n".join(f"# {line}" for line in head)]
    for number, statement in enumerate(statements(planned), 1):
        told.append(_rendered(number, statement))
    told.append("\n".join(f"# {line}" for line in _for_good(planned)))
    return "\n\n".join(told) + "\n"


def _rendered(number: int, statement: Statement) -> str:
    lines = [f"# --- {number}. {statement.title}"]
    told = {"before": statement.before, "do": statement.do, "after": statement.after}
    for name, parts in told.items():
        lines.append(f"# {name}:")
        lines += [indent(part, "  ") for part in _folded(parts)]
    # Whoever pastes a whole step must not undo it with the same hand.
    lines.append("# undo:")
    lines += [f"#   {part.removeprefix('# ')}" for part in _folded(statement.undo)]
    return "\n".join(lines)


def _folded(parts: Sequence[str]) -> Iterator[str]:
    """Sentences as comments, in lines that can be read; commands as they are."""
    for part in parts:
        if part.startswith("# "):
            yield from (f"# {line}" for line in wrap(part[2:], _WIDTH - 6))
        else:
            yield part


def statements(planned: Planned) -> tuple[Statement, ...]:
    """The steps of a plan, in order."""
    return (
        _freeze(planned),
        _back_up(planned),
        _check(planned),
        _migrate(planned),
        _check_copy(planned),
        _switch(planned),
        _watch(planned),
    )


def _freeze(planned: Planned) -> Statement:
    log = _log(planned)
    open_turns = count(planned.interrupted, "conversation")
    return Statement(
        "Freeze the writers",
        (
            f"# {open_turns} interrupted when the drill read the log. Note the number of replicas:",
            "kubectl get deployment ax-server -o jsonpath='{.spec.replicas}'",
        ),
        (
            "kubectl scale deployment/ax-server --replicas=0",
            "# or stop `ax serve` by SIGTERM, once no turn runs: one that runs loses its end.",
        ),
        _no_writer(planned, log),
        ("kubectl scale deployment/ax-server --replicas=N   # the number noted above",),
    )


def _no_writer(planned: Planned, log: str) -> tuple[str, ...]:
    if isinstance(planned.source, SqliteLocator):
        return (f"! fuser {log}   # nobody has the file open",)
    return (
        f'psql "${DSN_VARIABLE}" -Atc "select count(*) from pg_stat_activity where datname = '
        'current_database() and pid <> pg_backend_pid()"   # 0',
    )


def _back_up(planned: Planned) -> Statement:
    log = _log(planned)
    if isinstance(planned.source, SqliteLocator):
        backup = _BACKUP
        do = (f"sqlite3 {log} \".backup '{backup}'\"",)
        before = (f"test ! -e {backup}",)
    else:
        backup = "before-migration.dump"
        # A pattern of pg_dump: a name that is none but itself, or any schema.
        schema = planned.schema if _PLAIN.fullmatch(planned.schema) else "*"
        table = f"--table='{schema}.conversation_log'"
        do = (f'pg_dump --format=custom {table} --file={backup} "${DSN_VARIABLE}"',)
        before = (f"test ! -e {backup}",)
    return Statement(
        "Back up, and prove that the backup can be restored",
        before,
        do,
        (f"axnb drill restore {log} --backup {backup} --out restore-drill   # ok",),
        (f"rm {backup}",),
    )


def _check(planned: Planned) -> Statement:
    log, new = _log(planned), planned.new.name
    return Statement(
        "Check the log",
        ("# nobody has written since the backup.",),
        (
            f"axnb triage {log} --ax-version {planned.old.name} --plan",
            f"axnb triage {log} --ax-version {new}",
        ),
        (
            "# every interrupted conversation has an owner who knows of it: a migration keeps it "
            "interrupted. Read its calls back, and close it, before or after; not in between.",
        ),
        ("# nothing was written.",),
    )


def _migrate(planned: Planned) -> Statement:
    log, copy = _log(planned), _copy(planned)
    accepted = _command(*(f"--accept-loss={path}" for path in planned.losses))
    options = f"--to {planned.new.name} --default-harness {planned.default_harness}"
    if planned.losses:
        options += f" {accepted}" if accepted else " --accept-loss=…"
    before: tuple[str, ...] = (f"axnb migrate {log} {copy} {options} --dry-run",)
    if planned.losses:
        number = count(len(planned.losses), "path")
        before += (f"# {number} below cannot be held: accept each, or keep the log where it is.",)
    remove = f"rm {copy}"
    if isinstance(planned.source, PostgresLocator):
        remove = f'psql "${_COPY_VARIABLE}" -c "drop table conversation_log"   # of the copy'
    return Statement(
        "Migrate into a copy",
        before,
        (f"axnb migrate {log} {copy} {options}",),
        ("# rows read and rows written are equal, and it exits with 0.",),
        (remove,),
    )


def _check_copy(planned: Planned) -> Statement:
    copy, new = _copy(planned), planned.new.name
    return Statement(
        "Check the copy",
        ("# nobody has written to the log since it was copied.",),
        (f"axnb triage {copy} --ax-version {new}",),
        (
            "# as many conversations as before, each with its owner; history is `read` in all; the "
            "interrupted ones are the same.",
        ),
        ("# nothing was written.",),
    )


def _switch(planned: Planned) -> Statement:
    copy, new, old = _copy(planned), planned.new, planned.old
    is_file = isinstance(planned.source, SqliteLocator)
    where = f"eventlog.sqlite.filename: {copy}" if is_file else f"eventlog.postgres.dsn: {copy}"
    do = [f"# in ax.yaml: {where}"]
    layouts = old.step_column != new.step_column
    if layouts:
        keys = ("`harnesses`", "`antigravity` and `registry`")
        was, now = keys if new.step_column == "step" else keys[::-1]
        do.append(
            f"# in ax.yaml: what stood under {was} goes under {now}; {new.label} reads over the "
            "former without an error, and its default is another one then."
        )
    if old.event != new.event or layouts:
        do.append(
            "# clients: the method and its fields have other names; an old client is told "
            "UNIMPLEMENTED."
        )
    do += [
        f"# set the image, or the program, of {new.label}, and start one server:",
        "kubectl scale deployment/ax-server --replicas=1",
    ]
    return Statement(
        f"Switch to {new.label}",
        ("# the old servers are gone (step 1), and the old log stays where it is.",),
        do,
        ("# the server answers its health check, and names the log of the copy when it starts.",),
        (
            "kubectl scale deployment/ax-server --replicas=0",
            f"# ax.yaml and image as they were; before the first write of {new.name} the old log "
            "is whole.",
        ),
    )


def _watch(planned: Planned) -> Statement:
    copy, new = _copy(planned), planned.new.name
    undo = [
        f"# before the first write of {new}: the undo of step 6.",
        "# after it: stop the servers; what was written since stands in the copy alone.",
    ]
    if planned.way_back is not None and planned.way_back.name != new:
        old = planned.way_back.name
        back = "back.sqlite" if isinstance(planned.source, SqliteLocator) else "AX_BACK_DSN"
        undo.append(f"axnb migrate {copy} {back} --to {old}   # keeps the turns of {new}")
    else:
        undo.append("# there is no migration back: the backup loses the turns since.")
    return Statement(
        "Watch the first turns",
        ("# one conversation of your own first, and its reply.",),
        ("kubectl scale deployment/ax-server --replicas=N   # as before, once that went well",),
        (
            f"axnb triage {copy} --ax-version {new} --live   # no new finding, no new interruption"
            if isinstance(planned.source, SqliteLocator)
            else f"axnb triage {copy} --ax-version {new}   # no new finding, no new interruption",
            "# no alert of turns that do not end, and none of appends that fail.",
        ),
        undo,
    )


def _for_good(planned: Planned) -> Iterator[str]:
    yield f"What cannot be undone after the first write of {planned.new.name}:"
    yield "  a turn that was closed although it never ran; an effect that a tool did;"
    yield "  what harnesses and snapshots keep of a turn: they are no part of the log;"
    yield "  with the backup instead of a migration back: every turn since, and its numbers are"
    yield "  handed out a second time."


def _log(planned: Planned) -> str:
    if isinstance(planned.source, PostgresLocator):
        return DSN_VARIABLE
    return _command(as_argument(str(planned.source))) or "LOG"


def _copy(planned: Planned) -> str:
    return _COPY if isinstance(planned.source, SqliteLocator) else _COPY_VARIABLE


def _command(*words: str) -> str:
    """Words that can be pasted; empty where one cannot."""
    return " ".join(as_command(*words) or ())
