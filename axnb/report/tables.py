"""Triage as a table: CSV for a spreadsheet, Parquet for a program."""

from __future__ import annotations

import csv
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from axnb.errors import AxnbError
from axnb.result import write_file
from axnb.text import cell
from axnb.triaging import ConversationTriage, Triage

_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("conversation_id", pa.string()),
        ("action", pa.string()),
        ("state", pa.string()),
        ("next_empty", pa.string()),
        ("next_input", pa.string()),
        ("next_harness", pa.string()),
        ("history", pa.string()),
        ("open_questions", pa.int64()),
        ("unresolved_calls", pa.int64()),
        ("turns", pa.int64()),
        ("last_step", pa.int64()),
        ("harness", pa.string()),
        ("generations", pa.string()),
        ("findings", pa.string()),
    ]
)


def table(triage: Triage) -> pa.Table:
    """One row a conversation, in the order of the triage."""
    return pa.Table.from_pylist([_row(c) for c in triage.conversations], schema=_SCHEMA)


def _row(c: ConversationTriage) -> dict[str, Any]:
    return {
        "source": c.source,
        "conversation_id": c.conversation_id,
        "action": c.action,
        "state": c.state,
        "next_empty": c.next.empty,
        "next_input": c.next.input,
        "next_harness": c.next.harness,
        "history": c.next.history,
        "open_questions": c.open_questions,
        "unresolved_calls": len(c.unresolved),
        "turns": c.turns,
        "last_step": c.last_step,
        "harness": c.harness,
        "generations": " ".join(c.generations),
        "findings": " ".join(c.findings),
    }


def write_csv(triage: Triage, path: Path) -> None:
    """Write the table as CSV; text that a spreadsheet would run as a formula is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(_SCHEMA.names)
    for c in triage.conversations:
        writer.writerow([cell(v) if isinstance(v, str) else v for v in _row(c).values()])
    write_file(path, out.getvalue())


def write_parquet(triage: Triage, path: Path) -> None:
    """Write the table as Parquet, aside first. Raises AxnbError if it cannot be written."""
    import pyarrow.parquet as pq

    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # Arrow takes no path that is no UTF-8.
        with aside.open("wb") as file:
            pq.write_table(table(triage), file)
        os.replace(aside, path)
    except OSError as err:
        with suppress(OSError):
            aside.unlink()
        raise AxnbError(f"{path} cannot be written: {err.strerror}.") from err
