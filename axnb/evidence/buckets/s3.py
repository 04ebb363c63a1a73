"""A bucket of S3, or of a store that speaks its language: list and get only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal
from urllib.parse import unquote, unquote_plus

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from axnb.errors import SourceError, UnavailableError
from axnb.evidence.buckets import s3_errors, s3_pages
from axnb.evidence.buckets.fast import FastReader
from axnb.evidence.buckets.listing import Listing
from axnb.evidence.buckets.locators import BucketLocator
from axnb.evidence.buckets.objects import SmallObject, StoredObject, Upload
from axnb.evidence.buckets.parallel import in_order
from axnb.evidence.buckets.s3_body import opened
from axnb.evidence.buckets.s3_client import Limits, client_for, keys_of, place_of, session_for
from axnb.evidence.buckets.small import as_object, read_whole
from axnb.evidence.buckets.streams import ObjectStream
from axnb.text import is_text

#: What boto raises; a hook of ours among it, and what it does not check before it writes a URL.
FAILURES = (
    BotoCoreError,
    ClientError,
    ResponseParserError,
    UnicodeEncodeError,
    s3_errors.NoStoreError,
    s3_errors.OtherRegionError,
)

_NEXT_PAGE = {"NextContinuationToken": "ContinuationToken"}
_NEXT_VERSIONS = {"NextKeyMarker": "KeyMarker", "NextVersionIdMarker": "VersionIdMarker"}
_NEXT_UPLOADS = {"NextKeyMarker": "KeyMarker", "NextUploadIdMarker": "UploadIdMarker"}

#: Pages that one thread lists when a listing is done again.
_SHARE = 4

#: Objects in a row that fail for a passing reason until the store as a whole is said to fail.
_MOST_PASSING = 16


class S3Bucket:
    """A bucket behind an S3 API; a context manager."""

    kind = "bucket"

    def __init__(
        self, locator: BucketLocator, environment: Mapping[str, str], limits: Limits | None = None
    ) -> None:
        self._locator = locator
        self._limits = limits or Limits()
        self._where = place_of(locator, environment)
        self._environment = environment
        self.place = str(locator)
        at = f" at {self._where.endpoint}" if self._where.endpoint else ""
        self.locator = f"{locator}{at}"
        self.notes: list[str] = []
        self.incomplete: list[str] = []
        self.versions: Literal["none", "listed", "unknown"] = "unknown"
        self._listing = Listing()
        self._plus_is_space: bool | None = None

    def __enter__(self) -> S3Bucket:
        try:
            self._session = session_for(self._environment)
            self._keys = keys_of(self._session, self.place)
            self._client = client_for(self._session, self._locator, self._where, self._limits)
        except (*FAILURES, ValueError) as err:
            raise s3_errors.translated(err, self.place, "listed") from err
        s3_pages.register(self._client.meta.events)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    # --- listing -------------------------------------------------------------------------------

    def objects(self) -> Iterator[StoredObject]:
        """Every current object under the prefix, then noncurrent versions and delete markers.

        Raises UnavailableError where the listing does not come to its end.
        """
        self._listing = Listing()
        yield from self._current(self._listing)
        self._listing.is_complete = True
        yield from self._old()
        if self._listing.repeated:
            self.notes.append(
                f"{self.place} listed {self._listing.repeated:,} keys more than once; each counts "
                "once."
            )

    def _current(self, listing: Listing) -> Iterator[StoredObject]:
        """The current objects, page after page."""
        for found in self._pages(self._scope()):
            new = listing.add_page(found)
            if found and not new:
                raise UnavailableError(
                    f"{self.place} cannot be listed to its end: a page came twice; the store is "
                    "broken, or a proxy before it."
                )
            yield from new

    def _pages(self, given: dict[str, str], *, ahead: bool = True) -> Iterator[list[StoredObject]]:
        ask = self._asking(self._client.list_objects_v2)
        for page in s3_pages.pages(ask, self.place, given, _NEXT_PAGE, ahead=ahead):
            yield self._decoded(page)

    def _old(self) -> Iterator[StoredObject]:
        """Noncurrent versions and delete markers; sets `versions`."""
        self.versions = "unknown"
        if self._is_unversioned():
            self.versions = "none"
            return
        ask = self._asking(self._client.list_object_versions)
        latest = 0
        try:
            for page in s3_pages.pages(ask, self.place, self._scope(), _NEXT_VERSIONS):
                self._listing.note_page()
                for found in self._decoded(page):
                    if found.is_latest and not found.is_delete_marker:
                        latest += 1
                    elif self._listing.add_version(found):
                        yield found
        except SourceError as err:
            self.notes.append(f"noncurrent versions and delete markers are not known: {err}")
            return
        if latest != self._listing.current:
            self.notes.append(
                f"noncurrent versions and delete markers of {self.place} are not known: the store "
                f"lists {self._listing.current:,} objects, and {latest:,} latest versions."
            )
            return
        self.versions = "listed"

    def _is_unversioned(self) -> bool:
        """Does the store say that the bucket never kept versions?"""
        try:
            answer = self._client.get_bucket_versioning(Bucket=self._locator.bucket)
        except FAILURES:
            return False  # the list of versions will tell, or say why not
        return "Status" not in answer

    def uploads(self) -> Iterator[Upload]:
        """Multipart uploads that were not ended; a note says why, if they cannot be known."""
        ask = self._asking(self._client.list_multipart_uploads)
        try:
            for page in s3_pages.pages(ask, self.place, self._scope(), _NEXT_UPLOADS):
                for found in page.get("Uploads", ()):
                    yield Upload(found["Key"], found["UploadId"], found.get("Initiated"))
        except SourceError as err:
            self.notes.append(f"uploads that were not ended are not known: {err}")

    def _scope(self) -> dict[str, str]:
        prefix = self._locator.prefix
        return {"Bucket": self._locator.bucket, "Prefix": f"{prefix}/" if prefix else ""}

    def _asking(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        """An operation of boto whose errors are in our words."""

        def ask(**given: str) -> Any:
            try:
                return operation(**given)
            except FAILURES as err:
                raise s3_errors.translated(err, self.place, "listed") from err

        return ask

    def _decoded(self, page: dict[str, Any]) -> list[StoredObject]:
        entries: s3_pages.Entries = page[s3_pages.ENTRIES]
        if self._plus_is_space is None and (plus := entries.plus()) is not None:
            key, told = plus
            self._plus_is_space = self._reads_plus(key) if told is None else told
        return entries.objects(plus_is_space=self._plus_is_space is not False)

    def _reads_plus(self, key: str) -> bool:
        """S3 lists a space as `+`; some stores list a plus sign so. Which is it here?"""
        try:
            return bool(self.find(unquote_plus(key))) or not self.find(unquote(key))
        except SourceError:
            return True

    # --- custody -------------------------------------------------------------------------------

    def custody(self) -> dict[str, Any]:
        """What was listed, and whether a second listing is equal; call it last."""
        if not self._listing.is_complete:
            for _ in self.objects():
                continue
        changes = self._listing.compared(self._listed_again())
        if changes:
            self.incomplete.append(changes.sentence(self.place))
        return {
            **self._listing.custody(),
            "endpoint": self._where.endpoint,
            "region": self._where.region,
            "versions": self.versions,
            "stable": not changes,
            "changes": changes.custody(),
        }

    def _listed_again(self) -> Listing:
        """A second listing; in shares of some pages at a time where keys come in order."""
        ends = self._listing.page_ends[_SHARE - 1 : -1 : _SHARE]
        if not (ends and self._listing.in_order and all(map(is_text, ends))):
            return self._whole_again()
        again = Listing()
        shares = list(zip(["", *ends], [*ends, None], strict=True))
        for found in in_order(lambda s: self._share(*s), shares, self._limits.threads):
            if found is None:
                return self._whole_again()
            again.add_page(found)
        return again

    def _whole_again(self) -> Listing:
        again = Listing()
        for _ in self._current(again):
            continue
        return again

    def _share(self, after: str, last: str | None) -> list[StoredObject] | None:
        """Objects after a key, up to another; None if the store does not begin there."""
        found: list[StoredObject] = []
        given = self._scope() | ({"StartAfter": after} if after else {})
        first, end = after.encode(), last.encode() if last is not None else None
        for page in self._pages(given, ahead=False):
            for one in page:
                key = one.key.encode(errors="surrogateescape")
                if key <= first:
                    return None
                if end is not None and key > end:
                    return found
                found.append(one)
                if key == end:
                    return found
        return found

    # --- reading -------------------------------------------------------------------------------

    def name(self, key: str) -> str:
        """What a message calls an object."""
        return self._locator.of(key)

    def find(self, key: str, version_id: str | None = None) -> StoredObject | None:
        """Ask for one object by its key: None if the store says that it is not there."""
        try:
            answer = self._client.head_object(**self._object(key, version_id))
        except FAILURES as err:
            if s3_errors.is_missing(err):
                return None
            raise s3_errors.translated(err, self.name(key)) from err
        return StoredObject(
            key,
            answer["ContentLength"],
            answer.get("ETag", "").strip('"') or None,
            answer.get("LastModified"),
            version_id,
            storage_class=answer.get("StorageClass"),
        )

    def read(self, key: str, version_id: str | None = None) -> ObjectStream:
        """The bytes of an object; it is read again from its beginning if you ask again."""
        try:
            answer = self._client.get_object(**self._object(key, version_id))
        except FAILURES as err:
            raise s3_errors.translated(err, self.name(key)) from err
        return opened(answer, self.name(key))

    def read_small(self, wanted: Iterable[StoredObject | str], limit: int) -> Iterator[SmallObject]:
        """Many objects of at most `limit` bytes, in the order in which they are wanted."""
        fast = FastReader.open(self._locator.bucket, self._where, self._keys, self._limits)

        def one(item: StoredObject | str) -> SmallObject:
            asked = as_object(item)
            found = fast.get(asked) if fast and asked.size <= limit else None
            return found or self._carefully(asked, limit)

        passing = 0
        for found in in_order(one, wanted, self._limits.threads):
            passing = passing + 1 if isinstance(found.problem, s3_errors.PassingError) else 0
            if passing >= _MOST_PASSING:
                raise UnavailableError(f"{self.place} fails for every object: {found.problem}")
            yield found

    def _carefully(self, wanted: StoredObject, limit: int) -> SmallObject:
        """By boto; a body that breaks off is asked for again, as boto does for what is no body."""
        found = read_whole(self, wanted, limit)
        for _ in range(self._limits.attempts - 1):
            if not isinstance(found.problem, s3_errors.BrokenBodyError):
                break
            found = read_whole(self, wanted, limit)
        return found

    def _object(self, key: str, version_id: str | None) -> dict[str, str]:
        version = {"VersionId": version_id} if version_id is not None else {}
        return {"Bucket": self._locator.bucket, "Key": key, **version}
