"""Build a large event log, row by row as AX writes it, in SQLite or PostgreSQL.

The same count, generation and seed always give the same rows, on every machine: the generator is
Python's own, seeded a conversation. A longer log begins with the conversations of a shorter one.

    python -m tests.benchmarks.build_log --events 1000000 --generation G8 /tmp/log.sqlite
    python -m tests.benchmarks.build_log --events 1000000 postgresql://…
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

GENERATIONS = ("G5", "G6", "G8")
EVENTS_A_CONVERSATION = 100

#: Conversations that go on at the same time: their rows lie mixed in the table, as in a server's.
_AT_A_TIME = 64

Row = tuple[str, int, str]
Part = dict[str, Any]
#: A row to be: does it begin a turn, and its part; None ends a turn.
Planned = tuple[bool, Part | None]


@dataclass(frozen=True)
class Shares:
    """How often something other than the usual happens."""

    interrupted: float = 0.02  # conversations whose last turn has no end
    no_call_ids: float = 0.005  # conversations whose model gives its calls no ids
    unanswered: float = 0.005  # calls without a result
    failed: float = 0.03  # results that tell an error
    timed_out: float = 0.01  # results that tell a time-out
    configured: float = 0.2  # inputs with a configuration
    questions: float = 0.002  # turns that put a question to a person
    nested: float = 0.2  # calls with an object in an object


#: Characters of a word and the space after it, in the mean.
_WORD = 8.05


# --- words -----------------------------------------------------------------------------------


@cache
def _vocabulary() -> list[str]:
    """60,000 words, the common ones many times, some with marks, breaks and other alphabets."""
    rng = random.Random("vocabulary")
    ends = ("", "n", "r", "s")
    syllables = [c + v + e for c in "bcdfghklmnprstvw" for v in "aeiou" for e in ends]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(60_000)]
    marked = [_marked(rng, word) for word in words]
    return marked + marked[:300] * 60 + marked[:6_000] * 8


def _marked(rng: random.Random, word: str) -> str:
    chance = rng.random()
    if chance < 0.80:
        return word
    if chance < 0.90:
        return word + rng.choice((".", ",", ";", ":", ")", "?"))
    if chance < 0.93:
        return f'"{word}"'
    if chance < 0.95:
        return word + ".\n"
    if chance < 0.96:
        return f"/srv/{word}/{rng.randint(1, 999)}.log"
    if chance < 0.98:
        return str(rng.randint(1, 10_000_000))
    return word + rng.choice(("é", "ß", "ñ", "日本", "данные", "→", "😀"))


def _text(rng: random.Random, characters: float) -> str:
    """A text of about so many characters; most are shorter, a few are much longer."""
    wanted = characters * rng.lognormvariate(-0.32, 0.8)
    return " ".join(rng.choices(_vocabulary(), k=1 + int(wanted / _WORD)))


def _token(rng: random.Random, prefix: str) -> str:
    return f"{prefix}{rng.getrandbits(48):012x}"


# --- calls and results -----------------------------------------------------------------------


def _charge(rng: random.Random) -> Part:
    return {"amount_cents": rng.randint(100, 90_000), "currency": "EUR"}


def _ticket(rng: random.Random) -> Part:
    return {"priority": rng.randint(1, 4), "title": _text(rng, 60), "body": _text(rng, 220)}


def _mail(rng: random.Random) -> Part:
    to = [f"{rng.choice(_vocabulary()[:50])}@example.org" for _ in range(rng.randint(1, 3))]
    return {"to": to, "subject": _text(rng, 50), "body": _text(rng, 300)}


def _query(rng: random.Random) -> Part:
    return {"query": _text(rng, 160), "limit": rng.randint(1, 100)}


def _file(rng: random.Random) -> Part:
    return {"path": f"/workspace/{_token(rng, 'f')}.py", "content": _text(rng, 400)}


def _command(rng: random.Random) -> Part:
    return {"command": _text(rng, 120), "timeout_seconds": rng.choice((30, 60, 0.5))}


_TOOLS: tuple[tuple[str, Callable[[random.Random], Part]], ...] = (
    ("charge_card", _charge),
    ("create_ticket", _ticket),
    ("send_email", _mail),
    ("search_documents", _query),
    ("write_file", _file),
    ("run_command", _command),
)


def _arguments(rng: random.Random, make: Callable[[random.Random], Part], nested: float) -> Part:
    """Two to five keys, one of them the idempotency key, in the order of protojson: sorted."""
    arguments = make(rng) | {"idempotency_key": _token(rng, "op-")}
    if rng.random() < nested:
        arguments["options"] = {
            "dry_run": False,
            "labels": rng.sample(_vocabulary()[:2_000], 3),
            "retry": {"attempts": rng.randint(1, 5), "backoff": 0.25},
        }
    return {key: arguments[key] for key in sorted(arguments)}


def _answer(rng: random.Random, shares: Shares) -> tuple[bool, Part]:
    """What a tool answers: is it an error, and the object."""
    chance = rng.random()
    if chance < shares.timed_out:
        return True, {"elapsed_ms": rng.randint(1_000, 60_000), "error": "deadline exceeded"}
    if chance < shares.timed_out + shares.failed:
        return True, {"error": _text(rng, 90)}
    if chance < 0.3:
        return False, {"id": _token(rng, "r-"), "status": "succeeded"}
    if chance < 0.8:
        return False, {"exit_code": 0, "output": _text(rng, 950)}
    items = [
        {"score": round(rng.uniform(0.01, 1), 6), "title": _text(rng, 70), "url": f"/doc/{n}"}
        for n in range(rng.randint(2, 8))
    ]
    return False, {"items": items, "total": rng.randint(8, 500)}


# --- rows ------------------------------------------------------------------------------------


class _Messages:
    """How G5 and G6 write: messages with a role, the row's number inside."""

    def __init__(self, generation: str) -> None:
        self._number = "seq" if generation == "G5" else "step"
        # Go's protojson puts a space after each comma or does not, by build; colons have none.
        comma = ", " if generation == "G5" else ","
        self._json = json.JSONEncoder(ensure_ascii=False, separators=(comma, ":"))
        # The default harness is stored by name since G5b only.
        self._owner: Part = {} if generation == "G5" else {"harness_id": "antigravity"}

    def row(self, conversation: str, number: int, part: Part | None) -> str:
        head = {"conversation_id": conversation, self._number: number}
        body = {} if part is None else {"messages": [part]}
        return self._json.encode(head | body | {"state": _state(part)})

    def input_row(self, conversation: str, number: int, part: Part, config: Part | None) -> str:
        head = {"conversation_id": conversation, self._number: number} | self._owner
        settings = {} if config is None else {"harness_config": config}
        messages = {"messages": [part]}
        return self._json.encode(head | settings | messages | {"state": "STATE_PENDING"})

    @staticmethod
    def _message(role: str, kind: str, content: Part) -> Part:
        return {"role": role, "content": {kind: content}}

    def text(self, role: str, text: str) -> Part:
        return self._message(role, "text", {"text": text})

    def thought(self, signature: str, text: str) -> Part:
        summary = [{"text": {"text": text}}]
        return self._message("model", "thought", {"signature": signature, "summary": summary})

    def call(self, call_id: str, tool: str, arguments: Part) -> Part:
        function = {"name": tool, "arguments": arguments}
        return self._message("model", "tool_call", _named("id", call_id, "function_call", function))

    def result(self, call_id: str, tool: str, is_error: bool, answer: Part) -> Part:
        if is_error:
            answer = answer | {"is_error": True}
        function = {"name": tool, "response": answer}
        named = _named("call_id", call_id, "function_result", function)
        return self._message("user", "tool_result", named)

    def confirmation(self, role: str, content: Part) -> Part:
        return self._message(role, "confirmation", content)


class _Steps:
    """How G8 writes: steps, of which only texts have a role, and no number inside."""

    def __init__(self, generation: str) -> None:
        assert generation == "G8"
        self._json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

    def row(self, conversation: str, number: int, part: Part | None) -> str:
        body = {} if part is None else {"steps": [part]}
        head = {"conversation_id": conversation}
        return self._json.encode(head | body | {"state": _state(part)})

    def input_row(self, conversation: str, number: int, part: Part, config: Part | None) -> str:
        head: Part = {"conversation_id": conversation, "agent_id": "antigravity"}
        settings = {} if config is None else {"agent_config": config}
        steps = {"steps": [part]}
        return self._json.encode(head | settings | steps | {"state": "STATE_PENDING"})

    def text(self, role: str, text: str) -> Part:
        return {"content": {"role": role, "content": [{"text": {"text": text}}]}}

    def thought(self, signature: str, text: str) -> Part:
        return {"thought": {"signature": signature, "summary": [{"text": {"text": text}}]}}

    def call(self, call_id: str, tool: str, arguments: Part) -> Part:
        function = {"name": tool, "arguments": arguments}
        return {"tool_call": _named("id", call_id, "function_call", function)}

    def result(self, call_id: str, tool: str, is_error: bool, answer: Part) -> Part:
        error = {"is_error": True} if is_error else {}
        function = {"name": tool} | error | {"result": {"struct_value": answer}}
        return {"tool_result": _named("call_id", call_id, "function_result", function)}

    def confirmation(self, role: str, content: Part) -> Part:
        return {"content": {"role": role, "content": [{"confirmation": content}]}}


def _state(part: Part | None) -> str:
    return "STATE_COMPLETED" if part is None else "STATE_PENDING"


def _named(key: str, call_id: str, kind: str, function: Part) -> Part:
    """protojson leaves an empty text out."""
    return {kind: function} if call_id == "" else {key: call_id, kind: function}


class _Conversation:
    """One conversation: turns of input, thoughts, calls, results, texts and an end."""

    def __init__(self, seed: int, n: int, writer: _Messages | _Steps, shares: Shares) -> None:
        self._rng = rng = random.Random(f"{seed}-{n}")
        self._writer = writer
        self._shares = shares
        bits = f"{rng.getrandbits(128):032x}"
        self._id = "-".join((bits[:8], bits[8:12], bits[12:16], bits[16:20], bits[20:]))
        self._interrupted = rng.random() < shares.interrupted
        self._no_ids = rng.random() < shares.no_call_ids

    def rows(self, count: int) -> Iterator[Row]:
        """Exactly `count` rows; the last one ends a turn, or the conversation is interrupted."""
        number = 0
        while number < count:
            planned = self._turn()
            left = count - number
            if left - len(planned) < 3:  # too short for another turn: this one goes to the end
                planned = self._last(planned[:-1], left)
            for starts, part in planned:
                number += 1
                yield self._id, number, self._payload(number, starts, part)

    def _last(self, planned: list[Planned], length: int) -> list[Planned]:
        """The last turn, filled up or cut, with its end if it has one."""
        end: list[Planned] = [] if self._interrupted else [(False, None)]
        length -= len(end)
        filling = [
            (False, self._writer.text("assistant", _text(self._rng, 480)))
            for _ in range(length - len(planned))
        ]
        return [*planned, *filling][:length] + end

    def _payload(self, number: int, starts: bool, part: Part | None) -> str:
        if not starts or part is None:
            return self._writer.row(self._id, number, part)
        config = None
        if self._rng.random() < self._shares.configured:
            config = {"model": "gemini-3.5-flash", "temperature": 0.2}
        return self._writer.input_row(self._id, number, part, config)

    def _turn(self) -> list[Planned]:
        """The rows of a turn: its input, its parts, its end."""
        rng, writer = self._rng, self._writer
        planned: list[Planned] = [(True, writer.text("user", _text(rng, 240)))]
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.6:
                signature = base64.b64encode(rng.randbytes(3 * rng.randint(20, 100))).decode()
                planned.append((False, writer.thought(signature, _text(rng, 340))))
            planned += ((False, part) for part in self._calls())
            planned.append((False, writer.text("assistant", _text(rng, 480))))
        if rng.random() < self._shares.questions:
            planned += self._question()
        planned.append((False, None))
        return planned

    def _calls(self) -> list[Part]:
        """One call, or some at once, and their results."""
        rng, writer, shares = self._rng, self._writer, self._shares
        calls: list[Part] = []
        results: list[Part] = []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            tool, make = rng.choice(_TOOLS)
            call_id = "" if self._no_ids else _token(rng, "call_")
            calls.append(writer.call(call_id, tool, _arguments(rng, make, shares.nested)))
            if rng.random() >= shares.unanswered:
                results.append(writer.result(call_id, tool, *_answer(rng, shares)))
        return calls + results

    def _question(self) -> list[Planned]:
        """A question ends the turn; the answer to it begins the next one."""
        rng, writer = self._rng, self._writer
        asked: Part = {"id": _token(rng, "q_"), "question": _text(rng, 80)}
        answered = {"id": asked["id"], "approval": {"approved": True}}
        return [
            (False, writer.confirmation("assistant", asked)),
            (False, None),
            (True, writer.confirmation("user", answered)),
            (False, writer.text("assistant", _text(rng, 480))),
        ]


def events(
    count: int, generation: str = "G8", seed: int = 1, shares: Shares | None = None
) -> Iterator[Row]:
    """Rows (conversation id, number, payload) in the order in which a server wrote them."""
    shares = shares or Shares()
    writer = _Steps(generation) if generation == "G8" else _Messages(generation)
    order = random.Random(f"order-{seed}")
    waiting = iter(_lengths(count))
    running: list[Iterator[Row]] = []
    while True:
        while len(running) < _AT_A_TIME and (planned := next(waiting, None)):
            n, length = planned
            running.append(_Conversation(seed, n, writer, shares).rows(length))
        if not running:
            return
        at = int(order.random() * len(running))
        row = next(running[at], None)
        if row is None:
            running[at] = running[-1]
            running.pop()
        else:
            yield row


def _lengths(count: int) -> Iterator[tuple[int, int]]:
    """Number and length of each conversation; the rest is in the last one."""
    for n, start in enumerate(range(0, count, EVENTS_A_CONVERSATION)):
        yield n, min(EVENTS_A_CONVERSATION, count - start)


# --- stores ----------------------------------------------------------------------------------


def step_column(generation: str) -> str:
    """The name of the column that numbers a conversation's rows."""
    return "seq" if generation == "G5" else "step"


def _table(generation: str) -> str:
    return (
        "CREATE TABLE conversation_log (conversation_id TEXT NOT NULL, "
        f"{step_column(generation)} INTEGER NOT NULL, payload TEXT NOT NULL, "
        f"PRIMARY KEY (conversation_id, {step_column(generation)}))"
    )


def build_sqlite(path: Path, count: int, generation: str = "G8", seed: int = 1) -> None:
    """Write a new SQLite log; it appears under its name when it is whole."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(unfinished, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = off")
        connection.execute("pragma synchronous = off")
        connection.execute("pragma cache_size = -400000")
        connection.execute(_table(generation))
        connection.execute("begin")
        connection.executemany(
            "insert into conversation_log values (?, ?, ?)", events(count, generation, seed)
        )
        connection.execute("commit")
        connection.execute("pragma journal_mode = delete")
    unfinished.rename(path)


def build_postgres(dsn: str, count: int, generation: str = "G8", seed: int = 1) -> None:
    """Write a log into an empty PostgreSQL database, through one COPY."""
    import psycopg

    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(_table(generation).encode())
        with cursor.copy("COPY conversation_log FROM STDIN") as copy:
            for row in events(count, generation, seed):
                copy.write_row(row)
    # Otherwise the first reader pays for marking every row as committed.
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE) conversation_log")


def main() -> None:
    """Build one log."""
    parser = argparse.ArgumentParser(description="Build a large AX event log.")
    parser.add_argument("target", help="a path, or the DSN of an empty PostgreSQL database")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--generation", choices=GENERATIONS, default="G8")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if asked.target.startswith(("postgres://", "postgresql://")):
        build_postgres(asked.target, asked.events, asked.generation, asked.seed)
    else:
        build_sqlite(Path(asked.target), asked.events, asked.generation, asked.seed)


if __name__ == "__main__":
    main()
