"""Where snapshots are put: a folder, or a bucket that speaks S3."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

from axnb.errors import SourceError, UnavailableError
from axnb.runtimes.files import write_whole
from axnb.text import safe

if TYPE_CHECKING:
    from axnb.evidence.buckets.locators import BucketLocator


#: What the name of a run's folder begins with; eight hexadecimal digits follow.
RUN_FOLDER = "axnb-drill-"
_IN_RUN_FOLDER = re.compile(rf"(?<!/)/{RUN_FOLDER}[0-9a-f]{{8}}(?=/|$)")


def in_run_folder(url: str) -> bool:
    """Does an URL lie in the folder of a run? The name of a bucket is none."""
    return bool(_IN_RUN_FOLDER.search(url))


class Store(Protocol):
    """Objects by key. Every method raises SourceError if the store cannot be used."""

    @property
    def prefix(self) -> str:
        """What all keys begin with, without a slash at its end; may be empty."""

    def names(self, folder: str) -> set[str]:
        """Names of the objects right below a key."""

    def get(self, key: str, most: int) -> bytes | None:
        """An object's bytes, None if it is not there; one of more than `most` bytes is refused."""

    def put(self, key: str, data: bytes) -> None:
        """Write an object that is not there yet."""

    def clear(self) -> None:
        """Delete every object below the prefix, and the folder where that is one."""


def open_store(url: str, environment: Mapping[str, str] = os.environ) -> Store:
    """The store that a URL names: s3://, gs:// (keys and address as `axnb map` reads them), file://
    or a folder, which is made. Raises UsageError or SourceError."""
    from axnb.evidence.buckets.locators import BucketLocator

    path = unquote(urlsplit(url).path) if url.startswith("file:///") else url
    # A word without a slash may be the name of a variable.
    if path != url or ("://" not in url and "/" in url):
        try:
            Path(path).mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as err:
            name = safe(_IN_RUN_FOLDER.sub("", path)[:300])
            raise UnavailableError(f"{name} is no folder that can be made.") from err
    locator = BucketLocator.parse(url, environment)
    return _Folder(locator) if locator.scheme == "file" else _S3(locator, environment)


class _Folder:
    def __init__(self, locator: BucketLocator) -> None:
        self._locator = locator
        self._folder = Path(locator.bucket)
        self.prefix = ""

    def names(self, folder: str) -> set[str]:
        try:
            return {name for name in os.listdir(self._folder / folder) if not name.startswith(".")}
        except FileNotFoundError:
            return set()
        except OSError as err:
            raise self._failed(folder, "listed", err) from err

    def get(self, key: str, most: int) -> bytes | None:
        try:
            with (self._folder / key).open("rb") as file:
                data = file.read(most + 1)
        except FileNotFoundError:
            return None
        except OSError as err:
            raise self._failed(key, "read", err) from err
        return _checked(data, most, _name(self._locator, key))

    def put(self, key: str, data: bytes) -> None:
        try:
            write_whole(self._folder / key, data, once=True)
        except OSError as err:
            raise self._failed(key, "written", err) from err

    def clear(self) -> None:
        try:
            shutil.rmtree(self._folder)
        except FileNotFoundError:
            return
        except OSError as err:
            raise self._failed("", "deleted", err) from err

    def _failed(self, key: str, doing: str, err: OSError) -> SourceError:
        name = _name(self._locator, key)
        return UnavailableError(f"{name} cannot be {doing}: {err.strerror or 'unknown error'}.")


class _S3:
    def __init__(self, locator: BucketLocator, environment: Mapping[str, str]) -> None:
        self._locator = locator
        self.prefix = locator.prefix
        self._client = _client(locator, environment)

    def names(self, folder: str) -> set[str]:
        listed = self._ask("list_objects_v2", folder, "listed", Prefix=f"{folder}/")
        keys = [item["Key"] for item in listed.get("Contents", [])]
        return {key.removeprefix(f"{folder}/") for key in keys}

    def get(self, key: str, most: int) -> bytes | None:
        from axnb.evidence.buckets.s3_errors import is_missing

        try:
            found = self._ask("get_object", key, "read", Key=key)
            data = found["Body"].read(most + 1)
        except SourceError as err:
            if err.__cause__ is not None and is_missing(err.__cause__):  # type: ignore[arg-type]
                return None
            raise
        except Exception as err:  # boto's readers raise what urllib3 raises
            raise UnavailableError(
                f"{_name(self._locator, key)} cannot be read: it broke off."
            ) from err
        return _checked(data, most, _name(self._locator, key))

    def put(self, key: str, data: bytes) -> None:
        self._ask("put_object", key, "written", Key=key, Body=data, IfNoneMatch="*")

    def clear(self) -> None:
        # With a slash at its end it is the prefix of this folder, and of no other.
        prefix, after = f"{self.prefix}/", f"{self.prefix}/"
        while found := self._ask(
            "list_objects_v2", prefix, "listed", Prefix=prefix, StartAfter=after
        ).get("Contents"):
            for item in found:
                after = item["Key"]
                self._ask("delete_object", after, "deleted", Key=after)

    def _ask(self, operation: str, key: str, doing: str, **given: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        from axnb.evidence.buckets.s3_errors import translated

        try:
            return getattr(self._client, operation)(Bucket=self._locator.bucket, **given)
        except (BotoCoreError, ClientError) as err:
            raise translated(err, _name(self._locator, key), doing) from err


def _client(locator: BucketLocator, environment: Mapping[str, str]) -> Any:
    """A client that writes, with the keys and the address that `axnb map` reads with."""
    try:
        from botocore.config import Config

        from axnb.evidence.buckets import s3_client
    except ImportError:
        raise UnavailableError(f"{locator} needs boto3: install axnb[s3].") from None
    place = s3_client.place_of(locator, environment)
    session = s3_client.session_for(environment)
    s3_client.keys_of(session, str(locator))
    limits = s3_client.Limits()
    config = Config(
        region_name=place.region,
        signature_version="s3v4",
        retries={"mode": "standard", "total_max_attempts": limits.attempts},
        connect_timeout=limits.connect_seconds,
        read_timeout=limits.read_seconds,
        s3={"addressing_style": "path" if place.endpoint else "auto"},
        # Google's endpoint knows no checksums of Amazon's.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    return session.create_client(
        "s3", endpoint_url=place.endpoint, config=config, verify=place.ca_bundle
    )


def _name(locator: BucketLocator, key: str) -> str:
    """What a message calls an object: the same in every run."""
    return _IN_RUN_FOLDER.sub("", locator.of(key))


def _checked(data: bytes, most: int, name: str) -> bytes:
    if len(data) > most:
        raise UnavailableError(f"{name} is larger than any object of a drill.")
    return data
