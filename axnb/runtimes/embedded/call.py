"""A client's call, as the controller sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Call(Protocol):
    """Tells whether the client is still there."""

    def is_active(self) -> bool:
        """Is anybody there to send to?"""

    def on_end(self, callback: Callable[[], object]) -> None:
        """Call back when the client is gone; at once if it is gone already."""
