"""JSON over HTTP, small: one request to a service.

What a request needs is imported with the first: some programs of a drill never send one.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from axnb.errors import AxnbError
from axnb.text import safe

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def call(method: str, url: str, body: Any = None, *, seconds: float = 10.0) -> Any:
    """Send one request; what the answer holds, None for an empty one.

    A user and a password in the address are sent, and never told. Raises AxnbError if nobody
    answers, the answer is no JSON, or its status is an error.
    """
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    from axnb.substrate.manifest import masked

    name = safe(masked(url))
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | _authorization(url)
    try:
        if urlsplit(url).scheme not in ("http", "https"):
            raise AxnbError(f"{name} is not of the form http://HOST:PORT.")
        request = urllib.request.Request(_plain(url), data, headers, method=method)  # noqa: S310
        with _opener(url).open(request, timeout=seconds) as response:
            text = response.read()
        return json.loads(text) if text.strip() else None
    except urllib.error.HTTPError as err:
        err.close()
        raise AxnbError(f"{name} refuses the request with status {err.code}.") from None
    except (OSError, HTTPException) as err:
        raise AxnbError(f"{name} does not answer: {_reason(err)}.") from None
    except ValueError:
        raise AxnbError(f"{name} is no address, or its answer is not JSON.") from None


def _plain(url: str) -> str:
    """The address without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _authorization(url: str) -> dict[str, str]:
    account, _, _ = urlsplit(url).netloc.rpartition("@")
    if not account:
        return {}
    return {"Authorization": "Basic " + base64.b64encode(unquote(account).encode()).decode()}


def _opener(url: str) -> OpenerDirector:
    """One that asks no proxy for what is on this machine."""
    from urllib.request import ProxyHandler, build_opener

    is_here = urlsplit(url).hostname in _LOOPBACK
    return build_opener(*([ProxyHandler({})] if is_here else []))


def _reason(err: Exception) -> str:
    reason = getattr(err, "reason", err)
    words = getattr(reason, "strerror", None) or type(reason).__name__
    return safe(str(words)).lower()
