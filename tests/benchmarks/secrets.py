"""Bytes a second of each engine on memory pages: random bytes, text and zeros, mixed.

Run: python -m tests.benchmarks.secrets [MB]
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from axnb.secrets.scanner import Scanner

_PAGE = 4096
_CHUNK = 128 << 10


def pages(size: int) -> Iterator[bytes]:
    """Chunks of pages as an object of a bucket gives them; a secret in one of a thousand."""
    numbers = random.Random(7)
    text = b" ".join(path.read_bytes() for path in sorted(Path("axnb").rglob("*.py")))
    for n in range(size // _CHUNK):
        chunk = bytearray()
        while len(chunk) < _CHUNK:
            kind = numbers.randrange(3)
            start = numbers.randrange(len(text) - _PAGE)
            chunk += (numbers.randbytes(_PAGE), text[start : start + _PAGE], bytes(_PAGE))[kind]
        if n % 32 == 0:
            chunk[500:540] = b"\0DEMO_API_KEY=not-a-real-key-%08d\0\0\0\0" % n
        yield bytes(chunk)


def main() -> None:
    """Print megabytes a second, once each engine."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    chunks = list(pages(size << 20))
    for engine in ("hyperscan", "re2"):
        scanner = Scanner(bytes(32), engine_name=engine)
        scanner.scan_bytes(b"warm")
        before = time.perf_counter()
        found = sum(1 for _ in scanner.scan(chunks))
        took = time.perf_counter() - before
        print(f"{engine}: {size / took:.0f} MB/s, {found} secrets")


if __name__ == "__main__":
    main()
