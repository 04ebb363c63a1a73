"""Read a copy in a SQLite file back, part by part, as Arrow has its rows."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from axnb.converting.process import is_usual, opened, rows_of
from axnb.converting.rows import Part, split
from axnb.migrating.arrow_file import ArrowFile, usual_rows


def read_part(database: Path, column: str, part: Part) -> tuple[int, bytes]:
    """How many rows there are, and the digest up to them. Raises sqlite3.Error or that of ADBC."""
    digest, number, among = part.begun.copy(), 0, (part.first, part.last)
    # A row of other classes where none was written is missed here, and so found.
    sql = (
        f"select rowid, conversation_id, {column}, payload from conversation_log "
        f"where rowid between ? and ? and {is_usual(column)} order by rowid"
    )
    with ArrowFile(f"{database.as_uri()}?mode=ro") as file:
        for batch in file.read(sql, *among):
            digest.add(usual_rows(batch))
            number += batch.num_rows
    if part.has_odd:
        with closing(opened(database)) as connection:
            rows = rows_of(connection, "conversation_log", column, among)
            none, odd = split(row for row in rows if row[4])
            digest.add(none, odd)
            number += len(odd)
    return number, digest.digest()
