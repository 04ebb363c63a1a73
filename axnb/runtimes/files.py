"""Files that are there whole or not at all, also after a crash."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes, *, once: bool = False) -> None:
    """Write aside, to the disk, and put it in its place; folders are made. Raises OSError.

    With `once` nothing is ever put in the place of another file: FileExistsError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, 0o644)
        if once:
            # Unlike a rename, a link never takes the place of a file.
            os.link(aside, path)
            os.unlink(aside)
        else:
            os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise
