"""The bytes of one object, checked against what the store announced."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator

from axnb.errors import ObjectError

#: Bytes that are handed on at once.
PIECE = 1 << 20

_MD5 = re.compile(r"[0-9a-f]{32}")


def md5_of(etag: str | None) -> str | None:
    """The MD5 that an ETag is, if it has the form of one; that of a multipart upload has not."""
    return etag if etag is not None and _MD5.fullmatch(etag) else None


class ObjectStream:
    """The bytes of an object, once, from the beginning; a context manager.

    Iterating gives pieces of at most 1 MiB. The end is reached only if all is well: as many bytes
    as the store announced, with the MD5 that it announced. Else ObjectError is raised.
    """

    def __init__(
        self,
        name: str,
        pieces: Iterator[bytes],
        close: Callable[[], None],
        *,
        size: int,
        etag: str | None = None,
        md5: str | None = None,
    ) -> None:
        #: What the store announced.
        self.size = size
        self.etag = etag
        self._name = name
        self._pieces = pieces
        self._close = close
        self._announced = md5
        self._md5 = hashlib.md5(usedforsecurity=False) if md5 else None
        self._sha256 = hashlib.sha256()
        self._count = 0

    def __enter__(self) -> ObjectStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._count += len(piece)
            if self._count > self.size:
                raise ObjectError(f"{self._name} is longer than the {self.size:,} bytes announced.")
            self._sha256.update(piece)
            if self._md5:
                self._md5.update(piece)
            yield piece
        if self._count < self.size:
            raise ObjectError(
                f"{self._name} ended after {self._count:,} of {self.size:,} bytes; read it again."
            )
        if self._md5 and self._md5.hexdigest() != self._announced:
            raise ObjectError(f"{self._name} is damaged: its bytes have another MD5 than its ETag.")

    @property
    def sha256(self) -> str:
        """Our own digest of the bytes that were handed on so far; hexadecimal."""
        return self._sha256.hexdigest()
