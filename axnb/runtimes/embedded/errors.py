"""What ends a request: a gRPC status, with the text that AX gives it."""

from __future__ import annotations

from axnb.errors import AxnbError


class RequestError(AxnbError):
    """A request failed. `code` is the name of a gRPC status; AX's own errors are UNKNOWN."""

    def __init__(self, text: str, code: str = "UNKNOWN") -> None:
        super().__init__(text)
        self.code = code


def go_name(code: str) -> str:
    """A status as Go prints it: `FailedPrecondition`, `Canceled`."""
    if code == "CANCELLED":
        return "Canceled"
    return "".join(word.title() for word in code.split("_"))


def rpc_text(code: str, description: str) -> str:
    """A gRPC error as Go prints it."""
    return f"rpc error: code = {go_name(code)} desc = {description}"


def client_left() -> RequestError:
    """What sending to a client that went away ends with."""
    cause = rpc_text("CANCELLED", "context canceled")
    return RequestError(f"failed to dispatch streamed output: {cause}", "CANCELLED")
