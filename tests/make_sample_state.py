"""Make the bucket and the records of `sample_data/`, which fit its log.

python -m tests.make_sample_state FOLDER

writes FOLDER/snapshots and FOLDER/records; it writes the same bytes each time. The bucket is as
Substrate's builds of late August 2026 leave it (B3b), the records are as their command lines print
them. Each wound is on another conversation, and `sample_data/README.md` tells of all.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import sys
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from axnb.testing.buckets import GVISOR_DATA, WOUNDS, BucketBuilder, Built, checkpoint
from axnb.testing.fleet import (
    Actor,
    Container,
    Fleet,
    Pool,
    SandboxConfig,
    Snapshot,
    Template,
    Worker,
)
from axnb.testing.records import export

SAMPLE = Path(__file__).parents[1] / "sample_data"

#: A DNS-1123 label, which the name of an actor has to be.
LABEL = re.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

#: A golden actor lives in a space of its own and its template does not; builders have one for both.
GOLDEN_TEMPLATE = '"actorTemplateNamespace": "ate-golden"'

BUCKET = "gs://ax-sample"
ANTIGRAVITY, INTERACTIONS = "axantigravity", "axinteractions"

#: What each conversation shows; all others have an actor and a good current snapshot.
NO_ACTOR = "kill9-at-start"
TORN = "kill9-after-effect"
FILE_MISSING = "sigterm-mid-turn"
DAMAGED = "many-steps"
DANGLING = "resumed"
SUPERSEDED = "hello-world"
STUCK = "tool-timeout"
#: An actor that ended its turn while the records were exported.
CHANGING = "last-good"
#: Not in the log: its conversation was deleted in AX, or its actor in Substrate.
FORGOTTEN, DELETED = "forgotten-report", "deleted-draft"

#: In one piece it would look like a key that works to whoever scans this file.
SECRET = "AIza" + "Sy-made-up-for-the-sample-data".ljust(35, "0")

#: Bytes of `pages.img`, two pages, and the map that says so (`axnb.substrate.pagemap`): its length,
#: version 1, and one range that is committed.
PAGES = 8192
PAGE_MAP = (9).to_bytes(8, "little") + bytes([8, 1, 26, 5, 16, 128, 64, 40, 1])


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _uuid(text: str) -> str:
    """A version 4 uuid that is the same each time."""
    return str(uuid.UUID(_sha256(f"sample {text}")[:32], version=4))


GVISOR = _sha256("gvisor release-20260803.0")
PAUSE = f"registry.example.test/pause:3.10.2@sha256:{_sha256('pause')}"
ASSET = ("amd64", "gvisor", "gs://assets.example.test/x86_64/gvisor.tar.zstd", GVISOR)

TEMPLATES = {
    ANTIGRAVITY: ("ax-harness-antigravity-template", _uuid("antigravity template")),
    INTERACTIONS: ("ax-harness-interactions-template", _uuid("interactions template")),
}


def conversations() -> list[str]:
    """Those of the sample log that can be the name of an actor."""
    with sqlite3.connect(f"file:{SAMPLE / 'log.sqlite'}?mode=ro", uri=True) as log:
        found = log.execute("select distinct conversation_id from conversation_log order by 1")
        return [name for (name,) in found if LABEL.fullmatch(name)]


class Maker:
    """The bucket while it is filled, and the records of what is put into it."""

    def __init__(self) -> None:
        self.bucket = BucketBuilder()

    def snapshot(
        self,
        actor: str,
        taken: str,
        *,
        location: str = ANTIGRAVITY,
        number: int = 1,
        env: Mapping[str, str] | None = None,
    ) -> tuple[Built, Snapshot]:
        """Write a snapshot of an actor of AX, as it was at `taken` (`DAY TIME`)."""
        name = _uuid(f"{actor or location} {number}")
        template, uid = TEMPLATES[location]
        is_golden = env is not None
        is_data = location == INTERACTIONS and not is_golden
        made = _data(actor) if is_data else _memory(actor, taken, env or {})
        self.bucket.location = location
        options = {"actor_name": uid if is_golden else actor, "name": name, "files": made}
        space = {"atespace": "ate-golden"} if is_golden else {}
        about = {"actor_uid": _uuid(f"{location} golden" if is_golden else actor)}
        built = self.bucket.snapshot(
            "B3b", scope="data" if is_data else "full", **options, **space, **about
        )
        assert built.manifest is not None
        built.manifest["actorTemplateName"] = template
        built.manifest["pauseImage"] = PAUSE
        built.manifest["assets"] = {"gvisor": {"url": ASSET[2], "sha256": GVISOR}}
        self.bucket.put_manifest(built)
        content = "data" if is_data else "full"
        uri = f"{BUCKET}/{built.prefix}"
        return built, Snapshot(
            name, uri, content, number, uid, _uuid(f"record {name}"), source_version=number * 4
        )


def _memory(actor: str, taken: str, env: Mapping[str, str]) -> dict[str, bytes]:
    """Memory files; what they hold tells one actor's from another's."""
    variables = ["PATH=/usr/bin:/bin", *(f"{name}={value}" for name, value in env.items())]
    state = f"state of {actor} at {taken} ".encode() * 40
    image = checkpoint(variables, state=state)
    before, after = b"2026-08-10 09:00:00", taken.encode()
    assert len(before) == len(after)
    assert before in image
    line = f"memory of {actor} at {taken}\n".encode()
    return {
        "checkpoint.img": image.replace(before, after),
        "pages.img": (line * (PAGES // len(line) + 1))[:PAGES],
        "pages_meta.img": PAGE_MAP,
    }


def _data(actor: str) -> dict[str, bytes]:
    """The files of one durable directory."""
    made = BucketBuilder().snapshot("B3b", scope="data").files
    assert tuple(made) == GVISOR_DATA
    page = f"notes of {actor}".encode().ljust(4096, b"\0")
    return made | {"pages.img": page}


# --- records -------------------------------------------------------------------------------------


def _actor(name: str, snapshots: list[Snapshot], location: str = ANTIGRAVITY) -> Actor:
    template, uid = TEMPLATES[location]
    return Actor(
        name,
        uid=_uuid(name),
        version=len(snapshots) * 4 + 1,
        template=template,
        template_uid=uid,
        snapshots=snapshots,
        created="2026-08-14T09:00:00Z",
        updated="2026-08-19T16:30:00Z",
    )


def _template(location: str, golden: Snapshot) -> Template:
    name, uid = TEMPLATES[location]
    is_data = location == INTERACTIONS
    image = f"registry.example.test/ax-harness/{location}@sha256:{_sha256(name)}"
    return Template(
        name,
        uid=uid,
        containers=[Container("harness", image, mounts={"durable": "/durable"} if is_data else {})],
        volumes=["durable"] if is_data else [],
        pause_image=PAUSE,
        location=f"{BUCKET}/{location}/",
        on_pause="data" if is_data else "full",
        on_commit="data" if is_data else "full",
        golden=golden,
        assets=[ASSET],
        created="2026-08-13T08:00:00Z",
    )


def _fleets(maker: Maker) -> tuple[Fleet, Fleet, list[Actor]]:
    """What the control plane knew before and after the bucket was listed, and golden actors."""
    actors = [_conversation(maker, name) for name in conversations() if name != NO_ACTOR]
    _, kept = maker.snapshot(FORGOTTEN, "2026-08-16 11:00:00", location=INTERACTIONS)
    actors.append(_actor(FORGOTTEN, [kept], INTERACTIONS))
    maker.snapshot(DELETED, "2026-08-15 15:00:00", location=INTERACTIONS)
    golden = {}
    for location, env in ((ANTIGRAVITY, {"GEMINI_API_KEY": SECRET}), (INTERACTIONS, {})):
        _, golden[location] = maker.snapshot("", "2026-08-13 08:05:00", location=location, env=env)
    goldens = [
        replace(
            _actor(uid, [golden[location]], location),
            atespace="ate-golden",
            uid=_uuid(f"{location} golden"),
        )
        for location, (_, uid) in TEMPLATES.items()
    ]
    actors.sort(key=lambda a: a.name)
    after = Fleet(
        actors=actors,
        templates=[_template(location, golden[location]) for location in TEMPLATES],
        workers=[a.worker for a in actors if a.worker] + [Worker("pool-1", name="w-1")],
        atespaces=("ate-golden", "ax"),
        sandbox_configs=[
            SandboxConfig("gvisor", assets=[ASSET], pause_image=PAUSE, uid=_uuid("c"), default=True)
        ],
        worker_pools=[Pool("pool", replicas=2, uid=_uuid("pool"))],
    )
    before = replace(after, actors=[_before(a) if a.name == CHANGING else a for a in actors])
    return before, after, goldens


def _before(actor: Actor) -> Actor:
    """The actor while its last turn was being saved."""
    return replace(
        actor,
        version=actor.version - 1,
        state="SUSPENDING",
        snapshots=(),
        begun=actor.snapshots[-1],
        worker=Worker("pool-1", name="w-1", actor=("ax", actor.name, actor.uid)),
        updated="2026-08-19T16:29:30Z",
    )


def _conversation(maker: Maker, name: str) -> Actor:
    """The actor of one conversation, with its snapshots in the bucket."""
    rounds = 4 if name == SUPERSEDED else 2 if name == TORN else 1
    made = [
        maker.snapshot(name, f"2026-08-{15 + n} 10:00:00", number=n) for n in range(1, rounds + 1)
    ]
    actor = _actor(name, [snapshot for _, snapshot in made])
    bucket, last = maker.bucket, made[-1][0]
    if name == TORN:
        # The upload broke off, and the turn that it was to save is in no other snapshot.
        WOUNDS["manifest-missing"](bucket, last)
        del bucket.objects[last.key("pages.img")]
        return replace(actor, state="CRASHED", snapshots=actor.snapshots[:1])
    if name == FILE_MISSING:
        del bucket.objects[last.key("pages.img")]
    if name == DAMAGED:
        _flip(bucket, last.key("pages.img"))
    if name == DANGLING:
        for key in [key for key in bucket.objects if key.startswith(f"{last.prefix}/")]:
            del bucket.objects[key]
    if name == STUCK:
        worker = Worker("pool-2", name="w-2", actor=("ax", name, actor.uid))
        return replace(actor, state="RESUMING", worker=worker, updated="2026-08-18T07:12:00Z")
    return actor


def _flip(bucket: BucketBuilder, key: str) -> None:
    """One bit, in the middle: size and listing stay as they are."""
    data = bytearray(bucket.objects[key])
    data[len(data) // 2] ^= 16
    bucket.objects[key] = bytes(data)


def write(folder: Path) -> None:
    """Write `snapshots/` and `records/` into a folder; neither is there yet."""
    maker = Maker()
    before, after, goldens = _fleets(maker)
    maker.bucket.write(folder / "snapshots")
    records = folder / "records"
    records.mkdir(parents=True)
    with_goldens = replace(after, actors=[*after.actors, *goldens])
    snapshots = export(with_goldens, "snapshots", "august")
    snapshots = snapshots.replace(GOLDEN_TEMPLATE, GOLDEN_TEMPLATE.replace("ate-golden", "ax"))
    texts = {
        "1-actors.json": export(before, "actors", "august"),
        "2-actors.json": export(after, "actors", "august"),
        "snapshots.json": snapshots,
        "templates.json": export(after, "templates", "august"),
        "tags.json": export(after, "tags", "august"),
        "workers.json": export(after, "workers", "august"),
        "atespaces.json": export(after, "atespaces", "august"),
        "sandboxconfigs.json": export(after, "sandbox-configs", "august"),
        "workerpools.json": export(after, "worker-pools", "august"),
    }
    for name, text in texts.items():
        (records / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.make_sample_state FOLDER")
    write(Path(sys.argv[1]))
