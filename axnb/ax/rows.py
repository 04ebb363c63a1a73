"""One codec a generation: what a row holds, and how its generation writes it.

`read` goes through protojson as AX does; `write` gives the text that the generation's own server
would store. Readers, builders, migration and the embedded runtime all use these.

A row's *shape* is what its keys alone say of its generation:

    exec    seq and exec_id             G3 or G4 (told apart by execution_log)
    G5      seq, no exec_id             G5 or G5b (told apart by the names of owners)
    G6      step and messages; one that came from G3 or G4 has its exec_id
    G7      steps under a harness_id
    G8      steps under an agent_id
    steps   steps without an owner      G7 or G8 (a row inside a turn)
    state   a state and nothing else    G7 or G8 (the end of a turn)
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from axnb.ax import protojson, schemas
from axnb.ax.protojson import Members, Number
from axnb.ax.versions import Generation

STATES = (
    "STATE_UNSPECIFIED",
    "STATE_PENDING",
    "STATE_FAILED",
    "STATE_COMPLETED",
    "STATE_CANCELED",
)

#: The generation that a row of this shape is decoded by.
READS_SHAPE = {
    "exec": "G4",
    "G5": "G5",
    "G6": "G6",
    "G7": "G7",
    "G8": "G8",
    "steps": "G8",
    "state": "G8",
}

#: One generation of each schema: rows are decoded once a schema, not once a release.
SCHEMA_READERS = ("G3", "G4", "G5", "G6", "G7", "G8")


@dataclass(frozen=True)
class Part:
    """One piece of content. `value` is its text, or its arguments or result as JSON text."""

    kind: str
    role: str | None = None
    call_id: str | None = None
    tool: str | None = None
    value: str | None = None
    is_error: bool | None = None
    decision: str | None = None

    @property
    def size(self) -> int:
        """Bytes of the value."""
        return len(self.value.encode()) if self.value else 0


@dataclass(frozen=True)
class Row:
    """A decoded row, in words that are the same for every generation."""

    conversation_id: str
    state: int
    owner: str = ""
    #: The configuration of the turn: a JSON object as text, or base64 in G4.
    config: str | None = None
    #: Of G3 and G4; after a migration to G7 or later it is the interaction_id.
    exec_id: str = ""
    parts: tuple[Part, ...] = ()
    #: Messages or steps; a step can hold several parts, and none.
    content_count: int = 0


@dataclass(frozen=True)
class Reading:
    """What a server of one generation decodes from a row; unreadable rows have a reason."""

    generation: str
    readable: bool
    reason: str = ""
    state: int = 0
    owner: str = ""
    exec_id: str = ""
    content_count: int = 0
    event: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


def state_name(number: int) -> str:
    """The name of a state; `STATE_9` for a number that AX has no name for."""
    return STATES[number] if 0 <= number < len(STATES) else f"STATE_{number}"


def shape(tree: Any, column: str) -> str:
    """What the keys of a parsed row say of its generation; `column` decides where they do not."""
    keys = {name for name, _ in tree} if isinstance(tree, Members) else set()

    def has(*names: str) -> bool:
        return any(n in keys or _camel(n) in keys for n in names)

    if has("agent_id", "agent_config"):
        return "G8"
    if has("steps", "interaction_id"):
        return "G7" if has("harness_id", "harness_config") else "steps"
    if has("exec_id"):
        came = "G6" if has("step") and not has("seq") else "G5"
        # G3 and G4 have no configuration that is an object: the row came from there.
        return came if came == "G6" or _has_object(tree, "harness_config") else "exec"
    if has("seq"):
        return "G5"
    if has("step"):
        return "G6"
    if has("messages"):
        return "G5" if column == "seq" else "G6"
    if has("harness_id", "harness_config"):
        return "G5" if column == "seq" else "G7"
    return "G5" if column == "seq" else "state"


def _has_object(tree: Members, name: str) -> bool:
    return any(key in (name, _camel(name)) and isinstance(value, Members) for key, value in tree)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def reading(tree: Any, generation: Generation) -> Reading:
    """What a server of `generation` makes of a parsed row."""
    try:
        event = protojson.decode(tree, schemas.event(generation))
    except protojson.PayloadError as err:
        return Reading(generation.name, False, str(err))
    return Reading(
        generation=generation.name,
        readable=True,
        state=event.get("state", 0),
        owner=event.get(generation.owner_key, "") if generation.owner_key else "",
        exec_id=event.get("exec_id", ""),
        content_count=len(event.get(generation.content_key, ())),
        event=event,
    )


def read(payload: str, generation: Generation) -> Row:
    """Decode a row of `generation`. Raises PayloadError where its server would."""
    event = protojson.decode(protojson.parse(payload), schemas.event(generation))
    return from_event(event, generation)


def from_event(event: dict[str, Any], generation: Generation) -> Row:
    """A Row from what protojson decoded."""
    config = event.get(generation.config_key) if generation.config_key else None
    if isinstance(config, bytes):
        config = base64.b64encode(config).decode()
    elif config is not None:
        config = protojson.dump(config)
    items: Sequence[dict[str, Any]] = event.get(generation.content_key, ())
    to_parts = _message_parts if generation.content_key == "messages" else _step_parts
    return Row(
        conversation_id=event.get("conversation_id", ""),
        state=event.get("state", 0),
        owner=event.get(generation.owner_key, "") if generation.owner_key else "",
        config=config,
        exec_id=event.get("exec_id") or event.get("interaction_id", ""),
        parts=tuple(part for item in items for part in to_parts(item)),
        content_count=len(items),
    )


# --- content, as messages (G3 to G6) and as steps (G7, G8) -------------------------------------


def _message_parts(message: dict[str, Any]) -> list[Part]:
    role = message.get("role")
    content = message.get("content", {})
    kind = _kind(content)
    if kind == "thought":
        texts = [s.get("text", {}) for s in content["thought"].get("summary", ())]
        return [Part("thought", role, value="".join(t.get("text", "") for t in texts))]
    if kind == "tool_call":
        return [_call(content["tool_call"], role)]
    if kind == "tool_result":
        return [_message_result(content["tool_result"], role)]
    return [_plain_content(content, role)]


def _step_parts(step: dict[str, Any]) -> list[Part]:
    if "content" in step:
        role = step["content"].get("role")
        return [_plain_content(c, role) for c in step["content"].get("content", ())]
    if "thought" in step:
        texts = [c.get("text", {}) for c in step["thought"].get("summary", ())]
        return [Part("thought", value="".join(t.get("text", "") for t in texts))]
    if "tool_call" in step:
        return [_call(step["tool_call"], None)]
    if "tool_result" in step:
        return [_step_result(step["tool_result"])]
    return [Part("unknown" if protojson.DROPPED in step else "empty")]


def _plain_content(content: dict[str, Any], role: str | None) -> Part:
    kind = _kind(content)
    body = content.get(kind, {})
    if kind == "text":
        return Part("text", role, value=body.get("text", ""))
    if kind == "confirmation":
        return Part(
            "confirmation",
            role,
            call_id=body.get("id", ""),
            value=body.get("question", ""),
            decision=_decision(body),
        )
    return Part(kind, role, value=body.get("uri"))


def _kind(content: dict[str, Any]) -> str:
    """The member of a oneof that is set; `unknown` if AX has no name for what is there."""
    known = next((name for name in content if name != protojson.DROPPED), None)
    return known or ("unknown" if protojson.DROPPED in content else "empty")


def _decision(confirmation: dict[str, Any]) -> str:
    if "decline" in confirmation:
        return "declined"
    if "approval" in confirmation:
        return "approved" if confirmation["approval"].get("approved") else "declined"
    return "asked"


def _call(call: dict[str, Any], role: str | None) -> Part:
    function = call.get("function_call", {})
    arguments = function.get("arguments")
    return Part(
        "tool_call",
        role,
        call_id=call.get("id", ""),
        tool=function.get("name", ""),
        value=None if arguments is None else protojson.dump(arguments),
    )


def _message_result(result: dict[str, Any], role: str | None) -> Part:
    function = result.get("function_result", {})
    response = function.get("response")
    return Part(
        "tool_result",
        role,
        call_id=result.get("call_id", ""),
        tool=function.get("name", ""),
        value=None if response is None else protojson.dump(response),
        is_error=False,
    )


def _step_result(result: dict[str, Any]) -> Part:
    function = result.get("function_result", {})
    return Part(
        "tool_result",
        call_id=result.get("call_id", ""),
        tool=function.get("name", ""),
        value=_value_text(function.get("result")),
        is_error=function.get("is_error", False),
    )


def _value_text(value: dict[str, Any] | None) -> str | None:
    """An `ax.Value` as JSON text; None where the result holds none."""
    if not value:
        return None
    return protojson.dump(_value_tree(value))


def _value_tree(value: dict[str, Any]) -> Any:
    kind = _kind(value)
    body = value.get(kind)
    if kind in ("null_value", "unknown", "empty"):
        return None
    if kind == "list_value":
        return [_value_tree(v) for v in (body or {}).get("values", ())]
    if kind == "number_value":
        return Number(json.dumps(body))
    if kind == "content_value":
        return Members([("content", (_plain_content(body or {}, "").value))])
    return body


# --- writing -----------------------------------------------------------------------------------


def write(row: Row, generation: Generation, step: int) -> str:
    """The payload text that a server of `generation` stores for `row` at number `step`.

    Compact JSON in the order of the schema, as AX writes it; defaults are left out. Media parts
    keep their address only.
    """
    event: dict[str, Any] = {"conversation_id": row.conversation_id}
    if generation.event == "ConversationEvent":
        event[generation.step_column] = step
        if generation.name in ("G3", "G4") and row.exec_id:
            event["exec_id"] = row.exec_id
    if generation.owner_key and row.owner:
        event[generation.owner_key] = row.owner
    if generation.config_key and row.config is not None:
        is_bytes = generation.name == "G4"
        event[generation.config_key] = row.config if is_bytes else protojson.parse(row.config)
    if row.parts:
        to_item = _message if generation.content_key == "messages" else _step
        event[generation.content_key] = [to_item(part) for part in row.parts]
    if row.state:
        event["state"] = state_name(row.state)
    return protojson.dump(_tree(event))


def _tree(value: Any) -> Any:
    """Plain Python as a tree that `protojson.dump` writes."""
    if isinstance(value, (Members, Number)) or value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, dict):
        return Members([(k, _tree(v)) for k, v in value.items()])
    if isinstance(value, list):
        return [_tree(v) for v in value]
    return Number(value)


def _message(part: Part) -> dict[str, Any]:
    content: dict[str, Any]
    if part.kind == "thought":
        content = {"thought": {"summary": [{"text": _text(part)}]}}
    elif part.kind == "tool_call":
        content = {"tool_call": _written_call(part)}
    elif part.kind == "tool_result":
        value = {} if part.value is None else {"response": protojson.parse(part.value)}
        content = {
            "tool_result": _with_id("call_id", part, _function("function_result", part, value))
        }
    else:
        content = _content(part)
    return {**({"role": part.role} if part.role else {}), "content": content}


def _step(part: Part) -> dict[str, Any]:
    if part.kind == "thought":
        return {"thought": {"summary": [{"text": _text(part)}]}}
    if part.kind == "tool_call":
        return {"tool_call": _written_call(part)}
    if part.kind == "tool_result":
        result: dict[str, Any] = {"is_error": True} if part.is_error else {}
        if part.value is not None:
            tree = protojson.parse(part.value)
            member = "struct_value" if isinstance(tree, Members) else "string_value"
            result["result"] = {member: tree}
        return {
            "tool_result": _with_id("call_id", part, _function("function_result", part, result))
        }
    return {"content": {"role": part.role or "", "content": [_content(part)]}}


def _written_call(part: Part) -> dict[str, Any]:
    arguments = {} if part.value is None else {"arguments": protojson.parse(part.value)}
    return _with_id("id", part, _function("function_call", part, arguments))


def _function(key: str, part: Part, body: dict[str, Any]) -> dict[str, Any]:
    """The function of a call or a result: defaults are left out, and so is an empty one."""
    named = {**({"name": part.tool} if part.tool else {}), **body}
    return {key: named} if named else {}


def _with_id(key: str, part: Part, rest: dict[str, Any]) -> dict[str, Any]:
    return {**({key: part.call_id} if part.call_id else {}), **rest}


def _content(part: Part) -> dict[str, Any]:
    if part.kind == "text":
        return {"text": _text(part)}
    if part.kind == "confirmation":
        answer: dict[str, Any] = {
            "approved": {"approval": {"approved": True}},
            "declined": {"decline": {"declined": True}},
        }.get(part.decision or "", {"question": part.value or ""})
        return {"confirmation": {"id": part.call_id or "", **answer}}
    return {part.kind: {"uri": part.value} if part.value else {}} if part.kind != "empty" else {}


def _text(part: Part) -> dict[str, Any]:
    return {"text": part.value} if part.value else {}
