"""A client that tells what it got in the words of the recordings, and servers to send to."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import grpc
import yaml
from google.protobuf import json_format

from axnb.ax import wire
from axnb.ax.canonical import canonical
from axnb.ax.versions import Generation
from axnb.runtimes import Policy
from axnb.runtimes.embedded import server as embedded
from axnb.runtimes.embedded.config import read
from axnb.runtimes.embedded.console import Console
from tests.runtimes.scripted import PATIENCE

ROOT = Path(__file__).parents[2]

#: The recordings cut longer texts to so many characters.
_LONG, _SHORT = 200, 60


@dataclass
class Got:
    """What a client got: `[number, kinds]` a response, and the error."""

    outputs: list[Any] = field(default_factory=list)
    error: str | None = None

    def as_recorded(self) -> dict[str, Any]:
        """As truth.json has it."""
        return {"outputs": self.outputs, "error": self.error}


class Asking:
    """A request that was sent; its answer is read in a thread."""

    def __init__(self, channel: grpc.Channel, stream: Any, generation: Generation) -> None:
        self.got = Got()
        self._channel = channel
        self._stream = stream
        self._generation = generation
        self._changed = threading.Condition()
        self._is_over = False
        self._thread = threading.Thread(target=self.read)

    def start(self) -> Self:
        """Read in a thread."""
        self._thread.start()
        return self

    def wait_for(self, outputs: int) -> Self:
        """Wait until that many responses came."""
        with self._changed:
            enough = self._changed.wait_for(
                lambda: len(self.got.outputs) >= outputs or self._is_over, PATIENCE
            )
        assert enough, self.got
        assert len(self.got.outputs) >= outputs, self.got
        return self

    def leave(self) -> None:
        """Go away."""
        self._stream.cancel()

    def result(self) -> Got:
        """Wait until the stream has ended."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), self.got
        return self.got

    def read(self) -> Got:
        """Read to the end of the stream."""
        try:
            for response in self._stream:
                with self._changed:
                    self.got.outputs.append(told(response, self._generation))
                    self._changed.notify_all()
        except grpc.RpcError:
            code, details = self._stream.code(), self._stream.details()
            self.got.error = shortened(f"{code.name}: {details}")
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._channel.close()
        return self.got


def told(response: Any, generation: Generation) -> list[Any]:
    """A response as the recordings have it."""
    outputs = response.outputs
    if generation.event == "StepEvent":
        return [outputs[0].index, [_step_kind(step) for step in outputs]]
    number = getattr(response, generation.step_column)
    return [number, [_content_kind(message.content) for message in outputs]]


def _step_kind(step: Any) -> str:
    kind = step.WhichOneof("type")
    if kind != "content":
        return str(kind)
    found = step.content.content
    return _content_kind(found[0]) if found else "content"


def _content_kind(content: Any) -> str:
    kind = content.WhichOneof("type")
    return shortened(f"text:{content.text.text}") if kind == "text" else str(kind)


def shortened(text: str) -> str:
    """A long text as the recordings have it."""
    return text if len(text) <= _LONG else f"{text[:_SHORT]}... ({len(text)} characters)"


class Client:
    """Sends requests to one server."""

    def __init__(self, port: int, generation: Generation) -> None:
        self.port = port
        self.generation = generation

    def ask(self, conversation_id: str, text: str | None = None, **more: Any) -> Asking:
        """Send a request; its answer is read in a thread."""
        return self._send(conversation_id, text, **more).start()

    def say(self, conversation_id: str, text: str | None = None, **more: Any) -> Got:
        """Send a request and wait for the end of its stream."""
        return self._send(conversation_id, text, **more).read()

    def _send(
        self,
        conversation_id: str,
        text: str | None = None,
        *,
        inputs: Sequence[Mapping[str, Any]] = (),
        naming: str = "",
        config: bytes = b"",
        seconds: float = PATIENCE,
    ) -> Asking:
        """Send a request: a text, inputs as JSON, or neither."""
        from tests.runtimes.scripted import _spoken

        generation = self.generation
        if text is not None:
            steps = generation.event == "StepEvent"
            inputs = [_spoken("user", {"text": {"text": text}}, steps=steps)]
        request = wire.request(
            generation,
            conversation_id,
            **{generation.owner_key or "": naming, generation.config_key or "": config},
        )
        json_format.ParseDict({"inputs": list(inputs)}, request)
        method = wire.client_method(generation)
        options = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0))
        channel = grpc.insecure_channel(f"127.0.0.1:{self.port}", options=options)
        stream = channel.unary_stream(method.path, method.serialize_request, method.parse_response)
        return Asking(channel, stream(request, timeout=seconds), generation)

    def unary(self, path: str, request: bytes) -> str | None:
        """Call any method; returns its error."""
        with grpc.insecure_channel(f"127.0.0.1:{self.port}") as channel:
            try:
                channel.unary_unary(path)(request, timeout=PATIENCE)
            except grpc.RpcError as err:
                return f"{err.code().name}: {err.details()}"  # type: ignore[attr-defined]
        return None

    def delete(self, conversation_id: str) -> str | None:
        """Delete a conversation; returns the error."""
        delete = wire.methods(self.generation)["DeleteConversation"]
        request = delete.request(conversation_id=conversation_id)
        return self.unary(delete.path, request.SerializeToString())


def write_config(
    folder: Path,
    generation: Generation,
    *,
    built_in: str | None = None,
    custom: Mapping[str, str] | None = None,
    default: str = "",
    postgres: str | None = None,
    suspend: bool = False,
    sqlite: Path | None = None,
    name: str = "ax.yaml",
) -> Path:
    """Write an ax.yaml in the layout of a generation; endpoints of the harnesses by their ids."""
    store: dict[str, Any] = {"sqlite": {"filename": str(sqlite or folder / "log.sqlite")}}
    if postgres:
        store["postgres"] = {"dsn": postgres}
    own = [
        {"id": name, "endpoint": endpoint, "default": name == default}
        for name, endpoint in (custom or {}).items()
    ]
    document: dict[str, Any] = {
        "version": "v1alpha",
        "server": {"address": "127.0.0.1:0"},
        "eventlog": store,
        "axnb": {"harnesses": own, "suspend": suspend},
    }
    if built_in:
        section = {"antigravity": {"default": default in ("", "antigravity"), "endpoint": built_in}}
        before_g6 = generation.name in ("G5", "G5b")
        document |= {"harnesses": section} if before_g6 else section
    path = folder / name
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


class InProcess:
    """A server in this process, as long as the `with` block lasts."""

    def __init__(self, config: Path, generation: Generation, policy: Policy = "ax") -> None:
        self.printed = io.StringIO()
        console = Console(self.printed)
        self._server = embedded.Server(read(config, generation), generation, policy, console)
        self.client = Client(self._server.port, generation)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()


class Process:
    """A server as a program of its own; what it prints is read as it comes."""

    def __init__(
        self,
        config: Path,
        generation: Generation,
        policy: Policy = "ax",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        wrapper = config.with_name(f"ax-{generation.name}-{policy}")
        embedded.write_wrapper(wrapper, generation, policy)
        self.records: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [wrapper, "serve", "--config", config],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            cwd=config.parent,
        )
        self._guard = guard(self._process.pid)
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        address = self.wait_for("Starting AX server")["address"]
        self.client = Client(int(address.rpartition(":")[2]), generation)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def count(self, message: str) -> int:
        """How often it has printed a message."""
        with self._changed:
            return sum(record["msg"] == message for record in self.records)

    def wait_for(self, message: str, count: int = 1) -> dict[str, Any]:
        """Wait until it has printed a message that often; returns the last."""

        def found() -> list[dict[str, Any]]:
            return [record for record in self.records if record["msg"] == message]

        with self._changed:
            assert self._changed.wait_for(
                lambda: len(found()) >= count or not self._reader.is_alive(), PATIENCE
            ), message
            return found()[count - 1]

    def kill(self) -> None:
        """SIGKILL."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """SIGTERM; does not wait."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Wait until it has ended."""
        code = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def _end(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(PATIENCE)
        self._guard.kill()
        self._guard.communicate()
        self._reader.join(PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.records.append(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()


def guard(pid: int) -> subprocess.Popen[bytes]:
    """A shell that kills a process when we are gone; end it once the process has ended."""
    script = 'read -r _; kill -s KILL "$0"'
    return subprocess.Popen(["/bin/sh", "-c", script, str(pid)], stdin=subprocess.PIPE)


class KillableHarness:
    """A scripted harness as a program of its own."""

    def __init__(self, generation: Generation, *, accepts: bool = True) -> None:
        command = [sys.executable, "-m", "tests.runtimes.scripted", generation.name, "0"]
        self._process = subprocess.Popen(
            [*command, "accepts" if accepts else "refuses"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            text=True,
        )
        assert self._process.stdout is not None
        self.endpoint = f"127.0.0.1:{int(self._process.stdout.readline())}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def wait(self, conversation_id: str) -> None:
        """Wait until the script of a conversation holds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{conversation_id}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == f"held {conversation_id}\n"

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.communicate(timeout=PATIENCE)


def rows(path: Path, generation: Generation, conversation_id: str) -> list[tuple[int, str]]:
    """Numbers and canonical payloads of a conversation in a SQLite log."""
    column = generation.step_column
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        found = connection.execute(
            f"select {column}, payload from conversation_log where conversation_id = ?"
            f" order by {column}",
            (conversation_id,),
        )
        return [(step, canonical(payload)) for step, payload in found]
