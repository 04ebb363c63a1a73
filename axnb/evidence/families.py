"""Families of content: what the rows of a log look like, and in which order the fast path asks."""

from __future__ import annotations

import pyarrow as pa

from axnb.evidence.screen import is_respelled

#: Each family with the SQL file that lands it, and the one that must be run before, if any.
FAMILIES = {"messages": ("messages", None), "G8": ("steps", "G8"), "G7": ("steps", "G7")}


def passes(column: str, first: pa.RecordBatch) -> list[tuple[str, bool]]:
    """Families of content to try in turn, and whether the rows need another spelling for it.

    First comes what most of the first rows look like, then all else that AX has ever written.
    """
    payloads = first.column(3).slice(0, 100).cast(pa.binary()).to_pylist()
    respell = 2 * sum(map(is_respelled, payloads)) > len(payloads)
    only_messages = column == "seq"
    family = "messages" if only_messages else _family(payloads)
    others = [] if only_messages else [(other, True) for other in FAMILIES if other != family]
    return list(dict.fromkeys([(family, respell), *others, (family, True)]))


def _family(payloads: list[bytes]) -> str:
    """What most of the rows hold."""
    steps = sum(b'"messages"' not in p and b'"step"' not in p for p in payloads)
    if steps * 2 < len(payloads):
        return "messages"
    owned = sum((b'"harness_id"' in p) - (b'"agent_id"' in p) for p in payloads)
    return "G7" if owned > 0 else "G8"
