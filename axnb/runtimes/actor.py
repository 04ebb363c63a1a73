"""The actor: a harness that AX starts turns on, with a state of its own and snapshots of it.

    /ax.HarnessService/Connect     a turn, in the messages of a generation
    /grpc.health.v1.Health/Check   SERVING
    /axnb.Actor/Suspend            {"conversation_id"} -> the snapshot: {"key", "digest", "state"}
    /axnb.Actor/State              {"conversation_id"} -> {"state", "restored", "busy"}

A stream that is cancelled does not stop a turn: it goes on to its end, for nobody. A second start
of a conversation waits for it. A suspension does not wait: it takes the disk as it is in the middle
of a turn, as Substrate does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from axnb.ax import rows, wire
from axnb.ax.rows import Part
from axnb.ax.versions import Generation, resolve
from axnb.errors import AxnbError, UsageError
from axnb.runtimes import Snapshot, content, failpoints
from axnb.runtimes.actor_state import Memory
from axnb.runtimes.actor_turn import Equipment, Journal, Start, Turn, told
from axnb.runtimes.failpoints import reach
from axnb.runtimes.outbox import Outbox
from axnb.runtimes.tools import ToolClient

if TYPE_CHECKING:
    import grpc

_CONNECT = "/ax.HarnessService/Connect"
_HEALTH = "/grpc.health.v1.Health/Check"
#: HealthCheckResponse SERVING.
_SERVING = b"\x08\x01"

#: Starts and questions at a time.
_THREADS = 32

#: Between two looks whether another process is there.
_POLL_SECONDS = 0.5

#: UNAVAILABLE in gRPC's numbers: what the tool was, when a turn failed.
_UNAVAILABLE = 14


class Actor:
    """The conversations of one actor process."""

    def __init__(self, home: Path, tools: str, bucket: str | None) -> None:
        """`bucket` is where snapshots go; None for nowhere."""
        home.mkdir(parents=True, exist_ok=True)
        self._equipment = Equipment(Memory(home), Journal(home), ToolClient(tools))
        self._bucket = bucket
        self._restored: dict[str, Snapshot] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def restore(self, conversation_id: str) -> Snapshot:
        """Put the newest snapshot in the place of the state. Raises AxnbError if there is none."""
        from axnb.runtimes import snapshots

        bucket = self._needed_bucket()
        found = snapshots.newest(bucket, conversation_id)
        if found is None:
            raise AxnbError("there is no snapshot from which the actor could be restored.")
        folder = self._equipment.memory.folder(conversation_id)
        restored = snapshots.restore(bucket, found.key, folder, conversation_id=conversation_id)
        self._restored[conversation_id] = restored
        return restored

    def suspend(self, conversation_id: str) -> Snapshot:
        """Take a snapshot of the state as it is on the disk. Raises AxnbError."""
        from axnb.runtimes import snapshots

        bucket = self._needed_bucket()
        with self._equipment.memory.still(conversation_id) as folder:
            return snapshots.take(bucket, conversation_id, folder)

    def state(self, conversation_id: str) -> dict[str, Any]:
        """What the actor says of a conversation now."""
        restored = self._restored.get(conversation_id)
        return {
            "state": told(self._equipment, conversation_id),
            "summary": self._equipment.memory.read(conversation_id).summary(),
            "restored": None if restored is None else asdict(restored),
            "busy": self._turn_lock(conversation_id).locked(),
        }

    def run(self, conversation_id: str, start: Start, emit: Callable[[Part], None]) -> None:
        """Run a turn to its end, after the one before it. Raises AxnbError if it fails."""
        with self._turn_lock(conversation_id):
            Turn(self._equipment, conversation_id, start, emit).run()

    def _turn_lock(self, conversation_id: str) -> threading.Lock:
        with self._lock:
            return self._turns.setdefault(conversation_id, threading.Lock())

    def _needed_bucket(self) -> str:
        if self._bucket is None:
            raise UsageError("the actor has no bucket for snapshots.")
        return self._bucket


class _Stream:
    """One call of Connect: a start, and the frames of its turn."""

    def __init__(self, actor: Actor, generation: Generation, request: Any) -> None:
        self._actor = actor
        self._generation = generation
        self._conversation_id: str = request.conversation_id
        self._start = _start(request.start, generation)
        self.outbox = Outbox()

    def run(self) -> None:
        """Run the turn, and end the stream."""
        try:
            self._actor.run(self._conversation_id, self._start, self._emit)
        except AxnbError as err:
            self._end("STATE_FAILED", str(err))
        else:
            self._end("STATE_COMPLETED")
            reach("actor.ended")
        finally:
            self.outbox.close()

    def _emit(self, part: Part) -> None:
        outputs = self._message(
            "HarnessOutputs",
            **{self._generation.content_key: content.encode([part], self._generation)},
        )
        self._send(outputs=outputs)

    def _end(self, state: str, error: str = "") -> None:
        given: dict[str, Any] = {"state": rows.STATES.index(state)}
        if error:
            given["error"] = self._message("Error", code=_UNAVAILABLE, description=error)
        self._send(end=self._message("HarnessEnd", **given))

    def _send(self, **fields: Message) -> None:
        frame = self._message("HarnessResponse", conversation_id=self._conversation_id, **fields)
        self.outbox.send(frame)

    def _message(self, name: str, **fields: Any) -> Message:
        return wire.message(self._generation, name)(**fields)


def _start(start: Any, generation: Generation) -> Start:
    config: bytes = getattr(start, generation.config_key or "")
    parts = content.decode(getattr(start, generation.content_key), generation)
    texts = [part.value or "" for part in parts if part.kind == "text"]
    return Start.of(texts[-1] if texts else ("" if parts else None), config)


class _Handlers:
    """Finds the handler of a method. The generation may be another one from call to call."""

    def __init__(self, actor: Actor, generation: Callable[[], Generation]) -> None:
        self._actor = actor
        self._generation = generation

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """The handler of a call; what grpc asks. None is UNIMPLEMENTED."""
        import grpc

        if details.method == _CONNECT:
            method = wire.methods(self._generation())["Connect"]
            return grpc.stream_stream_rpc_method_handler(
                self._connect,
                request_deserializer=method.request.FromString,
                response_serializer=method.response.SerializeToString,
            )
        answers: Mapping[str, Callable[[bytes], bytes]] = {
            _HEALTH: lambda _: _SERVING,
            "/axnb.Actor/Suspend": lambda asked: _json(
                asdict(self._actor.suspend(_conversation(asked)))
            ),
            "/axnb.Actor/State": lambda asked: _json(self._actor.state(_conversation(asked))),
        }
        answer = answers.get(details.method)
        if answer is None:
            return None

        def handle(request: bytes, context: grpc.ServicerContext) -> Any:
            try:
                return answer(request)
            except AxnbError as err:
                return context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(err))

        return grpc.unary_unary_rpc_method_handler(handle)

    def _connect(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Message]:
        first = next(requests, None)
        if first is None or first.WhichOneof("type") != "start":
            return
        stream = _Stream(self._actor, self._generation(), first)
        if not context.add_callback(stream.outbox.leave):
            stream.outbox.leave()
        threading.Thread(target=stream.run, daemon=True).start()
        yield from stream.outbox.frames()


def _conversation(asked: bytes) -> str:
    try:
        return str(json.loads(asked)["conversation_id"])
    except (ValueError, KeyError, TypeError):
        raise UsageError("the request names no conversation.") from None


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


@contextmanager
def serving(actor: Actor, port: int, generation: Callable[[], Generation]) -> Iterator[grpc.Server]:
    """Serve an actor on a port of the loopback address. Raises UsageError if it is taken."""
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    # Two programs must not share a port by chance.
    options = (("grpc.so_reuseport", 0),)
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=options)
    server.add_generic_rpc_handlers((_Handlers(actor, generation),))
    try:
        server.add_insecure_port(f"127.0.0.1:{port}")
    except RuntimeError:
        raise UsageError(f"nobody can listen on port {port}.") from None
    server.start()
    try:
        yield server
    finally:
        server.stop(None).wait()


def _generation(name: str | None, file: Path | None) -> Callable[[], Generation]:
    """The generation to speak: a fixed one, or what a file says at each call."""
    if file is None:
        fixed = resolve(name or "G8")
        return lambda: fixed
    return lambda: resolve(file.read_text(encoding="utf-8").strip())


def _end_with(pid: int) -> None:
    """End when a process has ended that does not hold us by a pipe or a group."""
    while _is_there(pid):
        time.sleep(_POLL_SECONDS)
    os._exit(failpoints.ABANDONED)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main(arguments: list[str]) -> int:
    """Serve until the end of the process."""
    parser = argparse.ArgumentParser(prog="actor", allow_abbrev=False)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--generation")
    parser.add_argument("--generation-file", type=Path, help="holds it, read at each call")
    parser.add_argument("--tools", required=True, help="the address of the tool service")
    parser.add_argument("--snapshots", help="a folder, file://, s3:// or gs://")
    parser.add_argument("--end-with", type=int, metavar="PID", help="end when this process has")
    parser.add_argument("--restore", action="append", default=[], metavar="CONVERSATION")
    given = parser.parse_args(arguments)
    if given.end_with is not None:
        threading.Thread(target=_end_with, args=(given.end_with,), daemon=True).start()
    try:
        generation = _generation(given.generation, given.generation_file)
        actor = Actor(given.home, given.tools, given.snapshots)
        for conversation_id in given.restore:
            actor.restore(conversation_id)
        with serving(actor, given.port, generation) as server:
            server.wait_for_termination()
    except AxnbError as err:
        print(err, file=sys.stderr)
        return err.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
