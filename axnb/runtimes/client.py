"""A client of an AX server: it sends one request and tells what it got.

The methods differ by generation (`axnb.ax.wire`). The number of an output is the step under which
AX logged it, 0 where AX could not: a field of the response up to G6, the step's own index since.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from axnb.ax import wire
from axnb.ax.versions import Generation
from axnb.runtimes import Answer, Output, content

if TYPE_CHECKING:
    import grpc

#: Seconds for one request, and for a server to be there; a rehearsal that hangs has to end.
REQUEST_SECONDS = 60.0


class Client:
    """A connection to one AX server."""

    def __init__(self, address: str, generation: Generation) -> None:
        self._address = address
        self._generation = generation

    def send(
        self,
        conversation_id: str,
        text: str = "",
        *,
        harness: str = "",
        config: bytes = b"",
        cursor: int | None = None,
        seconds: float = REQUEST_SECONDS,
        on_output: Callable[[Output], None] = lambda _: None,
    ) -> Answer:
        """Send one request and read its stream to the end; without text it is an empty one.

        `config` is the harness's configuration for the turn, an object as JSON text; `cursor` is
        the last step that the client has, for which G7 and later have no field.
        """
        request = self.open(
            conversation_id, text, harness=harness, config=config, cursor=cursor, seconds=seconds
        )
        return request.read(on_output)

    def open(
        self,
        conversation_id: str,
        text: str = "",
        *,
        harness: str = "",
        config: bytes = b"",
        cursor: int | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> Request:
        """Send one request; its stream is read, or left, later."""
        import grpc

        method = wire.client_method(self._generation)
        fields: dict[str, Any] = {}
        if text:
            fields["inputs"] = content.encode([content.user_text(text)], self._generation)
        if harness and self._generation.owner_key:
            fields[self._generation.owner_key] = harness
        if config and self._generation.config_key:
            fields[self._generation.config_key] = config
        field = f"last_{self._generation.step_column}"
        if field not in method.request.DESCRIPTOR.fields_by_name:
            cursor = None
        elif cursor is not None:
            fields[field] = cursor
        channel = grpc.insecure_channel(self._address, options=[("grpc.enable_retries", 0)])
        stream = channel.unary_stream(method.path, method.serialize_request, method.parse_response)(
            wire.request(self._generation, conversation_id, **fields), timeout=seconds
        )
        return Request(Answer(text, cursor=cursor), channel, stream, self._generation)


class Request:
    """A request that was sent. It can be left from another thread than the one that reads."""

    def __init__(
        self, begun: Answer, channel: grpc.Channel, stream: Any, generation: Generation
    ) -> None:
        self._begun = begun
        self._channel = channel
        self._stream = stream
        self._generation = generation
        self._left = threading.Event()

    def read(self, on_output: Callable[[Output], None] = lambda _: None) -> Answer:
        """Read to the end, whatever it is."""
        import grpc

        outputs: list[Output] = []
        error = None
        try:
            for response in self._stream:
                for told in _outputs(response, self._generation):
                    outputs.append(told)
                    on_output(told)
        except grpc.RpcError:
            error = f"{self._stream.code().name}: {self._stream.details()}"
        finally:
            self._channel.close()
        left = self._left.is_set()
        return replace(
            self._begun, outputs=tuple(outputs), error=None if left else error, cancelled=left
        )

    def leave(self) -> None:
        """Go away, as a client does whose person closes the window."""
        self._left.set()
        self._stream.cancel()


def _outputs(response: Message, generation: Generation) -> list[Output]:
    messages: list[Any] = list(response.outputs)  # type: ignore[attr-defined]
    told = []
    for message in messages:
        number = message.index if generation.event == "StepEvent" else 0
        if generation.event == "ConversationEvent":
            number = getattr(response, generation.step_column)
        told += [content.output(part, number) for part in content.decode([message], generation)]
    return told
