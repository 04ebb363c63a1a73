"""Look for secrets in a loaded log: in payloads, in configurations, in rows that were rejected.

At first all texts are looked at as they lie, without a key; then the rows that hold a secret are
read once more. Most logs hold none, and then no key is made, which takes a look at every digest.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
import pyarrow as pa

from axnb.case.case import run_sql, sql_text
from axnb.case.chunks import chunks
from axnb.secrets.engines import candidate_rows, engine
from axnb.settings import Secrets

#: Bytes of a short text and of a usual one, and how many of them are looked at together.
_CLASSES = ((4 << 10, 16_384), (64 << 10, 512))
#: Bytes of longer ones that are read together, and how many rows: they fill the memory.
_TOGETHER = 16 << 20
_MOST_ROWS = 2_000

#: Below so many bytes it takes longer to get hyperscan ready than to do without.
_SMALL = 4 << 20

Held = Literal["payload", "config", "raw"]


#: A configuration first: its row's payload holds it again.
_HELD: tuple[Held, ...] = ("config", "payload", "raw")


@dataclass(frozen=True)
class _Size:
    rows: int
    bytes: int
    longest: int


def look_for_secrets(
    session: duckdb.DuckDBPyConnection, source: str, settings: Secrets | None = None
) -> None:
    """Fill the table `secrets` for a log that was just loaded; nothing of it is there yet."""
    _Look(session, source, settings or Secrets()).run()


class _Look:
    def __init__(self, session: duckdb.DuckDBPyConnection, source: str, settings: Secrets) -> None:
        self._session = session
        self._source = source
        self._settings = settings
        #: Digests in the configuration of a row: its payload holds them once more.
        self._configured: dict[int, Counter[str]] = {}

    def run(self) -> None:
        sizes = self._sizes()
        total = sum(size.bytes for size in sizes.values())
        is_small = total < _SMALL
        self._engine = engine("re2" if is_small else None)
        if is_small:
            suspects = self._few(sizes)
        else:
            suspects = {held: self._suspects(held, size) for held, size in sizes.items()}
        if any(suspects.values()):
            self._keep(suspects)

    # --- which rows hold one -------------------------------------------------------------------

    def _few(self, sizes: Iterable[Held]) -> dict[Held, list[tuple[int, int]]]:
        """The same for a small log, of which all texts are looked at together."""
        found: dict[Held, list[tuple[int, int]]] = {held: [] for held in sizes}
        rows: list[tuple[Held, int]] = []
        texts: list[bytes] = []
        for held in found:
            query = f'select "row", value, is_base64 from ({_text(held)}) order by "row"'
            for row, text, is_base64 in self._session.execute(
                query, self._values(held, {})
            ).fetchall():
                rows.append((held, row))
                texts.append(_decoded(text, is_base64))
        for n, size in self._holding(pa.array(texts, pa.binary())):
            held, row = rows[n]
            found[held].append((row, size))
        return found

    def _suspects(self, held: Held, size: _Size) -> list[tuple[int, int]]:
        """Rows that hold a secret, each with its size."""
        found: list[tuple[int, int]] = []
        least = 0
        for most, rows in _CLASSES:
            if size.longest > least or least == 0:
                query = f'select "row", value, is_base64 from ({_text(held)})'
                query += " where size between $least and $most"
                for batch in self._stream(held, query, rows, least=least, most=most):
                    found += self._in_batch(batch)
            least = most + 1
        if size.longest >= least:
            query = f'select "row", size from ({_text(held)}) where size >= $least order by "row"'
            values = self._values(held, {"least": least})
            large = self._session.execute(query, values).fetchall()
            for chunk in chunks(large, _TOGETHER, _MOST_ROWS):
                query = f'select "row", value, is_base64 from ({_text(held)})'
                query += ' where "row" in (select unnest($rows))'
                for batch in self._stream(held, query, _MOST_ROWS, rows=chunk):
                    found += self._in_batch(batch)
        return sorted(found)

    def _in_batch(self, batch: pa.RecordBatch) -> list[tuple[int, int]]:
        rows, texts = batch.column(0), batch.column(1)
        if batch.column(2).true_count:
            pairs = zip(texts.to_pylist(), batch.column(2).to_pylist(), strict=True)
            texts = pa.array([_decoded(text, is_base64) for text, is_base64 in pairs], pa.binary())
        return [(rows[n].as_py(), size) for n, size in self._holding(texts)]

    def _holding(self, texts: pa.Array) -> Iterator[tuple[int, int]]:
        """Which of the texts hold a secret, with their sizes."""
        every: Iterable[int] = range(len(texts))
        for n in every if self._settings.patterns else candidate_rows(self._engine, texts):
            text = texts[n].as_buffer().to_pybytes()
            if self._scanner(b"").matches(text):
                yield n, len(text)

    def _scanner(self, key: bytes) -> Any:
        # Most logs need none, and its expressions take as long as a small log.
        from axnb.secrets.scanner import Scanner

        return Scanner(key, self._settings, self._engine.name)

    def _sizes(self) -> dict[Held, _Size]:
        found = run_sql(self._session, "secrets", "sizes.sql", {"source": self._source})
        sizes = {held: _Size(*size) for held, *size in found}
        return {held: sizes[held] for held in _HELD if sizes[held].rows}

    def _stream(self, held: Held, query: str, at_once: int, **values: Any) -> Any:
        """Rows as Arrow, so many at once; the result as a whole is never in memory."""
        values = self._values(held, values)
        return self._session.sql(query, params=values).to_arrow_reader(at_once)

    def _values(self, held: Held, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"source": self._source} | ({} if held == "raw" else {"held": held})

    # --- what they hold ------------------------------------------------------------------------

    def _keep(self, suspects: dict[Held, list[tuple[int, int]]]) -> None:
        from axnb.secrets.keeping import keep_secrets, secret_key

        ((mixed, rows_read),) = run_sql(
            self._session, "secrets", "seed.sql", {"source": self._source}
        )
        scanner = self._scanner(secret_key(self._session, f"{mixed}/{rows_read}"))
        ids = dict(
            self._session.execute(
                "select conversation, conversation_id from conversation_numbers where source = ?",
                [self._source],
            ).fetchall()
        )
        for held, rows in suspects.items():
            for chunk in chunks(rows, _TOGETHER, _MOST_ROWS):
                query = (
                    f'select "row", conversation, conversation_id, step, is_base64, value '
                    f'from ({_text(held)}) where "row" in (select unnest($rows)) order by "row"'
                )
                values = self._values(held, {"rows": chunk})
                texts = self._session.execute(query, values).fetchall()
                keep_secrets(self._session, self._secrets(held, texts, ids, scanner))

    def _secrets(
        self, held: Held, texts: Iterable[Any], ids: dict[int, str], scanner: Any
    ) -> Iterator[Any]:
        from axnb.secrets.keeping import Secret, Where

        place: Any = "harness-config" if held == "config" else "payload"
        for row, conversation, conversation_id, step, is_base64, value in texts:
            where = Where(
                self._source,
                place,
                conversation_id=ids.get(conversation, conversation_id),
                step=step,
                row=row,
            )
            for hit in scanner.scan_bytes(_decoded(value, is_base64)):
                told = self._configured.setdefault(row, Counter())
                if held == "config":
                    told[hit.digest] += not is_base64
                elif held == "payload" and told[hit.digest] > 0:
                    told[hit.digest] -= 1
                    continue
                yield Secret(where, hit)


def _text(held: Held) -> str:
    return sql_text("secrets", "reject_texts.sql" if held == "raw" else "event_texts.sql")


def _decoded(value: str | bytes, is_base64: bool) -> bytes:
    """A text as bytes. Up to G4, a configuration is base64 of JSON."""
    raw = value.encode() if isinstance(value, str) else value
    if not is_base64:
        return raw
    try:
        return base64.b64decode(raw, validate=True)
    except binascii.Error:
        return raw
