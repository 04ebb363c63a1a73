"""Mutations of a payload's text: bytes, spelling, keys."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from hypothesis import strategies as st

from axnb.testing.logs import LogBuilder
from tests.checks.mutations.mutant import (
    InapplicableError,
    Mutant,
    Tree,
    body_of,
    dumped,
    edited,
    mutation,
    objects,
    one_of,
    pick,
    with_payload,
)


def _payload(draw: st.DrawFn, log: LogBuilder) -> tuple[int, bytes]:
    place = pick(draw, log)
    return place, log.rows[place].payload.encode()


@mutation
def change_a_byte(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, data = _payload(draw, log)
    at = draw(st.integers(0, len(data) - 1))
    byte = draw(st.integers(1, 255) | st.sampled_from(list(b' "\\{}[],:09aZ_')))
    how = one_of(draw, "flip", "insert", "delete", "replace")
    new = {
        "flip": bytes([data[at] ^ (1 << byte % 8) or 1]),
        "insert": bytes([byte, data[at]]),
        "delete": b"",
        "replace": bytes([byte]),
    }[how]
    payload = data[:at] + new + data[at + 1 :]
    return with_payload(log, place, f"{how} byte {at}", payload, as_text=True)


@mutation
def cut_off(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, data = _payload(draw, log)
    payload = data[: draw(st.integers(0, len(data) - 1))]
    return with_payload(log, place, "cut off", payload, as_text=True)


@mutation
def append_text(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, data = _payload(draw, log)
    tail = one_of(draw, b" ", b"\n", b"}", b"{}", b",", b"x", b"\xff", b"\xc2\xa0", data)
    return with_payload(log, place, "append", data + tail, as_text=True)


@mutation
def wrap(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    wrapped = one_of(
        draw, [tree], {"payload": tree}, {"conversation_id": "x", "event": tree}, dumped(tree)
    )
    return with_payload(log, place, "wrap", dumped(wrapped))


@mutation
def nest_deeper(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, tree, _, body = body_of(draw, log, "tool_call")
    body["function_call"]["arguments"] = {"deep": "@deep@"}
    levels = one_of(draw, 3, 600, 9_000, 20_000)
    deep = "[" * levels + "]" * levels
    return with_payload(log, place, f"{levels} levels", dumped(tree).replace('"@deep@"', deep))


def _an_object(draw: st.DrawFn, tree: Tree) -> Tree:
    found = list(objects(tree))
    return found[draw(st.integers(0, len(found) - 1))]


@mutation
def double_a_key(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    body = draw(st.sampled_from([body for body in objects(tree) if body]))
    key = draw(st.sampled_from(sorted(body)))
    body["@key@"] = draw(st.sampled_from([body[key], None, "x"]))
    payload = dumped(tree).replace('"@key@"', json.dumps(key, ensure_ascii=False))
    return with_payload(log, place, f"double {key}", payload)


#: Keys of no generation, or of another place or generation.
_KEYS = (
    "?", "", "x", "description", "index", "seq", "step", "steps", "messages", "exec_id",
    "interaction_id", "harness_id", "agent_id", "session_id", "text", "id", "role", "state",
    "internal_only", "is_error", "signature", "name", "checkpoint_id", "timestamp",
)  # fmt: skip


@mutation
def add_a_key(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    body = _an_object(draw, tree)
    key = draw(st.sampled_from(_KEYS))
    if key in body:
        raise InapplicableError
    body[key] = one_of(draw, "x", "", 1, None, True, [], {}, [{}])
    return edited(draw, log, place, f"add {key}", tree)


# --- spelling ------------------------------------------------------------------------------------


@mutation
def respell(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    how = one_of(draw, "spaces", "escapes", "order", "camel", "numbers", "null", "state", "all")
    if how in ("order", "all"):
        tree = _shuffled(tree, random.Random(draw(st.integers(0, 9))))
    if how in ("camel", "all"):
        tree = _camel(tree)
    if how in ("null", "all"):
        tree["messages" if "messages" in tree else "seq"] = tree.get("messages")
    if how in ("state", "all"):
        tree["state"] = {"STATE_PENDING": 1, "STATE_COMPLETED": 3}[tree["state"]]
    text = json.dumps(
        tree,
        ensure_ascii=how in ("escapes", "all"),
        indent=2 if how in ("spaces", "all") else None,
        separators=(", ", ": ") if how == "spaces" else (",", ":"),
    )
    if how in ("escapes", "all"):
        text = text.replace("S", "\\u0053").replace("/", "\\/")
    if how in ("numbers", "all"):
        spelled = one_of(draw, r"\1.0", r"\1e0", r"\g<1>0E-1")
        text = re.sub(r"(?<=: |.:)(-?\d+)(?=[,}\s])", spelled, text)
    return with_payload(log, place, f"respell {how}", text)


def _shuffled(tree: Any, chance: random.Random) -> Any:
    if isinstance(tree, dict):
        keys = chance.sample(sorted(tree), len(tree))
        return {key: _shuffled(tree[key], chance) for key in keys}
    return [_shuffled(item, chance) for item in tree] if isinstance(tree, list) else tree


def _camel(tree: Tree) -> Tree:
    """The event's own keys in the other spelling that protojson takes."""
    return {_camel_name(key): value for key, value in tree.items()}


def _camel_name(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


@mutation
def hold_an_odd_value(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    """A number that a double does not hold, a NUL, a lone surrogate, in arguments or a text."""
    odd = one_of(
        draw, "9007199254740993", "1e400", "1e", "-0", "01", "NaN", r'"\u0000"', r'"\ud800"',
        r'"\ud83d\ude00"', '"\udcff"',
    )  # fmt: skip
    place, tree, kind, body = body_of(draw, log, "tool_call", "text", "thought")
    if kind == "tool_call":
        body["function_call"]["arguments"] = {"odd": "@odd@"}
    elif kind == "text" and odd.startswith('"'):
        body["text"] = "@odd@"
    else:
        raise InapplicableError
    payload = dumped(tree).replace('"@odd@"', odd).encode(errors="surrogateescape")
    return with_payload(log, place, f"hold {odd!r}", payload, as_text=True)
