"""When something was asked, and the block `run` of its result, which differs between two runs."""

from __future__ import annotations

import getpass
import platform
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from axnb import __version__
from axnb.text import file_name


@dataclass(frozen=True)
class Started:
    """When something was asked."""

    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.monotonic)

    def block(self, locators: Iterable[str], asked_as: str, again: Iterable[str]) -> dict[str, Any]:
        """The block `run`: all that may differ between two runs on the same evidence.

        `again` are the words of a command that gives the answer again where the files lie.
        """
        return {
            "id": uuid.uuid4().hex,
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self.clock, 3),
            "axnb": __version__,
            "python": platform.python_version(),
            "platform": platform.system(),
            "user": _user(),
            "locators": [file_name(locator) for locator in locators],
            "asked_as": asked_as,
            "again": " ".join(again),
        }


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
