"""A request that is on its way while a drill does something to it."""

from __future__ import annotations

import threading

from axnb.errors import AxnbError
from axnb.runtimes import Answer, Output
from axnb.runtimes.client import REQUEST_SECONDS, Request


class Asked:
    """A request whose stream is read by a thread of its own."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._changed = threading.Condition()
        self._kinds: set[str] = set()
        self._answer: Answer | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait_for(self, kind: str, seconds: float = REQUEST_SECONDS) -> None:
        """Wait until the client has got an output of a kind: until AX has logged it, that is.

        Raises AxnbError if the stream ends before, or it does not come.
        """
        with self._changed:
            self._changed.wait_for(lambda: kind in self._kinds or self._answer is not None, seconds)
            if kind not in self._kinds:
                raise AxnbError(f"the client never got the {kind} that was to come.")

    def leave(self) -> None:
        """The client goes away."""
        self._request.leave()

    def answer(self) -> Answer:
        """What the client got, once its stream is over."""
        self._thread.join(REQUEST_SECONDS)
        if self._answer is None:
            raise AxnbError("the client's stream did not end.")
        return self._answer

    def _read(self) -> None:
        answer = self._request.read(self._note)
        with self._changed:
            self._answer = answer
            self._changed.notify_all()

    def _note(self, output: Output) -> None:
        with self._changed:
            self._kinds.add(output.kind)
            self._changed.notify_all()
