"""What looks like a token and is none: fields of AX's that hold random bytes or digests.

The list is printed by `axnb secrets`; `include_excluded = true` under `[secrets]` in axnb.toml
switches it off. It holds for tokens that are known by their own beginning, and for those alone: a
value that has a secret's name is one, wherever it stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Bytes before a token in which the beginning of its field is looked for.
_NEAR = 12 << 10
#: Bytes before a value in which its key is looked for.
_BEFORE = 320
#: So many characters of base64 without an end before it: a token in an address has fewer.
_RUN = 64

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-\\"


@dataclass(frozen=True)
class Exclusion:
    """A place in which no token is looked for."""

    name: str
    about: str
    before: re.Pattern[bytes] | None


def _key(names: bytes) -> re.Pattern[bytes]:
    sign = rb"\\{0,15}[\"']"
    text = rb"(?:" + names + rb")" + sign + rb"[ \t]{0,4}:[ \t]{0,4}" + sign + rb"\Z"
    return re.compile(text, re.IGNORECASE)


EXCLUSIONS: tuple[Exclusion, ...] = (
    Exclusion(
        "signature",
        'base64 under "signature" or "thought_signature": a model\'s, of a thought, a call or a '
        "result",
        _key(rb"(?<![0-9A-Za-z])(?:thought_?)?signature"),
    ),
    Exclusion(
        "digest",
        'a value under "sha256", "digest", "etag" or "checksum"',
        _key(rb"(?<![0-9A-Za-z])(?:sha-?(?:1|256|512)|digest|etag|checksum|fingerprint)"),
    ),
    Exclusion(
        "inline-data",
        'base64 under "data" of an image, audio, video or document',
        re.compile(
            rb"[\"'](?:image|audio|video|document)\\{0,15}[\"'][ \t]{0,4}:[ \t]{0,4}\{"
            rb"[^{}]{0,200}(?<![0-9A-Za-z])data\\{0,15}[\"'][ \t]{0,4}:[ \t]{0,4}\\{0,15}[\"']\Z"
        ),
    ),
    Exclusion(
        "data-address", "base64 in an address that begins with data:", re.compile(rb";base64,\Z")
    ),
    Exclusion("base64", f"what follows {_RUN} characters of base64 or more without an end", None),
)


def is_excluded(data: bytes, start: int) -> bool:
    """Does what begins at `start` stand in one of the places of `EXCLUSIONS`?"""
    head = data[max(0, start - _NEAR) : start]
    before = head.rstrip(_BASE64)
    run = head[len(before) :]
    if _is_random(run.replace(b"\\/", b"/")[-_RUN:]):
        return True
    if not before.endswith((b'"', b"'", b",")):
        return False
    near = before[-_BEFORE:]
    return any(
        exclusion.before is not None and exclusion.before.search(near) for exclusion in EXCLUSIONS
    )


def _is_random(run: bytes) -> bool:
    """Is it base64 of bytes, and no path? That has capitals, small letters and digits."""
    if len(run) < _RUN or any(sign in run for sign in b"\\-_"):
        return False
    return not (run.islower() or run.isupper()) and any(0x30 <= byte <= 0x39 for byte in run)
