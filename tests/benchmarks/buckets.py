"""List a bucket of many snapshots and read their manifests, beside a plain boto3 loop.

    python -m tests.benchmarks.buckets --snapshots 10000

A snapshot is nine data files of 200 bytes and a manifest of 3,000. The server is a real one, on
this machine; it takes as much of the processor as its readers do. Contenders take turns, each in a
fresh process, and the median counts. Exit code 1 if a target is missed.

loop     list_objects_v2 by boto3's paginator, then get_object one after the other
threads  the same with eight threads
boto     axnb without obstore: list with a fingerprint of each object, read and hash the manifests
once     axnb: the same with obstore
ours     the same, and the second listing of the custody
folder   the same as ours, from a folder with the same files
case     what `axnb load --snapshots` does: the same as ours, grouped, judged and kept in a case
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.s3_server import S3Server

BUCKET = "bench"
FILES = 9
_DATA = b"\x28\xb5\x2f\xfd" + bytes(196)
_WRITERS = 16

_LEAST_TIMES = 4.0
_MOST_MB = 400


def manifest(number: int) -> bytes:
    """A manifest of 3,000 bytes, another for each snapshot."""
    document: dict[str, Any] = {
        "sandboxClass": "gvisor",
        "snapshotFiles": [f"file{n}.img" for n in range(FILES)],
        "actorName": f"conversation-{number}",
    }
    room = 3000 - len(json.dumps(document | {"pauseImage": ""}))
    return json.dumps(document | {"pauseImage": "p" * room}).encode()


def objects_of(number: int) -> dict[str, bytes]:
    """Keys and bytes of one snapshot, in the layout of August 2026."""
    prefix = f"root/snapshots/ax/{UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)}"
    files = {f"{prefix}/file{n}.img.zstd": _DATA for n in range(FILES)}
    return files | {f"{prefix}/manifest.json": manifest(number)}


def build(server: S3Server, folder: Path, snapshots: int) -> None:
    """Write all snapshots into the server and into a folder."""
    import obstore
    from obstore.store import S3Store

    server.client().create_bucket(Bucket=BUCKET)
    store = S3Store(
        BUCKET,
        endpoint=server.endpoint,
        access_key_id=server.owner.access,
        secret_access_key=server.owner.secret,
        region="us-east-1",
        client_options={"allow_http": True},
    )

    def write(number: int) -> None:
        for key, body in objects_of(number).items():
            obstore.put(store, key, body, use_multipart=False)
            file = folder / key
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(body)

    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(write, range(snapshots)))


# --- contenders --------------------------------------------------------------------------------


def _boto(threads: int) -> tuple[int, int]:
    import boto3
    from botocore.config import Config

    config = Config(s3={"addressing_style": "path"}, max_pool_connections=16)
    client = boto3.client("s3", config=config)
    keys = [
        found["Key"]
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        for found in page.get("Contents", [])
    ]

    def get(key: str) -> int:
        body = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return len(json.loads(body)["snapshotFiles"])

    manifests = [key for key in keys if key.endswith("/manifest.json")]
    if threads == 1:
        return len(keys), sum(map(get, manifests))
    with ThreadPoolExecutor(threads) as pool:
        return len(keys), sum(pool.map(get, manifests))


def _ours(place: str, *, custody: bool, quick: bool = True) -> tuple[int, int]:
    from axnb.evidence.buckets import BucketLocator, fast, open_bucket

    if not quick:
        fast.FastReader.open = lambda *_: None  # type: ignore[assignment,method-assign]
    count = files = 0
    with open_bucket(BucketLocator.parse(place, os.environ), os.environ) as bucket:
        manifests = []
        for found in bucket.objects():
            count += 1
            if found.key.endswith("/manifest.json"):
                manifests.append(found)
        for small in bucket.read_small(manifests, 1 << 20):
            assert small.data is not None, small.problem
            files += len(json.loads(small.data)["snapshotFiles"])
        assert not custody or bucket.custody()["stable"]
    return count, files


def _case(place: str) -> tuple[int, int]:
    from axnb.case.case import Case
    from axnb.evidence.buckets import BucketLocator
    from axnb.evidence.snapshots import load_snapshots

    with Case() as case:
        load_snapshots(case, BucketLocator.parse(place, os.environ))
        ((count,),) = case.rows("select count(*) from snapshot_objects")
        ((files,),) = case.rows("select sum(len(files)) from snapshots")
    return count, int(files)


def contend(name: str, folder: str) -> dict[str, float]:
    """Run one contender in this process and return what it took."""
    run: dict[str, Callable[[], tuple[int, int]]] = {
        "loop": lambda: _boto(1),
        "threads": lambda: _boto(8),
        "boto": lambda: _ours(f"s3://{BUCKET}", custody=False, quick=False),
        "once": lambda: _ours(f"s3://{BUCKET}", custody=False),
        "ours": lambda: _ours(f"s3://{BUCKET}", custody=True),
        "folder": lambda: _ours(folder, custody=True),
        "case": lambda: _case(f"s3://{BUCKET}"),
    }
    begun = time.perf_counter()
    objects, files = run[name]()
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    took = {"seconds": seconds, "cpu": time.process_time(), "peak_mb": peak}
    return took | {"objects": objects, "files": files}


def _measure(name: str, server: S3Server, folder: Path, snapshots: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.buckets", "--contend", name, str(folder)]
    environment = {**os.environ, **server.environment()}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    took: dict[str, float] = json.loads(said.stdout)
    assert took["objects"] == snapshots * (FILES + 1), took
    assert took["files"] == snapshots * FILES, took
    return took


def main() -> int:
    """Build, measure, print; 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--snapshots", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--contend", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.contend:
        print(json.dumps(contend(*asked.contend)))
        return 0
    names = ("loop", "threads", "boto", "once", "ours", "folder", "case")
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with S3Server() as server, tempfile.TemporaryDirectory(prefix="axnb-bench-") as top:
        print(f"building {asked.snapshots:,} snapshots …", file=sys.stderr)
        build(server, Path(top), asked.snapshots)
        for _ in range(asked.repeat):
            for name in names:
                runs[name].append(_measure(name, server, Path(top), asked.snapshots))
                print(f"{name}: {runs[name][-1]['seconds']:.1f} s", file=sys.stderr)
    return report(runs)


def report(runs: dict[str, list[dict[str, float]]]) -> int:
    """Print the medians and say which targets are met."""
    median = {
        what: {name: statistics.median(r[what] for r in took) for name, took in runs.items()}
        for what in ("seconds", "cpu")
    }
    peaks = {name: max(r["peak_mb"] for r in took) for name, took in runs.items()}
    print(f"{'':10}{'seconds':>10}{'x loop':>9}{'own cpu s':>11}{'x loop':>9}{'MB':>8}")
    for name in runs:
        columns = ""
        for what, width in (("seconds", 10), ("cpu", 11)):
            took = median[what]
            columns += f"{took[name]:{width}.2f}{took['loop'] / took[name]:9.1f}"
        print(f"{name:10}{columns}{peaks[name]:8.0f}")
    times = median["seconds"]["loop"] / median["seconds"]["once"]
    peak = max(peaks[name] for name in ("once", "ours", "folder"))
    slow, large = times < _LEAST_TIMES, peak >= _MOST_MB
    aim = f"at least {_LEAST_TIMES:g}x"
    print(f"{'MISSED' if slow else 'ok':6} {times:.1f}x as fast as the loop ({aim})")
    print(f"{'MISSED' if large else 'ok':6} {peak:.0f} MB at the peak (under {_MOST_MB})")
    return int(slow or large)


if __name__ == "__main__":
    sys.exit(main())
