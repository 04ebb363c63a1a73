"""What the files of one snapshot say against each other.

Each file can be sound and be as its name says, and still not be this snapshot's. Sizes are told by
`fscheckpoint.json` or `.pb` (of `multitar.img`, `pages_meta.img`), by `pages_meta.img` (of
`pages.img`) and by `config.json` (of `memory-ranges`); and no two files of a snapshot are equal.

What is proved, of every genuine snapshot: a size that was raised, by one byte or more, of any file
(of `memory-ranges` by `config.json` alone); another object of the same snapshot in any place; one
of another snapshot in a place of another kind, but for what follows.

What stays unseen: a file of another snapshot of the same kind, with the same size where a neighbour
tells it (`multitar.img`, `pages_meta.img` of a data checkpoint, `pages.img`, `memory-ranges`), with
any size where none does (`checkpoint.img`, `pages_meta.img` of a full one, the others). What has
no form of its own (pages, texts, small messages) in the place of a full one's `pages_meta.img`, of
which not every form is known; `memory-ranges` in that of `pages.img` if its map has no form. A
`rootfs-upper.tar` reads as a durable directory with folders `fs`. And the whole set of another
snapshot fits together: that is for the manifest, the records and the log to tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from axnb.substrate.bodies import ENDS_IN_A_HOLE, ODD_CONTENT, Body
from axnb.substrate.contents import is_known, kind_of, neighbour

Name = Literal[
    "other-content", "unusual-content", "other-size", "same-as-another", "ends-in-a-hole"
]

#: Equal files below this prove nothing: `{}` is a configuration as well as a state.
_LEAST_EQUAL = 16


@dataclass(frozen=True, order=True)
class Contradiction:
    """Something about a file that cannot be if the snapshot is as it was written.

    other-content    the content is not what the name says; `detail` is `Body.content_why`
    unusual-content  Substrate writes none like it, and restores it; `detail` is `Body.content_why`
    other-size       it has another size than its neighbour says; `detail` is `EXPECTED:FOUND`
    same-as-another  it is equal to a file of another name; one of the two is another object
    ends-in-a-hole   the size in the sparse stream was raised; or, if no other reader tells so, a
                     file system that stores no zeros has made holes of them
    """

    file: str
    name: Name
    #: The file that it does not fit; empty if it is wrong by itself.
    other: str = ""
    detail: str = ""


def contradictions(files: Mapping[str, Body]) -> list[Contradiction]:
    """All contradictions between the files of one snapshot, by file; names without `.zstd`.

    Files that are missing here are not missed: what tells nothing contradicts nothing.
    """
    found: list[Contradiction] = []
    for file, body in files.items():
        if body.content == "other":
            found.append(Contradiction(file, "other-content", detail=body.content_why))
        if ODD_CONTENT in body.remarks:
            found.append(Contradiction(file, "unusual-content", detail=body.content_why))
        if ENDS_IN_A_HOLE in body.remarks:
            found.append(Contradiction(file, "ends-in-a-hole"))
        found += _sizes(file, body, files)
    found += _equal(files)
    return sorted(found)


def _sizes(file: str, body: Body, files: Mapping[str, Body]) -> Iterator[Contradiction]:
    for kind, size in body.tells:
        name = neighbour(file, kind)
        other = files.get(name)
        if other is not None and other.size != size:
            yield Contradiction(name, "other-size", file, f"{size}:{other.size}")


def _equal(files: Mapping[str, Body]) -> Iterator[Contradiction]:
    by_digest: dict[str, list[str]] = {}
    for file, body in sorted(files.items()):
        if is_known(file) and body.size >= _LEAST_EQUAL and not _is_nothing(body):
            by_digest.setdefault(body.sha256, []).append(file)
    for equal in by_digest.values():
        for file in equal:
            # Bundles of two containers may well hold equal files of one kind.
            other = next((name for name in equal if kind_of(name) != kind_of(file)), None)
            if other is not None:
                yield Contradiction(file, "same-as-another", other)


def _is_nothing(body: Body) -> bool:
    """Zeros alone, or tars without a member: of these there may be two."""
    if body.holes == body.size:
        return True
    return body.content == "as-named" and body.members is not None and not body.members.count
