"""What is odd about a row that AX decodes: what it drops, and what other readers stumble on.

AX reads such a row without a word, so nothing here makes a conversation unreadable. It is what a
migration, a ledger or another program reads otherwise than AX does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from axnb.ax.protojson import DROPPED, Members, Number
from axnb.ax.rows import STATES, Reading
from axnb.ax.versions import GENERATIONS

#: Fields whose numbers are doubles: a google.protobuf.Struct, or the number of an `ax.Value`.
_DOUBLES = {
    *("arguments", "response", "struct_value", "structValue", "number_value", "numberValue"),
    *("harness_config", "harnessConfig", "agent_config", "agentConfig"),
}

#: From here on neighbouring whole numbers are one double: 2^53 may have been 2^53 + 1.
FIRST_AMBIGUOUS = 2**53

#: SQLite's own JSON functions give up at 1,000 levels, Python's at about as many.
DEEP = 500

_MAX_PATH = 160


@dataclass(frozen=True)
class Oddity:
    """One odd thing, by its kind and its place in the payload, such as `$.steps[0].index`.

    dropped-field     a key that AX's own generation of the row has no field for
    unknown-state     a state that AX has no name for, or none at all
    other-id          the row says that it belongs to another conversation, or to none
    other-number      the row says that it has another number, or none (up to G6)
    step-index        a step says that it has another number (G7 and G8)
    big-number        a number in a double field that may have been another one
    nul-escape        a text with U+0000 in it
    duplicate-key     a key twice in one object that AX does not look at
    deep              nested deeper than common JSON readers go
    """

    kind: str
    path: str


def oddities(
    tree: Any, reading: Reading, conversation_id: str | None, step: int | None
) -> list[Oddity]:
    """What is odd about a row: `tree` as it is written, `reading` by its own generation.

    `conversation_id` and `step` are the row's key in its table; None where that is unreadable.
    """
    return [*_of_key(reading, conversation_id, step), *_dropped(reading.event), *_walk(tree)]


def _of_key(reading: Reading, conversation_id: str | None, step: int | None) -> Iterator[Oddity]:
    event, generation = reading.event, GENERATIONS[reading.generation]
    if conversation_id is not None and event.get("conversation_id") != conversation_id:
        yield Oddity("other-id", "$.conversation_id")
    if generation.event == "ConversationEvent":
        number = event.get(generation.step_column)
        if step is not None and number != step:
            yield Oddity("other-number", f"$.{generation.step_column}")
    for n, item in enumerate(event.get("steps", ())):
        if "index" in item and item["index"] != step:
            yield Oddity("step-index", f"$.steps[{n}].index")
    # AX writes a state on every row.
    if not 0 < reading.state < len(STATES):
        yield Oddity("unknown-state", "$.state")


def _dropped(event: dict[str, Any]) -> Iterator[Oddity]:
    """Keys without a field, by their place; `protojson.decode` has put them aside."""
    stack: list[tuple[dict[str, Any], str]] = [(event, "$")]
    while stack:
        message, path = stack.pop()
        for name, value in message.items():
            if name == DROPPED:
                yield from (
                    Oddity("dropped-field", f"{path}.{_key(key)}"[:_MAX_PATH]) for key in value
                )
            elif isinstance(value, dict):
                stack.append((value, f"{path}.{name}"))
            elif isinstance(value, list) and not isinstance(value, Members):
                stack.extend(
                    (item, f"{path}.{name}[{n}]")
                    for n, item in enumerate(value)
                    if isinstance(item, dict)
                )


@dataclass(frozen=True)
class _Place:
    """A value within the tree; a chain to its root, since most paths are never spelled out."""

    parent: _Place | None
    key: str | int
    depth: int
    #: Are numbers doubles here?
    doubles: bool

    def path(self) -> str:
        parts: list[str] = []
        place: _Place | None = self
        while place is not None and place.parent is not None:
            parts.append(f"[{place.key}]" if isinstance(place.key, int) else f".{_key(place.key)}")
            place = place.parent
        path = "$" + "".join(reversed(parts))
        return path if len(path) <= _MAX_PATH else f"{path[: _MAX_PATH - 1]}…"


def _key(name: str) -> str:
    """A key as part of a path: quoted unless it is a plain name."""
    return name if name.isidentifier() and name.isascii() else f'"{name}"'


def _walk(tree: Any) -> Iterator[Oddity]:
    """Look at every value once, without recursion."""
    is_deep = False
    stack = [(tree, _Place(None, "", 1, False))]
    while stack:
        node, place = stack.pop()
        if place.depth > DEEP and not is_deep:
            is_deep = True
            yield Oddity("deep", place.path())
        if isinstance(node, Number):
            if place.doubles and is_ambiguous(node):
                yield Oddity("big-number", place.path())
        elif isinstance(node, str):
            if "\0" in node:
                yield Oddity("nul-escape", place.path())
        elif isinstance(node, Members):
            yield from _of_names(node, place)
            stack.extend(
                (
                    value,
                    _Place(place, name, place.depth + 1, place.doubles or name in _DOUBLES),
                )
                for name, value in node
            )
        elif isinstance(node, list):
            stack.extend(
                (value, _Place(place, n, place.depth + 1, place.doubles))
                for n, value in enumerate(node)
            )


def _of_names(node: Members, place: _Place) -> Iterator[Oddity]:
    names = [name for name, _ in node]
    if len(set(names)) != len(names):
        yield Oddity("duplicate-key", place.path())
    if any("\0" in name for name in names):
        yield Oddity("nul-escape", place.path())


def is_ambiguous(digits: str) -> bool:
    """Is this number so large that a double may stand for several whole numbers?"""
    try:
        return abs(float(digits)) >= FIRST_AMBIGUOUS
    except ValueError:
        # protobuf-go takes an exponent without digits where it drops the number anyway.
        return False
