"""What went wrong in a store of objects, in one sentence and without a secret.

The messages of boto3 are never shown: they hold addresses, and what a store writes into them.
"""

from __future__ import annotations

import re
from typing import Any

from axnb.errors import ObjectError, SourceError, UnavailableError

_KEYS = "look at AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_EXPIRED = "the keys have expired; fetch new ones"
_REFUSED = f"the store does not know the keys, or they are not a pair; {_KEYS}"
_DENIED = "the keys do not allow it"
_NOT_THERE = "it is not there"
_BUSY = "the store asks for fewer requests, also after several attempts; try again later"
_FAILS = "the store failed, also after several attempts; try again later"
_CLOCK = "the clock of this machine and that of the store differ; set the clock"
_ARCHIVED = "it lies in an archive, and must be restored from there first"
_MARKER = "it is a delete marker and has no bytes"
_REGION = "the bucket lies in another region{}; set AWS_REGION"

#: Codes of S3, of MinIO and of Google's interoperable endpoint; HTTP's where a body has none.
_REASONS = {
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "InvalidAccessKeyId": _REFUSED,
    "SignatureDoesNotMatch": _REFUSED,
    "InvalidToken": _REFUSED,
    "InvalidSecurity": _REFUSED,
    "401": _REFUSED,
    "AccessDenied": _DENIED,
    "AllAccessDisabled": _DENIED,
    "403": _DENIED,
    "NoSuchBucket": "there is no such bucket",
    "NoSuchKey": _NOT_THERE,
    "NoSuchVersion": _NOT_THERE,
    "404": _NOT_THERE,
    "PermanentRedirect": _REGION,
    "TemporaryRedirect": _REGION,
    "AuthorizationHeaderMalformed": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "301": _REGION,
    "307": _REGION,
    "RequestTimeTooSkewed": _CLOCK,
    "SlowDown": _BUSY,
    "Throttling": _BUSY,
    "ThrottlingException": _BUSY,
    "RequestLimitExceeded": _BUSY,
    "TooManyRequests": _BUSY,
    "ServiceUnavailable": _BUSY,
    "429": _BUSY,
    "503": _BUSY,
    "InternalError": _FAILS,
    "500": _FAILS,
    "502": _FAILS,
    "504": _FAILS,
    "InvalidObjectState": _ARCHIVED,
    "MethodNotAllowed": _MARKER,
    "405": _MARKER,
    "NotImplemented": "the store cannot do that",
    "501": "the store cannot do that",
}

_NO_NAME = "no such name can be asked for"
_BROKE_OFF = "the connection to the store broke off, also after several attempts"
_TOO_SLOW = "the store did not answer in time, also after several attempts"

#: Reasons that are those of one object, and say nothing about another.
_OF_ONE_OBJECT = {_DENIED, _NOT_THERE, _ARCHIVED, _MARKER, _NO_NAME}

#: Reasons after which another object may well be read; many of them in a row are the store's.
_PASSING = {_BUSY, _FAILS, _BROKE_OFF, _TOO_SLOW}

_CODE = re.compile(r"[A-Za-z0-9.]{1,64}")


class PassingError(ObjectError):
    """An object could not be read, for a reason that may soon hold for all or for none."""


class BrokenBodyError(PassingError):
    """The bytes of an object broke off."""


class OtherRegionError(Exception):
    """A request would have to ask where the bucket lies."""


class NoStoreError(Exception):
    """What answered is no store."""


def code_of(error: Exception) -> str:
    """The store's code for a refusal, or an empty text."""
    response = getattr(error, "response", None)
    found = (response or {}).get("Error", {}).get("Code")
    return found if isinstance(found, str) and _CODE.fullmatch(found) else ""


def is_missing(error: Exception) -> bool:
    """Does the store say that an object is not there?"""
    return code_of(error) in ("404", "NoSuchKey", "NoSuchVersion")


def translated(error: Exception, name: str, doing: str = "read") -> SourceError:
    """An error of boto3 in our words; `name` is that of a bucket or an object.

    ObjectError if `doing` is "read" and other objects may still be readable.
    """
    if isinstance(error, SourceError):
        return error
    code = code_of(error)
    if not code:
        reason = _reason_without_code(error)
    elif _REASONS.get(code) is _REGION:
        reason = _REGION.format(_region(error))
    else:
        reason = _REASONS.get(code) or _reason_by_status(error, code)
    sentence = f"{name} cannot be {doing}: {reason}."
    # A signature that was good enough to list is so still: it is the object's key that the store
    # and we spell differently. What we never heard of may be about the object, too.
    unsure = code and (code == "SignatureDoesNotMatch" or code not in _REASONS)
    if doing == "read" and (reason in _PASSING or unsure):
        return PassingError(sentence)
    if doing == "read" and reason in _OF_ONE_OBJECT:
        return ObjectError(sentence)
    return UnavailableError(sentence)


def _reason_by_status(error: Any, code: str) -> str:
    status = str(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))
    return _REASONS.get(status if status >= "429" else "", f"the store refuses ({code})")


def _region(error: Any) -> str:
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    found = headers.get("x-amz-bucket-region") or error.response["Error"].get("Region") or ""
    return f" ({found})" if re.fullmatch(r"[a-z0-9-]{2,30}", str(found)) else ""


def _reason_without_code(error: Exception) -> str:
    from botocore import exceptions as boto
    from botocore.parsers import ResponseParserError

    if isinstance(error, OtherRegionError):
        return _REGION.format("")
    if isinstance(error, boto.SSLError):
        return "the store's certificate is not trusted, or it speaks no TLS; see AWS_CA_BUNDLE"
    if isinstance(error, boto.ConnectTimeoutError | boto.EndpointConnectionError):
        return "the store cannot be reached; look at AWS_ENDPOINT_URL and the network"
    if isinstance(error, boto.ProxyConnectionError):
        return "the proxy of the environment cannot be reached"
    if isinstance(error, boto.ReadTimeoutError):
        return _TOO_SLOW
    if isinstance(error, boto.NoCredentialsError | boto.PartialCredentialsError):
        return f"there are no keys for it; {_KEYS}"
    if isinstance(error, boto.ProfileNotFound):
        return "there is no such profile; look at AWS_PROFILE"
    if isinstance(error, boto.CredentialRetrievalError | boto.UnauthorizedSSOTokenError):
        return "the keys of the profile cannot be fetched; sign in again"
    if isinstance(error, ResponseParserError | NoStoreError):
        return "what answers does not speak S3; look at AWS_ENDPOINT_URL"
    if isinstance(error, boto.ParamValidationError | UnicodeEncodeError):
        return _NO_NAME
    return _BROKE_OFF
