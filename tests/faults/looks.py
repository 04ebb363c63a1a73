"""Healthy logs to wound, and what the tests look at afterwards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from click.testing import Result

from axnb.case.case import Case
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, say

Run = Callable[..., Result]
Load = Callable[[Path | str], str]
Key = tuple[str | None, int | None]

#: A row that ends a turn, as G8 writes it.
END = '{"conversation_id":"%s","state":"STATE_COMPLETED"}'


def user_text(text: str, state: str = '"STATE_PENDING"') -> str:
    """A row of G8 with a text, which is given as it stands in the document, quotes included."""
    content = f'{{"role":"user","content":[{{"text":{{"text":{text}}}}}]}}'
    return f'{{"conversation_id":"odd","steps":[{{"content":{content}}}],"state":{state}}}'


def tool_call(arguments: str, call_id: str = '"call_1"') -> str:
    """A row of G8 with a call; its arguments are given as they stand in the document."""
    function = f'{{"name":"pay","arguments":{arguments}}}'
    step = f'{{"tool_call":{{"id":{call_id},"function_call":{function}}}}}'
    return f'{{"conversation_id":"odd","steps":[{step}],"state":"STATE_PENDING"}}'


def healthy(generation: str = "G8") -> LogBuilder:
    """Two finished conversations, eight rows; every call is answered."""
    log = LogBuilder(generation)
    card = call("charge_card", {"amount": 9})
    log.turn("c1", "Charge it", card, answer({"ok": True}), say("Done."))
    log.turn("c2", "Thanks, Zoë", say("You are welcome."))
    return log


def with_rows(payloads: Iterable[Any], generation: str = "G8", name: str = "odd") -> LogBuilder:
    """The healthy log and one more conversation of the given payloads, numbered from 1."""
    log = healthy(generation)
    log.rows += [StoredRow(name, step, payload) for step, payload in enumerate(payloads, 1)]
    return log


# --- what a case holds -------------------------------------------------------------------------


def counts(case: Case) -> tuple[int, int, int]:
    """Rows read, parsed and rejected of all sources; they always add up, and so do the tables."""
    ((read, parsed, rejected),) = case.rows(
        "select sum(read)::bigint, sum(parsed)::bigint, sum(rejected)::bigint from sources"
    )
    assert read == parsed + rejected
    assert case.rows("select count(*) from events") == [(parsed,)]
    assert case.rows("select count(*) from rejects") == [(rejected,)]
    return int(read), int(parsed), int(rejected)


def contents(case: Case) -> list[tuple[Any, ...]]:
    """All that was understood of each row, by conversation and number."""
    return case.rows(
        "select e.conversation_id, e.step, e.state, e.harness_id, p.part, p.kind, p.role, "
        "p.call_id, p.tool, p.text, p.arguments, p.result from events e left join parts p "
        'on p.source = e.source and p."row" = e."row" '
        "order by e.source, e.conversation_id, e.step, p.part"
    )


def keys(case: Case, table: str = "events") -> list[Key]:
    """(conversation, step) of the rows of `events` or `rejects`, in order."""
    return case.rows(
        f"select conversation_id, step from {table} "
        "order by conversation_id nulls first, step nulls first"
    )


def rejects(case: Case) -> list[tuple[str | None, int | None, str]]:
    """(conversation, step, reason) of the rejected rows, in order."""
    return case.rows(
        "select conversation_id, step, reason from rejects "
        "order by conversation_id nulls first, step nulls first, reason"
    )


def incomplete(case: Case) -> str:
    """Why the sources may hold less than was there."""
    return " ".join(s for (found,) in case.rows("select incomplete from sources") for s in found)


def states(case: Case) -> dict[str, str]:
    """State by conversation."""
    return dict(case.rows("select conversation_id, state from conversations"))


# --- what the command line says ----------------------------------------------------------------


def refused(result: Result, *words: str, code: int = 3) -> str:
    """Check that a source was refused by one sentence that holds the words; returns it."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    sentence = result.stderr
    assert sentence.startswith("axnb: ")
    assert sentence.endswith(".\n")
    assert sentence.count("\n") == 1
    for word in words:
        assert word in sentence
    return sentence


def triaged(result: Result, code: int | None = None) -> dict[str, Any]:
    """The answer of `triage --json`, whose verdict fits the exit code."""
    assert code in (None, result.exit_code), result.output
    found: dict[str, Any] = json.loads(result.stdout)
    exits = {"ok": 0, "failed": 1, "inconclusive": 3, "not-run": 3}
    assert exits[found["verdict"]] == result.exit_code
    return found


def doubts(found: dict[str, Any]) -> str:
    """What the answer says against the completeness of its sources."""
    return " ".join(s for source in found["sources"] for s in source["incomplete"])


def fingerprint(folder: Path) -> dict[str, tuple[int, str, int]]:
    """Name, size, sha256 and time of every file of a folder, and the folder's own time."""
    found = {".": (0, "", folder.stat().st_mtime_ns)}
    for path in sorted(folder.iterdir()):
        raw = path.read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        found[path.name] = (len(raw), digest, path.lstat().st_mtime_ns)
    return found
