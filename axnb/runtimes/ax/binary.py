"""An `ax` binary: where it is, and what it turns out to be."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from axnb.ax.versions import Generation
from axnb.errors import UsageError
from axnb.runtimes import Kind
from axnb.text import safe


@dataclass(frozen=True)
class Binary:
    """A binary as it was found by starting it once."""

    path: Path
    generation: Generation
    #: An embedded program that is started in place of a binary says so.
    kind: Kind
    #: Does it start its harness itself, and serve only then? Others find ours where they dial.
    starts_harness: bool = False

    @property
    def sha256(self) -> str:
        """The digest of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def find(given: Sequence[Path]) -> tuple[Path, ...]:
    """The binaries that are given, the older first; else the `ax` of PATH; else none.

    Raises UsageError for one that is no program, and for more than two.
    """
    if not given:
        found = shutil.which("ax")
        return (Path(found).resolve(),) if found else ()
    if len(given) > 2:
        raise UsageError("--ax-bin is given twice at most: the older binary, then the newer one.")
    for path in given:
        if not path.is_file() or not os.access(path, os.X_OK):
            raise UsageError(f"--ax-bin {safe(str(path))} is no program.")
    return tuple(path.resolve() for path in given)
