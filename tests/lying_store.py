"""A store that lies: enough of S3's list and get, on the loopback address, to be wrong on purpose.

Keys are never checked. `requests` tells what was asked, so that a test can say that nothing was
written. A `with` block begins and ends it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, quote_plus, unquote, urlsplit
from xml.sax.saxutils import escape

#: What a store answers: a status, headers and a body.
Answer = tuple[int, dict[str, str], bytes]

_TIME = "2026-05-06T07:08:09.000Z"


class LyingStore:
    """Objects by key; set an attribute to make it lie."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = dict(objects)
        self.page_size = 1000
        #: Objects left out of a listing: how often each was listed decides.
        self.hidden: Callable[[int], set[str]] = lambda listing: set()
        #: Called with the method and the key (or None for the bucket); an answer goes out as it is.
        self.intercept: Callable[[str, str | None, dict[str, str]], Answer | None] = (
            lambda method, key, query: None
        )
        #: The continuation token that follows a page, by the number of its last object.
        self.token: Callable[[int], str] = str
        #: How a key is written in a listing.
        self.encode: Callable[[str], str] = lambda key: quote_plus(key, safe="/")
        #: Bytes of a body that are sent; the length announced stays.
        self.cut: Callable[[str, bytes], bytes] = lambda key, body: body
        self.etags: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        #: Status of versioning, and the entries of its versions as (kind, key, version, latest).
        self.versioning: str | None = None
        self.version_entries: list[tuple[str, str, str, bool]] = []
        self.requests: list[tuple[str, str]] = []
        self.listings = 0
        self.asked: Counter[str] = Counter()

    def __enter__(self) -> Self:
        store = self

        class Handler(_Handler):
            lying = store

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def endpoint(self) -> str:
        """The address for AWS_ENDPOINT_URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def environment(self) -> dict[str, str]:
        """The variables that a program reads this store with."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "AKLIAR",
            "AWS_SECRET_ACCESS_KEY": "not-to-be-shown",
        }

    def etag(self, key: str) -> str:
        """The ETag of an object: its MD5 unless another was set."""
        return self.etags.get(key) or hashlib.md5(self.objects[key]).hexdigest()

    def answer(self, method: str, key: str | None, query: dict[str, str]) -> Answer:
        """What is said to a request."""
        if (said := self.intercept(method, key, query)) is not None:
            return said
        if method not in ("GET", "HEAD"):
            return refusal(405, "MethodNotAllowed")
        if key is not None:
            return self._object(key)
        if "versioning" in query:
            status = f"<Status>{self.versioning}</Status>" if self.versioning else ""
            return _xml(f"<VersioningConfiguration>{status}</VersioningConfiguration>")
        if "versions" in query:
            return self._versions()
        if "uploads" in query:
            return _xml("<ListMultipartUploadsResult></ListMultipartUploadsResult>")
        return self._list(query)

    def _object(self, key: str) -> Answer:
        self.asked[key] += 1
        if key not in self.objects:
            return refusal(404, "NoSuchKey")
        headers = {
            "ETag": f'"{self.etag(key)}"',
            "Last-Modified": "Wed, 06 May 2026 07:08:09 GMT",
            "Content-Length": str(len(self.objects[key])),
        }
        return 200, headers | self.headers, self.cut(key, self.objects[key])

    def _list(self, query: dict[str, str]) -> Answer:
        token = query.get("continuation-token")
        self.listings += token is None
        prefix, after = query.get("prefix", ""), query.get("start-after", "")
        seen = [key for key in self.objects if key not in self.hidden(self.listings)]
        keys = sorted(k for k in seen if k.startswith(prefix) and k > after)
        begin = int(token.rpartition("-")[2]) if token else 0
        page = keys[begin : begin + self.page_size]
        end = begin + len(page)
        rows = "".join(self._row("Contents", key) for key in page)
        more = end < len(keys)
        next_token = f"<NextContinuationToken>{self.token(end)}</NextContinuationToken>"
        return _xml(
            f"<ListBucketResult><EncodingType>url</EncodingType>{rows}"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{next_token if more else ''}"
            f"<KeyCount>{len(page)}</KeyCount></ListBucketResult>"
        )

    def _versions(self) -> Answer:
        rows = "".join(
            self._row(
                kind,
                key,
                f"<VersionId>{version}</VersionId><IsLatest>{str(latest).lower()}</IsLatest>",
            )
            for kind, key, version, latest in self.version_entries
        )
        return _xml(
            f"<ListVersionsResult><EncodingType>url</EncodingType>{rows}</ListVersionsResult>"
        )

    def _row(self, kind: str, key: str, more: str = "") -> str:
        size = len(self.objects.get(key, b""))
        etag = self.etag(key) if key in self.objects else ""
        return (
            f"<{kind}><Key>{escape(self.encode(key))}</Key><LastModified>{_TIME}</LastModified>"
            f"<ETag>&quot;{etag}&quot;</ETag><Size>{size}</Size>{more}</{kind}>"
        )


def refusal(status: int, code: str, inner: str = "") -> Answer:
    """An answer that refuses, with words that no message may repeat."""
    said = f"<Error><Code>{code}</Code><Message>SECRET WORDS</Message>{inner}</Error>"
    return status, {"Content-Type": "application/xml"}, said.encode()


def _xml(text: str) -> Answer:
    return 200, {"Content-Type": "application/xml"}, text.encode()


class _Handler(BaseHTTPRequestHandler):
    lying: LyingStore
    protocol_version = "HTTP/1.1"
    # Two writes an answer, each of which would wait for the other's receipt.
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_: Any) -> None:
        return

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        self.lying.requests.append((self.command, self.path))
        path = unquote(parts.path).removeprefix("/")
        _, _, key = path.partition("/")
        query = {k: v[0] for k, v in parse_qs(parts.query, keep_blank_values=True).items()}
        status, headers, body = self.lying.answer(self.command, key or None, query)
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        if int(headers.get("Content-Length", len(body))) != len(body):
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815
