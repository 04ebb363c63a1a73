"""Mutations of content: calls, results, texts, roles, decisions, parts."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from axnb.testing.logs import LogBuilder
from tests.checks.healthy import texts, tools
from tests.checks.mutations.mutant import (
    InapplicableError,
    Mutant,
    bodies,
    body_of,
    edited,
    mutation,
    objects,
    one_of,
    pick,
    with_kind,
)


@mutation
def change_call_id(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, tree, kind, body = body_of(draw, log, "tool_call", "tool_result", "confirmation")
    key = "call_id" if kind == "tool_result" else "id"
    found = {
        body.get(k)
        for row in log.rows
        for body in objects(json.loads(row.payload))
        for k in ("id", "call_id")
    }
    body[key] = draw(st.sampled_from(["", "other", *(v for v in found if isinstance(v, str))]))
    return edited(draw, log, place, f"id of {kind}", tree)


@mutation
def change_tool(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, tree, kind, body = body_of(draw, log, "tool_call", "tool_result")
    function = body.setdefault(kind.replace("tool", "function"), {})
    function["name"] = one_of(draw, draw(tools), "", "CHARGE")
    if draw(st.booleans()):
        del function["name"]
    return edited(draw, log, place, f"tool of {kind}", tree)


@mutation
def change_arguments_or_result(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, tree, kind, body = body_of(draw, log, "tool_call", "tool_result")
    function = body.get(kind.replace("tool", "function"), {})
    key = next((k for k in ("arguments", "response", "result") if k in function), None)
    if key is None:
        raise InapplicableError
    held = function[key].get("struct_value") if key == "result" else function[key]
    change = one_of(draw, "drop", "error", "pending", "more", "null", "text", "empty")
    if change in ("drop", "null", "text"):
        function[key] = {"null": None, "text": "text"}.get(change)
        if change == "drop":
            del function[key]
    elif change == "empty":
        held.clear()
    else:
        held.update(
            {"error": {"error": "boom"}, "pending": {"status": "pending"}}.get(change, {"x": 1.5})
        )
    return edited(draw, log, place, f"{key}: {change}", tree)


@mutation
def change_is_error(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, tree, _, body = body_of(draw, log, "tool_result")
    body.setdefault("function_result", {})["is_error"] = one_of(draw, True, False)
    return edited(draw, log, place, "is_error", tree)


@mutation
def change_text(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, tree, kind, body = body_of(draw, log, "text", "thought", "confirmation")
    key = {"text": "text", "thought": "signature", "confirmation": "question"}[kind]
    body[key] = draw(texts)
    return edited(draw, log, place, f"text of {kind}", tree)


@mutation
def change_role(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log, lambda tree: any("role" in body for body in objects(tree)))
    tree = json.loads(log.rows[place].payload)
    body = draw(st.sampled_from([body for body in objects(tree) if "role" in body]))
    body["role"] = one_of(draw, "user", "model", "assistant", "system", "")
    return edited(draw, log, place, "role", tree)


@mutation
def change_decision(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, tree, _, body = body_of(draw, log, "confirmation")
    for key in ("approval", "decline"):
        body.pop(key, None)
    body.update(
        one_of(
            draw,
            {},
            {"approval": {"approved": True}},
            {"decline": {"declined": True}},
            {"approval": {}},
            {"decline": {"declined": True}, "approval": {"approved": True}},
        )
    )
    return edited(draw, log, place, "decision", tree)


@mutation
def change_kind(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    kinds = ("text", "thought", "tool_call", "tool_result", "confirmation")
    place = pick(draw, log, with_kind(log, *kinds))
    tree = json.loads(log.rows[place].payload)
    body = next(body for body in bodies(tree, log.generation) if body.keys() & set(kinds))
    kind = next(kind for kind in kinds if kind in body)
    new = one_of(draw, "text", "thought", "tool_call", "tool_result", "confirmation", "text_delta")
    body[new] = {} if draw(st.booleans()) else body[kind]
    if new != kind:
        del body[kind]
    return edited(draw, log, place, f"{kind} to {new}", tree)


@mutation
def drop_or_double_a_part(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    key = log.generation.content_key
    place = pick(draw, log, lambda tree: tree.get(key))
    tree = json.loads(log.rows[place].payload)
    lists = [
        tree[key],
        *(b["content"] for b in objects(tree) if isinstance(b.get("content"), list)),
    ]
    parts = lists[draw(st.integers(0, len(lists) - 1))]
    at = draw(st.integers(0, len(parts) - 1))
    if draw(st.booleans()):
        parts.insert(at, parts[at])
    elif draw(st.booleans()):
        parts[at] = {}
    else:
        del parts[at]
    return edited(draw, log, place, "parts", tree)


@mutation
def drop_a_member(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    held = [body for body in objects(tree) if body]
    body = held[draw(st.integers(0, len(held) - 1))]
    key = draw(st.sampled_from(sorted(body)))
    if draw(st.booleans()):
        del body[key]
    else:
        body[key] = None
    return edited(draw, log, place, f"without {key}", tree)
