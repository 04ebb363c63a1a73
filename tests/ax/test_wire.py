"""The gRPC messages of each generation, over a real connection."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from axnb.ax import wire
from axnb.ax.versions import GENERATIONS, Generation

_ALL = list(GENERATIONS.values())


@pytest.mark.parametrize("generation", _ALL, ids=lambda g: g.name)
def test_a_request_and_its_streamed_answers(generation: Generation) -> None:
    method = wire.client_method(generation)
    seen: list[Any] = []

    def answer(request: Any, _: grpc.ServicerContext) -> Any:
        seen.append(request)
        yield method.response()
        yield method.response()

    handler = grpc.unary_stream_rpc_method_handler(
        answer, method.request.FromString, method.response.SerializeToString
    )
    _, service, name = method.path.split("/")
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(service, {name: handler})]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.unary_stream(
                method.path, method.serialize_request, method.parse_response
            )
            answers = list(call(wire.request(generation, "c1"), timeout=10))
    finally:
        server.stop(None).wait()
    assert len(answers) == 2
    assert seen[0].conversation_id == "c1"
    assert not seen[0].inputs


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("G3", "/ax.ControllerService/Exec"),
        ("G4", "/ax.ControllerService/Exec"),
        ("G5", "/ax.ExecutionService/Exec"),
        ("G5b", "/ax.ExecutionService/Exec"),
        ("G6", "/ax.ExecutionService/Exec"),
        ("G7", "/ax.InteractionsService/CreateInteraction"),
        ("G8", "/ax.InteractionsService/CreateInteraction"),
    ],
)
def test_paths(name: str, path: str) -> None:
    assert wire.client_method(GENERATIONS[name]).path == path


@pytest.mark.parametrize("generation", _ALL[1:], ids=lambda g: g.name)
def test_the_harness_wire(generation: Generation) -> None:
    connect = wire.methods(generation)["Connect"]
    assert connect.path == "/ax.HarnessService/Connect"
    assert connect.client_streams
    assert connect.server_streams
    start = connect.request(conversation_id="c1")
    start.start.SetInParent()  # type: ignore[attr-defined]
    again: Any = connect.request.FromString(start.SerializeToString())
    assert again.WhichOneof("type") == "start"


@pytest.mark.parametrize("generation", _ALL, ids=lambda g: g.name)
def test_delete_is_gone_since_g7(generation: Generation) -> None:
    has_delete = "DeleteConversation" in wire.methods(generation)
    assert has_delete == (generation.name not in ("G7", "G8"))
