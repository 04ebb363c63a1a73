"""What a drill seals of a restored log, for another one to hold a backup against."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from axnb.case.conversation_digests import ConversationDigest
from axnb.errors import SourceError
from axnb.result import Result

Seal = Mapping[str, Mapping[str, Any]]


def seal_of(digests: Mapping[str | None, ConversationDigest]) -> Seal:
    """Rows, last step and digest of each conversation; rows of no id are in none."""
    return {
        key: {
            "rows": found.rows,
            "last_step": found.last_step,
            "digest": found.digest.hex() if found.digest else None,
        }
        for key, found in digests.items()
        if key is not None
    }


def read_seal(place: Path | None) -> Seal | None:
    """What a former drill sealed: of its result folder, or of its result.json.

    Raises SourceError if that is none of a restore drill.
    """
    if place is None:
        return None
    found = Result.read(place if place.is_dir() else place.parent)
    sealed = found.answer.get("seal")
    if found.drill != "restore" or not isinstance(sealed, Mapping):
        raise SourceError(f"{place} is no result of a restore drill: it has no seal.")
    return sealed
