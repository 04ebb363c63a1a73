"""Why something of Substrate's is refused: a short class, and where.

    RefusedError              base: `reason` is a short class
    ├── ObjectError           an encoded object, with the offset of the encoded byte
    ├── ManifestError         a manifest.json
    ├── CheckpointError       the head of a checkpoint.img
    ├── TarError              a tar, with the offset in the restored file
    └── LocationError         a snapshot's URI

`reason` never holds a piece of what was read; neither does the text.
"""

from __future__ import annotations


class RefusedError(ValueError):
    """Refused; `reason` is a short class, the same for the same damage."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class ObjectError(RefusedError):
    """An encoded object cannot be restored; `offset` counts its encoded bytes from 0.

    Reasons: `empty`, `magic`, `version`, `truncated`, `trailing-bytes`, `checksum`, `corrupt`,
    `window`, `bad-size`, `extent-outside`, `extent-order`, `too-large`, `ratio`.
    """

    def __init__(self, reason: str, offset: int, detail: str = "") -> None:
        super().__init__(reason, f"{detail} (at byte {offset})" if detail else f"at byte {offset}")
        self.offset = offset


class ManifestError(RefusedError):
    """A manifest.json that no reader takes, or that does not say one thing."""


class CheckpointError(RefusedError):
    """A checkpoint.img whose head cannot be read."""


class TarError(RefusedError):
    """A tar whose members cannot be listed to the end; `offset` counts the restored bytes."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason, f"at byte {offset}")
        self.offset = offset


class LocationError(RefusedError):
    """A URI that names no snapshot's place."""
