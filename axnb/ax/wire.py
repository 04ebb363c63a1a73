"""AX's gRPC messages and methods, a generation at a time, from our own descriptors.

Nothing here opens a connection: a `Method` has what grpc's generic calls and handlers need. The
paths changed with the generations: `/ax.ControllerService/Exec` up to 2026-07-06,
`/ax.ExecutionService/Exec` up to v0.2.2, `/ax.InteractionsService/CreateInteraction` since. An old
client gets UNIMPLEMENTED from a new server, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from axnb.ax import schemas
from axnb.ax.versions import Generation


@dataclass(frozen=True)
class Method:
    """A gRPC method: its path, its messages, and which side streams."""

    path: str
    request: type[Message]
    response: type[Message]
    client_streams: bool
    server_streams: bool

    @property
    def serialize_request(self) -> Callable[[Message], bytes]:
        """For `grpc.Channel.unary_stream` and its kin."""
        return self.request.SerializeToString

    @property
    def parse_response(self) -> Callable[[bytes], Message]:
        """For `grpc.Channel.unary_stream` and its kin."""
        return self.response.FromString


@cache
def message(generation: Generation, name: str) -> type[Message]:
    """The class of `ax.NAME`; KeyError if the generation has no such message."""
    return GetMessageClass(schemas.message(generation.schema, name))


@cache
def methods(generation: Generation) -> dict[str, Method]:
    """Every method of a generation's services, by its name (`Exec`, `Connect`, …)."""
    file = schemas.pool(generation.schema).FindFileByName(f"{generation.schema}.proto")
    return {
        method.name: _method(method)
        for service in file.services_by_name.values()
        for method in service.methods
    }


def client_method(generation: Generation) -> Method:
    """The method by which a client sends a request: `Exec`, or `CreateInteraction` since G7."""
    found = methods(generation)
    return found.get("Exec") or found["CreateInteraction"]


def request(generation: Generation, conversation_id: str, **fields: Any) -> Message:
    """A client's request; an empty one, as `ax --resume` sends it, has no inputs."""
    return client_method(generation).request(conversation_id=conversation_id, **fields)


def _method(method: MethodDescriptor) -> Method:
    return Method(
        path=f"/{method.containing_service.full_name}/{method.name}",
        request=GetMessageClass(method.input_type),
        response=GetMessageClass(method.output_type),
        client_streams=bool(method.client_streaming),
        server_streams=bool(method.server_streaming),
    )
