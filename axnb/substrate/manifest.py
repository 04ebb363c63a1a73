"""`manifest.json` of a snapshot, in every shape that Substrate wrote.

It is written last: the mark of an upload that ended. It has no version, no time, no sizes and no
digest of the data; the generation is inferred (`axnb.substrate.generations`). Keys and their
history: Substrate's `sandboxAssetsRecord`, 2026-06 to 10.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from axnb.substrate import strict_json
from axnb.substrate.errors import ManifestError, RefusedError
from axnb.substrate.layouts import GOLDEN_ATESPACE, MANIFEST

#: Substrate's are about 1 KiB.
MAX_SIZE = 1 << 20

#: An object's key may have 1,024 bytes.
_MAX_NAME = 1024

_TEXTS = {
    "sandboxClass": "sandbox_class",
    "pauseImage": "pause_image",
    "atespace": "atespace",
    "actorName": "actor_name",
    "actorUid": "actor_uid",
    "actorTemplateNamespace": "template_namespace",
    "actorTemplateAtespace": "template_atespace",
    "actorTemplateName": "template_name",
    "scope": "scope",
    "fidelity": "fidelity",
}
_LISTS = {"snapshotFiles": "files", "dataSnapshotFiles": "data_files"}

#: Every key that some build of Substrate writes.
KNOWN_KEYS = frozenset({*_TEXTS, *_LISTS, "assets"})

_SHA256 = re.compile(r"[0-9a-f]{64}")
_ARCHITECTURES = {
    "x86_64": "amd64",
    "amd64": "amd64",
    "aarch64": "arm64",
    "arm64": "arm64",
}

Content = Literal["full", "data", "empty", "unknown"]
T = TypeVar("T")


@dataclass(frozen=True)
class Asset:
    """A runtime binary that the actor really ran, under the name its sandbox class gives it."""

    name: str
    #: May hold credentials: show `masked_url`.
    url: str
    #: As written; compare only if `has_digest`.
    sha256: str

    @property
    def has_digest(self) -> bool:
        """Is `sha256` one: 64 hexadecimal digits in lower case?"""
        return bool(_SHA256.fullmatch(self.sha256))

    @property
    def masked_url(self) -> str:
        """The URL without user, password, query and fragment."""
        return masked(self.url)

    @property
    def has_credentials(self) -> bool:
        """Does the URL hold what `masked_url` leaves out?"""
        return self.masked_url != self.url

    @property
    def architecture(self) -> str | None:
        """`amd64` or `arm64` if a segment of the URL's path says so; nothing else does."""
        found = {_ARCHITECTURES.get(segment) for segment in self.masked_url.split("/")} - {None}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class RefusedName:
    """An entry of a file list that names no file in the snapshot's folder.

    Reasons: `empty`, `absolute`, `leaves-folder`, `backslash`, `control-character`, `not-clean`,
    `nested`, `manifest`, `duplicate`, `too-long`, `not-listed` (of dataSnapshotFiles only).
    """

    name: str
    reason: str


@dataclass(frozen=True)
class Manifest:
    """A manifest as it was written. Absent texts are None; an empty text is absent, as in Go."""

    sandbox_class: str | None = None
    assets: Mapping[str, Asset] | None = None
    pause_image: str | None = None
    atespace: str | None = None
    actor_name: str | None = None
    actor_uid: str | None = None
    template_namespace: str | None = None
    template_atespace: str | None = None
    template_name: str | None = None
    scope: str | None = None
    fidelity: str | None = None
    #: Names without `.zstd`, only those that name a file in the folder. None where the key is
    #: absent: a list without a name is never written.
    files: tuple[str, ...] | None = None
    data_files: tuple[str, ...] | None = None
    refused_names: tuple[RefusedName, ...] = ()
    #: Keys that no known build writes, with their values.
    unknown: Mapping[str, Any] | None = None
    #: Keys that are there, known and unknown.
    keys: frozenset[str] = frozenset()

    @property
    def is_golden(self) -> bool | None:
        """Is it a golden snapshot? None where the manifest does not name the atespace."""
        return None if self.atespace is None else self.atespace == GOLDEN_ATESPACE

    @property
    def content(self) -> Content:
        """What was captured, by `fidelity` or `scope`; `unknown` where it does not say so."""
        if self.fidelity is not None:
            words: dict[str, Content] = {"memory": "full", "rootfs": "data", "volumes": "data"}
            return words.get(self.fidelity, "unknown")
        return "full" if self.scope == "full" else "data" if self.scope == "data" else "unknown"

    @property
    def has_pinned_pause_image(self) -> bool:
        """Does the pause image have a digest?"""
        _, _, digest = (self.pause_image or "").rpartition("@sha256:")
        return bool(_SHA256.fullmatch(digest))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Short classes of what is odd: `unknown-key`, `case-of-key`, `refused-name`,
        `asset-without-digest`, `asset-with-credentials`, `unknown-class`, `unknown-scope`."""
        folded = {key.lower() for key in KNOWN_KEYS}
        assets = (self.assets or {}).values()
        known = (None, "full", "data"), (None, "memory", "rootfs", "volumes", "unknown")
        found = {
            "unknown-key": bool(self.unknown),
            # Go's decoder takes `Scope` for `scope`; nothing that writes manifests does.
            "case-of-key": any(key.lower() in folded for key in self.unknown or ()),
            "refused-name": bool(self.refused_names),
            "asset-without-digest": any(not asset.has_digest for asset in assets),
            "asset-with-credentials": any(asset.has_credentials for asset in assets),
            "unknown-class": self.sandbox_class not in ("gvisor", "microvm"),
            "unknown-scope": self.scope not in known[0] or self.fidelity not in known[1],
        }
        return tuple(remark for remark, holds in found.items() if holds)


def parse(data: bytes) -> Manifest:
    """Parse a manifest's bytes.

    Raises ManifestError with one reason: `too-large`, `not-utf8`, `not-json`, `too-deep`,
    `too-many-values`, `duplicate-key`, `lone-surrogate`, `not-an-object`, `wrong-type`.
    """
    try:
        tree = strict_json.loads(data, max_size=MAX_SIZE)
    except RefusedError as err:
        raise ManifestError(err.reason, err.detail) from None
    if not isinstance(tree, dict):
        raise ManifestError("not-an-object")
    texts = {field: _typed(tree, key, str) or None for key, field in _TEXTS.items()}
    refused: list[RefusedName] = []
    files = _names(tree, "snapshotFiles", refused)
    data_files = _names(tree, "dataSnapshotFiles", refused)
    for name in set(data_files or ()) - set(files or ()):
        refused.append(RefusedName(name, "not-listed"))
    return Manifest(
        **texts,
        assets=_assets(tree),
        files=files,
        data_files=data_files,
        refused_names=tuple(sorted(refused, key=lambda found: (found.name, found.reason))),
        unknown={key: value for key, value in tree.items() if key not in KNOWN_KEYS},
        keys=frozenset(tree),
    )


def _typed(tree: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    """The value of a key; null is absent, as in Go. ManifestError `wrong-type` of another kind."""
    value = tree.get(key)
    if value is not None and not isinstance(value, kind):
        raise ManifestError("wrong-type", key if key in KNOWN_KEYS else "an asset")
    return value


def _assets(tree: Mapping[str, Any]) -> dict[str, Asset]:
    assets = {}
    for name, about in (_typed(tree, "assets", dict) or {}).items():
        if not isinstance(about, dict):
            raise ManifestError("wrong-type", "an asset")
        url, sha256 = _typed(about, "url", str), _typed(about, "sha256", str)
        assets[name] = Asset(name, url or "", sha256 or "")
    return assets


def _names(tree: Mapping[str, Any], key: str, refused: list[RefusedName]) -> tuple[str, ...] | None:
    listed = _typed(tree, key, list)
    if listed is None:
        return None
    names: dict[str, None] = {}
    for name in listed:
        if not isinstance(name, str):
            raise ManifestError("wrong-type", key)
        reason = "duplicate" if name in names else refusal(name)
        if reason is None:
            names[name] = None
        else:
            refused.append(RefusedName(name, reason))
    return tuple(names)


def refusal(name: str) -> str | None:
    """Why a listed name is no file in the snapshot's folder; None if it is one.

    Distinct, clean, local, relative, one level at most: what the newest reader asks for. Builds
    before it joined whatever was listed to a folder.
    """
    segments = name.split("/")
    reasons = {
        "empty": not name,
        "too-long": len(name.encode("utf-8", "surrogatepass")) > _MAX_NAME,
        "control-character": bool(re.search(r"[\x00-\x1f\x7f]", name)),
        "backslash": "\\" in name,
        "absolute": name.startswith("/"),
        "leaves-folder": ".." in segments,
        "not-clean": "" in segments or "." in segments,
        "nested": len(segments) > 2,
        "manifest": name == MANIFEST,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<host>[^/?#]*)(?P<path>[^?#]*)(?P<rest>.*)",
    re.DOTALL,
)


def masked(url: str) -> str:
    """`url` without what may be a secret: user and password, query, fragment.

    Where it cannot be told where a password ends, more is masked rather than less.
    """
    match = _URL.fullmatch(url)
    if match is None:
        head = re.split(r"[?#]", url, maxsplit=1)[0]
        tail = head.rpartition("@")[2]
        return ("***@" if tail != head else "") + tail + ("" if head == url else "?***")
    host, path, rest = match["host"], match["path"], match["rest"]
    port = host.rpartition(":")[2] if ":" in host else ""
    if "@" in host:
        host = f"***@{host.rpartition('@')[2]}"
    elif port and not port.isdigit() and not host.endswith("]") and "@" in path:
        # A slash in a password ends what looks like the host.
        host, path = "***@" + path.rpartition("@")[2], ""
    return match["scheme"] + host + path + (f"{rest[0]}***" if rest else "")
