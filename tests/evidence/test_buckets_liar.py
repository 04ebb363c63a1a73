"""A store that lies: every lie is a sentence, and none is believed."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from axnb.errors import ObjectError, UnavailableError
from axnb.evidence.buckets import BucketLocator
from axnb.evidence.buckets.s3 import S3Bucket
from axnb.evidence.buckets.s3_client import Limits
from tests.lying_store import Answer, LyingStore, refusal

KEYS = [f"root/{number:04}" for number in range(25)]


@pytest.fixture
def store() -> Iterator[LyingStore]:
    """A store of 25 objects, ten a page, that has not lied yet."""
    with LyingStore({key: key.encode() * 10 for key in KEYS}) as lying:
        lying.page_size = 10
        yield lying
        assert {method for method, _ in lying.requests} <= {"GET", "HEAD"}


def _bucket(store: LyingStore, prefix: str = "", attempts: int = 2) -> S3Bucket:
    limits = Limits(attempts=attempts, connect_seconds=2, read_seconds=1)
    return S3Bucket(BucketLocator("s3", "snapshots", prefix), store.environment(), limits)


def _keys(bucket: S3Bucket) -> list[str]:
    return [one.key for one in bucket.objects()]


def _fails(store: LyingStore, words: str) -> None:
    """Listing fails with a sentence that has these words, the bucket, and no secret."""
    with _bucket(store) as bucket, pytest.raises(UnavailableError, match=words) as said:
        _keys(bucket)
    message = str(said.value)
    assert "s3://snapshots" in message
    for secret in ("not-to-be-shown", "AKLIAR", "SECRET WORDS", "Signature"):
        assert secret not in message
    assert said.value.exit_code == 3


# --- listings ----------------------------------------------------------------------------------


def test_an_honest_store(store: LyingStore) -> None:
    with _bucket(store) as bucket:
        assert _keys(bucket) == KEYS
        custody = bucket.custody()
    assert (custody["pages"], custody["stable"]) == (3, True)
    assert (bucket.notes, bucket.incomplete) == ([], [])


@pytest.mark.parametrize("size", [1, 3, 24, 25, 26])
def test_tokens_are_followed_and_not_counts(store: LyingStore, size: int) -> None:
    store.page_size = size
    with _bucket(store) as bucket:
        assert _keys(bucket) == KEYS
        assert bucket.custody()["stable"]


def test_a_token_may_have_odd_signs(store: LyingStore) -> None:
    store.token = lambda end: f"a+b/c=%2F&amp; d-{end}"
    with _bucket(store) as bucket:
        assert _keys(bucket) == KEYS


def test_a_token_that_leads_in_a_circle(store: LyingStore) -> None:
    store.token = lambda end: str(end % 20)
    _fails(store, "a page came twice|in a circle")
    store.page_size = 0
    store.token = lambda end: "0"
    _fails(store, "in a circle")


def test_a_page_that_repeats_under_new_tokens(store: LyingStore) -> None:
    numbers = itertools.count()
    store.token = lambda end: f"{next(numbers)}-0"
    _fails(store, "a page came twice")


def test_empty_pages_without_end(store: LyingStore) -> None:
    numbers = itertools.count()
    store.page_size = 0
    store.token = lambda end: f"{next(numbers)}-0"
    _fails(store, "pages in a row are empty")


def test_more_but_not_where(store: LyingStore) -> None:
    store.token = lambda end: ""
    _fails(store, "there is more, and not where")


def test_keys_that_come_twice_count_once(store: LyingStore) -> None:
    store.token = lambda end: str(end - 1)
    with _bucket(store) as bucket:
        assert _keys(bucket) == KEYS
        assert "listed 2 keys more than once" in bucket.notes[0]


def test_listings_that_differ(store: LyingStore) -> None:
    store.hidden = lambda listing: {KEYS[3], KEYS[7]} if listing == 1 else set()
    with _bucket(store) as bucket:
        assert len(_keys(bucket)) == 23
        # What is missing from a listing is asked for before it is called missing.
        assert bucket.find(KEYS[3]) is not None
        assert bucket.find("none") is None
        custody = bucket.custody()
    assert not custody["stable"]
    assert custody["changes"]["came"] == {"count": 2, "keys": [KEYS[3], KEYS[7]]}
    (sentence,) = bucket.incomplete
    assert sentence.startswith("unstable listing: ")
    assert KEYS[3] in sentence


def test_a_long_listing_is_repeated_in_shares(store: LyingStore) -> None:
    store.page_size = 2
    with _bucket(store, "root") as bucket:
        assert _keys(bucket) == KEYS
        store.objects |= {"root/": b"", "root/0003x": b"", "root/9": b""}
        del store.objects[KEYS[11]]
        store.requests.clear()
        changes = bucket.custody()["changes"]
        assert any("start-after" in path for _, path in store.requests)
    assert changes["came"]["keys"] == ["root/", "root/0003x", "root/9"]
    assert (changes["went"]["keys"], changes["changed"]["count"]) == ([KEYS[11]], 0)


def test_a_store_that_knows_no_beginning(store: LyingStore) -> None:
    store.page_size = 2
    with _bucket(store) as bucket:
        assert _keys(bucket) == KEYS

        def ignore(method: str, key: str | None, query: dict[str, str]) -> Answer | None:
            return store._list(query | {"start-after": ""}) if "start-after" in query else None

        store.intercept = ignore
        assert bucket.custody()["stable"]


@pytest.mark.parametrize("space", ["+", "%20", " "])
def test_a_plus_sign_or_a_space(store: LyingStore, space: str) -> None:
    keys = ["a 1", "b+02:00"]
    for chosen in (keys, keys[:1], keys[1:]):
        store.objects = dict.fromkeys(chosen, b"x")
        plus = "%2B" if space == "+" else "+"
        store.encode = lambda key, p=plus: (
            quote(key, safe="/ +").replace("+", p).replace(" ", space)
        )  # type: ignore[misc]
        with _bucket(store) as bucket:
            assert _keys(bucket) == chosen
            assert [one.data for one in bucket.read_small(bucket.objects(), 9)] == [b"x"] * len(
                chosen
            )


def test_versions_that_are_cut_off_without_saying_so(store: LyingStore) -> None:
    store.versioning = "Enabled"
    store.version_entries = [("Version", key, "v2", True) for key in KEYS[:10]]
    store.version_entries += [("Version", KEYS[0], "v1", False)]
    with _bucket(store) as bucket:
        found = list(bucket.objects())
        assert [one.version_id for one in found if one.version_id] == ["v1"]
    assert bucket.versions == "unknown"
    assert "lists 25 objects, and 10 latest versions" in bucket.notes[0]


def test_a_restored_version_under_a_marker(store: LyingStore) -> None:
    store.versioning = "Suspended"
    store.version_entries = [("Version", key, "null", True) for key in KEYS]
    store.version_entries += [
        ("DeleteMarker", "root/gone", "v2", True),
        ("Version", "root/gone", "v1", False),
    ]
    with _bucket(store) as bucket:
        *_, marker, version = bucket.objects()
    assert (marker.is_delete_marker, marker.is_latest) == (True, True)
    assert (version.is_delete_marker, version.is_latest) == (False, False)
    assert bucket.versions == "listed"


@pytest.mark.parametrize("hidden", ["versions", "uploads", "versioning"])
def test_what_the_keys_do_not_allow_is_a_note(store: LyingStore, hidden: str) -> None:
    denied = {"versioning", "versions"} if hidden == "versions" else {hidden}

    def deny(method: str, key: str | None, query: dict[str, str]) -> Answer | None:
        return refusal(403, "AccessDenied") if denied & query.keys() else None

    store.intercept = deny
    store.version_entries = [("Version", key, "null", True) for key in KEYS]
    with _bucket(store) as bucket:
        assert len(_keys(bucket)) == 25
        assert list(bucket.uploads()) == []
    notes = " ".join(bucket.notes)
    assert ("the keys do not allow it" in notes) == (hidden != "versioning")
    assert bucket.versions == {"versions": "unknown", "uploads": "none"}.get(hidden, "listed")


# --- refusals ----------------------------------------------------------------------------------


REFUSALS = [
    (403, "AccessDenied", "", "the keys do not allow it"),
    (403, "InvalidAccessKeyId", "", "does not know the keys"),
    (403, "SignatureDoesNotMatch", "", "does not know the keys"),
    (400, "ExpiredToken", "", "the keys have expired"),
    (404, "NoSuchBucket", "", "there is no such bucket"),
    (403, "RequestTimeTooSkewed", "", "the clock of this machine"),
    (503, "SlowDown", "", "asks for fewer requests"),
    (429, "TooManyRequests", "", "asks for fewer requests"),
    (500, "InternalError", "", "the store failed"),
    (502, "Strange", "", "the store failed"),
    (301, "PermanentRedirect", "", "another region"),
    (
        400,
        "AuthorizationHeaderMalformed",
        "<Region>eu-west-1</Region>",
        r"another region( \(eu-west-1\))?; set AWS_REGION",
    ),
    (400, "Strange", "", r"the store refuses \(Strange\)"),
    (400, "&lt;script&gt;", "", "broke off"),
    (501, "NotImplemented", "", "cannot do that"),
]


@pytest.mark.parametrize(("status", "code", "inner", "words"), REFUSALS)
def test_refusals(store: LyingStore, status: int, code: str, inner: str, words: str) -> None:
    store.intercept = lambda *_: refusal(status, code, inner)
    _fails(store, words)


@pytest.mark.parametrize(
    "body", [b"<html>SECRET</html>", b"<html>", b"SECRET", b"", b"{}", b"<a><b></a>"]
)
def test_what_is_no_store(store: LyingStore, body: bytes) -> None:
    store.intercept = lambda *_: (200, {"Content-Type": "text/html"}, body)
    with _bucket(store) as bucket:
        with pytest.raises(UnavailableError, match=r"does not speak S3|the store failed") as said:
            _keys(bucket)
        assert "SECRET" not in str(said.value)
        assert list(bucket.uploads()) == []
        assert "uploads that were not ended are not known" in bucket.notes[0]


def test_an_error_that_heals(store: LyingStore) -> None:
    numbers = itertools.count()

    def sometimes(method: str, key: str | None, query: dict[str, str]) -> Answer | None:
        return refusal(503, "SlowDown") if next(numbers) % 3 == 0 else None

    store.intercept = sometimes
    with _bucket(store, attempts=3) as bucket:
        assert _keys(bucket) == KEYS
        assert bucket.notes == []


def test_attempts_have_an_end(store: LyingStore) -> None:
    store.intercept = lambda *_: refusal(500, "InternalError")
    _fails(store, "the store failed")
    assert len(store.requests) == 2


def test_a_store_that_does_not_answer(store: LyingStore) -> None:
    import time

    def sleep(method: str, key: str | None, query: dict[str, str]) -> Answer | None:
        time.sleep(1.5)
        return None

    store.intercept = sleep
    _fails(store, "did not answer in time")


# --- bodies ------------------------------------------------------------------------------------


def test_a_body_that_is_cut_off(store: LyingStore) -> None:
    store.cut = lambda key, body: body[:-3] if key == KEYS[4] else body
    with _bucket(store) as bucket:
        small = {one.key: one for one in bucket.read_small(bucket.objects(), 1000)}
        assert small[KEYS[4]].data is None
        assert KEYS[4] in str(small[KEYS[4]].problem)
        assert "ended" in str(small[KEYS[4]].problem)
        assert sum(one.data is not None for one in small.values()) == 24
        with bucket.read(KEYS[4]) as stream, pytest.raises(ObjectError, match="ended"):
            list(stream)


def test_a_body_that_is_cut_off_once(store: LyingStore) -> None:
    cut = {KEYS[4]: 2}  # once for each reader

    def once(key: str, body: bytes) -> bytes:
        cut[key] = cut.get(key, 0) - 1
        return body[:5] if cut[key] >= 0 else body

    store.cut = once
    with _bucket(store, attempts=3) as bucket:
        assert all(one.data for one in bucket.read_small(bucket.objects(), 1000))


def test_a_body_of_other_bytes(store: LyingStore) -> None:
    store.cut = lambda key, body: body[::-1] if key == KEYS[4] else body
    with _bucket(store) as bucket:
        small = {one.key: one for one in bucket.read_small(bucket.objects(), 1000)}
    assert "is damaged" in str(small[KEYS[4]].problem)
    assert small[KEYS[5]].sha256 == hashlib.sha256(KEYS[5].encode() * 10).hexdigest()


def test_an_etag_that_only_looks_like_an_md5(store: LyingStore) -> None:
    store.etags = dict.fromkeys(KEYS, "0" * 32)
    store.headers = {"x-amz-server-side-encryption": "aws:kms"}
    with _bucket(store) as bucket:
        assert all(one.data for one in bucket.read_small(bucket.objects(), 1000))
    # The quick way gave up after a few, instead of reading all of them twice.
    assert sum(store.asked.values()) < len(KEYS) * 2


def test_an_object_of_another_etag_than_listed(store: LyingStore) -> None:
    with _bucket(store) as bucket:
        listed = list(bucket.objects())
        store.objects[KEYS[0]] = store.objects[KEYS[0]][::-1]
        first, second, *_ = bucket.read_small(listed, 1000)
    assert "changed since it was listed" in str(first.problem)
    assert second.data is not None


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "AccessDenied", "do not allow it"),
        (403, "InvalidObjectState", "lies in an archive"),
        (404, "NoSuchKey", "not there"),
        (500, "InternalError", "failed"),
        (403, "SignatureDoesNotMatch", "does not know the keys"),
        (400, "KeyTooLongError", "refuses"),
    ],
)
def test_one_object_does_not_keep_the_others(
    store: LyingStore, status: int, code: str, words: str
) -> None:
    store.intercept = lambda m, key, q: refusal(status, code) if key == KEYS[4] else None
    with _bucket(store) as bucket:
        small = {one.key: one for one in bucket.read_small(bucket.objects(), 1000)}
        assert words in str(small[KEYS[4]].problem)
        assert sum(one.data is not None for one in small.values()) == 24
        assert "s3://snapshots/root/0004 cannot be read" in str(small[KEYS[4]].problem)


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "ExpiredToken", "the keys have expired"),
        (403, "InvalidAccessKeyId", "does not know the keys"),
        (500, "InternalError", "fails for every object"),
        (503, "SlowDown", "fails for every object"),
    ],
)
def test_a_store_that_fails_as_a_whole(
    store: LyingStore, status: int, code: str, words: str
) -> None:
    with _bucket(store, attempts=1) as bucket:
        listed = list(bucket.objects())
        store.intercept = lambda *_: refusal(status, code)
        with pytest.raises(UnavailableError, match=words):
            list(bucket.read_small(listed, 1000))


def test_names_of_strangers_are_shown_safely(store: LyingStore) -> None:
    store.objects = {"a\x1b[31m\n<b>\u202e": b"x"}
    with _bucket(store) as bucket:
        (listed,) = bucket.objects()
        store.objects = {}
        (small,) = bucket.read_small([listed], 10)
    assert str(small.problem).isprintable()
