"""JSON over HTTP, small: a threading server on the loopback address."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

_MAX_BODY = 1 << 20


@dataclass(frozen=True)
class Request:
    """What was asked."""

    method: str
    #: The segments of the path, decoded.
    path: tuple[str, ...]
    query: Mapping[str, list[str]]
    #: What the body holds; None where there is none.
    body: Any


#: From a request to a status and a body; ValueError is a bad request, KeyError a missing thing.
Answering = Callable[[Request], tuple[int, Any]]


class JsonServer(ThreadingHTTPServer):
    """Answers requests, each in a thread of its own. A port of 0 is any free one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answering: Answering, port: int = 0) -> None:
        self.answering = answering
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        """Bind without the look-up of a name that http.server adds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"

    def start(self) -> Self:
        """Serve in a thread until `stop`."""
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        """End what `start` began."""
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: JsonServer

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: Any) -> None:
        """Say nothing: a request holds what is not ours to print."""

    def _answer(self) -> None:
        try:
            status, body = self.server.answering(self._request())
        except ValueError as err:
            status, body = 400, {"error": str(err)}
        except KeyError:
            status, body = 404, {"error": "there is no such thing."}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _request(self) -> Request:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= _MAX_BODY:
            raise ValueError("the body is too long.")
        data = self.rfile.read(length)
        parts = urlsplit(self.path)
        path = tuple(unquote(segment) for segment in parts.path.strip("/").split("/"))
        return Request(
            self.command, path, parse_qs(parts.query), json.loads(data) if data else None
        )
