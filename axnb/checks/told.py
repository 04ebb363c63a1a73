"""Findings as they are told: with digests that say nothing to whoever has not the evidence."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from axnb.result import Finding, Witness


def told_finding(record: Mapping[str, Any], key: bytes) -> Finding:
    """A row of the query `findings`."""
    witness = (w for w in record["witness"] if w is not None)
    return Finding(
        **{
            **record,
            "witness": tuple(Witness(w["step"], keyed(w["digest"], key)) for w in witness),
        }
    )


def keyed(digest: str | None, key: bytes) -> str | None:
    """A digest that tells nothing to who has not the key; `digest` is hex."""
    return None if digest is None else hmac.new(key, digest.encode(), "sha256").hexdigest()
