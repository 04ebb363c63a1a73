"""What a client was sent: JSON lines, one an output.

    {"conversation": "c1", "number": 2, "kind": "text", "digest": "9f86d0…"}

`number` is the step that AX told the client, 0 where it could not log the output; `digest` is the
sha256 of the text's UTF-8 in hex, and may be missing or null. `conversation_id` is taken for
`conversation`. Other keys are left out: they may hold payload.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from axnb.evidence.lines import LineError

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def read_output(line: bytes) -> dict[str, Any]:
    """A line as columns of `client_outputs`. Raises LineError."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise LineError("not JSON") from None
    if not isinstance(found, dict):
        raise LineError("not an object")
    ids = [found[name] for name in ("conversation", "conversation_id") if name in found]
    if not ids or ids[0] != ids[-1] or not isinstance(ids[0], str) or not ids[0]:
        raise LineError("no conversation id")
    number = found.get("number")
    if type(number) is not int or not 0 <= number < 1 << 63:
        raise LineError("no number of a step")
    kind = found.get("kind") or "unknown"
    if not isinstance(kind, str) or not _WORD.fullmatch(kind):
        raise LineError("kind is not a word")
    digest = found.get("digest")
    if digest is not None and not (isinstance(digest, str) and _SHA256.fullmatch(digest)):
        raise LineError("digest is not a sha256")
    return {
        "conversation_id": ids[0],
        "number": number,
        "kind": kind,
        "digest": digest and digest.lower(),
    }
