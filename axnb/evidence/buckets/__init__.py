"""Object stores as sources: buckets and folders, of which nothing is ever written."""

from __future__ import annotations

from collections.abc import Mapping

from axnb.errors import UsageError
from axnb.evidence.buckets.locators import BucketLocator
from axnb.evidence.buckets.objects import Bucket

__all__ = ["Bucket", "BucketLocator", "open_bucket"]


def open_bucket(locator: BucketLocator, environment: Mapping[str, str]) -> Bucket:
    """The reader for a bucket, to be opened by `with`.

    Raises UsageError for settings that cannot be meant.
    """
    if locator.scheme == "file":
        from axnb.evidence.buckets.folder import FileBucket

        return FileBucket(locator)
    try:
        import boto3  # noqa: F401 # 0.2 s, so only where there is a bucket
    except ImportError as err:
        raise UsageError("a bucket needs the extra s3: install axnb[s3].") from err
    from axnb.evidence.buckets.s3 import S3Bucket

    return S3Bucket(locator, environment)
