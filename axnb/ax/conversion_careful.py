"""One row of a log in the words of another generation, member by member: every row there is.

Texts, arguments, results, signatures and configurations are moved as the text that they are, so
every digit, escape and order is kept. What the target has no place for is named by its path.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any, NamedTuple

from axnb.ax import protojson, rows, schemas
from axnb.ax.conversion_content import to_messages, to_steps, without_flags
from axnb.ax.json_text import Members, PayloadError, parse
from axnb.ax.rows import READS_SHAPE
from axnb.ax.spans import Member, an_object, members
from axnb.ax.versions import GENERATIONS, Generation
from axnb.errors import UsageError

#: Generations that a log can be taken to. Earlier ones own every conversation of a default harness
#: without a name, and G3 keeps its pending executions in another table.
TARGETS = ("G5b", "G6", "G7", "G8")

#: Shapes of rows whose servers did not store the default harness by its name.
NAMELESS = ("exec", "G5")

_PENDING = rows.STATES.index("STATE_PENDING")


class Conversion(NamedTuple):
    """What became of one row.

    `reason` is why it stays as it is, or empty; `losses` are the paths of what the target cannot
    hold, once for each time; `renumbered` says that the row told another number than its key.
    """

    text: str
    shape: str = ""
    losses: tuple[str, ...] = ()
    reason: str = ""
    renumbered: bool = False
    #: Does the row name its conversation's owner by now, because it was told to?
    named: bool = False
    #: AX's number of the state; 0 where the row does not decode.
    state: int = 0
    #: Did the row tell an owner by itself?
    owns: bool = False


class Naming(NamedTuple):
    """The owner that a row shall name if it names none.

    `always`, or only if it begins a turn: a person's message, or an input without any.
    """

    owner: str
    always: bool


def check_target(target: Generation) -> None:
    """Raises UsageError for a generation that no log can be taken to."""
    if target.name not in TARGETS:
        raise UsageError(
            f"axnb takes no log to {target.label}; use one of {', '.join(TARGETS)}, or serve the "
            "log with the version that wrote it."
        )


def convert_carefully(
    payload: str, column: str, step: int, target: Generation, naming: Naming | None = None
) -> Conversion:
    """A row of a log with step column `column`, at number `step`, in the words of `target`.

    Raises UsageError for a target that no log can be taken to; nothing for any payload.
    """
    check_target(target)
    try:
        tree = parse(payload)
    except PayloadError as err:
        return Conversion(payload, reason=str(err))
    shape = rows.shape(tree, column)
    own = GENERATIONS[READS_SHAPE[shape]]
    reading = rows.reading(tree, own)
    if not reading.readable:
        return _left(payload, shape, tree, own, target, reading.reason)
    try:
        found = _Rewriting(payload, shape, own, target, reading.event, step, naming).run()
        protojson.decode(parse(found.text), schemas.event(target))
    except RecursionError:
        found = _left(payload, shape, tree, own, target, "nested too deep")
    except PayloadError as err:
        found = _left(payload, shape, tree, own, target, f"not as {target.name}: {err.reason}")
    return found._replace(owns=bool(reading.owner))


def left_as_it_is(payload: str, column: str, target: Generation, reason: str) -> Conversion:
    """A row that is copied byte for byte because of something that is not in its text."""
    try:
        tree = parse(payload)
    except PayloadError:
        return Conversion(payload, reason=reason)
    shape = rows.shape(tree, column)
    return _left(payload, shape, tree, GENERATIONS[READS_SHAPE[shape]], target, reason)


def _left(
    payload: str, shape: str, tree: Any, own: Generation, target: Generation, reason: str
) -> Conversion:
    return Conversion(payload, shape, _unseen(tree, own, target), reason)


def _unseen(tree: Any, own: Generation, target: Generation) -> tuple[str, ...]:
    """The content of a row that stays as it is, where the target takes the row and not that."""
    key = own.content_key
    if key == target.content_key or not isinstance(tree, Members):
        return ()
    has_content = any(name == key and value for name, value in tree)
    return (key,) if has_content and rows.reading(tree, target).readable else ()


@cache
def _fields(generation: str) -> dict[str, str]:
    """Field names of a row's message, by both spellings that AX takes."""
    fields = schemas.event(GENERATIONS[generation]).fields
    return {spelling: f.name for f in fields for spelling in (f.name, f.json_name)}


def _renamed(own: Generation, target: Generation) -> dict[str, str]:
    """What the fields of a row are called in the target."""
    numbered = target.event == "ConversationEvent"
    turn = "exec_id" if numbered else "interaction_id"
    names = {"conversation_id": "conversation_id", "exec_id": turn, "interaction_id": turn}
    names |= {own.content_key: target.content_key, "state": "state"}
    for old, new in ((own.owner_key, target.owner_key), (own.config_key, target.config_key)):
        if old is not None and new is not None:
            names[old] = new
    return names | ({own.step_column: target.step_column} if numbered else {})


class _Rewriting:
    """One row that decodes, member by member."""

    def __init__(
        self,
        payload: str,
        shape: str,
        own: Generation,
        target: Generation,
        event: dict[str, Any],
        step: int,
        naming: Naming | None,
    ) -> None:
        self._payload, self._shape, self._own, self._target = payload, shape, own, target
        self._event, self._step = event, step
        self._losses: list[str] = []
        self._owner = self._owner_to_name(naming)

    def run(self) -> Conversion:
        written = self._written()
        own_number = self._event.get(self._own.step_column, 0)
        found = members(self._payload)
        is_same = [(m.key, m.value) for m in found] == written
        return Conversion(
            text=self._payload if is_same else an_object(written),
            shape=self._shape,
            losses=tuple(self._losses),
            renumbered=self._own.event == "ConversationEvent" and own_number != self._step,
            named=bool(self._owner),
            state=self._event.get("state", 0),
        )

    def _written(self) -> list[tuple[str, str]]:
        """The members of the row to be, in the order of the old one."""
        known, read = _fields(self._own.name), _fields(self._target.name)
        names = _renamed(self._own, self._target)
        replaced: set[str | None] = {self._own.owner_key} if self._owner else set()
        if self._own.event == "ConversationEvent":
            replaced.add(self._own.step_column)
        head: list[tuple[str, str]] = []
        rest: list[tuple[str, str]] = []
        for member in members(self._payload):
            field = known.get(member.name)
            if field is None:
                if member.name in read:
                    self._losses.append(member.name)
                else:
                    rest.append((member.key, member.value))
            elif field in replaced:
                continue
            elif (value := self._value(field, member)) is not None:
                is_first = field in ("conversation_id", "exec_id", "interaction_id")
                (head if is_first else rest).append((f'"{names[field]}"', value))
        return [*self._numbered(head), *rest]

    def _numbered(self, head: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """The members that tell where the row belongs, in AX's order."""
        order = ("conversation_id", self._target.step_column, "exec_id", "interaction_id")
        if self._target.event == "ConversationEvent":
            head.append((f'"{self._target.step_column}"', str(self._step)))
        head.sort(key=lambda member: order.index(member[0].strip('"')))
        if self._owner:
            owner = json.dumps(self._owner, ensure_ascii=False)
            head.append((f'"{self._target.owner_key}"', owner))
        return head

    def _value(self, field: str, member: Member) -> str | None:
        """A field's value in the words of the target; None where it has no place there."""
        if member.value == "null":
            return "null"
        if field == self._own.config_key:
            return self._config(member.value)
        if field != self._own.content_key:
            return member.value
        is_g3 = self._shape == "exec"
        if self._own.content_key == self._target.content_key:
            return without_flags(member.value, self._losses) if is_g3 else member.value
        if self._own.content_key == "messages":
            return to_steps(member.value, self._losses, is_g3=is_g3)
        return to_messages(member.value, self._losses)

    def _config(self, text: str) -> str | None:
        """A configuration; of G4's base64 the object in it, which AX meant."""
        if self._own.name != "G4":
            return text
        try:
            inner = base64.b64decode(_standard(json.loads(text))).decode()
            tree = Members([(str(self._target.config_key), parse(inner))])
            protojson.decode(tree, schemas.event(self._target))
            return inner.strip()
        except (ValueError, RecursionError):
            # Neither a text nor the object of a later generation: its rows would not decode.
            self._losses.append("harness_config")
            return None

    def _owner_to_name(self, naming: Naming | None) -> str:
        """The owner that this row gets; empty if it gets none."""
        names_one = self._own.owner_key and self._event.get(self._own.owner_key)
        if naming is None or names_one or self._shape not in NAMELESS:
            return ""
        return naming.owner if naming.always or self._is_input() else ""

    def _is_input(self) -> bool:
        """Does the row look like the input of a turn?"""
        messages = self._event.get("messages", ())
        if not messages:
            return bool(self._event.get("state", 0) == _PENDING)
        first = messages[0]
        return first.get("role") == "user" and "tool_result" not in first.get("content", {})


def _standard(text: str) -> bytes:
    """Base64 of either alphabet, padded or not, as the standard has it."""
    text = text.replace("\r", "").replace("\n", "").translate({45: "+", 95: "/"}).rstrip("=")
    return (text + "=" * (-len(text) % 4)).encode()
