"""Single mutations of a log: one row, or one place in the table, is another one than it was.

Each says what it did. Numbers and ids inside a payload are put right on purpose in some of them, as a
program would that knows AX: then only the history can tell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from axnb.ax.versions import Generation
from axnb.testing.logs import LogBuilder, StoredRow

from .healthy import ids, texts, tools

Tree = dict[str, Any]


@dataclass
class Mutant:
    """A log with one mutation. `touched` are the conversations that it is about."""

    what: str
    log: LogBuilder
    touched: set[str] = field(default_factory=set)
    #: The table has its key, and its columns their types; a payload of bytes is stored as text.
    keyed: bool = True
    typed: bool = True
    as_text: bool = False


class Inapplicable(Exception):
    """The log has no row of the kind that the mutation needs."""


Mutation = Callable[[st.DrawFn, LogBuilder], Mutant]
MUTATIONS: dict[str, Mutation] = {}


def mutation(function: Mutation) -> Mutation:
    """Put a mutation on the list."""
    MUTATIONS[function.__name__] = function
    return function


def copied(log: LogBuilder) -> LogBuilder:
    """A log whose rows may be changed while the first one keeps its own."""
    copy = LogBuilder(log.generation.name)
    copy.rows, copy.executions = list(log.rows), list(log.executions)
    return copy


def one_of(draw: st.DrawFn, *choices: Any) -> Any:
    """One of these by chance."""
    return choices[draw(st.integers(0, len(choices) - 1))]


def pick(draw: st.DrawFn, log: LogBuilder, fits: Callable[[Tree], Any] = lambda _: True) -> int:
    """The place of a row whose payload fits."""
    places = [n for n, row in enumerate(log.rows) if fits(json.loads(row.payload))]
    if not places:
        raise Inapplicable
    return draw(st.sampled_from(places))


def dumped(tree: Any) -> str:
    """A payload as AX writes it."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def edited(draw: st.DrawFn, log: LogBuilder, place: int, what: str, tree: Tree) -> Mutant:
    """The log with another tree in one row."""
    return with_payload(log, place, what, dumped(tree))


def with_payload(log: LogBuilder, place: int, what: str, payload: Any, **how: Any) -> Mutant:
    """The log with another payload in one row."""
    changed = copied(log)
    row = changed.rows[place]
    changed.rows[place] = replace(row, payload=payload)
    told = f"{what} at {row.conversation_id!r} {row.step}: {payload!r}"
    return Mutant(told, changed, {row.conversation_id}, **how)


def at_home(log: LogBuilder, row: StoredRow) -> StoredRow:
    """A row whose payload names the key that it has."""
    tree = json.loads(row.payload)
    tree["conversation_id"] = row.conversation_id
    if log.generation.event == "ConversationEvent":
        tree[log.generation.step_column] = row.step
    return replace(row, payload=dumped(tree))


def inputs(log: LogBuilder) -> set[int]:
    """The places of the rows that begin a turn."""
    begins, found = set(), set()
    for place, row in enumerate(log.rows):
        if row.conversation_id not in begins:
            found.add(place)
            begins.add(row.conversation_id)
        if json.loads(row.payload).get("state") == "STATE_COMPLETED":
            begins.discard(row.conversation_id)
    return found


def bodies(tree: Tree, generation: Generation) -> Iterator[Tree]:
    """The objects of a row that hold a piece of content by its kind."""
    for item in tree.get(generation.content_key, ()):
        content = item.get("content", item)
        if isinstance(content.get("content"), list):
            yield from content["content"]
        else:
            yield content


def objects(tree: Any) -> Iterator[Tree]:
    """Every object within a tree."""
    if isinstance(tree, dict):
        yield tree
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from objects(value)


def with_kind(log: LogBuilder, *kinds: str) -> Callable[[Tree], bool]:
    """Has a row content of one of these kinds?"""
    return lambda tree: any(kind in body for body in bodies(tree, log.generation) for kind in kinds)


def body_of(draw: st.DrawFn, log: LogBuilder, *kinds: str) -> tuple[int, Tree, str, Tree]:
    """A place, its tree, and a piece of content of one of these kinds within the tree."""
    place = pick(draw, log, with_kind(log, *kinds))
    tree = json.loads(log.rows[place].payload)
    found = [(k, body[k]) for body in bodies(tree, log.generation) for k in kinds if k in body]
    return place, tree, *found[draw(st.integers(0, len(found) - 1))]


# --- rows ------------------------------------------------------------------------------------------


@mutation
def delete_row(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    changed = copied(log)
    row = changed.rows.pop(place)
    return Mutant(f"delete {row}", changed, {row.conversation_id})


@mutation
def copy_under_its_number(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    row = changed.rows[pick(draw, log)]
    changed.rows.append(row)
    return Mutant(f"twice {row}", changed, {row.conversation_id}, keyed=False)


@mutation
def copy_to_the_end(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    row = changed.rows[pick(draw, log)]
    copy = replace(row, step=log.last_step(row.conversation_id) + 1)
    changed.rows.append(at_home(log, copy) if draw(st.booleans()) else copy)
    return Mutant(f"copy to the end {changed.rows[-1]}", changed, {row.conversation_id})


@mutation
def copy_over_another(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    source, target = changed.rows[pick(draw, log)], pick(draw, log)
    old = changed.rows[target]
    copy = replace(old, payload=source.payload)
    changed.rows[target] = at_home(log, copy) if draw(st.booleans()) else copy
    return Mutant(f"instead of {old}: {changed.rows[target]}", changed, {old.conversation_id})


@mutation
def swap_payloads(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    first, second = pick(draw, log), pick(draw, log)
    a, b = changed.rows[first], changed.rows[second]
    if a == b:
        raise Inapplicable
    fix = draw(st.booleans())
    for place, row, payload in ((first, a, b.payload), (second, b, a.payload)):
        new = replace(row, payload=payload)
        changed.rows[place] = at_home(log, new) if fix else new
    what = f"swap payloads, {'keys put right' if fix else 'as they are'}: {a}, {b}"
    return Mutant(what, changed, {a.conversation_id, b.conversation_id})


@mutation
def swap_numbers(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    first = pick(draw, log)
    name = log.rows[first].conversation_id
    second = draw(st.sampled_from([n for n, r in enumerate(log.rows) if r.conversation_id == name]))
    a, b = changed.rows[first], changed.rows[second]
    if a == b:
        raise Inapplicable
    changed.rows[first], changed.rows[second] = replace(a, step=b.step), replace(b, step=a.step)
    return Mutant(f"swap numbers: {a}, {b}", changed, {name})


@mutation
def move_to_another_conversation(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    place = pick(draw, log)
    row = changed.rows[place]
    names = {r.conversation_id for r in log.rows} - {row.conversation_id}
    target = draw(st.sampled_from(sorted(names)) | ids) if names else draw(ids)
    if target == row.conversation_id:
        raise Inapplicable
    taken = {r.step for r in log.rows if r.conversation_id == target}
    step = row.step if row.step not in taken else log.last_step(target) + 1
    moved = replace(row, conversation_id=target, step=step)
    changed.rows[place] = at_home(log, moved) if draw(st.booleans()) else moved
    what = f"move {row} to {changed.rows[place]}"
    return Mutant(what, changed, {row.conversation_id, target})


@mutation
def renumber(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    place = pick(draw, log)
    row = changed.rows[place]
    last = log.last_step(row.conversation_id)
    odd = (None, "x", str(row.step), row.step + 0.5, float(row.step), b"\x01", str(row.step).encode())
    usual = (last + 1, last + 900, 2**31 - 1, 2**31, 2**62, 0, -1, -(2**62))
    step = one_of(draw, *odd, *usual)
    new = replace(row, step=step)
    if isinstance(step, int) and draw(st.booleans()):
        new = at_home(log, new)
    changed.rows[place] = new
    typed = isinstance(step, int) or draw(st.booleans()) and step is not None
    return Mutant(f"renumber {row} to {new}, {typed=}", changed, {row.conversation_id}, typed=typed)


@mutation
def change_storage_class(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    place = pick(draw, log)
    row = changed.rows[place]
    new = one_of(
        draw,
        replace(row, payload=row.payload.encode()),
        replace(row, payload=None),
        replace(row, payload=7),
        replace(row, conversation_id=row.conversation_id.encode()),
        replace(row, conversation_id=None),
        replace(row, conversation_id=row.conversation_id.encode() + b"\xff"),
    )
    changed.rows[place] = new
    what = f"store {row} as {new}"
    return Mutant(what, changed, {row.conversation_id}, typed=False)


# --- what a row says of itself ---------------------------------------------------------------------


@mutation
def change_state(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    names = ("PENDING", "COMPLETED", "FAILED", "CANCELED", "UNSPECIFIED", "PAUSED")
    others = ("completed", "", "3", 0, 1, 2, 3, 4, 5, -1, 2**31, 1.5, None, True, [], {})
    state = one_of(draw, *(f"STATE_{name}" for name in names), *others)
    if state is None and draw(st.booleans()):
        del tree["state"]
    else:
        tree["state"] = state
    return edited(draw, log, place, "state", tree)


@mutation
def change_owner(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    key = log.generation.owner_key
    place = pick(draw, log, lambda tree: key in tree)
    tree = json.loads(log.rows[place].payload)
    assert key is not None
    value = one_of(draw, "antigravity", "drill", "another", "", None, 1, draw(texts))
    tree[key] = value
    return edited(draw, log, place, "owner", tree)


@mutation
def add_owner(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    key = one_of(draw, log.generation.owner_key or "harness_id", "harness_id", "agent_id")
    place = pick(draw, log, lambda tree: key not in tree)
    tree = json.loads(log.rows[place].payload)
    tree[key] = one_of(draw, "antigravity", "drill", "another")
    return edited(draw, log, place, "new owner", tree)


@mutation
def change_config(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    key = log.generation.config_key or "harness_config"
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    tree[key] = one_of(draw, {}, {"model": "other"}, "eyJtb2RlbCI6Im0ifQ==", "?", 5, [], None)
    return edited(draw, log, place, "config", tree)


@mutation
def change_id_inside(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    tree["conversation_id"] = one_of(draw, draw(ids), "", None, log.rows[0].conversation_id)
    return edited(draw, log, place, "id inside", tree)


@mutation
def change_number_inside(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    key = log.generation.step_column
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    tree[key] = one_of(draw, log.rows[place].step + 1, 0, -1, 2**31, None, "x", str(tree.get(key, 1)))
    return edited(draw, log, place, "number inside", tree)


@mutation
def change_execution_id(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    others = [json.loads(row.payload).get("exec_id") for row in log.rows]
    tree["exec_id"] = draw(st.sampled_from(["", "other", None, *others]))
    return edited(draw, log, place, "exec_id", tree)


@mutation
def add_index(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log, lambda tree: tree.get(log.generation.content_key))
    tree = json.loads(log.rows[place].payload)
    index = one_of(draw, log.rows[place].step, 99, -1, 2**63)
    tree[log.generation.content_key][0]["index"] = one_of(draw, index, str(index))
    return edited(draw, log, place, "index", tree)


# --- content ---------------------------------------------------------------------------------------


@mutation
def change_call_id(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place, tree, kind, body = body_of(draw, log, "tool_call", "tool_result", "confirmation")
    key = "call_id" if kind == "tool_result" else "id"
    found = {body.get(k) for row in log.rows for body in objects(json.loads(row.payload)) for k in ("id", "call_id")}
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
        raise Inapplicable
    held = function[key].get("struct_value") if key == "result" else function[key]
    change = one_of(draw, "drop", "error", "pending", "more", "null", "text", "empty")
    if change in ("drop", "null", "text"):
        function[key] = {"null": None, "text": "text"}.get(change)
        if change == "drop":
            del function[key]
    elif change == "empty":
        held.clear()
    else:
        held.update({"error": {"error": "boom"}, "pending": {"status": "pending"}}.get(change, {"x": 1.5}))
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
    lists = [tree[key], *(b["content"] for b in objects(tree) if isinstance(b.get("content"), list))]
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

