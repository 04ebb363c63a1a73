"""Logs that hold hostile texts wherever a stranger can write, and what stands beside them.

texts = hostile_texts("canary-5e1f")
log = hostile_log(texts, "G8", secret="s3cret-77aa")
log.write_sqlite(path, keyed=False, typed=False)
... show the log ...
assert not Path("canary-5e1f").exists()  # nothing was executed
assert "s3cret-77aa" not in shown  # nothing was leaked

Ids and names (of conversations, harnesses, roles, tools, calls, questions, operations, keys) hold a
text alone. Contents (texts, thoughts, arguments, results, configurations, questions, …) hold the
secret on both sides of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Literal

from axnb.ax.rows import STATES, Part, Row
from axnb.testing.hostile_texts import hostile_texts
from axnb.testing.logs import LogBuilder, StoredRow, answer, ask, call, decide, say, think

_PENDING, _COMPLETED = STATES.index("STATE_PENDING"), STATES.index("STATE_COMPLETED")

__all__ = [
    "every",
    "hostile_log",
    "hostile_server_log",
    "hostile_settings",
    "hostile_texts",
    "hostile_transcript",
    "huge_log",
    "storable",
]

Texts = Mapping[str, tuple[str, ...]]


def every(texts: Texts) -> Iterator[str]:
    """All texts, kind by kind."""
    return chain.from_iterable(texts.values())


def hostile_log(
    texts: Texts,
    generation: str = "G8",
    secret: str = "secret",  # noqa: S107  it is there to be looked for
    store: Literal["sqlite", "postgres"] = "sqlite",
) -> LogBuilder:
    """A log with each text in every place that a stranger can fill, and wounds to talk about.

    Write it without its key and types: some keys are of another class. For `postgres` no
    text holds what a server refuses (U+0000), and keys are text and numbers.
    """
    log = LogBuilder(generation)
    for number, given in enumerate(every(texts)):
        name = storable(given, store)
        text = _HALF.sub(lambda half: chr(ord(half[0]) + _ASIDE), given)
        content = f"{secret}{text}{secret}"
        _interrupted(log, name, text, content)
        _asked(log, f"{name}?", text, content)
        _answered_twice(log, f"{name}!", text, content)
        _by_hand(log, f"{name}~", text, content)
        if store == "sqlite":
            log.rows.append(StoredRow(given.encode(errors="surrogatepass"), number, content))
            log.rows.append(StoredRow(f"{name}~", content, content))
    log.rows = [
        StoredRow(
            row.conversation_id, row.step, storable(_ASIDE_HALF.sub(_escape, row.payload), store)
        )
        for row in log.rows
    ]
    log.harness = "antigravity"
    return log


def storable(text: str, store: Literal["sqlite", "postgres"] = "sqlite") -> str:
    """`text` as the store takes it: no half of a surrogate pair, in PostgreSQL no NUL."""
    text = _without_halves(text)
    return text.replace("\0", "\u2400") if store == "postgres" else text


_HALF = re.compile("[\ud800-\udfff]")

#: Half of a pair goes through the builders in another place, which Unicode leaves free.
_ASIDE = 0x100000
_ASIDE_HALF = re.compile(f"[{chr(_ASIDE + 0xD800)}-{chr(_ASIDE + 0xDFFF)}]")


def _without_halves(text: str) -> str:
    return _HALF.sub("\ufffd", text)


def _escape(half: re.Match[str]) -> str:
    """It cannot be stored as UTF-8, but as an escape in JSON it can."""
    return f"\\u{ord(half[0]) - _ASIDE:04x}"


def _interrupted(log: LogBuilder, name: str, text: str, content: str) -> None:
    """A turn without an end, with calls whose outcome nobody knows; the text owns it."""
    log.harness = text or "antigravity"
    config = json.dumps({text: content, "api_key": content})
    is_bytes = log.generation.name == "G4"
    log.add(
        Row(
            name,
            _PENDING,
            log.harness,
            config=None if is_bytes else config,
            exec_id=text,
            parts=(Part("text", "user", value=content),),
        )
    )
    arguments = {text: content, "in": {text: [content]}, "idempotency_key": text}
    for part in (
        say(content, role=text),
        think(content),
        call(text, arguments, text),
        answer({text: content, "error": content}, text, text),
        call(text, arguments, ""),
        call(f"{text}2", {"a": content}, f"{text}2"),
        Part("image", text, value=content),
    ):
        log.add(Row(name, _PENDING, exec_id=text, parts=(part,)))
    if log.generation.name == "G3":
        log.executions.append((text, f'{{"exec_id":"{content}', content))


def _asked(log: LogBuilder, name: str, text: str, content: str) -> None:
    """A question that waits, one that was answered, and a call that was never answered."""
    log.harness = "antigravity"
    log.turn(name, content, ask(content, text), call(text, {text: content}, text))
    log.turn(name, content, ask(content, f"{text}2"), decide("approved", f"{text}2"))


def _answered_twice(log: LogBuilder, name: str, text: str, content: str) -> None:
    """Ids that are used again, results without a call, owners that change."""
    log.turn(name, content, call(text, {"a": content}, text), answer({"a": content}, text, text))
    log.harness = text or "antigravity"
    log.turn(name, content, call(text, {"b": content}, text), call(text, {"c": content}, text))
    log.harness = "antigravity"
    log.turn(name, content, answer({text: content}, f"{text}3", f"{text}3"), say(content))


def _by_hand(log: LogBuilder, name: str, text: str, content: str) -> None:
    """Rows that AX drops a part of, or cannot read at all."""
    key, value = json.dumps(text), json.dumps(content)
    steps = "messages" if log.generation.content_key == "messages" else "steps"
    rows = (
        f'{{"conversation_id":{key},{key}:{value},"state":"STATE_PENDING"}}',
        f'{{"{steps}":[{{{key}:{{{key}:{value}}},"description":{value}}}],"state":{value}}}',
        f'{{"x":{{{key}:{value},{key}:{value}}},"y":"\\u0000","state":{value}}}',
        f'{{"{steps}":[{{"content":{{{key}:[{value}]}}}}],"state":"STATE_PENDING"}}',
        f'{{"agent_config":{{{key}:9007199254740993}},"state":"STATE_COMPLETED"}}',
        f'{{"harness_config":{value},"agent_config":{value}}}',
        f'{{"conversation_id":"a","conversation_id":{value}}}',
        f'{{"{steps}":{value}}}',
        f'{{"{steps}":[{{"thought":{{"signature":{value}}}}}]}}',
        f'{{"state":{value}',
        content,
    )
    for payload in rows:
        step = log.last_step(name) + 1
        log.rows.append(StoredRow(name, step, payload))


def huge_log(secret: str = "secret", generation: str = "G8") -> LogBuilder:  # noqa: S107
    """A log of few rows and large values: texts of MB, long ids, many keys, deep nesting, numbers
    that no double holds. Each value is made of the secret."""
    log = LogBuilder(generation)
    flood = secret * (5_000_000 // len(secret))
    name = "n" * 100_000
    log.turn("text", flood, say(flood), think(flood))
    log.turn("value", "hi", call("tool", {"a": flood}), answer({"a": flood}))
    log.interrupted(name, "hi", call(name, {name: secret}, name), ask(secret, name))
    log.turn("calls", "hi")
    log.interrupted("many", "hi")
    log.rows += [_calls(log, "many", 10_000, secret)]
    log.turn("keys", "hi", call("tool", {f"{secret}{n}": secret for n in range(5000)}))
    values = [
        *('{"a":' * depth + f'"{secret}"' + "}" * depth for depth in (900, 9_000, 100_000)),
        *("[" * depth + f'"{secret}"' + "]" * depth for depth in (900, 9_000, 100_000)),
        *("1e400", "9223372036854775808", "-0", "NaN", "-Infinity", "1" * 5000, "1e-400", "01"),
    ]
    for number, value in enumerate(values):
        odd = f"odd-{number}"
        log.turn(odd, "hi", call("tool", {"a": "VALUE"}), answer({"a": "VALUE"}))
        log.rows = [
            StoredRow(r.conversation_id, r.step, r.payload.replace('"VALUE"', value))
            if r.conversation_id == odd
            else r
            for r in log.rows
        ]
    return log


def _calls(log: LogBuilder, name: str, count: int, secret: str) -> StoredRow:
    """One row with many calls."""
    parts = tuple(call("tool", {"a": secret}, f"call-{n}") for n in range(count))
    builder = LogBuilder(log.generation.name)
    builder.add(Row(name, _PENDING, parts=parts))
    return StoredRow(name, log.last_step(name) + 1, builder.rows[0].payload)


# --- what stands beside a log --------------------------------------------------------------------


def hostile_transcript(texts: Texts, secret: str = "secret") -> bytes:  # noqa: S107
    """A client's transcript: JSON lines about each text, and lines that are none."""
    lines: list[str] = []
    for text in every(texts):
        content = f"{secret}{text}{secret}"
        digest = hashlib.sha256(content.encode(errors="replace")).hexdigest()
        told = {"conversation": storable(text), "kind": "text", "text": content, text: content}
        lines += [
            json.dumps({**told, "number": 0, "digest": digest}),
            json.dumps({**told, "number": 2, "digest": digest}),
            json.dumps({**told, "number": 99, "kind": text}),
            json.dumps({**told, "number": content}),
            json.dumps({**told, "conversation": text, "number": 1, "digest": content}),
            content,
        ]
    return _lines(lines)


def hostile_server_log(texts: Texts, secret: str = "secret") -> bytes:  # noqa: S107
    """A server's log: requests and failures about each text, and lines that are neither."""
    lines: list[str] = []
    for text in every(texts):
        content = f"{secret}{text}{secret}"
        quoted = json.dumps(text, ensure_ascii=False)
        request = f"conversation_id:{quoted} inputs:{{role:{quoted} text:{json.dumps(content)}}}"
        failed = "Failed to log streamed message to event log"
        at = {"time": "2026-11-29T19:49:32.981764197Z", "level": text}
        lines += [
            json.dumps({**at, "msg": "Executing request", "request": request}),
            json.dumps({**at, "msg": failed, "conversation_id": text, "error": content}),
            json.dumps({**at, "msg": content, "conversation_id": text, text: content}),
            f"2026/11/29 19:49:32 INFO Executing... conversation_id={quoted}",
            f"2026/11/29 19:49:32 WARN {failed}: {content}",
            content,
        ]
    return _lines(lines)


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(errors="surrogatepass")


def hostile_settings(texts: Texts) -> str:
    """An `axnb.toml` with a rule for a tool of each text's name."""
    rules = (f"[tools.{_toml(_without_halves(text))}]\n" for text in every(texts))
    return "".join(f'{rule}operation_id = "$.idempotency_key"\n' for rule in dict.fromkeys(rules))


def _toml(text: str) -> str:
    """A quoted key in TOML."""
    inside = "".join(c if c.isascii() and c.isalnum() else f"\\U{ord(c):08X}" for c in text)
    return f'"{inside}"'
