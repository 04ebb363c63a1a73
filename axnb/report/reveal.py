"""Payloads that a person asked to see: escaped, cut, and on record before they are shown."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from datetime import UTC, datetime

import duckdb

from axnb.case.case import Case, run_sql
from axnb.errors import CaseError
from axnb.text import count, safe

#: Bytes of UTF-8 of a payload that are shown: 4 KiB.
LIMIT = 4096


def shown_payload(payload: str | bytes) -> tuple[str, str]:
    """A payload on one line, escaped and cut between two characters; and a note if it was cut.

    Raw bytes that are no UTF-8 are escaped too.
    """
    raw = payload if isinstance(payload, bytes) else payload.encode(errors="surrogatepass")
    if len(raw) <= LIMIT:
        return safe(raw.decode(errors="backslashreplace")), ""
    end = LIMIT
    while end > LIMIT - 4 and raw[end] & 0xC0 == 0x80:
        end -= 1
    text = safe(raw[:end].decode(errors="backslashreplace"))
    return text, f"… {end:,} of {len(raw):,} bytes are shown"


def record(case: Case, conversation_id: str, revealed: Mapping[str, int]) -> str | None:
    """Record in the case that payloads are about to be shown: `revealed` counts them by source.

    A private case is gone with the process: then the sentence is returned that must stand in the
    output instead. Raises CaseError if a case file cannot record it: then nothing may be shown.
    """
    at, who = datetime.now(UTC).replace(microsecond=0), user()
    if case.path is None:
        shown = count(sum(revealed.values()), "part")
        return f"revealed by {safe(who)} at {at:%Y-%m-%dT%H:%M:%SZ}: {shown}"
    try:
        with case.writing() as session:
            for source, parts in revealed.items():
                values = {"at": at.replace(tzinfo=None), "who": who, "source": source}
                values |= {"id": conversation_id, "parts": parts}
                run_sql(session, "case", "queries/record_reveal.sql", values)
    except CaseError as err:
        raise CaseError(f"nothing is revealed, since the case cannot record it: {err}") from err
    except duckdb.Error as err:
        raise CaseError(
            f"nothing is revealed, since {case.path} cannot record it: make the file and its "
            "folder writable, or use another --case file."
        ) from err
    return None


def user() -> str:
    """The operating system's name of the user, or the number of one that has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"uid {os.getuid()}"
