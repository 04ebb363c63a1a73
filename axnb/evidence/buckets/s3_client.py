"""A client of S3 that can list and get, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from axnb.errors import UnavailableError, UsageError
from axnb.evidence.buckets.locators import BucketLocator
from axnb.evidence.buckets.objects import THREADS
from axnb.evidence.buckets.s3_errors import OtherRegionError, translated

#: All that is ever asked of a store. A request for anything else is not sent.
ALLOWED = frozenset(
    {
        "GetBucketVersioning",
        "GetObject",
        "HeadObject",
        "ListMultipartUploads",
        "ListObjectVersions",
        "ListObjectsV2",
    }
)

#: Google's endpoint for programs that speak S3, with HMAC keys. It was not tested against.
GOOGLE = "https://storage.googleapis.com"

#: Sources of keys that ask a service of the machine, and one that reads another environment.
_LEFT_OUT = ("env", "iam-role", "container-role")

_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@dataclass(frozen=True)
class Limits:
    """How long is waited and how often it is tried again."""

    attempts: int = 4
    connect_seconds: float = 10
    read_seconds: float = 60
    threads: int = THREADS


@dataclass(frozen=True)
class Keys:
    """What signs a request; never printed."""

    access: str
    secret: str
    token: str | None

    def __repr__(self) -> str:
        return "Keys(…)"


@dataclass(frozen=True)
class Place:
    """Where a store answers."""

    #: None means Amazon's own, by region.
    endpoint: str | None
    region: str
    ca_bundle: str | None


def place_of(locator: BucketLocator, environment: Mapping[str, str]) -> Place:
    """Read the usual variables. Raises UsageError for an endpoint that holds more than a place."""
    named = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    if named:
        _refuse_odd(named)
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    google = locator.scheme == "gs" and not named
    endpoint = named.rstrip("/") if named else GOOGLE if google else None
    default = "auto" if google else "us-east-1"
    return Place(endpoint, region or default, environment.get("AWS_CA_BUNDLE") or None)


def _refuse_odd(endpoint: str) -> None:
    try:
        parts = urlsplit(endpoint)
        plain = not (parts.query or parts.fragment or "@" in parts.netloc) and parts.port != 0
    except ValueError:
        plain = False
    if not plain or parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("AWS_ENDPOINT_URL is not of the form https://HOST:PORT.")


def session_for(environment: Mapping[str, str]) -> Any:
    """A session that takes keys from the environment or a profile, and from no service."""
    session = botocore.session.Session(profile=environment.get("AWS_PROFILE") or None)
    for variable, setting in (
        ("AWS_CONFIG_FILE", "config_file"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials_file"),
    ):
        if environment.get(variable):
            session.set_config_variable(setting, environment[variable])
    resolver = session.get_component("credential_provider")
    for provider in _LEFT_OUT:
        resolver.remove(provider)
    access, secret = (environment.get(name) for name in _KEYS)
    if bool(access) != bool(secret):
        raise UsageError("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set.")
    if access:
        token = environment.get("AWS_SESSION_TOKEN") or None
        session.set_credentials(access, secret, token)
    return session


def keys_of(session: Any, place: str) -> Keys:
    """The keys as they are now. Raises UnavailableError if there are none."""
    try:
        found = session.get_credentials()
        frozen = found.get_frozen_credentials() if found else None
    except BotoCoreError as err:
        raise translated(err, place, "listed") from err
    if frozen is None or not frozen.access_key:
        raise UnavailableError(
            f"{place} cannot be listed: there are no keys for it; set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
        )
    return Keys(frozen.access_key, frozen.secret_key, frozen.token)


def client_for(session: Any, locator: BucketLocator, place: Place, limits: Limits) -> Any:
    """A client of boto that refuses to send anything but `ALLOWED`."""
    config = Config(
        region_name=place.region,
        signature_version="s3v4",
        retries={"mode": "standard", "total_max_attempts": limits.attempts},
        connect_timeout=limits.connect_seconds,
        read_timeout=limits.read_seconds,
        max_pool_connections=limits.threads + 2,
        s3={"addressing_style": "path" if place.endpoint else "auto"},
        # Google's endpoint knows no checksums of Amazon's.
        response_checksum_validation="when_required" if _is_google(place) else "when_supported",
    )
    client = session.create_client(
        "s3", endpoint_url=place.endpoint, config=config, verify=place.ca_bundle
    )
    client.meta.events.register_first("before-call.s3", _refuse_others)
    return client


def _is_google(place: Place) -> bool:
    return place.endpoint == GOOGLE


def _refuse_others(model: Any, **_: Any) -> None:
    """Hold back what is not allowed: boto itself would ask where a bucket of another region is."""
    if model.name not in ALLOWED:
        raise OtherRegionError(model.name)
