"""Where Substrate puts a snapshot: object keys and URIs, told apart from the right.

    B0, B1  <location>/<actor id>/<time>-<random>/
    B2      <location>/snapshots/<time>-<random>/
    B3      <location>/snapshots/<atespace>/<name>/
    B4, B5  <location>/atespaces/<atespace>/actors/<actor uid>/snapshots/<name>/
            <location>/atespaces/<atespace>/tags/<tag uid>/

The location is the operator's and may itself hold segments such as `snapshots`, so a key is read
from its end. B1 is B0 with a manifest; B5 has B4's keys. Keys are taken as they are: `%2B`, `//`
and `..` mean nothing in a bucket. Source: Substrate's own parsers and their tests, 2026-05 to 09.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import unquote_to_bytes

from axnb.substrate.errors import LocationError

#: Generations that have keys of one shape share a layout.
Layout = Literal["B0|B1", "B2", "B3", "B4|B5"]
Owner = Literal["actor", "tag"]

#: The atespace of golden snapshots.
GOLDEN_ATESPACE = "ate-golden"

MANIFEST = "manifest.json"
SUFFIX = ".zstd"

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIMED = re.compile(
    r"(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2}))"
    r"-[A-Z2-7]{26}"
)


@dataclass(frozen=True, slots=True)
class Place:
    """The prefix of one snapshot and what it says. Names are the writer's: strangers' text."""

    #: Without a slash at its end.
    prefix: str
    layout: Layout
    #: The snapshot's own name; of a tag's copy, the tag's uid.
    name: str
    #: What lies before the pattern, without a slash at its end; may be empty.
    location: str
    atespace: str | None = None
    #: Up to B1 the actor's id, which a deleted and re-created actor shares.
    actor_id: str | None = None
    actor_uid: str | None = None
    tag_uid: str | None = None
    #: From the name, where it holds one; None also where it is no time of a calendar.
    time: datetime | None = None

    @property
    def owner(self) -> Owner | None:
        """Who owns the objects, where the prefix says it."""
        if self.tag_uid is not None:
            return "tag"
        return None if self.layout in ("B2", "B3") else "actor"

    @property
    def is_golden(self) -> bool | None:
        """Is it a golden snapshot? None where the prefix does not hold the atespace."""
        return None if self.atespace is None else self.atespace == GOLDEN_ATESPACE

    @property
    def is_usual(self) -> bool:
        """Is the name one that Substrate makes? Since B3 its readers take names that it does not
        make: a folder of a stranger can look like a snapshot's."""
        name = self.actor_uid if self.actor_uid is not None else self.name
        return self.layout in ("B0|B1", "B2") or bool(_UUID.fullmatch(name))


def parse_prefix(prefix: str) -> Place | None:
    """The snapshot that a prefix (with or without a slash at its end) is the place of, or None."""
    segments = prefix.removesuffix("/").split("/")
    return _timed(segments) or _b4(segments) or _b3(segments)


def parse_uri(uri: str) -> tuple[str, Place]:
    """The bucket and the place of a snapshot's URI, as control-plane records hold it.

    The scheme says nothing (`gs://` is written also for S3). The path is percent-decoded once.
    Raises LocationError where Substrate refuses it: `no-bucket`, `query`, `fragment`, `userinfo`,
    `bad-escape`, `control-character`; and `no-snapshot`.
    """
    bucket, key = split_uri(uri)
    place = parse_prefix(key)
    if place is None:
        raise LocationError("no-snapshot", "the path is of no known layout")
    return bucket, place


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<host>[^/?#]*)/?(?P<path>[^?#]*)(?P<rest>[?#]?)")


def split_uri(uri: str) -> tuple[str, str]:
    """Bucket and key of a URI; LocationError as of `parse_uri`."""
    if re.search(r"[\x00-\x1f\x7f]", uri):
        raise LocationError("control-character")
    match = _URI.match(uri)
    if match is None or not match["host"]:
        raise LocationError("no-bucket")
    if match["rest"]:
        raise LocationError("query" if match["rest"] == "?" else "fragment")
    if "@" in match["host"]:
        raise LocationError("userinfo")
    if re.search(r"%(?![0-9A-Fa-f]{2})", match["path"]):
        raise LocationError("bad-escape")
    key = unquote_to_bytes(match["path"].encode("utf-8", "surrogatepass"))
    return match["host"], key.decode("utf-8", "surrogateescape")


def _place(
    segments: list[str],
    layout: Layout,
    pattern_length: int,
    *,
    atespace: str | None = None,
    actor_id: str | None = None,
    actor_uid: str | None = None,
    tag_uid: str | None = None,
    time: datetime | None = None,
) -> Place:
    return Place(
        prefix="/".join(segments),
        layout=layout,
        name=segments[-1],
        location="/".join(segments[:-pattern_length]),
        atespace=atespace,
        actor_id=actor_id,
        actor_uid=actor_uid,
        tag_uid=tag_uid,
        time=time,
    )


def _timed(segments: list[str]) -> Place | None:
    """B0, B1 and B2: the name begins with a time. An actor of the id `snapshots` reads as B2."""
    match = _TIMED.fullmatch(segments[-1])
    if match is None or len(segments) < 2 or not segments[-2]:
        return None
    time = _time(match["time"])
    if segments[-2] == "snapshots":
        return _place(segments, "B2", 2, time=time)
    return _place(segments, "B0|B1", 2, actor_id=segments[-2], time=time)


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _b4(segments: list[str]) -> Place | None:
    if len(segments) >= 6:
        marks, (atespace, uid, name) = segments[-6::2], segments[-5::2]
        if marks == ["atespaces", "actors", "snapshots"] and _are_labels(atespace, uid, name):
            return _place(segments, "B4|B5", 6, atespace=atespace, actor_uid=uid)
    if len(segments) >= 4:
        marks, (atespace, uid) = segments[-4::2], segments[-3::2]
        if marks == ["atespaces", "tags"] and _are_labels(atespace, uid):
            return _place(segments, "B4|B5", 4, atespace=atespace, tag_uid=uid)
    return None


def _b3(segments: list[str]) -> Place | None:
    if len(segments) < 3 or segments[-3] != "snapshots" or not _are_labels(*segments[-2:]):
        return None
    return _place(segments, "B3", 3, atespace=segments[-2])


def _are_labels(*texts: str) -> bool:
    """DNS-1123 labels, as Substrate demands of atespaces and names."""
    return all(_LABEL.fullmatch(text) for text in texts)
