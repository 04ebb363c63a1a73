"""The key of a case's digests, and the rows of its table `secrets`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import duckdb
import pyarrow as pa

from axnb.case.case import ask
from axnb.secrets.scanner import Hit

#: In `meta`.
KEY_NAME = "secret key"

Place = Literal[
    "oci-env",
    "tar-member",
    "memory",
    "file",
    "asset-url",
    "manifest",
    "harness-config",
    "payload",
]

_SECRETS = pa.schema(
    [
        ("source", pa.string()),
        ("place", pa.string()),
        ("snapshot", pa.string()),
        ("object", pa.string()),
        ("file", pa.string()),
        ("member", pa.string()),
        ("conversation_id", pa.string()),
        ("step", pa.int64()),
        ("row", pa.int64()),
        ("name", pa.string()),
        ("kind", pa.string()),
        ("is_partial", pa.bool_()),
        ("at_offset", pa.int64()),
        ("length", pa.int64()),
        ("digest", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Where:
    """Where secrets were found: what a row of `secrets` says of that."""

    source: str
    place: Place
    snapshot: str | None = None
    object: str | None = None
    file: str | None = None
    member: str | None = None
    conversation_id: str | None = None
    step: int | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True)
class Secret:
    """A row of the table `secrets`."""

    where: Where
    hit: Hit


def secret_key(session: duckdb.DuckDBPyConnection, evidence: str) -> bytes:
    """The key of all digests in a case, 32 bytes.

    The first source that is looked into sets it, by a text that follows from the evidence; all
    others use it, so that equal secrets are known in any of them. Whoever knows the text can guess
    weak passwords from their digests: of a log it follows from all of its rows, and of a bucket it
    should follow from more than a report tells.
    """
    kept = ask(session, "meta", {"name": KEY_NAME})
    key = key_of(kept[0]["value"] if kept else None, evidence)
    if not kept:
        session.execute("insert into meta values (?, ?)", [KEY_NAME, key.hex()])
    return key


def key_of(kept: str | None, evidence: str) -> bytes:
    """The key that a case keeps, in hex; else the one that follows from the evidence."""
    if kept is not None:
        return bytes.fromhex(kept)
    return hashlib.sha256(b"axnb secrets" + evidence.encode("utf-8", "surrogatepass")).digest()


def keep_secrets(session: duckdb.DuckDBPyConnection, found: Iterable[Secret]) -> None:
    """Add rows to the table `secrets`. What checks found before is not true of them any more."""
    rows = []
    for secret in found:
        hit = asdict(secret.hit)
        offset = hit.pop("offset")
        # Of an entry or an address it would tell nothing.
        hit["at_offset"] = None if secret.where.place in ("oci-env", "asset-url") else offset
        rows.append({**_texts(asdict(secret.where)), **hit})
    if rows:
        session.register("found_secrets", pa.Table.from_pylist(rows, schema=_SECRETS))
        session.execute("insert into secrets by name select * from found_secrets")
        session.unregister("found_secrets")
        session.execute("delete from meta where name = 'findings'")


def _texts(row: dict[str, object]) -> dict[str, object]:
    """Names of a tar that are no UTF-8 hold surrogates, which no table takes."""
    return {
        name: value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value, str)
        else value
        for name, value in row.items()
    }
