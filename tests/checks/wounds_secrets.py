"""Wounds of secrets: in payloads, in configurations, in a bucket. All values are made up."""

from __future__ import annotations

from dataclasses import replace

from axnb.secrets.keeping import Place, Secret, Where
from axnb.secrets.scanner import Hit
from axnb.testing.logs import LogBuilder, answer, call, say
from tests.checks.pairs import Evidence, Pair, beside, changed, healthy, put, rewrite, talk

_KEY = "AIza" + "Sy0123456789abcdefghijABCDEFGHIJ_-x"


def _said(text: str) -> LogBuilder:
    log = LogBuilder("G8")
    log.turn("c", "hi", say(text), say("b"))
    return log


def _twice() -> LogBuilder:
    """One secret at two places of a conversation, the same one in another."""
    log = _said(f"use {_KEY}")
    log.turn(
        "c", "go on", call("deploy", {"api_key": _KEY}, "a"), answer({"ok": True}, call_id="a")
    )
    log.turn("d", f"my key is\n{_KEY}")
    return log


def _found(place: Place, *, is_partial: bool = False, digest: str = "ab" * 32) -> Secret:
    where = Where("bucket", place, "snapshots/s", "snapshots/s/pages.img.zstd", "pages.img")
    return Secret(where, Hit("google-api-key", None, 4096, 39, digest, is_partial))


def _elsewhere(secret: Secret) -> Secret:
    where = replace(secret.where, snapshot="snapshots/t", object="snapshots/t/pages.img.zstd")
    return replace(secret, where=where)


def _with(*secrets: Secret) -> Evidence:
    return Evidence(healthy(), secrets=secrets)


_CONFIG = '"agent_config":{"env":{"GEMINI_API_KEY":"not-a-real-key-0001"}}'

PAIRS: dict[str, list[Pair]] = {
    "AX601": [
        Pair(
            lambda: _with(_found("memory"), _found("oci-env"), _elsewhere(_found("tar-member"))),
            [(None, None, []), (None, None, [])],
            lambda: _with(_found("memory", is_partial=True), _found("asset-url")),
        ),
        Pair(lambda: _with(_found("file")), [(None, None, [])], healthy),
    ],
    "AX602": [
        Pair(
            lambda: _with(_found("asset-url"), _found("manifest")),
            [(None, None, [])],
            lambda: _with(_found("memory")),
        )
    ],
    "AX603": [
        Pair(
            changed(
                talk, rewrite(1, '"agent_id":"antigravity"', f'"agent_id":"antigravity",{_CONFIG}')
            ),
            [("c", 1, [1])],
            changed(
                talk,
                rewrite(
                    1,
                    '"agent_id":"antigravity"',
                    '"agent_id":"antigravity","agent_config":{"env":{"GEMINI_API_KEY":"${KEY}"}}',
                ),
            ),
        )
    ],
    "AX604": [
        Pair(
            lambda: _said("the key is DEMO_API_KEY=not-a-real-key-0001\nthanks"),
            [("c", 2, [2])],
            lambda: _said("the key is DEMO_API_KEY=********\nthanks"),
        ),
        Pair(_twice, [("c", 2, [2]), ("d", 1, [1])], beside(talk)),
        # A row that AX cannot read holds its secrets all the same.
        Pair(
            changed(talk, put(6, '{"conversation_id":"c","token":"not-a-real-1"')),
            [("c", 6, [6])],
            changed(talk, put(6, '{"conversation_id":"c","token":"<redacted>"')),
        ),
    ],
    "AX605": [
        Pair(
            lambda: _said("Incorrect API key provided: sk-AB***********YZ"),
            [("c", 2, [2])],
            lambda: _said("Incorrect API key provided: sk-***********"),
        ),
        Pair(
            lambda: _with(_found("memory", is_partial=True)),
            [(None, None, [])],
            lambda: _with(_found("memory")),
        ),
    ],
}
