"""What a turn sends, handed to a stream one by one. The stream may end; the turn goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from google.protobuf.message import Message


class Outbox:
    """Between the thread of a turn and that of its stream."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._frame: Message | None = None
        self._closed = False
        self._left = False

    def send(self, frame: Message) -> None:
        """Hand over a frame; returns once it was written, or nobody is there any more."""
        with self._changed:
            self._frame = frame
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._frame is None or self._left)

    def close(self) -> None:
        """End the stream in order."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def leave(self) -> None:
        """The other side is gone."""
        with self._changed:
            self._left = True
            self._changed.notify_all()

    def frames(self) -> Iterator[Message]:
        """What to write. gRPC comes back for the next frame once the one before was written."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._frame or self._closed or self._left)
                if self._left or self._frame is None:
                    return
                frame = self._frame
            yield frame
            with self._changed:
                self._frame = None
                self._changed.notify_all()
