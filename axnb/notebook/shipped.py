"""The notebooks and the sample data that axnb ships."""

from __future__ import annotations

import re
from pathlib import Path

from axnb.errors import AxnbError, UsageError
from axnb.text import is_path

#: What a notebook reads if nobody names a log.
SAMPLE = "sample_data/log.sqlite"

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped(folder: str, name: str) -> Path:
    """A file of `notebooks/` or `sample_data/`: in the wheel inside the package, else beside it."""
    for root in (_PACKAGE, _PACKAGE.parent):
        path = root / folder / name
        if path.exists():
            # A short path is what a person pastes.
            here = Path.cwd()
            return path.relative_to(here) if path.is_relative_to(here) else path
    raise AxnbError(f"{folder}/{name} is missing from this installation.")


def sample_log(source: str) -> str:
    """The sample log lies beside the notebooks or in the package, wherever a notebook is run; any
    other source stays as it is."""
    if source != SAMPLE or Path(source).exists():
        return source
    return str(shipped("sample_data", "log.sqlite"))


def find_notebook(name: str) -> Path:
    """A notebook by its path, or one that axnb ships by its name: `01_triage` or `triage`, or by a
    word that only one has, such as `restore`.

    Raises UsageError, with the names that there are, for any other.
    """
    names = sorted(path.stem for path in shipped("notebooks", "").glob("*.ipynb"))
    for known in names:
        if name.removesuffix(".ipynb") in (known, re.sub(r"^\d+_", "", known)):
            return shipped("notebooks", f"{known}.ipynb")
    having = [known for known in names if name in known.split("_")[1:]]
    if len(having) == 1:
        return shipped("notebooks", f"{having[0]}.ipynb")
    path = Path(name)
    if path.suffix == ".ipynb" and is_path(name) and path.is_file():
        return path
    raise UsageError(
        f"there is no notebook {name!r:.80}; name one of {', '.join(names)}, or the path of a file."
    )
