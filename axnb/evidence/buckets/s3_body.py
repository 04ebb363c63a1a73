"""The body of an answer of S3, and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import BotoCoreError, FlexibleChecksumError, IncompleteReadError
from urllib3.exceptions import HTTPError

from axnb.errors import ObjectError
from axnb.evidence.buckets.s3_errors import BrokenBodyError
from axnb.evidence.buckets.streams import PIECE, ObjectStream, md5_of

#: With these, an ETag that looks like an MD5 is none.
_NO_MD5 = ("aws:kms", "aws:kms:dsse")


def opened(answer: dict[str, Any], name: str) -> ObjectStream:
    """The stream of an answer to GetObject."""
    body = answer["Body"]
    etag = answer.get("ETag", "").strip('"') or None
    encrypted = "SSECustomerAlgorithm" in answer or answer.get("ServerSideEncryption") in _NO_MD5
    size = answer.get("ContentLength")
    if not isinstance(size, int):
        body.close()
        raise ObjectError(f"{name} cannot be read: the store does not say how long it is.")
    return ObjectStream(
        name,
        _pieces(body, name),
        body.close,
        size=size,
        etag=etag,
        md5=None if encrypted else md5_of(etag),
    )


def _pieces(body: Any, name: str) -> Iterator[bytes]:
    try:
        while piece := body.read(PIECE):
            yield piece
    except FlexibleChecksumError as err:
        raise ObjectError(f"{name} is damaged: its bytes have another checksum.") from err
    except IncompleteReadError as err:
        raise BrokenBodyError(f"{name} ended before its end; read it again.") from err
    except (BotoCoreError, HTTPError, OSError) as err:
        raise BrokenBodyError(f"{name} broke off while it was read; read it again.") from err
