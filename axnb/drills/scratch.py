"""The folder of a drill: private, and gone at its end, unless it is to be kept."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axnb.errors import AxnbError, UsageError
from axnb.text import safe


@contextmanager
def scratch_folder(keep: Path | None = None, place: Path | None = None) -> Iterator[Path]:
    """A private folder in `place`, gone at the end; or the one that is to be kept.

    Raises AxnbError if there is no such folder, UsageError if that one is not empty.
    """
    where = keep or place
    try:
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            is_empty = not any(keep.iterdir())
        else:
            folder = Path(tempfile.mkdtemp(prefix="axnb-drill-", dir=place))
    except OSError as err:
        why = err.strerror or "unknown error"
        raise AxnbError(f"no folder can be made at {safe(str(where))}: {why}.") from err
    if keep is not None:
        if not is_empty:
            raise UsageError(f"{safe(str(where))} is not empty: name another folder to keep.")
        yield keep.resolve()
        return
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def private(folder: Path) -> Path:
    """Make a folder that nobody else enters, for somebody's log. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True)
    return folder
