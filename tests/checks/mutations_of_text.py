"""Mutations of a payload's text: bytes, spelling, keys; and of G3's execution_log."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

from axnb.testing.logs import LogBuilder

from .mutations import (
    Inapplicable,
    Mutant,
    Tree,
    body_of,
    copied,
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
    wrapped = one_of(draw, [tree], {"payload": tree}, {"conversation_id": "x", "event": tree}, dumped(tree))
    return with_payload(log, place, "wrap", dumped(wrapped))


@mutation
def nest_deeper(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, tree, kind, body = body_of(draw, log, "tool_call")
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
        raise Inapplicable
    body[key] = one_of(draw, "x", "", 1, None, True, [], {}, [{}])
    return edited(draw, log, place, f"add {key}", tree)


# --- spelling --------------------------------------------------------------------------------------


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
        number = log.rows[place].step
        spelled = one_of(draw, f"{number}.0", f"{number}e0", f"{number}0e-1", f'"{number}"')
        for key in ("seq", "step"):
            for gap in ("", " "):
                text = text.replace(f'"{key}":{gap}{number},', f'"{key}":{spelled},')
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
        raise Inapplicable
    payload = dumped(tree).replace('"@odd@"', odd).encode(errors="surrogateescape")
    return with_payload(log, place, f"hold {odd!r}", payload, as_text=True)


# --- execution_log ---------------------------------------------------------------------------------


@mutation
def change_an_execution(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    if not log.executions:
        raise Inapplicable
    changed = copied(log)
    rows: list[tuple[Any, Any, Any]] = list(changed.executions)
    at = draw(st.integers(0, len(rows) - 1))
    exec_id, payload, time = rows[at]
    how = one_of(draw, "delete", "double", "move", "id", "state", "agent", "broken", "swap", "no JSON")
    tree = json.loads(payload)
    if how == "delete":
        del rows[at]
    elif how == "double":
        rows.append(rows[at])
    elif how == "move":
        rows[at] = (one_of(draw, "other", rows[0][0], ""), payload, time)
    elif how == "swap":
        other = draw(st.integers(0, len(rows) - 1))
        rows[at], rows[other] = (exec_id, rows[other][1], time), (rows[other][0], payload, rows[other][2])
    elif how == "no JSON":
        rows[at] = (exec_id, payload[:-2], time)
    else:
        key = {"id": "exec_id", "state": "state", "agent": "agent_id", "broken": "inputs"}[how]
        choices = {
            "id": ["other", "", rows[0][0]],
            "state": ["STATE_PENDING", "STATE_COMPLETED", "STATE_FAILED", "?", 3, None],
            "agent": ["other", "", None],
            "broken": ["x", [], [{}]],
        }[how]
        tree[key] = draw(st.sampled_from(choices))
        rows[at] = (exec_id, dumped(tree), time)
    if rows == log.executions:
        raise Inapplicable
    changed.executions = rows
    named = {exec_id, *(row[0] for row in set(rows) ^ set(log.executions))}
    touched = {
        row.conversation_id for row in log.rows if json.loads(row.payload).get("exec_id") in named
    }
    return Mutant(f"execution {how}: {log.executions[at]}", changed, touched)
