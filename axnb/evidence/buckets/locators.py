"""What a user types for a bucket: a URL, a folder, the name of a variable."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote_to_bytes

from axnb.errors import UsageError
from axnb.settings import SNAPSHOTS_VARIABLE
from axnb.text import is_path, safe

Scheme = Literal["s3", "gs", "file"]

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
#: Buckets of Google have up to 222 characters; old ones of Amazon have capitals.
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,220}[A-Za-z0-9]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

_FORMS = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, file:///FOLDER or the path of a folder"


@dataclass(frozen=True)
class BucketLocator:
    """A bucket and a prefix in it; of a folder, `bucket` is its path.

    `prefix` has no slash at its end and is whole: `actor-1` does not mean `actor-10`.
    """

    scheme: Scheme
    bucket: str
    prefix: str = ""

    @classmethod
    def parse(cls, text: str, environment: Mapping[str, str]) -> BucketLocator:
        """Find what `text` names. Raises UsageError, which never repeats the text.

        A URL is read as Agent Substrate reads it: the host is the bucket, the path with its
        escapes undone is the prefix; `+` and `:` stand for themselves.
        """
        if found := _URL.fullmatch(text):
            return _of_url(found[1].lower(), found[2])
        if not is_path(text) or not text:
            raise UsageError(f"the bucket is neither a URL nor a path: write {_FORMS}.")
        if os.path.isdir(text):
            return cls("file", os.path.abspath(text))
        if _VARIABLE.fullmatch(text):
            return _of_variable(text, environment)
        if os.path.exists(text):
            raise UsageError(f"the bucket is a file and no folder: write {_FORMS}.")
        raise UsageError(f"the bucket is neither a URL nor a folder that exists: write {_FORMS}.")

    @classmethod
    def default(cls, environment: Mapping[str, str]) -> BucketLocator | None:
        """What AX_SNAPSHOTS_BUCKET names, if it is set."""
        if not environment.get(SNAPSHOTS_VARIABLE):
            return None
        return _of_variable(SNAPSHOTS_VARIABLE, environment)

    def __str__(self) -> str:
        return safe(
            f"{self.scheme}://{_shown(self.bucket)}{'/' if self.prefix else ''}{self.prefix}"
        )

    def of(self, key: str) -> str:
        """What a message calls an object of this bucket."""
        return safe(f"{self.scheme}://{_shown(self.bucket)}/{_shown(key)[:300]}")


def _shown(name: str) -> str:
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _of_variable(name: str, environment: Mapping[str, str]) -> BucketLocator:
    """What a variable names; AX writes gs://$AX_SNAPSHOTS_BUCKET/…, so that one is a bare name."""
    value = environment.get(name)
    if not value:
        raise UsageError(f"{name} is neither a folder nor a variable that is set.")
    if name == SNAPSHOTS_VARIABLE and _BUCKET.fullmatch(value) and not os.path.isdir(value):
        return BucketLocator("gs", value)
    # A variable may name another one, but not itself.
    rest = {other: text for other, text in environment.items() if other != name}
    try:
        return BucketLocator.parse(value, rest)
    except UsageError as err:
        raise UsageError(f"{name}: {err}") from err


def _of_url(scheme: str, rest: str) -> BucketLocator:
    if scheme not in ("s3", "gs", "file"):
        raise UsageError(f"the bucket has a scheme that axnb does not read: write {_FORMS}.")
    place, _, path = rest.partition("/")
    if "?" in rest or "#" in rest:
        raise UsageError(
            f"the bucket has a query or a fragment, which mean nothing: write {_FORMS}."
        )
    if "@" in place:
        raise UsageError(
            "the bucket has a user or keys in it: put keys into AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY."
        )
    if _BAD_ESCAPE.search(path):
        raise UsageError("the bucket has a % that begins no escape: write %25 for a percent sign.")
    decoded = os.fsdecode(unquote_to_bytes(path))
    if not is_path(decoded):
        raise UsageError("the bucket's prefix holds a NUL.")
    if scheme == "file":
        return _of_folder(place, decoded)
    if not place:
        raise UsageError(f"the bucket has no name: write {_FORMS}.")
    if not _BUCKET.fullmatch(place):
        raise UsageError(f"the bucket has a name that no bucket can have: write {_FORMS}.")
    return BucketLocator("s3" if scheme == "s3" else "gs", place, decoded.rstrip("/"))


def _of_folder(host: str, path: str) -> BucketLocator:
    if host not in ("", "localhost"):
        raise UsageError("a folder is written with three slashes: file:///FOLDER.")
    folder = Path("/") / path
    if not folder.is_dir():
        raise UsageError("the bucket is no folder that exists: write file:///FOLDER.")
    return BucketLocator("file", str(folder))
