"""The harness's side of the wire: AX starts a turn, half-closes, and reads until the stream ends.

Source: section 5 of the facts. AX sends the inputs of one request and no history. The built-in
harness's own client refuses a start without messages before anything is sent; a custom harness
gets it. Errors are worded as Go's gRPC words them, since clients see them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from axnb.ax import wire
from axnb.ax.versions import Generation
from axnb.runtimes.embedded.call import Call
from axnb.runtimes.embedded.config import HarnessEntry
from axnb.runtimes.embedded.errors import RequestError, rpc_text

if TYPE_CHECKING:
    import grpc

#: Our own method of an actor: take a snapshot. JSON in, JSON out.
SUSPEND = "/axnb.Actor/Suspend"

#: How long AX waits for a suspension, in seconds.
_SUSPEND_SECONDS = 10

#: Every turn dials anew, so a harness that is back is found at once.
_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
)


class Harness:
    """A registered harness, dialled at its endpoint."""

    def __init__(self, entry: HarnessEntry, generation: Generation) -> None:
        self.id = entry.id
        self._entry = entry
        self._generation = generation
        self._streams: set[grpc.Call] = set()
        self._lock = threading.Lock()
        self._is_down = False

    @property
    def stops_with_server(self) -> bool:
        """Does AX run it as a child? It did with the built-in one of v0.2.0 to v0.2.2."""
        return self._entry.built_in and self._generation.name in ("G5b", "G6")

    def run(
        self, conversation_id: str, items: Sequence[Message], config: bytes, call: Call
    ) -> Iterator[Message]:
        """Start a turn; yields each message or step that the harness sends, until its stream ends.

        Raises RequestError for a turn that fails: the harness said so, its stream broke, or it
        ended without an END frame. An END before that does not end it.
        """
        import grpc

        if self._entry.refuses and not items:
            raise RequestError("no input messages queued for execution turn")
        method = wire.methods(self._generation)["Connect"]
        has_ended = False
        with grpc.insecure_channel(self._entry.endpoint, options=_OPTIONS) as channel:
            stream = channel.unary_stream(
                method.path,
                request_serializer=method.serialize_request,
                response_deserializer=method.parse_response,
            )(self._start(conversation_id, items, config))
            call.on_end(stream.cancel)
            try:
                self._enter(stream)
                for response in stream:
                    yield from getattr(response.outputs, self._generation.content_key)
                    has_ended |= self._is_end(response)
            except grpc.RpcError as err:
                raise self._lost(err) from err
            finally:
                self._leave(stream)
        if not has_ended:
            raise RequestError("harness stream ended without HarnessEnd frame")

    def suspend(self, conversation_id: str) -> None:
        """Ask the actor to take a snapshot. Raises RequestError if it does not say that it has."""
        import grpc

        told = json.dumps({"conversation_id": conversation_id}).encode()
        with grpc.insecure_channel(self._entry.endpoint, options=_OPTIONS) as channel:
            try:
                channel.unary_unary(SUSPEND)(told, timeout=_SUSPEND_SECONDS)
            except grpc.RpcError as err:
                code, details = _status(err)
                raise RequestError(rpc_text(code, details), code) from err

    def cut(self) -> None:
        """End its streams as the end of its process does."""
        with self._lock:
            self._is_down = True
            streams = list(self._streams)
        for stream in streams:
            stream.cancel()

    def _start(self, conversation_id: str, items: Sequence[Message], config: bytes) -> Message:
        generation = self._generation
        start = wire.message(generation, "HarnessStart")(
            **{generation.config_key or "": config, generation.content_key: items}
        )
        request = wire.methods(generation)["Connect"].request
        return request(
            **{
                "conversation_id": conversation_id,
                generation.owner_key or "": self.id,
                "start": start,
            }
        )

    def _is_end(self, response: Any) -> bool:
        if response.WhichOneof("type") != "end":
            return False
        end = response.end
        failed = end.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_name["STATE_FAILED"]
        if end.state == failed.number:
            error = end.error
            told = f"harness failed: [{error.code}] {error.description}"
            unknown = "harness failed with no error details"
            raise RequestError(told if end.HasField("error") else unknown)
        return True

    def _enter(self, stream: grpc.Call) -> None:
        with self._lock:
            self._streams.add(stream)
            is_down = self._is_down
        if is_down:
            stream.cancel()

    def _leave(self, stream: grpc.Call) -> None:
        with self._lock:
            self._streams.discard(stream)
        stream.cancel()

    def _lost(self, err: grpc.RpcError) -> RequestError:
        """The end of a stream, in the words of Go's gRPC."""
        code, details = _status(err)
        action = "gRPC harness streaming failure"
        if self._is_down:
            code, details = "UNAVAILABLE", "error reading from server: EOF"
        elif code == "UNAVAILABLE" and "connect to" in details:
            built_in = "failed to call gRPC HarnessService.Connect"
            action = built_in if self._entry.built_in else "failed to open harness service stream"
            refused = f"dial tcp {self._entry.endpoint}: connect: connection refused"
            details = f'connection error: desc = "transport: Error while dialing: {refused}"'
        elif code == "UNAVAILABLE":
            details = "error reading from server: EOF"
        elif code == "CANCELLED":
            details = "context canceled"
        return RequestError(f"{action}: {rpc_text(code, details)}", code)


def _status(err: Any) -> tuple[str, str]:
    return err.code().name, err.details() or ""
