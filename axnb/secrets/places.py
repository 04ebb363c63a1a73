"""Look for secrets in a snapshot: files, tars, memory, environments, manifests, addresses.

Whoever reads a bucket hands over what it decodes anyway: nothing is read a second time here.

    scan = ObjectScan(scanner, Where("bucket", "memory", snapshot, key, "pages.img"))
    for piece in tee(reader, scan):
        ...                                 # digests, tar members
    keep_secrets(session, scan.finish())
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from axnb.secrets.keeping import Place, Secret, Where
from axnb.secrets.scanner import Hit, Scanner, Stream
from axnb.substrate.encoding import Piece
from axnb.substrate.tars import Member

#: Places that are kept of one secret in one object: memory holds copies without end.
MAX_PLACES = 100

#: Secrets that are kept of one object.
MAX_SECRETS = 10_000

#: After so many it is looked into no further: somebody made it to take time.
MAX_FOUND = 100_000


def place_of(file: str) -> Place:
    """What a file of a snapshot is, by its name: `tar-member`, `memory` or `file`.

    gVisor keeps memory in `pages.img` and behind the head of `checkpoint.img`, a micro-VM in
    `memory-ranges`; `multitar.img` and names with `.tar` are tars.
    """
    name = file.removesuffix(".zstd").rpartition("/")[2]
    if name.endswith(".tar") or name == "multitar.img":
        return "tar-member"
    is_memory = name in ("pages.img", "checkpoint.img") or name.startswith("memory-range")
    return "memory" if is_memory else "file"


class ObjectScan:
    """Looks for secrets in one restored file that is fed piece by piece, in bounded memory."""

    def __init__(self, scanner: Scanner, where: Where) -> None:
        self._stream = Stream(scanner)
        self._where = where
        self._hits: list[Hit] = []
        self._counts: Counter[tuple[str, str | None, str]] = Counter()
        #: Places that were found and not kept, by the bounds above.
        self.left_off = 0
        #: Was the rest of it not looked into, for `MAX_FOUND`?
        self.is_cut = False

    def feed(self, offset: int, data: bytes) -> None:
        """Take the bytes at an offset. Offsets ascend; a gap is a hole, over which nothing goes."""
        if not self.is_cut:
            self._take(self._stream.feed(offset, data))

    def finish(self, *, known: Collection[str] = (), head_size: int = 0) -> list[Secret]:
        """What was found, by offset; the file has ended.

        `known`: digests of what `scan_environment` found in the first `head_size` bytes, which are
        not told again.
        """
        if not self.is_cut:
            self._take(self._stream.finish())
        known = frozenset(known)
        return [
            Secret(self._where, hit)
            for hit in self._hits
            if hit.offset >= head_size or hit.digest not in known
        ]

    def _take(self, hits: Iterable[Hit]) -> None:
        for hit in hits:
            what = (hit.kind, hit.name, hit.digest)
            if self._counts[what] < MAX_PLACES and len(self._hits) < MAX_SECRETS:
                self._counts[what] += 1
                self._hits.append(hit)
            else:
                self.left_off += 1
        self.is_cut = len(self._hits) + self.left_off >= MAX_FOUND


def tee(pieces: Iterable[Piece], scan: ObjectScan) -> Iterator[Piece]:
    """The same pieces, each of which `scan` has seen; `scan.finish()` is left to the caller."""
    for piece in pieces:
        if piece.data is not None:
            scan.feed(piece.offset, piece.data)
        yield piece


def scan_pieces(scanner: Scanner, pieces: Iterable[Piece], where: Where) -> list[Secret]:
    """The secrets of a restored file. An ObjectError of the pieces passes through."""
    scan = ObjectScan(scanner, where)
    for _ in tee(pieces, scan):
        pass
    return scan.finish()


def in_members(found: Iterable[Secret], members: Iterable[Member]) -> list[Secret]:
    """Secrets of a restored tar with the members that hold them."""
    listed = sorted(members, key=lambda member: member.offset)
    offsets = [member.offset for member in listed]
    told = []
    for secret in found:
        n = bisect_right(offsets, secret.hit.offset) - 1
        member = listed[n].name if n >= 0 else None
        told.append(replace(secret, where=replace(secret.where, place="tar-member", member=member)))
    return told


def scan_environment(
    scanner: Scanner, where: Where, container: str, entries: Iterable[str]
) -> list[Secret]:
    """The secrets of a container's environment, from entries `NAME=value`.

    An entry ends in a NUL, as in memory: there it has the same digest.
    """
    where = replace(where, place="oci-env", member=container)
    found = []
    for entry in entries:
        name = entry.partition("=")[0]
        for hit in scanner.scan_bytes(entry.encode("utf-8", "surrogatepass") + b"\0"):
            found.append(Secret(where, replace(hit, name=hit.name or name)))
    return found


def scan_url(scanner: Scanner, where: Where, url: str) -> list[Secret]:
    """The secrets of the address of an asset: userinfo, and what signs its query."""
    return scan_text(scanner, replace(where, place="asset-url"), url)


def scan_text(scanner: Scanner, where: Where, text: str | bytes) -> list[Secret]:
    """The secrets of a text, such as a manifest."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return [Secret(where, hit) for hit in scanner.scan_bytes(data)]
