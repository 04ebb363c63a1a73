"""A log with one mutation, and what mutations are made with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from axnb.ax.versions import Generation
from axnb.testing.logs import LogBuilder, StoredRow

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


class InapplicableError(Exception):
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
        raise InapplicableError
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
    for value in (
        tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    ):
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
