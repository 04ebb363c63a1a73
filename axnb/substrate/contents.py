"""Is the content of a file what its name says, and what does it tell of its neighbours?

A sound object of another file in place of this one is not seen by who decodes it; Substrate does
not see it either. `other` is said only where it is beyond doubt: raw memory holds anything, and
what nobody has seen yet is `unknown`.

checkpoint.img            begins with gVisor's head
*.tar, multitar.img       tars to their end
fscheckpoint.json, .pb    JSON or protobuf with the keys or fields of one
pages_meta.img            one of two forms (`axnb.substrate.pagemap`), else `unknown`
config.json, state.json   a JSON object, not plainly the other one's
base-id                   a UUID or a DNS label
pages.img, memory-ranges  nothing to recognise; but whole pages, and none of the other files
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from axnb.substrate import pagemap, strict_json
from axnb.substrate.checkpoint import MAGIC, Head, OnEnv, read_head
from axnb.substrate.encoding import Piece
from axnb.substrate.errors import CheckpointError, RefusedError, TarError
from axnb.substrate.fscheckpoint import FsCheckpoint, parse_json, parse_pb
from axnb.substrate.tars import Member, members

Content = Literal["as-named", "other", "unknown"]

#: Of a larger head, or a larger small file, nothing is said. Real ones are below 8 KiB; a
#: `state.json` of cloud-hypervisor has some 100 KiB.
MAX_SMALL = 1 << 20

#: Members that are told of by name, and the letters of their names and links together.
MAX_RISKY = 1_000
_MAX_LETTERS = 1 << 18

#: The least page of any machine: these files are made of whole ones.
PAGE = 4096
PAGED = ("pages.img", "memory-ranges")

_BASE_ID = re.compile(rb"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\n?")
_SOME_ID = re.compile(rb"[A-Za-z0-9._:/@+\s-]{1,256}")

#: How a file may begin: with an object, with the fields 1 to 6 of a message, not at all.
_AN_OBJECT = re.compile(rb"\s*\{")
_A_MESSAGE = re.compile(rb"[\x08\x12\x18\x22\x2a\x32]")
_NOTHING = re.compile(rb"(?!)")

#: Why a content is not known that is not as Substrate writes it either.
ODD_MEMBERS, ODD_SIZE = "members-of-another-tar", "no-whole-pages"

#: Reasons that are no proof: bounds of ours, and what other readers take.
_UNSURE = (
    "duplicate-key",
    "lone-surrogate",
    "too-large",
    "too-deep",
    "too-many-values",
    "too-many-members",
    "extended-too-long",
    "head-too-long",
)


@dataclass(frozen=True)
class Members:
    """What lies in a tar, briefly."""

    count: int = 0
    #: Members with risks, the first `MAX_RISKY` at most; names are strangers' text.
    risky: tuple[Member, ...] = ()
    risky_count: int = 0


@dataclass(frozen=True)
class Finding:
    """What was found out about a file's content."""

    content: Content
    #: A short class; empty where the content is as named.
    why: str = ""
    checkpoint: Head | None = None
    members: Members | None = None
    #: Name of another file of the snapshot -> the bytes that this file says it has.
    tells: tuple[tuple[str, int], ...] = ()


class Pieces(Protocol):
    """The pieces of a file, once, that can be looked at ahead."""

    def __iter__(self) -> Iterator[Piece]: ...

    def __next__(self) -> Piece: ...

    #: Gets each container's name and environment of a `checkpoint.img`.
    on_env: OnEnv | None

    def start(self, most: int) -> bytes:
        """The first bytes, `most` at most; what is iterated over is the same as without."""


def kind_of(file: str) -> str:
    """The name of a file without its folder and what bundles put before it.

    `fs/app_rootfs_multitar.img` is a `multitar.img`.
    """
    name = file.rpartition("/")[2]
    return next((kind for kind in _READERS if name == kind or name.endswith(f"_{kind}")), name)


def examine(file: str, pieces: Pieces) -> Finding:
    """Look at the content of a file; reads as far as it must. ObjectErrors pass through."""
    read = _READERS.get(kind_of(file))
    if read is None:
        return _tar(pieces) if file.endswith(".tar") else Finding("unknown", "name-not-known")
    return read(pieces)


def is_known(file: str) -> bool:
    """Is it known what a file of this name holds?"""
    return kind_of(file) in _READERS or file.endswith(".tar")


def neighbour(file: str, kind: str) -> str:
    """The file of a kind that belongs to the same bundle as `file`."""
    return file.removesuffix(kind_of(file)) + kind


def _refused(err: RefusedError) -> Finding:
    return Finding("unknown" if err.reason in _UNSURE else "other", err.reason)


# --- checkpoints and tars ------------------------------------------------------------------------


def _checkpoint(pieces: Pieces) -> Finding:
    try:
        return Finding("as-named", checkpoint=read_head(pieces, MAX_SMALL, pieces.on_env))
    except CheckpointError as err:
        return _refused(err)


def _tar(pieces: Pieces, *, is_multitar: bool = False) -> Finding:
    return _listed(pieces, _Summary(), is_multitar=is_multitar)


def _durable(pieces: Pieces) -> Finding:
    """Its members are `<volume>/…`, and a volume is a folder."""
    summary = _Summary()
    found = _listed(pieces, summary)
    return _of_another(found) if summary.top_files else found


def _rootfs(pieces: Pieces) -> Finding:
    """Its members are `<container>/fs/…`."""
    summary = _Summary()
    found = _listed(pieces, summary)
    is_other = summary.top_files or (summary.below and not summary.below_fs)
    return _of_another(found) if is_other else found


def _of_another(found: Finding) -> Finding:
    if found.content != "as-named":
        return found
    # A restore unpacks it all the same, wherever it leads.
    return replace(found, content="unknown", why=ODD_MEMBERS)


def _listed(pieces: Pieces, summary: _Summary, *, is_multitar: bool = False) -> Finding:
    try:
        for member in members(pieces, is_multitar=is_multitar):
            summary.add(member)
    except TarError as err:
        return replace(_refused(err), members=summary.members())
    return Finding("as-named", members=summary.members())


class _Summary:
    def __init__(self) -> None:
        self.count = self.risky_count = 0
        #: Members of the first level that are no folders, those below it, and of these those in a
        #: folder `fs`.
        self.top_files = self.below = self.below_fs = 0
        self._risky: list[Member] = []
        self._letters = 0

    def add(self, member: Member) -> None:
        self.count += 1
        _, _, rest = member.name.removeprefix("./").partition("/")
        self.top_files += not rest and member.kind != "directory"
        self.below += bool(rest)
        self.below_fs += rest == "fs" or rest.startswith("fs/")
        if not member.risks:
            return
        self.risky_count += 1
        letters = len(member.name) + len(member.link)
        if len(self._risky) < MAX_RISKY and self._letters + letters <= _MAX_LETTERS:
            self._risky.append(member)
            self._letters += letters

    def members(self) -> Members:
        return Members(self.count, tuple(self._risky), self.risky_count)


# --- small files ---------------------------------------------------------------------------------


def _small(
    pieces: Pieces, parse: Callable[[bytes], Finding], can_begin: re.Pattern[bytes]
) -> Finding:
    """A file of which all is needed at once; of a larger one only how it begins is looked at."""
    data = pieces.start(MAX_SMALL + 1)
    if len(data) > MAX_SMALL:
        return Finding("unknown" if can_begin.match(data) else "other", "too-large")
    try:
        return parse(data)
    except RefusedError as err:
        return _refused(err)


def _fs_checkpoint(
    parse: Callable[[bytes], FsCheckpoint], can_begin: re.Pattern[bytes]
) -> Callable[[Pieces], Finding]:
    def read(data: bytes) -> Finding:
        found = parse(data)
        if not found.is_one:
            return Finding("other", "keys-of-another-file")
        told = {"multitar.img": found.tar_size, "pages_meta.img": found.pages_meta_size}
        return Finding("as-named", tells=tuple((k, v) for k, v in told.items() if v is not None))

    return lambda pieces: _small(pieces, read, can_begin)


def _object(data: bytes) -> dict[str, Any]:
    tree = strict_json.loads(data, max_size=MAX_SMALL)
    if not isinstance(tree, dict):
        raise RefusedError("not-an-object")
    return tree


def _config(data: bytes) -> Finding:
    """cloud-hypervisor's configuration: `memory.size` is all of a machine's memory, unless it has
    zones or was given more while it ran."""
    tree = _object(data)
    if "snapshots" in tree or _is_fs_checkpoint(tree):
        return Finding("other", "keys-of-another-file")
    memory = tree.get("memory")
    if not isinstance(memory, dict):
        return Finding("as-named")
    size = memory.get("size")
    if type(size) is not int or size <= 0 or memory.get("zones") or memory.get("hotplugged_size"):
        return Finding("as-named")
    return Finding("as-named", tells=(("memory-ranges", size),))


def _state(data: bytes) -> Finding:
    tree = _object(data)
    if {"cpus", "memory"} <= tree.keys() or _is_fs_checkpoint(tree):
        return Finding("other", "keys-of-another-file")
    return Finding("as-named")


def _is_fs_checkpoint(tree: dict[str, Any]) -> bool:
    return {"memory_files", "tmpfs"} <= tree.keys()


def _base_id(data: bytes) -> Finding:
    if _BASE_ID.fullmatch(data):
        return Finding("as-named")
    return Finding("unknown" if _SOME_ID.fullmatch(data) else "other", "no-identifier")


# --- maps and pages ------------------------------------------------------------------------------


def _pages_meta(pieces: Pieces) -> Finding:
    data = pieces.start(MAX_SMALL + 1)
    found = pagemap.parse(data)
    if found is not None:
        told = () if found.pages_size is None else (("pages.img", found.pages_size),)
        return Finding("as-named", tells=told)
    return _other(pieces, data) or Finding("unknown", "form-not-known")


def _other(pieces: Pieces, data: bytes) -> Finding | None:
    """What the file is beyond doubt; None if it is nothing of the kind."""
    if data.startswith(MAGIC):
        is_head = _checkpoint(pieces).content == "as-named"
        return Finding("other", "is-a-checkpoint") if is_head else None
    if data.startswith(b"{") and len(data) <= MAX_SMALL:
        try:
            _object(data)
        except RefusedError:
            return None
        return Finding("other", "is-json")
    found = _tar(pieces, is_multitar=True)
    if found.content == "as-named" and found.members and found.members.count:
        return Finding("other", "is-a-tar")
    return None


def _pages(pieces: Pieces) -> Finding:
    """Pages of gVisor begin with whatever an actor has in memory or in its files: a tar, say."""
    if pagemap.parse(pieces.start(MAX_SMALL + 1)) is not None:
        return Finding("other", "is-a-page-map")
    return Finding("unknown", "nothing-to-recognise")


def _ram(pieces: Pieces) -> Finding:
    """No machine's memory begins, at its address 0, with any of the other files."""
    data = pieces.start(MAX_SMALL + 1)
    if pagemap.parse(data) is not None:
        return Finding("other", "is-a-page-map")
    return _other(pieces, data) or Finding("unknown", "nothing-to-recognise")


_READERS: dict[str, Callable[[Pieces], Finding]] = {
    "checkpoint.img": _checkpoint,
    "pages_meta.img": _pages_meta,
    "pages.img": _pages,
    "multitar.img": lambda pieces: _tar(pieces, is_multitar=True),
    "fscheckpoint.json": _fs_checkpoint(parse_json, _AN_OBJECT),
    "fscheckpoint.pb": _fs_checkpoint(parse_pb, _A_MESSAGE),
    "durable-dir.tar": _durable,
    "rootfs-upper.tar": _rootfs,
    "config.json": lambda pieces: _small(pieces, _config, _AN_OBJECT),
    "state.json": lambda pieces: _small(pieces, _state, _AN_OBJECT),
    "base-id": lambda pieces: _small(pieces, _base_id, _NOTHING),
    "memory-ranges": _ram,
}
