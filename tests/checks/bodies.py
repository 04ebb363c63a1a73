"""What reading every object to its end finds, put into a loaded case by hand.

TODO(verify): a stand-in for `axnb.evidence.verifying`; take it out once `load_state` does this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import duckdb

from axnb.substrate import encoding, tars
from axnb.substrate.checkpoint import read_head
from axnb.substrate.errors import ObjectError, RefusedError

_CURRENT = """
    select source, snapshot, key, file from snapshot_objects
    where "role" = 'file' and is_latest and not is_delete_marker order by key
"""


def read_bodies(session: duckdb.DuckDBPyConnection, objects: Mapping[str, bytes]) -> None:
    """Read `objects`, by key, and update the rows of the case."""
    digests: dict[tuple[str, str], str] = {}
    for source, snapshot, key, file in session.execute(_CURRENT).fetchall():
        data = objects[key]
        state, reason, restored = "sound", None, b""
        remarks: list[str] = []
        try:
            pieces = list(encoding.ObjectReader(data))
            restored = b"".join(encoding.restored(pieces))
            if pieces and pieces[-1].data is None and file != "memory-ranges":
                remarks.append("ends-in-a-hole")
        except ObjectError as err:
            state, reason = "damaged", err.reason
        digest = hashlib.sha256(restored).hexdigest()
        if state == "sound" and len(restored) > 100:
            if (snapshot, digest) in digests:
                state, reason = "damaged", "duplicate"
            digests[snapshot, digest] = file
        if state == "sound":
            state, reason = _content(session, (source, snapshot, key, file), restored)
        session.execute(
            "update snapshot_objects set state = ?, reason = ?, sha256 = ?, remarks = ? "
            "where key = ? and is_latest",
            [state, reason, hashlib.sha256(data).hexdigest(), remarks, key],
        )
    session.execute("update snapshots set verified = true")


def _content(
    session: duckdb.DuckDBPyConnection, about: tuple[str, str, str, str], restored: bytes
) -> tuple[str, str | None]:
    source, snapshot, key, file = about
    pieces = [encoding.Piece(0, len(restored), restored)]
    if file == "checkpoint.img":
        try:
            head = read_head(pieces)
        except RefusedError:
            return "damaged", "other-content"
        session.execute(
            "update snapshots set taken_at = ?, runsc_version = ? where snapshot = ?",
            [head.timestamp and head.timestamp.replace(tzinfo=None), head.runsc_version, snapshot],
        )
    if file.endswith(".tar"):
        for member in tars.members(pieces):
            for risk in member.risks:
                session.execute(
                    "insert into snapshot_remarks values (?, ?, ?, ?, ?)",
                    [source, snapshot, key, risk, member.name],
                )
    return "sound", None
