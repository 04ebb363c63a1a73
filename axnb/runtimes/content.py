"""Content on the wire of a generation: messages up to G6, steps since.

Both ways go by `axnb.ax.rows`, so that what is sent reads as what is logged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf import json_format
from google.protobuf.message import Message

from axnb.ax import rows, wire
from axnb.ax.rows import Part, Row
from axnb.ax.versions import Generation
from axnb.runtimes import Output


def user_text(text: str) -> Part:
    """A user's input."""
    return Part("text", "user", value=text)


def said(text: str) -> Part:
    """What an agent says."""
    return Part("text", "assistant", value=text)


def thought(text: str) -> Part:
    """What an agent thinks."""
    return Part("thought", "model", value=text)


def call(call_id: str, tool: str, arguments: str) -> Part:
    """A call of a tool; its arguments are an object as JSON text."""
    return Part("tool_call", "model", call_id=call_id, tool=tool, value=arguments)


def result(call_id: str, tool: str, response: str) -> Part:
    """A tool's answer, an object as JSON text."""
    return Part("tool_result", "user", call_id=call_id, tool=tool, value=response)


def question(identity: str, text: str) -> Part:
    """A question that waits for a person."""
    return Part("confirmation", "assistant", call_id=identity, value=text, decision="asked")


def encode(parts: Iterable[Part], generation: Generation) -> list[Message]:
    """Messages or steps of a generation, one a part."""
    event = wire.message(generation, generation.event)()
    json_format.Parse(rows.write(Row("c", 0, parts=tuple(parts)), generation, 1), event)
    return list(getattr(event, generation.content_key))


def decode(messages: Sequence[Message], generation: Generation) -> tuple[Part, ...]:
    """The parts of messages or steps; a step of several parts gives several."""
    event = wire.message(generation, generation.event)()
    getattr(event, generation.content_key).extend(messages)
    text = json_format.MessageToJson(event, preserving_proto_field_name=True)
    return rows.read(text, generation).parts


def output(part: Part, number: int) -> Output:
    """An output as a client tells it."""
    return Output(number, part.kind, part.value or "")
