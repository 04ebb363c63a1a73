"""A result folder while a run writes it: one run at a time, and whole or as it was before."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from axnb.errors import AxnbError
from axnb.text import is_path

_STAGE = ".axnb-run-"
_LOCK = ".axnb-lock"


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A private folder inside of a result folder, for one run alone.

    What it holds is gone at the end, unless it was published. A folder that was made for it and
    is empty at the end is gone too. Raises AxnbError if it cannot be made, or if another run has
    it; the lock is free again when the process ends, however it ends.
    """
    if not is_path(str(folder)):
        raise AxnbError(f"{str(folder)[:80]!r} cannot be made: no folder has such a name.")
    made: list[Path] = []
    try:
        try:
            made += _missing(folder)
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise AxnbError(f"{folder} cannot be made: {err.strerror}.") from err
        with _locked(folder), _stage(folder) as stage:
            yield stage
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()


def _missing(folder: Path) -> list[Path]:
    """The folders that are still to be made, the deepest first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    return missing


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    path = folder / _LOCK
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as err:
        raise AxnbError(
            f"another run writes to {folder}: wait until it has ended, or name another folder."
        ) from err
    except OSError as err:
        raise AxnbError(f"{folder} cannot be written: {err.strerror}.") from err
    try:
        yield
    finally:
        # While it is held, so that it is not the next one's: who waits for it sees that it is gone.
        with suppress(OSError):
            path.unlink()
        lock.release()


@contextmanager
def _stage(folder: Path) -> Iterator[Path]:
    # What a run left that was killed: it had the lock that is ours now.
    for left in folder.glob(f"{_STAGE}*"):
        shutil.rmtree(left, ignore_errors=True)
    try:
        stage = Path(tempfile.mkdtemp(prefix=_STAGE, dir=folder)).absolute()
    except OSError as err:
        raise AxnbError(f"{folder} cannot be written: {err.strerror}.") from err
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


#: What a reader looks for, in the order in which it is named.
_FIRST = {"result.json": 0, "report.html": 1}


def publish(stage: Path, folder: Path) -> tuple[str, ...]:
    """Move the staged files into the result folder, `result.json` last; their names, it first.

    Raises AxnbError if one cannot be moved; then the folder is as it was.
    """
    names = sorted(
        (path.name for path in stage.iterdir() if path.is_file()),
        key=lambda name: (_FIRST.get(name, len(_FIRST)), name.endswith(".ipynb"), name),
    )
    kept = stage / "kept"
    moved: list[str] = []
    try:
        kept.mkdir()
        for name in names:
            _keep(folder / name, kept / name)
        for name in reversed(names):
            os.replace(stage / name, folder / name)
            moved.append(name)
    except OSError as err:
        for name in moved:
            _bring_back(kept / name, folder / name)
        raise AxnbError(f"{folder} cannot be written: {err.strerror}.") from err
    return tuple(names)


def _keep(path: Path, kept: Path) -> None:
    """Keep what would be replaced: a second name for it, or a copy where there is none."""
    if not path.exists():
        return
    try:
        os.link(path, kept)
    except OSError:
        shutil.copy2(path, kept)


def _bring_back(kept: Path, path: Path) -> None:
    with suppress(OSError):
        if kept.exists():
            os.replace(kept, path)
        else:
            path.unlink()
