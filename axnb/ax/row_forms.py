"""The forms in which AX itself writes rows of one message or step, as types of a strict reader.

Members stand in AX's order. A row with any other member, or with a value of another type, is in
none of these forms.

Source: `event-log.md` §1.3 to §1.6; the schemas in `proto/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Object = dict[str, Any]
#: base64 as AX writes it: another spelling of the same bytes is not given back.
Signature = bytes | UnsetType


class _Form(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """Members that AX may leave out are UNSET."""


# --- content -------------------------------------------------------------------------------------


class Text(_Form):
    """A text; AX leaves an empty one out."""

    text: str | UnsetType = UNSET


class TextItem(_Form):
    """A text as one of several kinds."""

    text: Text


class Thought(_Form):
    """What a model thought."""

    signature: Signature = UNSET
    summary: list[TextItem] | UnsetType = UNSET


class CalledFunction(_Form):
    """What is called, with arguments of any kind."""

    name: str
    arguments: Object | UnsetType = UNSET


class Call(_Form, kw_only=True):
    """A tool call."""

    id: str | UnsetType = UNSET
    signature: Signature = UNSET
    function_call: CalledFunction


class MessageFunction(_Form):
    """What a function of a message has answered."""

    name: str
    response: Object | UnsetType = UNSET


class MessageResult(_Form, kw_only=True):
    """The result of a tool call, in a message."""

    call_id: str | UnsetType = UNSET
    signature: Signature = UNSET
    function_result: MessageFunction


class MessageContent(_Form):
    """One of these."""

    text: Text | UnsetType = UNSET
    thought: Thought | UnsetType = UNSET
    tool_call: Call | UnsetType = UNSET
    tool_result: MessageResult | UnsetType = UNSET


class Message(_Form):
    """What rows of up to G6 hold."""

    role: str
    content: MessageContent


class StructValue(_Form):
    """A free object."""

    struct_value: Object


class StepFunction(_Form):
    """What a function of a step has answered."""

    name: str
    result: StructValue | UnsetType = UNSET


class StepResult(_Form, kw_only=True):
    """The result of a tool call, as a step."""

    call_id: str | UnsetType = UNSET
    signature: Signature = UNSET
    function_result: StepFunction


class StepContent(_Form):
    """Texts of a role."""

    role: str
    content: Annotated[list[TextItem], Meta(min_length=1, max_length=1)]


class Step(_Form):
    """What rows of G7 and G8 hold: one of these."""

    content: StepContent | UnsetType = UNSET
    thought: Thought | UnsetType = UNSET
    tool_call: Call | UnsetType = UNSET
    tool_result: StepResult | UnsetType = UNSET


# --- rows ----------------------------------------------------------------------------------------

_Number = Annotated[int, Meta(ge=0, lt=2**31)]
_Owner = Annotated[str, Meta(min_length=1)]
_State = Literal[
    "STATE_UNSPECIFIED", "STATE_PENDING", "STATE_FAILED", "STATE_COMPLETED", "STATE_CANCELED"
]
_ONE: dict[str, Any] = {
    "messages": Annotated[list[Message], Meta(min_length=1, max_length=1)],
    "steps": Annotated[list[Step], Meta(min_length=1, max_length=1)],
}


class RowForm:
    """One form of rows: what its members are called, and the type that reads and writes them.

    Its rows have `conversation_id`, `number` (where there is a `column`), `turn`, `owner`,
    `config`, `items` and `state`, in this order.
    """

    def __init__(self, column: str, word: str) -> None:
        self.column, self.word = column, word
        self.content = "messages" if column else "steps"
        #: How the number of a row begins in its text.
        self.member = f',"{column}":'.encode()
        names = {
            "turn": "exec_id" if column else "interaction_id",
            "owner": f"{word}_id",
            "config": f"{word}_config",
            "items": self.content,
        }
        fields: list[tuple[str, Any, Any]] = [
            ("turn", str | UnsetType, UNSET),
            ("owner", _Owner | UnsetType, UNSET),
            ("config", Object | UnsetType, UNSET),
            ("items", _ONE[self.content] | UnsetType, UNSET),
            ("state", _State | UnsetType, UNSET),
        ]
        numbered: list[tuple[str, Any]] = [("number", _Number)] if column else []
        self.type: type[Any] = msgspec.defstruct(
            f"{word.title()}{self.content.title()}",
            [("conversation_id", str), *numbered, *fields],
            bases=(_Form,),
            rename=names | ({"number": column} if column else {}),
        )
        self.decode: Callable[[bytes], Any] = msgspec.json.Decoder(self.type).decode


#: By what its generation writes: the step column inside its rows, and the word for its owner.
ROW_FORMS = {
    (column, word): RowForm(column, word)
    for column, word in (("seq", "harness"), ("step", "harness"), ("", "harness"), ("", "agent"))
}
