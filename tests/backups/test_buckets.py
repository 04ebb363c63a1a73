"""Copies of buckets: whole, with versions, and what is missing from one that is not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from axnb.backups.bucket import BucketBackup, copy_bucket, read_index
from axnb.backups.bucket_compare import compare_bucket
from axnb.errors import SourceError, UsageError
from axnb.testing.buckets import BucketBuilder
from tests.s3_server import S3Server

from .made import kinds, private, tree


def _built() -> BucketBuilder:
    bucket = BucketBuilder()
    for actor in ("conv-0001", "conv-0002"):
        bucket.snapshot("B3b", actor_name=actor)
    bucket.snapshot("B5", actor_name="conv-0003")
    return bucket


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A bucket as a folder."""
    folder = private(tmp_path / "source")
    _built().write(folder)
    return folder


def _copy(
    source: Path | str, folder: Path, environment: dict[str, str] | None = None
) -> BucketBackup:
    return copy_bucket(str(source), private(folder), environment or {})


def test_a_copy_is_whole_and_private(source: Path, tmp_path: Path) -> None:
    before = tree(source)
    done: list[int] = []
    backup = copy_bucket(str(source), private(tmp_path / "b"), {}, done.append)
    assert done == [*range(1, len(before) + 1)]
    assert backup.objects == len(before)
    assert backup.flaws == ()
    assert backup.custody["stable"]
    copied = tree(Path(backup.locator))
    assert {key: found[1] for key, found in copied.items()} == {k: f[1] for k, f in before.items()}
    assert all(path.stat().st_mode & 0o077 == 0 for path in backup.path.rglob("*"))
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["bucket"]
    for place in (backup.path, backup.locator):
        assert compare_bucket(str(place), {}) == ()
        assert compare_bucket(str(place), {}, str(source)) == ()
    assert tree(source) == before


def test_a_folder_of_a_users_own(source: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(source, tmp_path / "copy")
    assert compare_bucket(str(copy), {}) == compare_bucket(str(copy), {}, str(source)) == ()


def test_a_copy_is_not_written_over(source: Path, tmp_path: Path) -> None:
    backup = _copy(source, tmp_path / "b")
    with pytest.raises(SourceError, match="exists already"):
        copy_bucket(str(source), tmp_path / "b", {})
    assert compare_bucket(str(backup.path), {}) == ()
    with pytest.raises(UsageError):
        copy_bucket(str(tmp_path / "nothing"), tmp_path, {})


def test_a_copy_that_is_stopped_leaves_nothing(source: Path, tmp_path: Path) -> None:
    def stop(done: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_bucket(str(source), private(tmp_path / "b"), {}, stop)
    assert [*(tmp_path / "b").iterdir()] == []


def _first(folder: Path, pattern: str) -> Path:
    return sorted(folder.rglob(pattern))[0]


def _without_manifest(copy: Path) -> None:
    _first(copy, "manifest.json").unlink()


def _without_files(copy: Path) -> None:
    for path in copy.rglob("pages.img.zstd"):
        path.unlink()


def _shorter(copy: Path) -> None:
    path = _first(copy, "pages.img.zstd")
    path.write_bytes(path.read_bytes()[:-9])


def _torn_manifest(copy: Path) -> None:
    path = _first(copy, "manifest.json")
    path.write_bytes(path.read_bytes()[:40])


def _emptied(copy: Path) -> None:
    path = _first(copy, "pages.img.zstd")
    path.write_bytes(b"")


def _changed(copy: Path) -> None:
    path = _first(copy, "pages_meta.img.zstd")
    shutil.copyfile(_first(copy, "checkpoint.img.zstd"), path)


def _cut_short(copy: Path) -> None:
    """As a copy in the order of keys leaves it: the last manifest, and what is behind it."""
    manifests = sorted(copy.rglob("manifest.json"))
    for path in sorted(copy.rglob("*")):
        if path.is_file() and path >= manifests[-1]:
            path.unlink()


@pytest.mark.parametrize(
    ("wound", "alone", "with_source"),
    [
        (_without_manifest, ["manifest-missing?"], ["object-missing"]),
        (_without_files, ["object-missing"], ["object-missing"]),
        (_shorter, ["object-damaged"], ["object-short"]),
        (_emptied, ["object-damaged"], ["object-short"]),
        (_torn_manifest, ["manifest-unreadable"], ["object-short"]),
        (_changed, [], ["object-changed"]),
        (_cut_short, ["manifest-missing?"], ["object-missing"]),
    ],
)
@pytest.mark.parametrize("is_ours", [True, False])
def test_what_is_missing_is_named(
    source: Path,
    tmp_path: Path,
    wound: Callable[[Path], None],
    alone: list[str],
    with_source: list[str],
    is_ours: bool,
) -> None:
    copy = tmp_path / "copy"
    if is_ours:
        copy = Path(_copy(source, copy).locator)
    else:
        shutil.copytree(source, copy)
    wound(copy)
    # The index of a copy of ours knows what the source had.
    known = with_source if is_ours else []
    assert kinds(compare_bucket(str(copy), {})) == known + alone
    found = compare_bucket(str(copy), {}, str(source))
    assert kinds(found) == known + with_source


def test_wounds_of_the_source_are_not_those_of_its_copy(source: Path, tmp_path: Path) -> None:
    _shorter(source)
    _without_manifest(source)
    copy = shutil.copytree(source, tmp_path / "copy")
    assert kinds(compare_bucket(str(copy), {})) == ["manifest-missing?", "object-damaged"]
    assert compare_bucket(str(copy), {}, str(source)) == ()


def test_every_snapshot_that_lacks_a_file_is_named(source: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(source, tmp_path / "copy"))
    _without_files(copy)
    (flaw,) = compare_bucket(str(copy), {})
    assert len({line.split("/pages.img")[0] for line in flaw.evidence}) == 3


def test_a_backup_of_nothing(tmp_path: Path) -> None:
    source = private(tmp_path / "source")
    backup = _copy(source, tmp_path / "b")
    assert kinds(backup.flaws) == ["empty?"]
    assert kinds(compare_bucket(str(backup.path), {})) == ["empty?"]
    assert kinds(compare_bucket(str(source), {})) == ["empty?"]


def test_what_was_written_later_is_told_apart(source: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(source, tmp_path / "copy")
    taken = datetime.now(UTC) + timedelta(hours=1)
    later = source / "ax-agent/later"
    later.write_bytes(b"later")
    os.utime(later, (taken.timestamp() + 60,) * 2)
    assert kinds(compare_bucket(str(copy), {}, str(source))) == ["object-missing"]
    assert kinds(compare_bucket(str(copy), {}, str(source), taken=taken)) == ["newer-objects?"]


def test_names_that_are_not_utf8_and_links(tmp_path: Path) -> None:
    source = private(tmp_path / "source")
    name = os.fsdecode(b"caf\xe9")
    (source / name).write_bytes(b"x")
    (source / "link").symlink_to("/etc/passwd")
    backup = _copy(source, tmp_path / "b")
    assert [entry.key for entry in read_index(backup.path)] == [name]
    assert (Path(backup.locator) / name).read_bytes() == b"x"
    assert kinds(backup.flaws) == ["unstable-listing?"]
    assert compare_bucket(str(backup.path), {}) == ()


def test_an_index_leads_nowhere_else(source: Path, tmp_path: Path) -> None:
    backup = _copy(source, tmp_path / "b")
    secret = tmp_path / "secret"
    secret.write_bytes(b"x")
    index = backup.path / "index.jsonl"
    index.write_text(index.read_text().replace('"path": "objects/', '"path": "../../../'))
    found = compare_bucket(str(backup.path), {})
    assert kinds(found) == ["object-missing"]
    index.write_text('{"key": 1, "other": 2}\n')
    with pytest.raises(SourceError, match="no index"):
        compare_bucket(str(backup.path), {})


@pytest.mark.slow
def test_a_bucket_with_versions(s3: S3Server, tmp_path: Path) -> None:
    name = s3.new_bucket()
    client = s3.client()
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    for key, data in _built().objects.items():
        client.put_object(Bucket=name, Key=key, Body=data)
    odd = {"a": b"file", "a/b": b"below it"}
    for key, data in odd.items():
        client.put_object(Bucket=name, Key=key, Body=data)
    client.put_object(Bucket=name, Key="twice", Body=b"old")
    client.put_object(Bucket=name, Key="twice", Body=b"new")
    client.put_object(Bucket=name, Key="gone", Body=b"deleted")
    client.delete_object(Bucket=name, Key="gone")
    environment = s3.environment()
    backup = copy_bucket(f"s3://{name}", private(tmp_path / "b"), environment)
    assert backup.versions == 2
    assert backup.objects == len(_built().objects) + len(odd) + 1
    entries = read_index(backup.path)
    old = {
        entry.key: (backup.path / str(entry.path)).read_bytes()
        for entry in entries
        if not entry.is_latest and not entry.is_delete_marker
    }
    assert old == {"twice": b"old", "gone": b"deleted"}
    assert [entry.key for entry in entries if entry.is_delete_marker] == ["gone"]
    current = {
        e.key: (backup.path / str(e.path)).read_bytes() for e in entries if e.is_latest and e.path
    }
    assert {key: current[key] for key in odd} == odd
    assert kinds(backup.flaws) == ["key-no-file?"]
    assert compare_bucket(str(backup.path), environment, f"s3://{name}") == ()
    client.put_object(Bucket=name, Key="twice", Body=b"newer")
    found = compare_bucket(str(backup.path), environment, f"s3://{name}")
    assert kinds(found) == ["object-short", "versions-missing?"]
    assert found[0].evidence == ("twice",)
