"""What a stored row says, told from its JSON alone: no schema of protobuf, nothing of axnb.

It knows the rows that AX writes and their other spellings. Of anything else it says None: a key
that AX has no field for, a key twice, a value of the wrong kind, a text that is no JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

#: Fields of a message by name: the name of a kind of value, a message, or a list of one of them.
Message = Mapping[str, Any]

_TEXT: Message = {"text": "text"}
_MEDIA: Message = {"mime_type": "name", "data": "bytes", "uri": "text"}
_SEEN: Message = {**_MEDIA, "resolution": "name"}
_PLAIN: Message = {
    "text": _TEXT,
    "image": _SEEN,
    "audio": {**_MEDIA, "channels": "whole", "sample_rate": "whole"},
    "document": _MEDIA,
    "video": _SEEN,
    "confirmation": {
        "id": "text",
        "question": "text",
        "approval": {"approved": "bool"},
        "decline": {"declined": "bool"},
    },
}
_CALL: Message = {
    "id": "text",
    "signature": "bytes",
    "function_call": {"name": "text", "arguments": "object"},
}
_VALUE: dict[str, Any] = {
    "number_value": "number",
    "string_value": "text",
    "bool_value": "bool",
    "struct_value": "object",
    "content_value": _PLAIN,
}
_VALUE["list_value"] = {"values": [_VALUE]}

_MESSAGE: Message = {
    "role": "text",
    "content": {
        **_PLAIN,
        "thought": {"signature": "bytes", "summary": [{"text": _TEXT}]},
        "tool_call": _CALL,
        "tool_result": {
            "call_id": "text",
            "signature": "bytes",
            "function_result": {"name": "text", "response": "object"},
        },
    },
}
_STEP: Message = {
    "description": "text",
    "index": "whole",
    "content": {"role": "text", "content": [_PLAIN]},
    "thought": {"signature": "bytes", "summary": [_PLAIN]},
    "tool_call": _CALL,
    "tool_result": {
        "call_id": "text",
        "signature": "bytes",
        "function_result": {"name": "text", "is_error": "bool", "result": _VALUE},
    },
}
_EVENT: Message = {"conversation_id": "text", "state": "state"}
_OWNED: Message = {"harness_id": "text", "harness_config": "object"}
_G5: Message = {**_EVENT, **_OWNED, "seq": "whole", "messages": [_MESSAGE]}

#: What an event holds that a healthy server of the generation fills in.
EVENTS: Mapping[str, Message] = {
    "G3": {
        **_EVENT,
        "seq": "whole",
        "exec_id": "text",
        "messages": [{**_MESSAGE, "internal_only": "bool"}],
    },
    "G4": {**_G5, "exec_id": "text", "harness_config": "bytes"},
    "G5": _G5,
    "G5b": _G5,
    "G6": {**_EVENT, **_OWNED, "step": "whole", "messages": [_MESSAGE]},
    "G7": {**_EVENT, **_OWNED, "steps": [_STEP]},
    "G8": {**_EVENT, "agent_id": "text", "agent_config": "object", "steps": [_STEP]},
}
EXECUTION: Message = {
    "exec_id": "text",
    "agent_id": "text",
    "agent_config": "bytes",
    "state": "state",
    "inputs": [_MESSAGE],
    "outputs": [_MESSAGE],
    "timestamp": "text",
}

_STATES = (
    "STATE_UNSPECIFIED",
    "STATE_PENDING",
    "STATE_FAILED",
    "STATE_COMPLETED",
    "STATE_CANCELED",
)
#: Of each of these a message holds one at most, wherever they stand.
_ONE_OF = ({*_MESSAGE["content"], "content"}, {"approval", "decline"}, {"data", "uri"}, {*_VALUE})


class _RefusedError(ValueError):
    """No row that AX writes, in no spelling."""


def read(payload: bytes, message: Message) -> dict[str, Any] | None:
    """What a payload says: fields that are set, by name, values in one spelling."""
    try:
        text = payload.decode()
        tree = json.loads(text, object_pairs_hook=_members, parse_constant=_no_constant)
        json.dumps(tree, ensure_ascii=False).encode()
        found = _message(tree, message)
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return found


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise _RefusedError
    return dict(pairs)


def _no_constant(_: str) -> None:
    raise _RefusedError


def _message(tree: Any, message: Message) -> dict[str, Any]:
    if not isinstance(tree, dict):
        raise _RefusedError
    names = {spelling: name for name in message for spelling in (name, _camel(name))}
    if len({names.get(key, key) for key in tree}) < len(tree):
        raise _RefusedError
    # What is null is absent, and of a key without a field nothing is lost then.
    said = {key: value for key, value in tree.items() if value is not None}
    if not said.keys() <= names.keys():
        raise _RefusedError
    found = {names[key]: _field(value, message[names[key]]) for key, value in said.items()}
    if any(len(found.keys() & group) > 1 for group in _ONE_OF):
        raise _RefusedError
    return {name: value for name, value in found.items() if _is_set(value)}


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), name)


def _is_set(value: Any) -> bool:
    """Is it another value than the one that AX leaves out? An empty message is there, too."""
    return isinstance(value, dict) or bool(value)


def _field(value: Any, kind: Any) -> Any:
    if isinstance(kind, list):
        if not isinstance(value, list):
            raise _RefusedError
        return [_message(item, kind[0]) for item in value]
    if isinstance(kind, Mapping):
        return _message(value, kind)
    return _SCALARS[kind](value)


def _typed(value: Any, wanted: type) -> Any:
    if type(value) is not wanted:
        raise _RefusedError
    return value


def _whole(value: Any) -> int:
    number = float(value) if type(value) in (int, float, str) else math.nan
    if not number.is_integer() or value == "":
        raise _RefusedError
    return int(value) if isinstance(value, int) else int(number)


def _state(value: Any) -> str:
    if isinstance(value, str) and value in _STATES:
        return "" if value == _STATES[0] else value
    number = _whole(value)
    if isinstance(value, str) or not 0 <= number < len(_STATES):
        raise _RefusedError
    return "" if number == 0 else _STATES[number]


def _object(value: Any) -> Any:
    """A free-form object: its numbers are doubles."""
    if type(value) in (int, float):
        return _double(value)
    if isinstance(value, list):
        return [_object(item) for item in value]
    if isinstance(value, dict):
        return {name: _object(item) for name, item in value.items()}
    return value


def _double(value: Any) -> tuple[str]:
    """In one spelling, which tells 0 from -0, and 1 from true."""
    number = float(value)
    if math.isinf(number) or math.isnan(number):
        raise _RefusedError
    return (repr(number),)


_SCALARS: Mapping[str, Any] = {
    "text": lambda value: _typed(value, str),
    "bool": lambda value: _typed(value, bool),
    "bytes": lambda value: _typed(value, str),
    "name": lambda value: _typed(value, str),
    "whole": _whole,
    "number": _double,
    "state": _state,
    "object": lambda value: _object(_typed(value, dict)),
}
