"""Fleets for tests: one that is healthy, and hypothesis' own."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from axnb.testing.fleet import (
    Actor,
    Container,
    Fleet,
    Paused,
    Pool,
    SandboxConfig,
    Snapshot,
    Tag,
    Template,
    Worker,
)

IMAGE = "registry.example.test/agent@sha256:" + "ab" * 32
PAUSE = "registry.example.test/pause@sha256:" + "cd" * 32
ASSETS = (
    ("amd64", "gvisor", "gs://gvisor/release/x86_64/gvisor.tar.bz2", "11" * 32),
    ("arm64", "gvisor", "gs://gvisor/release/aarch64/gvisor.tar.bz2", "22" * 32),
)

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_UID = st.uuids().map(str)
_VERSION = st.integers(1, 2**63 - 1)
_URI = st.from_regex(r"gs://b/[a-z0-9/]{1,12}", fullmatch=True)
_TIME = st.datetimes().filter(lambda t: t.year > 1).map(lambda t: t.isoformat() + "Z")

snapshots = st.builds(
    Snapshot,
    _TEXT,
    _URI,
    st.sampled_from(["full", "data"]),
    st.just(0),
    _UID,
    _UID,
    _VERSION,
)
_workers = st.builds(Worker, _TEXT, _TEXT, _TEXT, _UID, _TEXT)
_paused = st.builds(Paused, _TEXT, _TEXT, st.sampled_from(["full", "data"]))


@st.composite
def actors(draw: st.DrawFn, states: tuple[str, ...]) -> Actor:
    """An actor of any state, with what a record can hold, also what no healthy one does."""
    kept = draw(st.lists(snapshots, max_size=3))
    begun, paused = draw(st.none() | snapshots), draw(st.none() | _paused)
    numbers = iter(range(1, 9))
    return Actor(
        name=draw(_TEXT),
        atespace=draw(_TEXT),
        uid=draw(_UID),
        version=draw(_VERSION),
        state=draw(st.sampled_from(states)),
        template=draw(_TEXT),
        template_uid=draw(_UID),
        snapshots=tuple(replace(s, generation=next(numbers)) for s in kept),
        begun=replace(begun, generation=next(numbers)) if begun else None,
        paused=replace(paused, generation=next(numbers)) if paused else None,
        worker=draw(st.none() | _workers),
        created=draw(_TIME),
        updated=draw(_TIME),
        crash=draw(st.sampled_from(["", "WORKER_POD_GONE: the pod of worker-7 is gone"])),
    )


templates = st.builds(
    Template,
    _TEXT,
    _TEXT,
    _UID,
    st.integers(1, 10**12),
    st.lists(
        st.builds(
            Container,
            _TEXT,
            st.just(IMAGE),
            st.dictionaries(_TEXT, st.text(st.characters(exclude_categories=["Cs"]))),
            st.dictionaries(_TEXT, _TEXT, max_size=2),
        ),
        max_size=2,
    ),
    st.lists(_TEXT, max_size=2),
    st.sampled_from(["gvisor", "microvm"]),
    _TEXT,
    st.sampled_from(["", PAUSE]),
    _URI,
    st.sampled_from(["full", "data"]),
    st.sampled_from(["full", "data"]),
    st.sampled_from(["cold-boot", "golden"]),
    st.sampled_from(["initial", "resume-golden-actor", "wait-golden-actor", "ready", "failed"]),
    st.none() | snapshots,
    st.sampled_from(["", "golden-1"]),
    st.sampled_from([(), ASSETS]),
)


def healthy() -> Fleet:
    """One actor of each state that an actor can rest in, and what belongs to them."""
    golden = Snapshot("g-1", "gs://b/agent/snapshots/ate-golden/g-1", "full", 1, "t-1", "gu-1")
    first = Snapshot("s-1", "gs://b/agent/snapshots/ax/s-1", "full", 1, "t-1", "su-1", 3)
    second = Snapshot("s-2", "gs://b/agent/snapshots/ax/s-2", "data", 2, "t-1", "su-2", 7)
    pod = Worker("pod-1", uid="w-1", name="worker-1", actor=("ax", "conv-2", "a-2"))
    return Fleet(
        actors=(
            Actor("conv-0", uid="a-0", template_uid="t-1"),
            Actor("conv-1", uid="a-1", template_uid="t-1", snapshots=(first, second)),
            Actor("conv-2", uid="a-2", template_uid="t-1", state="RUNNING", worker=pod),
            Actor(
                "conv-3",
                uid="a-3",
                template_uid="t-1",
                state="PAUSED",
                paused=Paused("p-1", generation=1),
            ),
        ),
        templates=(
            Template(
                "agent",
                uid="t-1",
                containers=(Container("app", IMAGE, {"DEMO_API_KEY": "not-a-real-key-0001"}),),
                volumes=("data",),
                pause_image=PAUSE,
                golden=golden,
                assets=ASSETS,
            ),
        ),
        tags=(Tag("good", second, uid="tag-1"),),
        workers=(pod, Worker("pod-2", uid="w-2", name="worker-2")),
        sandbox_configs=(SandboxConfig("gvisor", "gvisor", ASSETS, PAUSE, "c-1", True),),
        worker_pools=(Pool("pool", uid="p-1", replicas=2, image=IMAGE, labels={"tier": "agents"}),),
    )
