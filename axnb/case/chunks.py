"""Long texts, a few at a time: together they would fill the memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def chunks(rows: Iterable[tuple[int, int]], size: int, most: int) -> Iterator[list[int]]:
    """Row numbers that are read together, of rows with the size of their text in bytes.

    A chunk has no more than `most` rows and `size` bytes; a longer text is one by itself.
    """
    chunk: list[int] = []
    held = 0
    for row, length in rows:
        if chunk and (held + length > size or len(chunk) == most):
            yield chunk
            chunk, held = [], 0
        chunk.append(row)
        held += length
    if chunk:
        yield chunk
