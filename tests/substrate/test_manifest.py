"""Manifests of every generation, hostile ones, and what is inferred from them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.substrate.encoding import read
from axnb.substrate.errors import ManifestError, ObjectError
from axnb.substrate.generations import (
    GENERATIONS,
    Encodings,
    Files,
    Inferred,
    compare_files,
    conflicts,
    content_of,
    contradictions,
    infer,
)
from axnb.substrate.layouts import parse_prefix
from axnb.substrate.listing import SnapshotObjects, group
from axnb.substrate.manifest import Manifest, masked, parse
from axnb.testing.buckets import WOUNDS, BucketBuilder, Built
from tests.substrate import objects

SHA = "f18a948bf9c8bbb54eb998549a3a8d719a1c7de2efbe8fdd2ff0ee5fecd06f19"


def encodings(found: SnapshotObjects, data: dict[str, bytes]) -> Encodings:
    decoded = []
    for key in found.files.values():
        with contextlib.suppress(ObjectError):
            decoded.append(read(data[key]))
    return Encodings(
        has_sparse=any(one.encoding == "sparse" for one in decoded),
        has_plain=any(one.encoding == "plain" for one in decoded),
        has_several_frames=any(one.frames > 1 for one in decoded),
    )


def looked_at(
    found: SnapshotObjects, data: dict[str, bytes]
) -> tuple[Manifest | None, Inferred, Files]:
    """A snapshot's manifest if it can be read, its generation, and its files."""
    manifest = None
    if found.has_manifest:
        with contextlib.suppress(ManifestError):
            manifest = parse(data[found.manifest_key])
    inferred = infer(found.place, manifest, encodings(found, data))
    return manifest, inferred, compare_files(inferred, manifest, found.files)


def only(data: dict[str, bytes]) -> SnapshotObjects:
    (found,) = group(data).snapshots.values()
    return found


# --- what Substrate wrote ------------------------------------------------------------------------

#: What a case's name begins with -> its generation. A torn one is any that it can be, and B3c
#: shows only in objects of more than 8 MiB.
NAMED = {
    "b0": "B0|B1a",
    "b1a": "B1a",
    "b1b": "B1b",
    "b2": "B2",
    "b3a": "B3a",
    "b3b": "B3b",
    "b3c": "B3b",
}


@pytest.mark.parametrize("case", objects.good_cases(), ids=lambda case: case.name)
def test_generations_of_what_substrate_wrote(case: objects.Case) -> None:
    data = case.objects
    for prefix, found in group(data).snapshots.items():
        manifest, inferred, files = looked_at(found, data)
        assert inferred.doubts == ()
        named = NAMED[case.name.split("-")[0]]
        if found.has_manifest:
            assert manifest is not None
            assert inferred.generation == named
            assert manifest.remarks == ()
            assert files.unlisted == ()
            assert manifest.sandbox_class == case.truth["sandbox_class"]
            assert set(contradictions(inferred, manifest)) <= {"no-pause-image"}
        else:
            assert set(inferred.generation.split("|")) >= set(named.split("|")) & {
                "B0",
                "B1b",
                "B3b",
            }
        restore = case.restores[prefix]
        if restore["ok"]:
            assert files.missing == ()
            assert set(files.expected) == {file["name"] for file in restore["restored_files"]}


def test_scope_and_golden_of_what_substrate_wrote() -> None:
    for case in objects.good_cases():
        for found in group(case.objects).snapshots.values():
            if not found.has_manifest:
                continue
            manifest = parse(case.objects[found.manifest_key])
            # The first of two snapshots says nothing of it, and is full as the second is.
            scopes = {s["uri"]: s.get("scope", "FULL") for s in case.truth["snapshots"]}
            scope = scopes[f"gs://snapshots/{found.place.prefix}"].lower()
            assert manifest.content in (scope, "unknown")
            assert content_of(manifest.files or ()) in (scope, "empty")
            if manifest.is_golden is not None:
                assert manifest.is_golden == ("golden" in case.name)
            assert all(asset.has_digest for asset in (manifest.assets or {}).values())
            assert {a.architecture for a in (manifest.assets or {}).values()} <= {"amd64", None}


def test_damage_that_the_keys_and_the_manifest_show() -> None:
    """What is named of each damaged case; those of an object's bytes are the decoder's."""
    said: dict[str, set[str]] = {}
    for case in objects.damaged_cases():
        found = only(case.objects)
        manifest, inferred, files = looked_at(found, case.objects)
        told = said.setdefault(case.name.removeprefix("damaged-"), set())
        told |= {f"missing {name}" for name in files.missing}
        told |= {f"unlisted {name}" for name in files.unlisted}
        if not found.has_manifest and not inferred.generation.startswith("B0"):
            told.add("no manifest")
        if found.has_manifest and manifest is None:
            told.add("manifest refused")
        told |= set(contradictions(inferred, manifest)) if manifest else set()
    said = {name: told for name, told in said.items() if told}
    fs = {"multitar.img", "pages.img", "pages_meta.img"}
    assert said == {
        "b0-small-object-missing": {"missing pages.img"},
        "b1a-small-manifest-truncated": {"manifest refused"},
        "b1b-data-extra-object": {"unlisted leftover.img"},
        "b1b-data-manifest-file-list-absent": {f"unlisted {n}" for n in {*fs, "fscheckpoint.json"}},
        "b1b-data-manifest-lists-absent-file": {"missing extra.img"},
        "b1b-data-manifest-missing": {"no manifest"},
        "b1b-data-manifest-truncated": {"manifest refused"},
        "b1b-data-object-missing": {"missing multitar.img"},
        "b3b-data-extra-object": {"unlisted leftover.img"},
        "b3b-data-manifest-file-list-absent": {f"unlisted {n}" for n in {*fs, "fscheckpoint.pb"}},
        "b3b-data-manifest-lists-absent-file": {"missing extra.img"},
        "b3b-data-manifest-missing": {"no manifest"},
        "b3b-data-manifest-no-pause-image": {"no-pause-image"},
        "b3b-data-manifest-truncated": {"manifest refused"},
        "b3b-data-object-missing": {"missing multitar.img"},
        "b3b-microvm-full-manifest-missing": {"no manifest"},
        "b3b-microvm-full-object-missing": {"missing memory-ranges"},
    }


def test_torn_uploads_are_named() -> None:
    torn = [case for case in objects.good_cases() if "torn" in case.name]
    assert len(torn) == 5
    for case in torn:
        found = only(case.objects)
        _, inferred, files = looked_at(found, case.objects)
        assert not found.has_manifest
        # A B0 upload shows by the images that its reader asks for; one of B1a has all of them,
        # and only a record can tell it from a B0 snapshot.
        expected = {"b0-torn-last-object-missing": ("pages_meta.img",)}
        assert files.missing == expected.get(case.name, ())
        # It is named before there were manifests, or it has none of them and ought to.
        is_early = case.name.startswith("b0-")
        assert (inferred.generation == "B0") == is_early


# --- what the builders write ---------------------------------------------------------------------


#: Before 2026-06-25 there were full snapshots of gVisor only.
KINDS = [
    (generation, scope, sandbox_class)
    for generation in GENERATIONS
    for scope in ("full", "data")
    for sandbox_class in ("gvisor", "microvm")
    if generation not in ("B0", "B1a") or (scope, sandbox_class) == ("full", "gvisor")
]


@pytest.mark.parametrize(("generation", "scope", "sandbox_class"), KINDS)
def test_the_builders_write_every_generation(
    generation: str, scope: str, sandbox_class: str
) -> None:
    bucket = BucketBuilder()
    built = bucket.snapshot(generation, scope=scope, sandbox_class=sandbox_class)
    manifest, inferred, files = looked_at(only(bucket.objects), bucket.objects)
    expected = {"B3c": "B3b"}.get(generation, generation)
    assert inferred.generation == expected
    assert inferred.doubts == ()
    assert set(files.expected) == set(built.files)
    assert files.missing == files.unlisted == ()
    if manifest is not None:
        assert manifest.remarks == ()
        assert manifest.content in (scope, "unknown")
        assert content_of(built.files) == scope
        assert set(contradictions(inferred, manifest)) <= {"no-pause-image"}
    for key, data in bucket.objects.items():
        if key.endswith(".zstd"):
            read(data)


def test_several_frames_tell_b3c() -> None:
    bucket = BucketBuilder()
    bucket.snapshot("B3c", files={"pages.img": b"x" * (17 << 20)})
    found = only(bucket.objects)
    _, inferred, _ = looked_at(found, bucket.objects)
    assert inferred.generation == "B3c"


def wounded(name: str) -> tuple[BucketBuilder, Built]:
    is_microvm = name in ("no-rootfs", "secret-in-tar")
    bucket = BucketBuilder()
    built = bucket.snapshot("B3b", sandbox_class="microvm" if is_microvm else "gvisor")
    WOUNDS[name](bucket, built)
    return bucket, built


SHOWN = {
    "manifest-missing": "no manifest",
    "manifest-torn": "manifest not-json",
    "object-missing": "missing",
    "object-truncated": "object truncated",
    "object-empty": "object empty",
    "version-3": "object version",
    "extra-object": "unlisted",
    "part-left": "part",
    "other-actor": "other actor",
    "no-pause-image": "no-pause-image",
    "scope-data-with-memory": "scope-and-files",
    "file-list-absent": "unlisted",
    "file-leaves-folder": "refused-name",
    "no-rootfs": "no-rootfs",
    # A digest that nobody has and a file's content are no matter of form.
    "asset-unknown": "",
    "secret-in-tar": "",
}


@pytest.mark.parametrize("name", WOUNDS)
def test_wounds_show(name: str) -> None:
    bucket, built = wounded(name)
    found = only(bucket.objects)
    manifest, inferred, files = looked_at(found, bucket.objects)
    told = set()
    if not found.has_manifest:
        told.add("no manifest")
    elif manifest is None:
        with pytest.raises(ManifestError) as refused:
            parse(bucket.objects[found.manifest_key])
        told.add(f"manifest {refused.value.reason}")
    else:
        told |= {*manifest.remarks, *contradictions(inferred, manifest)}
        if manifest.actor_uid != built.manifest["actorUid"] or name == "other-actor":  # type: ignore[index]
            told.add("other actor")
    told |= {"missing"} if files.missing else set()
    told |= {"unlisted"} if files.unlisted else set()
    told |= {"part"} if found.parts else set()
    for key in found.files.values():
        try:
            read(bucket.objects[key])
        except ObjectError as err:
            told.add(f"object {err.reason}")
    assert SHOWN[name] in (told or {""})


def test_a_golden_snapshot_of_data() -> None:
    bucket = BucketBuilder()
    bucket.golden("B3b", scope="data")
    manifest, inferred, _ = looked_at(only(bucket.objects), bucket.objects)
    assert manifest is not None
    assert contradictions(inferred, manifest) == ("golden-is-data",)


def test_a_bucket_is_written_as_files(tmp_path: Any) -> None:
    bucket = BucketBuilder()
    bucket.snapshot("B1b")
    bucket.write(tmp_path)
    found = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*.*")}
    assert {k: v for k, v in found.items() if k in bucket.objects} == bucket.objects
    for key in ("../x", "/x", "a/../../x"):
        bucket.objects[key] = b""
        with pytest.raises(ValueError, match="leaves the folder"):
            bucket.write(tmp_path)
        del bucket.objects[key]


# --- hostile manifests ---------------------------------------------------------------------------


def manifest_of(**keys: Any) -> Manifest:
    return parse(json.dumps(keys).encode())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not-json"),
        (b"{", "not-json"),
        (b"{} {}", "not-json"),
        (b"\xef\xbb\xbf{}", "not-json"),
        (b'{"scope":"full",}', "not-json"),
        (b"{'scope':'full'}", "not-json"),
        (b'{"a":NaN}', "not-json"),
        (b'{"a":-Infinity}', "not-json"),
        (b'{"a":' + b"9" * 5000 + b"}", "not-json"),
        (b'"\xff"', "not-utf8"),
        (b'{"a":"\\ud800"}', "lone-surrogate"),
        (b"[]", "not-an-object"),
        (b"null", "not-an-object"),
        (b'"x"', "not-an-object"),
        (b'{"scope":"full","scope":"data"}', "duplicate-key"),
        (b'{"x":{"a":1,"a":1}}', "duplicate-key"),
        (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too-deep"),
        (b'{"x":' + b"[" * 65, "too-deep"),
        (b'{"x":[' + b"0," * 200_000 + b"0]}", "too-many-values"),
        (b" " * (1 << 20) + b"{}", "too-large"),
        (b'{"scope":1}', "wrong-type"),
        (b'{"snapshotFiles":"x"}', "wrong-type"),
        (b'{"snapshotFiles":[1]}', "wrong-type"),
        (b'{"snapshotFiles":{}}', "wrong-type"),
        (b'{"assets":[]}', "wrong-type"),
        (b'{"assets":{"runsc":"x"}}', "wrong-type"),
        (b'{"assets":{"runsc":{"url":1}}}', "wrong-type"),
    ],
)
def test_manifests_that_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ManifestError) as refused:
        parse(data)
    assert refused.value.reason == reason


def test_null_and_empty_are_absent_as_in_go() -> None:
    manifest = parse(b'{"scope":null,"actorUid":"","snapshotFiles":null,"assets":null}')
    assert (manifest.scope, manifest.actor_uid, manifest.files) == (None, None, None)
    assert manifest.keys == {"scope", "actorUid", "snapshotFiles", "assets"}


def test_unknown_keys_are_kept_and_named() -> None:
    manifest = manifest_of(scope="full", Scope="data", layers=[{"x": 1}])
    assert manifest.unknown == {"Scope": "data", "layers": [{"x": 1}]}
    assert manifest.scope == "full"
    assert set(manifest.remarks) >= {"unknown-key", "case-of-key"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../x", "leaves-folder"),
        ("../../outside.txt", "leaves-folder"),
        ("a/../../b", "leaves-folder"),
        ("a/..", "leaves-folder"),
        ("/etc/x", "absolute"),
        ("a\\b", "backslash"),
        ("a\0b", "control-character"),
        ("a\nb", "control-character"),
        ("", "empty"),
        ("manifest.json", "manifest"),
        ("a/b/c", "nested"),
        ("./a", "not-clean"),
        ("a/", "not-clean"),
        ("a//b", "not-clean"),
        (".", "not-clean"),
        ("x" * 1025, "too-long"),
    ],
)
def test_names_that_leave_the_folder_are_refused_by_name(name: str, reason: str) -> None:
    manifest = manifest_of(snapshotFiles=["ok.img", name, "fs/data_pages.img"])
    assert manifest.files == ("ok.img", "fs/data_pages.img")
    ((refused),) = manifest.refused_names
    assert (refused.name, refused.reason) == (name, reason)
    assert "refused-name" in manifest.remarks


def test_a_name_twice_and_data_files_that_are_not_listed() -> None:
    manifest = manifest_of(snapshotFiles=["a", "a", "b"], dataSnapshotFiles=["b", "c"])
    assert manifest.files == ("a", "b")
    told = [(refused.name, refused.reason) for refused in manifest.refused_names]
    assert told == [("a", "duplicate"), ("c", "not-listed")]


def test_a_missing_scope_is_unknown() -> None:
    assert manifest_of(sandboxClass="gvisor").content == "unknown"
    assert manifest_of(scope="FULL").content == "unknown"
    assert "unknown-scope" in manifest_of(scope="FULL").remarks
    told = [manifest_of(fidelity=f).content for f in ("memory", "rootfs", "volumes", "unknown")]
    assert told == ["full", "data", "data", "unknown"]


def test_pinned_pause_images() -> None:
    assert manifest_of(pauseImage=f"r.example.test/pause:3@sha256:{SHA}").has_pinned_pause_image
    for image in ("r.example.test/pause:3", f"pause@sha256:{SHA[1:]}", f"pause@sha512:{SHA}", ""):
        assert not manifest_of(pauseImage=image).has_pinned_pause_image


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("gs://gvisor/releases/x86_64/runsc", "gs://gvisor/releases/x86_64/runsc"),
        ("https://h:8443/a@v1/b", "https://h:8443/a@v1/b"),
        ("https://[::1]/a@v1/b", "https://[::1]/a@v1/b"),
        ("https://u:secret@h/a", "https://***@h/a"),
        ("https://u:se@cret@h/a", "https://***@h/a"),
        ("https://u:se/secret@h/a", "https://***@h/a"),
        ("https://h/a?X-Signature=secret", "https://h/a?***"),
        ("https://h/a#secret", "https://h/a#***"),
        ("https://h/a?x=1#secret", "https://h/a?***"),
        ("u:secret@h/a?secret", "***@h/a?***"),
        ("", ""),
        ("no url", "no url"),
    ],
)
def test_urls_are_shown_without_secrets(url: str, shown: str) -> None:
    assert masked(url) == shown
    manifest = manifest_of(assets={"runsc": {"url": url, "sha256": SHA}})
    assert ("asset-with-credentials" in manifest.remarks) == (shown != url)


@given(st.text(alphabet="ab:/@?#[]%\\ \n", max_size=30))
@settings(max_examples=400, deadline=None)
def test_no_secret_of_any_url_is_shown(text: str) -> None:
    assert "secret" not in masked(f"https://user:secret@{text}")
    assert "secret" not in masked(f"https://host/{text}?secret")


@pytest.mark.parametrize("sha256", ["", SHA.upper(), SHA[1:], f"{SHA}0", f"{SHA}\n", "g" * 64])
def test_digests_that_are_none(sha256: str) -> None:
    manifest = manifest_of(assets={"runsc": {"url": "gs://a/arm64/runsc", "sha256": sha256}})
    assert "asset-without-digest" in manifest.remarks
    assert (manifest.assets or {})["runsc"].architecture == "arm64"


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=10,
)
KEYS = ["scope", "assets", "snapshotFiles", "dataSnapshotFiles", "sandboxClass", "x", "fidelity"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6))
@settings(max_examples=300, deadline=None)
def test_any_manifest_is_read_or_refused(keys: dict[str, Any]) -> None:
    with contextlib.suppress(ManifestError):
        manifest = manifest_of(**keys)
        assert isinstance(manifest.remarks, tuple)
        inferred = infer(None, manifest)
        assert isinstance(contradictions(inferred, manifest), tuple)


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_no_manifest_or_one(data: bytes) -> None:
    with contextlib.suppress(ManifestError):
        parse(data)


# --- inference -----------------------------------------------------------------------------------

TIMED = "2026-08-05T16:47:28-04:00-N7GBFQ2XKJ4ZLWMR6TYHPVCD3A"


@pytest.mark.parametrize(
    ("prefix", "keys", "generation", "doubts"),
    [
        (f"a/{TIMED}", None, "B0|B1a|B1b", ()),
        (f"a/{TIMED}", {"actorUid": "u", "snapshotFiles": ["a"]}, "B1b", ("identity-in-b1",)),
        (f"snapshots/{TIMED}", None, "B2", ()),
        (f"snapshots/{TIMED}", {"snapshotFiles": ["a"]}, "B2", ("no-identity",)),
        (f"snapshots/{TIMED}", {"actorUid": "u", "scope": "full"}, "B2", ("newer-key",)),
        ("snapshots/a/b", None, "B3a|B3b|B3c", ()),
        ("snapshots/a/b", {"actorUid": "u"}, "B3a", ()),
        ("snapshots/a/b", {"pauseImage": "p"}, "B3b", ("no-identity",)),
        ("atespaces/a/tags/b", None, "B4|B5", ()),
        ("atespaces/a/tags/b", {"actorUid": "u"}, "B4|B5", ()),
        ("atespaces/a/tags/b", {"actorUid": "u", "scope": "full"}, "B4", ()),
        ("atespaces/a/tags/b", {"actorUid": "u", "fidelity": "memory"}, "B5", ()),
        (
            "atespaces/a/tags/b",
            {"actorUid": "u", "fidelity": "memory", "scope": "full"},
            "B5",
            ("older-key",),
        ),
        ("copied", None, "unknown", ()),
        ("copied", {"fidelity": "memory"}, "B5", ("no-layout",)),
        ("copied", {"pauseImage": "p", "scope": "full"}, "B3b|B3c|B4", ("no-layout",)),
        ("copied", {"sandboxClass": "gvisor"}, "B1a", ("no-layout",)),
    ],
)
def test_what_is_inferred(
    prefix: str, keys: dict[str, Any] | None, generation: str, doubts: tuple[str, ...]
) -> None:
    manifest = None if keys is None else manifest_of(**keys)
    found = infer(parse_prefix(prefix), manifest)
    assert (found.generation, found.doubts) == (generation, doubts)
    assert found.why


def test_prefix_and_manifest_of_another_actor() -> None:
    for generation, expected in (("B3b", ()), ("B4", ("other-actor",)), ("B5", ("other-actor",))):
        bucket = BucketBuilder()
        built = bucket.snapshot(generation)
        found = only(bucket.objects)
        assert conflicts(found.place, parse(bucket.objects[found.manifest_key])) == ()
        WOUNDS["other-actor"](bucket, built)
        assert conflicts(found.place, parse(bucket.objects[found.manifest_key])) == expected
    place = parse_prefix("atespaces/other/tags/b")
    assert place is not None
    assert conflicts(place, manifest_of(atespace="ax", actorUid="u")) == ()
    place = parse_prefix("snapshots/other/b")
    assert place is not None
    assert conflicts(place, manifest_of(atespace="ax")) == ("other-atespace",)
    assert conflicts(place, manifest_of()) == ()


def test_substrates_own_snapshots_lie_where_they_belong() -> None:
    for case in objects.good_cases():
        for found in group(case.objects).snapshots.values():
            if found.has_manifest:
                assert conflicts(found.place, parse(case.objects[found.manifest_key])) == ()
