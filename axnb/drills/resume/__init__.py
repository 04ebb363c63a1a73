"""The resume drill."""

from __future__ import annotations

from collections.abc import Callable

from axnb.drills.resume.options import ResumeOptions
from axnb.errors import AxnbError
from axnb.result import Result

__all__ = ["ResumeOptions", "run"]


def run(asked: ResumeOptions, progress: Callable[[str], None] = lambda _: None) -> Result:
    """Interrupt a task at each point with each policy."""
    raise AxnbError("the resume drill is not there yet.")
