"""The fast way for rows in the forms that AX writes: one message or step, or none.

A row is taken only if a strict reader of AX's own forms (`row_forms`) gives it back byte for byte,
space between two tokens apart. So every member of it is one that AX writes there, no key stands in
it twice, no number has another spelling, and nothing in it went unseen; what the reader writes of a
part of it is then the text of that part. All else goes the careful way (`conversion_careful`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from axnb.ax.conversion_careful import NAMELESS, Naming, check_target
from axnb.ax.row_forms import (
    ROW_FORMS,
    Message,
    MessageContent,
    MessageFunction,
    MessageResult,
    RowForm,
    Step,
    StepContent,
    StepFunction,
    StepResult,
    StructValue,
    TextItem,
)
from axnb.ax.rows import STATES
from axnb.ax.versions import Generation

_NUMBERS: dict[Any, int] = {name: n for n, name in enumerate(STATES)} | {UNSET: 0}
_PENDING = "STATE_PENDING"

_encode = msgspec.json.Encoder().encode
#: What a reader and a writer say to a row that is in no form of AX.
_REFUSALS = (msgspec.MsgspecError, OverflowError, RecursionError)


class Usual(NamedTuple):
    """What became of a row: as `conversion_careful.Conversion`, with its text as bytes."""

    raw: bytes
    shape: str
    renumbered: bool = False
    named: bool = False
    state: int = 0
    #: Did the row tell an owner by itself?
    owns: bool = False


class Way:
    """How rows of a log with one step column are written for one target."""

    def __init__(self, column: str, target: Generation) -> None:
        check_target(target)
        self._log_column = column
        is_numbered = target.event == "ConversationEvent"
        word = str(target.owner_key).removesuffix("_id")
        self._target = ROW_FORMS[target.step_column if is_numbered else "", word]
        #: That of the row before comes first: most rows of a log are in one.
        self._forms = list(ROW_FORMS.values())

    def convert(self, raw: bytes, step: int, naming: Naming | None) -> Usual | None:
        """A row at number `step`; None where it must go the careful way."""
        found = self._read(raw)
        if found is None:
            return None
        form, row, compact = found
        item = None if row.items is UNSET else row.items[0]
        shape = self._shape(form, row)
        if shape is None or not (item is None or _has_one_kind(item)):
            return None
        named, is_wrong, owns = "", False, row.owner is not UNSET
        if form.column:
            is_wrong = row.number != step
            if naming is not None and not owns and shape in NAMELESS:
                named = naming.owner if naming.always or _is_input(row, item) else ""
        state, text = _NUMBERS[row.state], None
        if not named and not is_wrong:
            if self._is_same(form, row):
                text = raw
            elif form.column and self._target.column:
                # In a text each quote is escaped, so this is the member itself.
                text = compact.replace(form.member, self._target.member, 1)
        if text is None:
            items = UNSET if item is None else self._items(form, row.items)
            if items is None:
                return None
            text = self._written(row, step, items, named)
        return Usual(text, shape, is_wrong, bool(named), state, owns)

    def _read(self, raw: bytes) -> tuple[RowForm, Any, bytes] | None:
        """Form, row and text without space between tokens, if the strict reader gives it back."""
        for form in self._forms:
            try:
                row = form.decode(raw)
                written = _encode(row)
            except _REFUSALS:
                continue
            if written != raw and written != msgspec.json.format(raw, indent=-1):
                return None
            if form is not self._forms[0]:
                self._forms.remove(form)
                self._forms.insert(0, form)
            return form, row, written
        return None

    def _is_same(self, form: RowForm, row: Any) -> bool:
        """Does the target write such a row as it is?"""
        if form is self._target:
            return True
        is_owned = row.owner is not UNSET or row.config is not UNSET
        return form.content == self._target.content == "steps" and not is_owned

    def _shape(self, form: RowForm, row: Any) -> str | None:
        """As `rows.shape` has it; None where the column of the log says otherwise."""
        if form.column == "step":
            return "G6"
        if form.column:
            return "G5" if row.turn is UNSET or row.config is not UNSET else "exec"
        if self._log_column == "seq":
            return None
        if row.owner is not UNSET or row.config is not UNSET:
            return "G8" if form.word == "agent" else "G7"
        return "state" if row.items is UNSET and row.turn is UNSET else "steps"

    def _items(self, form: RowForm, items: list[Any]) -> list[Any] | None:
        """The content in the words of the target; None where a role would be lost."""
        if form.content == self._target.content:
            return items
        (item,) = items
        changed = _as_step(item) if form.content == "messages" else _as_message(item)
        return None if changed is None else [changed]

    def _written(self, row: Any, step: int, items: Any, named: str) -> bytes:
        write, owner = self._target.type, named or row.owner
        rest = row.turn, owner, row.config, items, row.state
        if self._target.column:
            return _encode(write(row.conversation_id, step, *rest))
        return _encode(write(row.conversation_id, *rest))


def _has_one_kind(item: Message | Step) -> bool:
    if isinstance(item, Step):
        kinds = item.content, item.thought, item.tool_call, item.tool_result
        return kinds.count(UNSET) == 3
    held = item.content
    return (held.text, held.thought, held.tool_call, held.tool_result).count(UNSET) == 3


def _is_input(row: Any, item: Message | None) -> bool:
    """As in the careful way: a person's message, or an input without any."""
    if item is None:
        return bool(row.state == _PENDING)
    return item.role == "user" and item.content.tool_result is UNSET


# --- one as the other ----------------------------------------------------------------------------


def _as_step(message: Message) -> Step | None:
    """A message as a step; None where its role would be lost."""
    role, content = message.role, message.content
    if content.text is not UNSET:
        return Step(content=StepContent(role, [TextItem(content.text)]))
    if content.tool_result is UNSET:
        usual = Step(thought=content.thought, tool_call=content.tool_call)
        return usual if role == "model" else None
    if role != "user":
        return None
    answer = content.tool_result
    function = answer.function_result
    result = UNSET if function.response is UNSET else StructValue(function.response)
    return Step(
        tool_result=StepResult(
            call_id=answer.call_id,
            signature=answer.signature,
            function_result=StepFunction(function.name, result),
        )
    )


def _as_message(step: Step) -> Message:
    if step.content is not UNSET:
        (item,) = step.content.content
        return Message(step.content.role, MessageContent(item.text))
    answer = step.tool_result
    if answer is UNSET:
        return Message("model", MessageContent(thought=step.thought, tool_call=step.tool_call))
    function = answer.function_result
    response = UNSET if function.result is UNSET else function.result.struct_value
    result = MessageResult(
        call_id=answer.call_id,
        signature=answer.signature,
        function_result=MessageFunction(function.name, response),
    )
    return Message("user", MessageContent(tool_result=result))
