"""Files that are there whole or not at all, also after a crash; and what else becomes of files."""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axnb.errors import AxnbError


@contextmanager
def usable(what: str) -> Iterator[None]:
    """A disk that is full, or a database that is gone, becomes an AxnbError: one sentence."""
    try:
        yield
    except (OSError, sqlite3.Error) as err:
        reason = getattr(err, "strerror", None) or (
            str(err) if isinstance(err, sqlite3.Error) else "unknown error"
        )
        raise AxnbError(f"{what} cannot be used: {reason}.") from err
    except Exception as err:
        # Who never used PostgreSQL has not loaded its driver.
        driver = sys.modules.get("psycopg")
        if driver is None or not isinstance(err, driver.Error):
            raise
        state = getattr(err, "sqlstate", None)
        reason = f"SQLSTATE {state}" if state else "the server does not answer"
        raise AxnbError(f"{what} cannot be used: {reason}.") from err


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
