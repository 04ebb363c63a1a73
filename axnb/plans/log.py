"""The rows that a plan is about, as the case has them, and how a script knows them again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import duckdb
import pyarrow as pa

from axnb.ax.versions import Generation
from axnb.case.case import run_sql

#: What a row's tail, taken as one large number, is divided by: 2 runs through half of all
#: remainders, so no two digits of it weigh the same.
MODULUS = 1_000_000_007
TAIL_BYTES = 64

#: What a generation takes for a configuration under harness_config.
_CONFIG_KINDS = {"G3": "none", "G4": "text", "G8": "none"}


@dataclass(frozen=True)
class LogRow:
    """A row as it is stored, and as the asked server decodes it."""

    row: int
    conversation_id: str
    step: int | None
    position: int
    #: Does AX's own query find it?
    visible: bool
    #: Bytes of the payload.
    size: int
    digest: bytes | None
    #: The last bytes of the payload as hex digits; None where axnb did not keep it.
    tail: str | None
    #: Why axnb rejected it; empty if it did not.
    reason: str
    #: Only where the row names an owner.
    payload: str | None
    owner: str | None
    exec_id: str | None
    #: None where nobody looked into it.
    readable: bool | None
    state: int | None
    owner_seen: str | None
    #: The generation that wrote the turn.
    writer: str | None

    @property
    def has_payload(self) -> bool:
        """False for a NULL."""
        return self.reason != "no payload"

    @property
    def checksum(self) -> int | None:
        """A number that SQLite can work out too; None where the tail is not known."""
        return None if self.tail is None else int(self.tail or "0", 16) % MODULUS

    def with_payload(self, payload: str) -> LogRow:
        """The same row with another payload."""
        raw = payload.encode()
        return replace(
            self,
            size=len(raw),
            digest=hashlib.sha256(raw).digest(),
            tail=raw[-TAIL_BYTES:].hex(),
        )


@dataclass(frozen=True)
class Fingerprint:
    """What tells whether the rows of a conversation are still the same, without a payload.

    SQLite has no digests, so its scripts compare `size` and `checksum`; PostgreSQL's compare
    `digest`, the sha256 of the sorted sha256 of all payloads. None where a part is not known.
    """

    rows: int
    last_step: int | None
    size: int
    checksum: int | None
    digest: str | None


def fingerprint(rows: Iterable[LogRow]) -> Fingerprint:
    """The fingerprint of the rows that AX finds."""
    seen = [row for row in rows if row.visible]
    stored = [row for row in seen if row.has_payload]
    steps = [row.step for row in seen if row.step is not None]
    checksums = [row.checksum for row in stored]
    digests = [row.digest for row in stored]
    known = [digest for digest in digests if digest is not None]
    return Fingerprint(
        rows=len(seen),
        last_step=max(steps) if steps and len(steps) == len(seen) else None,
        size=sum(row.size for row in stored),
        checksum=None if None in checksums else sum(c for c in checksums if c is not None),
        digest=hashlib.sha256(b"".join(sorted(known))).hexdigest()
        if len(known) == len(digests) and known
        else None,
    )


def read_rows(
    session: duckdb.DuckDBPyConnection,
    source: str,
    generation: Generation,
    conversation_ids: Sequence[str],
) -> dict[str, list[LogRow]]:
    """The rows of some conversations of a source, in AX's order, as `generation` decodes them."""
    session.register("planned", pa.table({"conversation_id": pa.array(conversation_ids)}))
    found = run_sql(
        session,
        "plans",
        "rows.sql",
        {
            "source": source,
            "generation": "G5" if generation.name == "G5b" else generation.name,
            "owner_key": generation.owner_key or "",
            "config_kind": _CONFIG_KINDS.get(generation.name, "object"),
            "tail_digits": 2 * TAIL_BYTES,
        },
    )
    session.unregister("planned")
    rows = [LogRow(*values) for values in found]
    return {key: list(group) for key, group in groupby(rows, lambda row: row.conversation_id)}
