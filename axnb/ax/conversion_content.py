"""Messages of G3 to G6 as steps of G7 and G8, and back: cut out and put together as text.

A message has a role and one content; a step has one kind, and only content has a role there. What
the other form has no place for is dropped and named by its path, never changed into something
else. A member that AX discards stays where it is still discarded; where it would begin to mean
something it is dropped and named as well.

Source: the schemas in `proto/`, and `event-log.md` §1.8.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from axnb.ax import schemas
from axnb.ax.json_text import is_number
from axnb.ax.spans import Member, a_list, an_object, items, members

#: The role that a message of this kind has: a step of the same kind says it by its kind.
ROLES = {"thought": "model", "tool_call": "model", "tool_result": "user"}

Losses = list[str]
_Rewrite = Callable[[str, Losses], str]


@cache
def _fields(schema: str, name: str) -> dict[str, str]:
    """Field names of a message, by both spellings that AX takes."""
    fields = schemas.message(schema, name).fields
    return {spelling: f.name for f in fields for spelling in (f.name, f.json_name)}


class _Split:
    """An object cut into the fields that AX reads there and the members that it discards."""

    def __init__(self, text: str, schema: str, name: str, path: str, losses: Losses) -> None:
        known = _fields(schema, name)
        self._path, self._losses = path, losses
        self.fields: dict[str, str] = {}
        self.others: list[Member] = []
        for member in members(text):
            field = known.get(member.name)
            if field is None:
                self.others.append(member)
            elif member.value == "null" and field != "null_value":
                # Nothing is set by it, and a second member of a oneof may stand beside it.
                self.lose(field)
            else:
                self.fields[field] = member.value

    def lose(self, name: str) -> None:
        self._losses.append(f"{self._path}.{name}")

    def take(self, name: str) -> list[tuple[str, str]]:
        """A field as a member of the object to be, if it is there."""
        value = self.fields.get(name)
        return [] if value is None else [(f'"{name}"', value)]

    def kind(self, *besides: str) -> str | None:
        """The member of the oneof that is set."""
        return next((name for name in self.fields if name not in besides), None)

    def kept(self, schema: str, name: str) -> list[tuple[str, str]]:
        """The discarded members that AX still discards in a message of the target."""
        read = _fields(schema, name)
        for member in self.others:
            if member.name in read:
                self.lose(member.name)
        return [(m.key, m.value) for m in self.others if m.name not in read]

    def lose_others(self) -> None:
        for member in self.others:
            self.lose(member.name)


# --- messages to steps ---------------------------------------------------------------------------


def to_steps(text: str, losses: Losses, *, is_g3: bool) -> str:
    """A list of messages as a list of steps; what has no place is added to `losses`."""
    return a_list([_to_step(item, losses, is_g3) for item in items(text)])


def _to_step(text: str, losses: Losses, is_g3: bool) -> str:
    message = _Split(text, "g3" if is_g3 else "g6", "Message", "messages[]", losses)
    if "internal_only" in message.fields:
        message.lose("internal_only")
    kept = message.kept("g8", "Step")
    content = message.fields.get("content")
    if content is None:
        bare = message.take("role")
        return an_object([*([('"content"', an_object(bare))] if bare else []), *kept])
    of_kind: Losses = []
    held = _Split(content, "g6", "Content", "messages[].content", of_kind)
    kind = held.kind()
    if kind not in ROLES:
        # Content is the same message there, without the kinds that became steps.
        parts = [*message.take("role"), ('"content"', a_list([content]))]
        return an_object([('"content"', an_object(parts)), *kept])
    held.lose_others()
    losses += of_kind
    if json.loads(message.fields.get("role", '""')) != ROLES[kind]:
        message.lose("role")
    body = held.fields[kind]
    if kind == "thought":
        body = _summary(body, "g6", "messages[].content.thought", losses)
    elif kind == "tool_result":
        body = _result(body, _with_value, "g6", "ToolResultContent", losses)
    return an_object([(f'"{kind}"', body), *kept])


def _with_value(text: str, losses: Losses) -> str:
    path = "messages[].content.tool_result.function_result"
    function = _Split(text, "g6", "FunctionResultContent", path, losses)
    parts = function.take("name")
    if "response" in function.fields:
        value = an_object([('"struct_value"', function.fields["response"])])
        parts.append(('"result"', value))
    return an_object([*parts, *function.kept("g8", "FunctionResultStep")])


def without_flags(text: str, losses: Losses) -> str:
    """A list of G3's messages without `internal_only`, which later generations do not know."""
    return a_list([_without_flag(item, losses) for item in items(text)])


def _without_flag(text: str, losses: Losses) -> str:
    held = members(text)
    kept = [m for m in held if m.name not in ("internal_only", "internalOnly")]
    losses += ["messages[].internal_only"] * (len(held) - len(kept))
    return text if kept == held else an_object([(m.key, m.value) for m in kept])


# --- steps to messages ---------------------------------------------------------------------------


def to_messages(text: str, losses: Losses) -> str:
    """A list of steps as a list of messages; what has no place is added to `losses`."""
    return a_list([message for item in items(text) for message in _to_message(item, losses)])


def _to_message(text: str, losses: Losses) -> list[str]:
    step = _Split(text, "g8", "Step", "steps[]", losses)
    for name in ("description", "index"):
        if name in step.fields:
            step.lose(name)
    kept = step.kept("g6", "Message")
    kind = step.kind("description", "index")
    if kind is None:
        return [an_object(kept)]
    body = step.fields[kind]
    if kind == "content":
        return _of_content(body, kept, losses)
    if kind == "thought":
        body = _summary(body, "g8", "steps[].thought", losses)
    elif kind == "tool_result":
        body = _result(body, _with_response, "g8", "ToolResultStep", losses)
    content = an_object([(f'"{kind}"', body)])
    return [an_object([('"role"', f'"{ROLES[kind]}"'), ('"content"', content), *kept])]


def _of_content(text: str, kept: list[tuple[str, str]], losses: Losses) -> list[str]:
    """A step can hold several contents, and none: then the way back makes other steps of them."""
    step = _Split(text, "g8", "ContentStep", "steps[].content", losses)
    step.lose_others()
    role, listed = step.take("role"), step.fields.get("content")
    contents = [] if listed is None else items(listed)
    if listed is not None and len(contents) != 1:
        step.lose("content")
    if not contents:
        if not role:
            # A message has nothing by which it would be told from an empty step.
            losses.append("steps[].content")
        return [an_object([*role, *kept])]
    path = "steps[].content.content[]"
    written = [_only_known(item, "Content", path, losses) for item in contents]
    first, *rest = [[*role, ('"content"', content)] for content in written]
    return [an_object([*first, *kept]), *map(an_object, rest)]


def _only_known(text: str, name: str, path: str, losses: Losses) -> str:
    """A content without the members that AX discards there and would read in a message."""
    of_content: Losses = []
    held = _Split(text, "g8", "Content", path, of_content)
    if not any(member.name in _fields("g6", name) for member in held.others):
        return text
    kept = held.kept("g6", name)
    losses += of_content
    return an_object([*((f'"{field}"', value) for field, value in held.fields.items()), *kept])


def _with_response(text: str, losses: Losses) -> str:
    path = "steps[].tool_result.function_result"
    function = _Split(text, "g8", "FunctionResultStep", path, losses)
    if "is_error" in function.fields:
        function.lose("is_error")
    parts = function.take("name")
    if "result" in function.fields:
        response = _response(function.fields["result"], f"{path}.result", losses)
        parts += [] if response is None else [('"response"', response)]
    return an_object([*parts, *function.kept("g6", "FunctionResultContent")])


def _response(text: str, path: str, losses: Losses) -> str | None:
    """A value as an object: one that is none stands under the key `result`."""
    value = _Split(text, "g8", "Value", path, losses)
    kind = value.kind()
    if kind is None:
        losses.append(path)
        return None
    value.lose_others()
    if kind == "struct_value":
        return value.fields[kind]
    value.lose(kind)
    return an_object([('"result"', _plain(text))])


def _plain(text: str) -> str:
    """An `ax.Value` as the JSON that it stands for."""
    value = _Split(text, "g8", "Value", "", [])
    kind = value.kind()
    if kind is None or kind == "null_value":
        return "null"
    body = value.fields[kind]
    if kind == "number_value" and body.startswith('"'):
        # protojson takes a number in quotes; JSON has no other word for what is no number.
        number: str = json.loads(body)
        return number if is_number(number) else body
    if kind != "list_value":
        return body
    listed = _Split(body, "g8", "ListValue", "", []).fields.get("values", "[]")
    return a_list([_plain(item) for item in items(listed)])


# --- both ways -----------------------------------------------------------------------------------


def _summary(text: str, schema: str, path: str, losses: Losses) -> str:
    """A thought whose summary holds only texts: messages know nothing else there."""
    names = {"g6": ("ThoughtContent", "ThoughtSummaryContent"), "g8": ("ThoughtStep", "Content")}
    found: Losses = []
    thought = _Split(text, schema, names[schema][0], path, found)
    summary = thought.fields.get("summary")
    if summary is None:
        return text
    media = {n for n, field in _fields("g8", "Content").items() if field != "text"}
    written = [_only_text(item, media, f"{path}.summary[]", found) for item in items(summary)]
    if not found:
        return text
    losses += found
    parts = [*thought.take("signature"), ('"summary"', a_list(written))]
    return an_object([*parts, *((m.key, m.value) for m in thought.others)])


def _only_text(text: str, media: set[str], path: str, losses: Losses) -> str:
    held = members(text)
    dropped = [member.name for member in held if member.name in media]
    losses += [f"{path}.{_fields('g8', 'Content')[name]}" for name in dropped]
    return an_object([(m.key, m.value) for m in held if m.name not in media]) if dropped else text


def _result(text: str, rewrite: _Rewrite, schema: str, name: str, losses: Losses) -> str:
    """A tool result with its function result in the words of the other form."""
    path = "steps[].tool_result" if schema == "g8" else "messages[].content.tool_result"
    result = _Split(text, schema, name, path, losses)
    parts = [*result.take("call_id"), *result.take("signature")]
    if "function_result" in result.fields:
        parts.append(('"function_result"', rewrite(result.fields["function_result"], losses)))
    return an_object([*parts, *((m.key, m.value) for m in result.others)])
