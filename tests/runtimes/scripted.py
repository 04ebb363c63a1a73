"""A harness that plays the scripts which the recorded servers' harnesses played.

It answers HarnessService of one generation, in this process or as a program of its own that can be
killed. A script that holds waits until it is let go.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message

from axnb.ax import wire
from axnb.ax.versions import GENERATIONS, Generation
from tests import ax_logs

#: Seconds after which whatever waits fails.
PATIENCE = 60

#: Value of MimeType that our schema has no name for; any number that it does not know will do.
UNNAMED = {"TYPE_JPEG": 99}

_MULTIPLIED = " * "


@cache
def scripts(generation: Generation) -> Mapping[str, Sequence[Any]]:
    """What was recorded: from a user's text to the acts of the harness."""
    name = "g7-g8" if generation.event == "StepEvent" else "g3-to-g6"
    path = ax_logs.ROOT / f"scripts-{name}.json"
    found: dict[str, Sequence[Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


@dataclass
class Hold:
    """A place in a script where the harness waits."""

    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Start:
    """A start as the harness got it."""

    conversation_id: str
    harness_id: str
    count: int
    config: bytes
    text: str


class Scripted:
    """A harness at a free port, as long as the `with` block lasts."""

    def __init__(self, generation: Generation, *, accepts: bool = True, port: int = 0) -> None:
        self.generation = generation
        #: Is a start without messages taken, and the turn ended?
        self.accepts = accepts
        self.starts: list[Start] = []
        self.effects: list[str] = []
        self.suspended: list[str] = []
        #: Scripts of one test, by the user's text.
        self.own: dict[str, Sequence[Any]] = {}
        self._holds: dict[str, Hold] = {}
        self._lock = threading.Lock()
        self._server = grpc.server(ThreadPoolExecutor(64), options=(("grpc.so_reuseport", 0),))
        self._server.add_generic_rpc_handlers((_Service(self),))
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            for hold in self._holds.values():
                hold.released.set()
        self._server.stop(0).wait()

    @property
    def endpoint(self) -> str:
        """Where it is dialled."""
        return f"127.0.0.1:{self.port}"

    def hold(self, conversation_id: str) -> Hold:
        """The place where the script of a conversation waits."""
        with self._lock:
            return self._holds.setdefault(conversation_id, Hold())

    def wait(self, conversation_id: str) -> None:
        """Wait until the script of a conversation holds."""
        assert self.hold(conversation_id).reached.wait(PATIENCE), conversation_id

    def release(self, conversation_id: str) -> None:
        """Let it go on."""
        self.hold(conversation_id).released.set()

    def play(self, request: Any, context: grpc.ServicerContext) -> Iterator[Message]:
        """Answer one start."""
        items = getattr(request.start, self.generation.content_key)
        text = asked(items[-1]) if items else ""
        start = Start(
            conversation_id=request.conversation_id,
            harness_id=getattr(request, self.generation.owner_key or ""),
            count=len(items),
            config=getattr(request.start, self.generation.config_key or ""),
            text=text,
        )
        self.starts.append(start)
        if not items:
            yield self._end("STATE_COMPLETED" if self.accepts else "STATE_FAILED", start)
            return
        script = self.own.get(text) or scripts(self.generation).get(text)
        yield from self._acts(script or [["text", f"Understood: {text}"]], start, context)

    def _acts(
        self, script: Sequence[Any], start: Start, context: grpc.ServicerContext
    ) -> Iterator[Message]:
        has_ended = False
        for act, *told in script:
            if act == "hold":
                hold = self.hold(start.conversation_id)
                hold.reached.set()
                context.add_callback(hold.released.set)
                hold.released.wait(PATIENCE)
            elif act == "sleep":
                time.sleep(told[0])
            elif act == "effect":
                self.effects.append(f"{start.conversation_id} {told[0]}")
            elif act == "abort":
                context.abort(grpc.StatusCode.INTERNAL, "harness aborted")
            elif act == "noend":
                return
            elif act == "end":
                has_ended = True
                yield self._end(told[0])
            else:
                yield self._outputs(act, told)
        if not has_ended:
            yield self._end("STATE_COMPLETED")

    def _outputs(self, act: str, told: Sequence[Any]) -> Message:
        steps = self.generation.event == "StepEvent"
        items: Sequence[Any] = told if act in ("raw", "noframe") else [item(act, told, steps=steps)]
        outputs = {self.generation.content_key: items if act != "noframe" else []}
        return self._response({"outputs": outputs})

    def _end(self, state: str, refused: Start | None = None) -> Message:
        end: dict[str, Any] = {"state": state}
        if refused and state == "STATE_FAILED":
            end["error"] = {"code": 3, "description": "no messages in start"}
        return self._response({"end": end})

    def _response(self, told: dict[str, Any]) -> Message:
        response = wire.methods(self.generation)["Connect"].response()
        json_format.ParseDict(_known(told), response)
        return response


class _Service(grpc.GenericRpcHandler):
    def __init__(self, harness: Scripted) -> None:
        self._harness = harness
        self._connect = wire.methods(harness.generation)["Connect"]

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        if details.method == self._connect.path:
            return grpc.stream_stream_rpc_method_handler(
                lambda requests, context: self._harness.play(next(requests), context),
                request_deserializer=self._connect.request.FromString,
                response_serializer=self._connect.response.SerializeToString,
            )
        if details.method == "/axnb.Actor/Suspend":
            return grpc.unary_unary_rpc_method_handler(self._suspend)
        return None

    def _suspend(self, request: bytes, _: grpc.ServicerContext) -> bytes:
        self._harness.suspended.append(json.loads(request)["conversation_id"])
        return b"{}"


def _known(told: Any) -> Any:
    """What is told, with numbers for the names that our schema has not."""
    if isinstance(told, dict):
        return {key: _known(value) for key, value in told.items()}
    if isinstance(told, list):
        return [_known(value) for value in told]
    return UNNAMED.get(told, told) if isinstance(told, str) else told


def item(act: str, told: Sequence[Any], *, steps: bool) -> dict[str, Any]:
    """A message or a step as JSON."""
    if act == "text":
        text = _multiplied(told[0])
        body = {"text": {"text": text} if text else {}}
        return _spoken("assistant", body, steps=steps)
    if act == "ask":
        question = {"confirmation": {"id": told[0], "question": told[1]}}
        return _spoken("assistant", question, steps=steps)
    role, content = "model", {}
    if act == "thought":
        content = {"thought": {"signature": "AQL/", "summary": [{"text": {"text": told[0]}}]}}
    elif act == "call":
        call = {"id": told[0], "function_call": {"name": told[1], "arguments": told[2]}}
        content = {"tool_call": call}
    else:
        assert act == "result", act
        function = {"name": told[1], **_returned(told[2], steps=steps)}
        role, content = "user", {"tool_result": {"call_id": told[0], "function_result": function}}
    return content if steps else {"role": role, "content": content}


def _returned(value: dict[str, Any], *, steps: bool) -> dict[str, Any]:
    """What a tool returned; steps have a place of their own for an error."""
    if not steps:
        return {"response": value}
    told = {key: inner for key, inner in value.items() if key != "is_error"}
    error = {"is_error": True} if value.get("is_error") else {}
    return {**error, "result": {"struct_value": told}}


def _spoken(role: str, body: dict[str, Any], *, steps: bool) -> dict[str, Any]:
    if steps:
        return {"content": {"role": role, "content": [body]}}
    return {"role": role, "content": body}


def _multiplied(text: str) -> str:
    letter, found, times = text.partition(_MULTIPLIED)
    return letter * int(times) if found and times.isdigit() else text


def asked(message: Any) -> str:
    """The text, or the decision, of a user's message or step."""
    content = message.content
    if content.DESCRIPTOR.name == "ContentStep":
        if not content.content:
            return ""
        content = content.content[0]
    if content.WhichOneof("type") == "confirmation":
        return f"decision {content.confirmation.WhichOneof('decision')}"
    return str(content.text.text)


def main(generation: str, port: str, accepts: str) -> None:
    """Serve until killed; says `held ID` where a script holds, and nothing else."""
    with Scripted(GENERATIONS[generation], accepts=accepts == "accepts", port=int(port)) as harness:
        print(harness.port, flush=True)
        for line in sys.stdin:
            conversation_id = line.strip()
            harness.wait(conversation_id)
            print(f"held {conversation_id}", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(*sys.argv[1:])
