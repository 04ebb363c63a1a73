"""A migration drill from its source to its end, and what it showed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from axnb import loading
from axnb.ax.behaviour import Harness
from axnb.ax.versions import BUILT_IN_HARNESSES
from axnb.case.case import Case
from axnb.drills.migration import matrix, serving
from axnb.drills.migration.asking import Bench, Served
from axnb.drills.migration.copying import check_copy, check_round_trip, check_source
from axnb.drills.migration.ground import Carried, Ground, Migrate, Progress
from axnb.drills.migration.logs import ScratchLog
from axnb.drills.migration.options import MigrationDrillOptions, way_back
from axnb.drills.migration.past import Trace, traces
from axnb.drills.migration.plan import Planned, plan_text, statements
from axnb.drills.migration.reading import Conversation, ReadLog, choose, read_log, registered
from axnb.drills.migration.rollback import Rolled, older, roll_back, start
from axnb.drills.migration.snapshots import check_snapshots, counted
from axnb.drills.migration.stores import open_store
from axnb.drills.steps import Check
from axnb.errors import AxnbError, SourceChangedError
from axnb.evidence.locators import Located, locate
from axnb.mapping import StateMap, state_map
from axnb.runtimes.ax.binary import Binary
from axnb.runtimes.ax.probing import probe
from axnb.runtimes.rehearsing import World
from axnb.triaging import Question, Triage, triage

#: The harness of a real server of the drill's: the built-in one, which refuses an empty start.
_REAL = (Harness(BUILT_IN_HARNESSES[0], False),)


@dataclass(frozen=True)
class Program:
    """An `ax` binary that was named, and what it turned out to be."""

    name: str
    binary: Binary | None
    #: Why it cannot be asked; empty where it can.
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The program as JSON."""
        binary = self.binary
        return {
            "name": self.name,
            "kind": binary.kind if binary else "unknown",
            "generation": binary.generation.name if binary else "",
            "sha256": binary.sha256 if binary else "",
            "error": self.error,
        }


@dataclass
class Rehearsed:
    """What a drill showed."""

    triage: Triage
    located: Located
    ground: Ground
    asked: list[Conversation]
    left_out: int
    matrix: list[dict[str, Any]] = field(default_factory=list)
    unmigrated: Served | None = None
    carried: Carried | None = None
    copy: ReadLog | None = None
    migrated: Served | None = None
    rolled: Rolled = field(default_factory=Rolled)
    traces: list[Trace] = field(default_factory=list)
    snapshots: Mapping[str, Any] = field(default_factory=dict)
    programs: Sequence[Program] = ()
    plan: str = ""


def rehearse(
    source: str,
    options: MigrationDrillOptions,
    scratch: Path,
    migrate: Migrate,
    progress: Progress,
) -> Rehearsed:
    """Do the drill in a scratch folder. Raises SourceError if the source cannot be read."""
    located = locate(source, options.settings.environment)
    if located.harnesses and not options.harnesses:
        options = replace(options, harnesses=tuple(str(h) for h in located.harnesses))
    settings = replace(options.settings, scratch=scratch)
    with ExitStack() as stack:
        with Case(None, settings) as seen:
            looked, mapped = look(seen, source, options)
        schema = str(looked.sources[0].custody.get("schema", "public"))
        store = stack.enter_context(open_store(located.log, schema, scratch))
        raw = store.take()
        case = stack.enter_context(Case(None, settings))
        read = read_log(case, raw)
        if read.facts["read"] != looked.sources[0].read:
            raise SourceChangedError("the log changed while it was copied: stop its writer.")
        named = {c.owner_in_copy(options.default) for c in read.conversations}
        harnesses = registered(options.declared, options.default, sorted(named))
        world = World(scratch, idempotent=False, keep=options.keep is not None)
        stack.callback(world.close)
        bench = Bench(world, scratch, harnesses)
        ground = Ground(
            options, case, store, bench, raw, read, harnesses, migrate, progress=progress
        )
        done = _begin(looked, located, ground)
        if mapped is not None:
            ground.tell("matrix", "snapshots", check_snapshots(mapped))
            done.snapshots = counted(mapped)
        done.programs = tuple(_programs(options.ax_bin, world, scratch))
        _run(done, schema)
    return done


def look(case: Case, source: str, options: MigrationDrillOptions) -> tuple[Triage, StateMap | None]:
    """The source as it is, wounds included, and the map of snapshots where some are named."""
    loaded = loading.load(case, [source])
    # Nothing is called restorable of which nobody has read the bodies.
    beside = loading.load_state(case, options.snapshots, options.records, verify=True)
    skipped = (*loaded.skipped, *beside.skipped)
    looked = triage(case, Question(None, options.declared), (), skipped)
    has_state = bool(options.snapshots or options.records)
    return looked, state_map(case, skipped) if has_state else None


def _begin(looked: Triage, located: Located, ground: Ground) -> Rehearsed:
    readable = [c for c in ground.read.conversations if c.is_readable]
    words = {c.conversation_id: c.outcome(ground.target, ground.harnesses).word for c in readable}
    asked, left_out = choose(readable, ground.options.conversations, words)
    return Rehearsed(looked, located, ground, asked, left_out)


def _programs(paths: Sequence[Path], world: World, scratch: Path) -> Iterator[Program]:
    """What each binary is; one that is none of those that can be asked is told."""
    names: dict[str, int] = {}
    for number, path in enumerate(paths, 1):
        names[path.name] = names.get(path.name, 0) + 1
        name = path.name + (f"-{names[path.name]}" if names[path.name] > 1 else "")
        try:
            yield Program(name, probe(path.resolve(), world, scratch / "probes" / str(number)))
        except AxnbError as err:
            yield Program(name, None, str(err).replace(str(scratch), "…"))


def _run(done: Rehearsed, schema: str) -> None:
    ground = done.ground
    done.traces = traces(ground.case, ground.read)
    folder, settings = ground.bench.folder, ground.case.settings
    done.matrix = matrix.matrix_of_all(ground.read, ground.harnesses, folder, settings)
    ids = [c.conversation_id for c in done.asked]
    begun = start(ground, done.asked)
    more = [begun.specimen] if begun.specimen else []
    done.unmigrated = ground.bench.serve(
        "unmigrated", begun.unmigrated, ground.target, [*ids, *more]
    )
    called = f"axnb's server of {ground.target.label}"
    found = matrix.agrees(called, done.asked, done.unmigrated, ground.harnesses)
    ground.tell("matrix", "as-it-is", found)
    with _real_servers(done) as ask:
        for program in done.programs:
            ask("matrix", program, ground.raw, done.asked)
        done.carried = ground.carry(ground.raw, "migrated", ground.target)
        done.copy = check_copy(ground, done.carried)
        check_round_trip(ground, done.carried)
        _serve(done)
        migrated = _in_copy(done)
        for program in done.programs:
            if program.binary and program.binary.generation == ground.target and migrated:
                ask("serve", program, done.carried.log, migrated)
    done.rolled = roll_back(ground, begun, done.unmigrated)
    ground.tell("copy", "source", check_source(ground, is_unchanged=ground.store.is_unchanged()))
    _plan(done, schema)


def _in_copy(done: Rehearsed) -> list[Conversation]:
    """The conversations that are asked about, as the copy has them."""
    known = done.copy.find() if done.copy else {}
    return [known[c.conversation_id] for c in done.asked if c.conversation_id in known]


def _serve(done: Rehearsed) -> None:
    """The migrated copy under the target."""
    ground = done.ground
    if done.copy is None or done.carried is None:
        for check in ("starts", "answers", "interrupted", "history"):
            told = "there is no migrated copy to serve"
            ground.tell("serve", check, Check("the copy is served", told, "not-run"))
        return
    known, asked = done.copy.find(), _in_copy(done)
    readable = [c for c in ground.read.conversations if c.is_readable]
    there = [known[c.conversation_id] for c in readable if c.conversation_id in known]
    log = ground.store.copy(done.carried.log, "served")
    history = serving.decoded(there, asked, ScratchLog(log), ground.target)
    ids = [c.conversation_id for c in asked]
    done.migrated = served = ground.bench.serve("migrated", log, ground.target, ids)
    before = {c.conversation_id: c.state for c in done.asked}
    default = ground.harnesses[0].id
    ground.tell("serve", "starts", serving.starts(served))
    ground.tell("serve", "answers", serving.answers(asked, served, before, default))
    found = serving.interrupted(asked, served, before, ground.harnesses)
    ground.tell("serve", "interrupted", found)
    ground.tell("serve", "history", history)


@contextmanager
def _real_servers(done: Rehearsed) -> Iterator[Any]:
    """What asks real servers; they have the built-in harness alone."""
    ground = done.ground
    bench = replace(ground.bench, harnesses=_REAL)

    def ask(point: str, program: Program, log: str, asked: Sequence[Conversation]) -> None:
        check, binary = f"real-{program.name}", program.binary
        if binary is None:
            found = Check("the binary can be asked", program.error, "not-run")
            ground.tell(point, check, found)
            return
        copied = ground.store.copy(log, f"{point}-real-{done.programs.index(program) + 1}")
        ids = [c.conversation_id for c in asked]
        name = f"{point}-{program.name}"
        served = bench.serve(name, copied, binary.generation, ids, binary)
        called = f"{program.name}, {binary.generation.label},"
        judge = matrix.agrees if point == "matrix" else serving.agrees
        ground.tell(point, check, judge(called, asked, served, _REAL))

    yield ask


def _plan(done: Rehearsed, schema: str) -> None:
    ground, old = done.ground, older(done.ground.read, done.ground.target)
    states = [c.state for c in ground.read.conversations]
    planned = Planned(
        source=done.located.log,
        schema=schema,
        old=old,
        new=ground.target,
        default_harness=ground.options.default,
        losses=sorted(done.carried.losses) if done.carried else (),
        interrupted=states.count("interrupted"),
        way_back=way_back(old.name),
    )
    done.plan = plan_text(planned)
    steps = statements(planned)
    whole = all(s.before and s.do and s.after and s.undo for s in steps)
    told = f"{len(steps)} statements, each with its checks and its undo"
    expected = "the plan has a check before, a check after and an undo for each statement"
    ground.tell("plan", "statements", Check(expected, told, "ok" if whole else "failed"))
