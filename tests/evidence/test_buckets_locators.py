"""What a user types for a bucket, and what a message may say of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axnb.errors import UnavailableError, UsageError
from axnb.evidence.buckets import BucketLocator, open_bucket
from axnb.text import safe


@pytest.mark.parametrize(
    ("text", "scheme", "bucket", "prefix"),
    [
        ("s3://snapshots", "s3", "snapshots", ""),
        ("s3://snapshots/", "s3", "snapshots", ""),
        ("gs://my-bucket/snapshots/secret-agent/", "gs", "my-bucket", "snapshots/secret-agent"),
        ("S3://snapshots/a%20b", "s3", "snapshots", "a b"),
        (
            "s3://snapshots/a1/2026-01-02T03:04:05+02:00-AB/",
            "s3",
            "snapshots",
            "a1/2026-01-02T03:04:05+02:00-AB",
        ),
        ("s3://snapshots/a%2Bb+c", "s3", "snapshots", "a+b+c"),
        ("s3://snapshots//odd//", "s3", "snapshots", "/odd"),
    ],
)
def test_urls(text: str, scheme: str, bucket: str, prefix: str) -> None:
    assert BucketLocator.parse(text, {}) == BucketLocator(scheme, bucket, prefix)  # type: ignore[arg-type]


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "file").touch()
    expected = BucketLocator("file", str(folder))
    assert BucketLocator.parse(str(folder), {}) == expected
    assert BucketLocator.parse(f"file://{tmp_path}/a%20b", {}) == expected
    assert BucketLocator.parse(f"file://localhost{tmp_path}/a%20b/", {}) == expected
    monkeypatch.chdir(tmp_path)
    assert BucketLocator.parse("a b", {}) == expected
    for wrong in (f"{folder}/file", f"file://{folder}/file", f"{tmp_path}/none", "file://host/x"):
        with pytest.raises(UsageError):
            BucketLocator.parse(wrong, {})


def test_variables(tmp_path: Path) -> None:
    environment = {
        "OURS": "s3://snapshots/x",
        "OTHER": "OURS",
        "ROUND": "ROUND",
        "AX_SNAPSHOTS_BUCKET": "ate-snapshots",
    }
    assert BucketLocator.parse("OTHER", environment) == BucketLocator("s3", "snapshots", "x")
    # AX writes gs://$AX_SNAPSHOTS_BUCKET/…, so it holds a bare name.
    assert BucketLocator.default(environment) == BucketLocator("gs", "ate-snapshots")
    assert BucketLocator.default({"AX_SNAPSHOTS_BUCKET": str(tmp_path)}) == BucketLocator(
        "file", str(tmp_path)
    )
    assert BucketLocator.default({}) is None
    for wrong in ("ROUND", "UNSET"):
        with pytest.raises(UsageError, match=wrong):
            BucketLocator.parse(wrong, environment)


SECRETS = ("AKIASECRET", "hunter2")


@pytest.mark.parametrize(
    "text",
    [
        "s3://AKIASECRET:hunter2@snapshots/x",
        "s3://AKIASECRET@snapshots",
        "s3://snapshots/x?X-Amz-Signature=hunter2",
        "s3://snapshots/x#hunter2",
        "s3:///hunter2",
        "s3://",
        "s3://a/hunter2",
        "s3://snapshots:9000/hunter2",
        "s3://snapshots/%zz/hunter2",
        "s3://snapshots/%00hunter2",
        "https://AKIASECRET:hunter2@host/snapshots",
        "azure://hunter2/x",
        "AKIASECRET:hunter2",
        "",
        "\0hunter2",
    ],
)
def test_what_is_no_bucket_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as said:
        BucketLocator.parse(text, {})
    with pytest.raises(UsageError) as said_of_variable:
        BucketLocator.parse("OURS", {"OURS": text})
    for message in (str(said.value), str(said_of_variable.value)):
        assert not any(secret in message for secret in SECRETS)
        assert message.endswith(".")


@given(st.text())
def test_any_text_is_a_bucket_or_a_usage_error(text: str) -> None:
    for form in (text, f"s3://{text}", f"gs://bucket/{text}", f"file://{text}"):
        try:
            found = BucketLocator.parse(form, {})
        except UsageError:
            continue
        assert safe(str(found)) == str(found)


@pytest.mark.parametrize(
    "endpoint",
    ["http://user:hunter2@host", "http://host/?a=hunter2", "host", "http://[", "ftp://h"],
)
def test_an_odd_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(UsageError) as said:
        open_bucket(BucketLocator("s3", "snapshots"), {"AWS_ENDPOINT_URL": endpoint})
    assert "hunter2" not in str(said.value)


def test_google_has_an_endpoint_of_its_own() -> None:
    gs, s3 = BucketLocator("gs", "snapshots"), BucketLocator("s3", "snapshots")
    assert open_bucket(gs, {}).locator == "gs://snapshots at https://storage.googleapis.com"
    assert open_bucket(s3, {}).locator == "s3://snapshots"
    own = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000/"}
    assert open_bucket(gs, own).locator == "gs://snapshots at http://127.0.0.1:9000"


def test_without_keys_it_ends_at_once_and_asks_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import socket

    def refuse(*_: object) -> None:
        raise AssertionError("somebody was asked for keys")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    none = str(tmp_path / "none")
    files = {"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none}
    bucket = open_bucket(BucketLocator("s3", "snapshots"), files)
    with pytest.raises(UnavailableError, match="there are no keys"), bucket:
        pass
    half = open_bucket(BucketLocator("s3", "snapshots"), files | {"AWS_ACCESS_KEY_ID": "AK"})
    with pytest.raises(UsageError, match="only one is set"), half:
        pass
    unknown = open_bucket(BucketLocator("s3", "snapshots"), files | {"AWS_PROFILE": "nobody"})
    with pytest.raises(UnavailableError), unknown:
        pass


def test_keys_of_a_profile(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("[night]\naws_access_key_id = AK1\naws_secret_access_key = hidden\n")
    files = {"AWS_SHARED_CREDENTIALS_FILE": str(keys), "AWS_PROFILE": "night"}
    with open_bucket(BucketLocator("s3", "snapshots"), files) as bucket:
        assert "hidden" not in repr(vars(bucket))
