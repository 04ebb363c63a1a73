"""Verify sparse objects of about 1 GB, beside `zstd -t` on the same frames.

    python -m tests.benchmarks.verify --megabytes 1024

The objects are as Substrate's encoder writes them: `ATESPRSE`, a version, one zstd frame of the
fastest level with its checksum. Their files are memory pages (code, pointers, text, noise, zeros)
with holes. The twin of an object is its frame alone. Ours does more than the twin: two digests of
SHA-256, the walk over extents and blocks, and the content; and it takes two objects at a time,
where `zstd -t` takes one after the other: so it needs two cores that nobody else uses; `cpu s`
tells if it had them (about two times the seconds). Contenders take turns, each in a fresh process,
and the median counts. Exit code 1 if a target is missed.

zstd     `zstd -t` on the twins
loop     python-zstandard's `decompressobj` on the twins, 128 KiB fed at a time, and nothing else
one      axnb, a folder as a bucket, one object at a time
ours     axnb, two at a time
secrets  the same, with the search for secrets that `--verify` does on the way
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from axnb.substrate.encoding import write_sparse

#: Megabytes (2**20 bytes) of the files, in turn until there is enough.
_SIZES = (256, 64, 128, 192)
_PAGE = 4096
_HEAD = 12

_LEAST_RATIO = 0.7
_MOST_MB = 200


# --- data ----------------------------------------------------------------------------------------


def page(kind: float, chance: random.Random, words: list[bytes]) -> bytes:
    """A page of memory: `kind` from 0 to 1 says what it holds."""
    if kind < 0.04:
        return chance.randbytes(_PAGE)
    if kind < 0.36:
        # A heap: pointers into a few regions, small numbers, zeros.
        bases = [chance.getrandbits(28) << 20 for _ in range(4)]
        numbers = (
            chance.choice(bases) | chance.getrandbits(14) << 4
            if chance.random() < 0.45
            else chance.getrandbits(8) * (chance.random() < 0.4)
            for _ in range(512)
        )
        return struct.pack("<512Q", *numbers)
    if kind < 0.66:
        # Code and text: words that come again.
        return b"".join(chance.choices(words, k=900))[:_PAGE].ljust(_PAGE, b"\0")
    if kind < 0.74:
        return (chance.randbytes(256) + bytes(256)) * 8
    return chance.randbytes(64).ljust(_PAGE, b"\0")


def stretches(megabytes: int, seed: int) -> Iterator[tuple[int, bytes]]:
    """Extents of a file: 64 KiB to 4 MiB of pages, then a hole in one of three places."""
    chance = random.Random(seed)
    words = [chance.randbytes(chance.randint(2, 14)) for _ in range(3000)]
    pool = [page(chance.random(), chance, words) for _ in range(12_000)]
    size, offset = megabytes << 20, 0
    while offset < size:
        pages = min(chance.randint(16, 1024), (size - offset) // _PAGE)
        yield offset, b"".join(_touched(chance.choice(pool), chance) for _ in range(pages))
        offset += pages * _PAGE
        if chance.random() < 1 / 3 and size - offset > 8 << 20:
            offset += chance.randint(1, 256) * _PAGE


def _touched(page: bytes, chance: random.Random) -> bytes:
    """The page with 16 other bytes in it, so that no two are equal."""
    position = chance.randrange(_PAGE - 16)
    return page[:position] + chance.randbytes(16) + page[position + 16 :]


def build(folder: Path, megabytes: int) -> tuple[int, int]:
    """Write objects below `objects/` and twins below `twins/`; bytes restored and encoded."""
    restored = encoded = number = 0
    for name in ("objects", "twins"):
        (folder / name).mkdir()
    while restored < megabytes << 20:
        size = min(_SIZES[number % len(_SIZES)], megabytes - (restored >> 20))
        extents = stretches(size, number)
        body = b"".join(write_sparse(size << 20, extents))
        key = folder / "objects" / f"snapshot-{number}" / "pages.img.zstd"
        key.parent.mkdir()
        key.write_bytes(body)
        (folder / "twins" / f"{number}.zst").write_bytes(body[_HEAD:])
        restored += size << 20
        encoded += len(body)
        number += 1
    return restored, encoded


# --- contenders ----------------------------------------------------------------------------------


def _zstd(folder: Path) -> None:
    twins = sorted(map(str, (folder / "twins").iterdir()))
    subprocess.run(["zstd", "-t", "-q", *twins], check=True)


def _loop(folder: Path) -> None:
    import zstandard

    for twin in sorted((folder / "twins").iterdir()):
        decoder = zstandard.ZstdDecompressor().decompressobj()
        with twin.open("rb") as file:
            while chunk := file.read(1 << 17):
                decoder.decompress(chunk)
        assert decoder.eof


def _ours(folder: Path, threads: int, *, secrets: bool = False) -> None:
    from axnb.evidence.buckets import BucketLocator, open_bucket
    from axnb.evidence.buckets.verifying import Wanted, verify
    from axnb.secrets.keeping import Where
    from axnb.secrets.places import ObjectScan
    from axnb.secrets.scanner import Scanner
    from axnb.substrate.bodies import Body, Watch

    with open_bucket(BucketLocator.parse(str(folder / "objects"), {}), {}) as bucket:
        wanted = [Wanted("pages.img", found) for found in bucket.objects()]
        scanner = Scanner(bytes(32))

        def watch(one: Wanted) -> Watch:
            return ObjectScan(scanner, Where("", "memory", file=one.file)).feed

        look = watch if secrets else None
        for verified in verify(bucket, wanted, threads=threads, watch=look):
            assert isinstance(verified.body, Body), verified.problem


CONTENDERS: dict[str, Callable[[Path], None]] = {
    "zstd": _zstd,
    "loop": _loop,
    "one": lambda folder: _ours(folder, 1),
    "ours": lambda folder: _ours(folder, 2),
    "secrets": lambda folder: _ours(folder, 2, secrets=True),
}


def contend(name: str, folder: Path) -> dict[str, float]:
    """Run one contender in this process and return what it took."""
    if name in ("one", "ours", "secrets"):
        # What a process imports, it imports once.
        import axnb.evidence.verifying  # noqa: F401
        from axnb.secrets.scanner import Scanner

        Scanner(bytes(32)).scan_bytes(b"")
    begun = time.perf_counter()
    CONTENDERS[name](folder)
    seconds = time.perf_counter() - begun
    who = resource.RUSAGE_CHILDREN if name == "zstd" else resource.RUSAGE_SELF
    used = resource.getrusage(who)
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": seconds, "cpu": cpu, "peak_mb": used.ru_maxrss * 1024 / 1e6}


def _measure(name: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.verify", "--contend", name, str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    took: dict[str, float] = json.loads(said.stdout)
    return took


def _built(folder: str, megabytes: int) -> tuple[int, int]:
    """Build in another process: a child's peak is never below its parent's."""
    command = [sys.executable, "-m", "tests.benchmarks.verify", "--build", folder]
    command += ["--megabytes", str(megabytes)]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    restored, encoded = json.loads(said.stdout)
    return restored, encoded


def main() -> int:
    """Build, measure, print; 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--contend", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--build", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.build:
        print(json.dumps(build(Path(asked.build), asked.megabytes)))
        return 0
    if asked.contend:
        name, folder = asked.contend
        print(json.dumps(contend(name, Path(folder))))
        return 0
    names = [name for name in CONTENDERS if name != "zstd" or shutil.which("zstd")]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="axnb-bench-") as top:
        print(f"building {asked.megabytes:,} MiB …", file=sys.stderr)
        restored, encoded = _built(top, asked.megabytes)
        print(f"{restored / 1e6:,.0f} MB in {encoded / 1e6:,.0f} MB", file=sys.stderr)
        for _ in range(asked.repeat):
            for name in names:
                runs[name].append(_measure(name, Path(top)))
                print(f"{name}: {runs[name][-1]['seconds']:.2f} s", file=sys.stderr)
    return report(runs, restored)


def report(runs: dict[str, list[dict[str, float]]], restored: int) -> int:
    """Print the medians and say which targets are met."""
    median = {name: statistics.median(r["seconds"] for r in took) for name, took in runs.items()}
    peaks = {name: max(r["peak_mb"] for r in took) for name, took in runs.items()}
    peer = "zstd" if "zstd" in runs else "loop"
    print(f"{'':8}{'seconds':>9}{'cpu s':>8}{'MB/s':>8}{'x ' + peer:>9}{'MB peak':>9}")
    for name, seconds in median.items():
        cpu = statistics.median(r["cpu"] for r in runs[name])
        speed = restored / seconds / 1e6
        times = median[peer] / seconds
        print(f"{name:8}{seconds:9.2f}{cpu:8.2f}{speed:8.0f}{times:9.2f}{peaks[name]:9.0f}")
    ratio = median[peer] / median["ours"]
    slow, large = ratio < _LEAST_RATIO, peaks["ours"] >= _MOST_MB
    print(
        f"{'MISSED' if slow else 'ok':6} {ratio:.2f}x as fast as {peer} (at least {_LEAST_RATIO})"
    )
    print(f"{'MISSED' if large else 'ok':6} {peaks['ours']:.0f} MB at the peak (under {_MOST_MB})")
    return int(slow or large)


if __name__ == "__main__":
    sys.exit(main())
