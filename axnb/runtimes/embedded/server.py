"""A program that serves AX's gRPC of one generation; it can be started in place of `ax serve`.

    python -m axnb.runtimes.embedded serve --config ax.yaml --generation G8 [--policy ax]

It listens on the loopback address only, and is ready once its port answers. On SIGTERM the log is
closed before the streams have ended, as AX does: what comes later is sent and not logged.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from axnb.ax import wire
from axnb.ax.versions import GENERATIONS, Generation, resolve
from axnb.errors import AxnbError, UsageError
from axnb.runtimes import POLICIES, Policy
from axnb.runtimes.embedded.config import ServerConfig, read
from axnb.runtimes.embedded.console import Console, requested
from axnb.runtimes.embedded.controller import Controller, Settings
from axnb.runtimes.embedded.errors import RequestError, rpc_text
from axnb.runtimes.embedded.harness import Harness
from axnb.runtimes.embedded.store import SqliteStore, Store
from axnb.runtimes.owning import PID_METHOD

if TYPE_CHECKING:
    import grpc

#: Generations whose servers can be rehearsed.
SERVED = tuple(GENERATIONS[name] for name in ("G5", "G5b", "G6", "G7", "G8"))

#: Requests at a time; Go has no limit.
_THREADS = 64

#: AX waits for its streams as long as they take.
_GRACE_SECONDS = 24 * 3600.0

#: Ours: a program that is started in place of a real server says what it is.
_KIND, _EMBEDDED = "/axnb.Program/Kind", b"embedded"

_HEALTH = "/grpc.health.v1.Health/Check"
#: HealthCheckRequest of the whole server and of `AX`; HealthCheckResponse SERVING.
_HEALTHY, _SERVING = (b"", b"\n\x00", b"\n\x02AX"), b"\x08\x01"


class Server:
    """A running server. Call `stop` once; the log is closed then."""

    def __init__(
        self, config: ServerConfig, generation: Generation, policy: Policy, console: Console
    ) -> None:
        """Open the log and listen. Raises AxnbError if either is not possible."""
        from concurrent.futures import ThreadPoolExecutor

        import grpc

        self._console = console
        harnesses = [Harness(entry, generation) for entry in config.harnesses]
        settings = Settings(policy, config.suspend)
        self._controller = Controller(
            generation, open_store(config, generation), harnesses, console, settings
        )
        # Two servers must not share a port by chance.
        options = (("grpc.so_reuseport", 0),)
        self._server = grpc.server(ThreadPoolExecutor(_THREADS), options=options)
        self._server.add_generic_rpc_handlers((_Handlers(self._controller, console),))
        try:
            self.port = self._server.add_insecure_port(config.address)
        except RuntimeError:
            raise UsageError(f"nobody can listen on {config.address}.") from None
        host = config.address.rpartition(":")[0]
        self._server.start()
        console.info("Starting AX server", address=f"{host}:{self.port}")

    def stop(self) -> None:
        """Stop as AX does on SIGTERM: close the log, then wait until all streams have ended."""
        self._console.info("Received interrupt, shutting down...")
        self._controller.close()
        self._console.info("Stopping server gracefully...")
        self._server.stop(_GRACE_SECONDS).wait()


def open_store(config: ServerConfig, generation: Generation) -> Store:
    """Open the log that a configuration names. Raises AxnbError."""
    if config.postgres is None:
        return SqliteStore(config.sqlite, generation)
    from axnb.runtimes.embedded.store_postgres import PostgresStore

    return PostgresStore(config.postgres, generation)


class _GrpcCall:
    """A client's call over gRPC."""

    def __init__(self, context: grpc.ServicerContext) -> None:
        self._context = context

    def is_active(self) -> bool:
        return bool(self._context.is_active())

    def on_end(self, callback: Callable[[], object]) -> None:
        if not self._context.add_callback(callback):
            callback()


class _Handlers:
    """Finds the handler of a method; words what is not there as Go does."""

    def __init__(self, controller: Controller, console: Console) -> None:
        import grpc

        self._controller = controller
        self._console = console
        generation = controller.generation
        self._execute = wire.client_method(generation)
        self._handlers = {
            self._execute.path: grpc.unary_stream_rpc_method_handler(
                self._stream,
                request_deserializer=self._execute.request.FromString,
                response_serializer=self._execute.response.SerializeToString,
            ),
            _HEALTH: grpc.unary_unary_rpc_method_handler(_check_health),
            _KIND: grpc.unary_unary_rpc_method_handler(lambda _, __: _EMBEDDED),
            PID_METHOD: grpc.unary_unary_rpc_method_handler(lambda _, __: b"%d" % os.getpid()),
        }
        delete = wire.methods(generation).get("DeleteConversation")
        if delete is not None:
            self._delete_response = delete.response
            self._delete_path = delete.path
            self._handlers[delete.path] = grpc.unary_unary_rpc_method_handler(
                self._delete,
                request_deserializer=delete.request.FromString,
                response_serializer=delete.response.SerializeToString,
            )

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """The handler of a call; what grpc asks."""
        import grpc

        path: str = details.method
        if path in self._handlers:
            return self._handlers[path]
        service, _, method = path[1:].partition("/")
        known = {name[1:].partition("/")[0] for name in self._handlers}
        text = f"unknown method {method} for service" if service in known else "unknown service"

        def refuse(_: Any, context: grpc.ServicerContext) -> Any:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{text} {service}")

        return grpc.stream_stream_rpc_method_handler(refuse)

    def _stream(self, request: Any, context: grpc.ServicerContext) -> Iterator[Message]:
        path, started = self._execute.path, time.monotonic_ns()
        self._console.info("Handling stream request", method=path)
        self._console.info("Executing request", request=requested(request.conversation_id))
        try:
            yield from self._controller.execute(request, _GrpcCall(context))
        except RequestError as err:
            self._failed(err, path, started, context)
        except GeneratorExit:
            # The client went away while an answer was on its way to it.
            self._failed(_left(), path, started, None)
            raise
        took = time.monotonic_ns() - started
        self._console.info("Stream completed", method=path, duration=took)

    def _delete(self, request: Any, context: grpc.ServicerContext) -> Message:
        path, started = self._delete_path, time.monotonic_ns()
        conversation_id = request.conversation_id
        told = {"method": path, "conversation_id": conversation_id}
        self._console.info("Handling unary request", **told)
        self._console.info("Deleting conversation...", conversation_id=conversation_id)
        try:
            self._controller.delete(conversation_id)
        except RequestError as err:
            self._failed(err, path, started, context)
        took = time.monotonic_ns() - started
        self._console.info("Request completed", **told, duration=took)
        return self._delete_response()

    def _failed(
        self, err: RequestError, path: str, started: int, context: grpc.ServicerContext | None
    ) -> None:
        """Say that a request failed and end it."""
        import grpc

        own = err.code == "FAILED_PRECONDITION"
        text = rpc_text(err.code, str(err)) if own else str(err)
        took = time.monotonic_ns() - started
        self._console.error("Stream failed", method=path, duration=took, error=text)
        if context is not None:
            context.abort(grpc.StatusCode[err.code], str(err))


def _left() -> RequestError:
    return RequestError("client left", "CANCELLED")


def _check_health(request: bytes, context: grpc.ServicerContext) -> bytes:
    import grpc

    if request not in _HEALTHY:
        context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
    return _SERVING


def write_wrapper(path: Path, generation: Generation, policy: Policy = "ax") -> None:
    """Write a program that takes what `ax` takes (`serve --config FILE`); `path` is its place."""
    fixed = ["--generation", generation.name, "--policy", policy]
    command = shlex.join([sys.executable, "-m", "axnb.runtimes.embedded"])
    path.write_text(f'#!/bin/sh\nexec {command} "$@" {shlex.join(fixed)}\n', encoding="utf-8")
    path.chmod(0o755)


def main(arguments: list[str]) -> int:
    """Serve until SIGTERM or SIGINT; 0 then, else the exit code of what went wrong."""
    parser = argparse.ArgumentParser(prog="serve", allow_abbrev=False)
    parser.add_argument("--config", type=Path, default=Path("ax.yaml"))
    parser.add_argument("--generation", required=True)
    parser.add_argument("--policy", choices=list(POLICIES), default="ax")
    given = parser.parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    try:
        generation = resolve(given.generation)
        if generation not in SERVED:
            raise UsageError(f"a server of {generation.name} cannot be rehearsed.")
        config = read(given.config, generation)
        server = Server(config, generation, given.policy, Console())
    except AxnbError as err:
        print(err, file=sys.stderr)
        return err.exit_code
    stopped.wait()
    server.stop()
    return 0
