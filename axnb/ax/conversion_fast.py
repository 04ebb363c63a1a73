"""The fast way for rows in the forms that AX writes: one message or step, or none.

A row is taken only if a strict reader gives it back byte for byte, spaces after commas apart, and
if every member of it is one that AX writes there. So no key stands in it twice, no number has
another spelling, and nothing in it went unseen; what the reader writes of a part of it is then the
text of that part. All else goes the careful way (`conversion_careful`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import orjson

from axnb.ax.conversion_careful import NAMELESS, Naming, check_target
from axnb.ax.rows import STATES
from axnb.ax.versions import Generation

_STATES = {name: number for number, name in enumerate(STATES)}
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_MOST = 2**31

#: The content of a row that has none.
_NOTHING: dict[str, Any] = {}

Object = dict[str, Any]


class Usual(NamedTuple):
    """What became of a row: as `conversion_careful.Conversion`, with its text as bytes."""

    raw: bytes
    shape: str
    renumbered: bool = False
    named: bool = False
    state: int = 0


class _Form(NamedTuple):
    """What the keys of a row say: the column of its number, or the word for its owner."""

    column: str
    owner: str
    content: str
    #: Keys that it has, empty where it has none.
    turn: str
    owner_id: str
    config: str
    has_content: bool
    has_state: bool


def _forms() -> dict[tuple[str, ...], _Form]:
    """Every order of keys in which AX writes a row."""
    found = {}
    names: tuple[str, ...]
    has: tuple[bool, ...]
    for turn, owner, config, content, state in product((True, False), repeat=5):
        for column in ("seq", "step"):
            names = (column, "exec_id", "harness_id", "harness_config", "messages", "state")
            has = (True, turn, owner, config, content, state)
            found["conversation_id", *_chosen(names, has)] = _Form(
                column, "harness", "messages", *_keys(names[1:4], has[1:4]), content, state
            )
        for word in ("harness", "agent"):
            names = ("interaction_id", f"{word}_id", f"{word}_config", "steps", "state")
            has = (turn, owner, config, content, state)
            owned = word if owner or config else ""
            found["conversation_id", *_chosen(names, has)] = _Form(
                "", owned, "steps", *_keys(names[:3], has[:3]), content, state
            )
    return found


def _keys(names: tuple[str, ...], has: tuple[bool, ...]) -> tuple[str, str, str]:
    turn, owner, config = (n if h else "" for n, h in zip(names, has, strict=True))
    return turn, owner, config


def _chosen(names: tuple[str, ...], has: tuple[bool, ...]) -> list[str]:
    return [name for name, is_there in zip(names, has, strict=True) if is_there]


_FORMS: Mapping[tuple[str, ...], _Form] = _forms()


class Way:
    """How rows of a log with one step column are written for one target."""

    def __init__(self, column: str, target: Generation) -> None:
        check_target(target)
        self._log_column = column
        self._to_steps = target.content_key == "steps"
        self._column = target.step_column
        self._word = str(target.owner_key).removesuffix("_id")
        self._turn = "interaction_id" if self._to_steps else "exec_id"
        self._owner, self._config = str(target.owner_key), str(target.config_key)
        self._content = target.content_key
        #: Order of keys -> what they say, the shape of such a row, and if the target writes it so.
        self._forms = {keys: (f, self._shape(f), self._is_same(f)) for keys, f in _FORMS.items()}

    def convert(self, raw: bytes, step: int, naming: Naming | None) -> Usual | None:
        """A row at number `step`; None where it must go the careful way."""
        event = _read(raw)
        known = None if event is None else self._forms.get(tuple(event))
        if event is None or known is None:
            return None
        form, shape, is_same = known
        if shape is None or not _is_head(event, form):
            return None
        state = _STATES.get(event["state"]) if form.has_state else 0
        item = _item(event, form) if form.has_content else _NOTHING
        if state is None or item is None:
            return None
        named, wrong = "", False
        if form.column:
            wrong = event[form.column] != step
            if naming is not None and not form.owner_id and shape in NAMELESS:
                named = naming.owner if naming.always or _is_input(event, item, state) else ""
        if is_same and not named and not wrong:
            return Usual(raw, shape, False, False, state)
        written = self._written(event, form, item, step, named)
        if written is None:
            return None
        return Usual(orjson.dumps(written), shape, wrong, bool(named), state)

    def _is_same(self, form: _Form) -> bool:
        if self._to_steps:
            return not form.column and form.owner in ("", self._word)
        return form.column == self._column

    def _shape(self, form: _Form) -> str | None:
        """As `rows.shape` has it; None where the column of the log says otherwise."""
        if form.column == "step":
            return "G6"
        if form.column:
            return "exec" if form.turn and not form.config else "G5"
        if self._log_column == "seq":
            return None
        if form.owner:
            return "G8" if form.owner == "agent" else "G7"
        return "steps" if form.has_content or form.turn else "state"

    def _written(
        self, event: Object, form: _Form, item: Object, step: int, named: str
    ) -> Object | None:
        """The row to be, in AX's order; None where a role would be lost."""
        is_steps = not form.column
        row: Object = {"conversation_id": event["conversation_id"]}
        if not self._to_steps:
            row[self._column] = step
        if form.turn:
            row[self._turn] = event[form.turn]
        if named or form.owner_id:
            row[self._owner] = named or event[form.owner_id]
        if form.config:
            row[self._config] = event[form.config]
        if item:
            if is_steps is not self._to_steps:
                changed = _as_message(item) if is_steps else _as_step(item)
                if changed is None:
                    return None
                item = changed
            row[self._content] = [item]
        if form.has_state:
            row["state"] = event["state"]
        return row


def _read(raw: bytes) -> Object | None:
    """The row, if a strict reader gives it back as it is."""
    try:
        event = orjson.loads(raw)
        written = orjson.dumps(event)
    except (ValueError, TypeError):
        return None
    # Texts come back as they were, so only a space between two tokens can be gone.
    if written != raw and written.translate(None, b" ") != raw.translate(None, b" "):
        return None
    return event if type(event) is dict else None


def _is_head(event: Object, form: _Form) -> bool:
    """Have the members of a row beside its content the types that AX writes?"""
    if type(event["conversation_id"]) is not str:
        return False
    if form.column:
        number = event[form.column]
        if type(number) is not int or not 0 <= number < _MOST:
            return False
    if form.turn and type(event[form.turn]) is not str:
        return False
    if form.owner_id:
        owner = event[form.owner_id]
        if type(owner) is not str or not owner:
            return False
    if form.has_state and type(event["state"]) is not str:
        return False
    return not form.config or type(event[form.config]) is dict


def _item(event: Object, form: _Form) -> Object | None:
    """The message or step of a row; None where it is not AX's own."""
    items = event[form.content]
    if type(items) is not list or len(items) != 1 or type(items[0]) is not dict:
        return None
    item: Object = items[0]
    is_usual = _is_message(item) if form.column else _is_step(item)
    return item if is_usual else None


# --- what AX writes ------------------------------------------------------------------------------


def _is_message(message: Object) -> bool:
    if tuple(message) != ("role", "content") or type(message["role"]) is not str:
        return False
    content = message["content"]
    if type(content) is not dict or len(content) != 1:
        return False
    ((kind, body),) = content.items()
    if kind == "text":
        return _is_text(body)
    if kind == "tool_result":
        return _is_call(body, "call_id", "function_result", "response")
    return _is_own_kind(kind, body)


def _is_step(step: Object) -> bool:
    if len(step) != 1:
        return False
    ((kind, body),) = step.items()
    if kind == "content":
        return _is_content(body)
    if kind != "tool_result":
        return _is_own_kind(kind, body)
    if not _is_call(body, "call_id", "function_result", "result"):
        return False
    result = body["function_result"].get("result")
    return type(result) is dict and (*result,) == ("struct_value",) and _is_free(result)


def _is_own_kind(kind: str, body: Any) -> bool:
    if kind == "tool_call":
        return _is_call(body, "id", "function_call", "arguments")
    return kind == "thought" and _is_thought(body)


def _is_free(result: Object) -> bool:
    return type(result["struct_value"]) is dict


def _is_text(body: Any) -> bool:
    if type(body) is not dict:
        return False
    return not body or ((*body,) == ("text",) and type(body["text"]) is str)


def _is_content(body: Any) -> bool:
    if type(body) is not dict or (*body,) != ("role", "content"):
        return False
    contents = body["content"]
    if type(body["role"]) is not str or type(contents) is not list or len(contents) != 1:
        return False
    content = contents[0]
    return type(content) is dict and (*content,) == ("text",) and _is_text(content["text"])


_THOUGHTS = {("signature", "summary"), ("signature",), ("summary",)}


def _is_thought(body: Any) -> bool:
    if type(body) is not dict or (*body,) not in _THOUGHTS:
        return False
    summary = body.get("summary", [])
    return (
        _is_base64(body.get("signature", ""))
        and type(summary) is list
        and all(type(s) is dict and (*s,) == ("text",) and _is_text(s["text"]) for s in summary)
    )


def _is_base64(text: Any) -> bool:
    return type(text) is str and (not text or _BASE64.fullmatch(text) is not None)


_CALLS = {
    (*((id_,) if has_id else ()), *(("signature",) if has_signature else ()), function)
    for id_, function in (("id", "function_call"), ("call_id", "function_result"))
    for has_id, has_signature in product((True, False), repeat=2)
}


def _is_call(body: Any, id_: str, function: str, free: str) -> bool:
    """A call or a result, with a name and perhaps a free object."""
    if type(body) is not dict or (*body,) not in _CALLS or function not in body:
        return False
    if type(body.get(id_, "")) is not str or not _is_base64(body.get("signature", "")):
        return False
    called = body[function]
    if type(called) is not dict or type(called.get("name")) is not str:
        return False
    if len(called) == 1:
        return True
    return (*called,) == ("name", free) and type(called[free]) is dict


def _is_input(event: Object, item: Object, state: int) -> bool:
    """As in the careful way: a person's message, or an input without any."""
    if not item:
        return state == _STATES["STATE_PENDING"]
    return item["role"] == "user" and "tool_result" not in item["content"]


# --- one as the other ----------------------------------------------------------------------------


def _as_step(message: Object) -> Object | None:
    """A message as a step; None where its role would be lost."""
    role, content = message["role"], message["content"]
    if "text" in content:
        return {"content": {"role": role, "content": [content]}}
    if "tool_result" not in content:
        return content if role == "model" else None
    function = content["tool_result"]["function_result"]
    written = {"name": function["name"]}
    if "response" in function:
        written["result"] = {"struct_value": function["response"]}
    step = {"tool_result": content["tool_result"] | {"function_result": written}}
    return step if role == "user" else None


def _as_message(step: Object) -> Object:
    if "content" in step:
        held = step["content"]
        return {"role": held["role"], "content": held["content"][0]}
    if "tool_result" not in step:
        return {"role": "model", "content": step}
    function = step["tool_result"]["function_result"]
    written = {"name": function["name"], "response": function["result"]["struct_value"]}
    result = step["tool_result"] | {"function_result": written}
    return {"role": "user", "content": {"tool_result": result}}
