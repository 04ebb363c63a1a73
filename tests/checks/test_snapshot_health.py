"""Installations without a wound, in every shape that Substrate had, have no finding above info."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from axnb.settings_target import TargetSettings
from axnb.testing.buckets import WOUNDS, Built
from axnb.testing.state import ERAS, StateBuilder, healthy_state
from tests.checks.states import State, mapped, severe, state_of

SHAPES = tuple(ERAS)

_STATES = ("SUSPENDED", "RUNNING", "SUSPENDING", "PAUSED")
_LOCATIONS = ("ax-agent", "", "snapshots", "deep/snapshots/atespaces", "ünï cödé+%2B")

#: Uploads with data alone: of gVisor since 06-26, of micro-VMs since 07-24; micro-VMs since B1b.
_NO_DATA = {("B0", "gvisor"), ("B1a", "gvisor"), ("B1b", "microvm")}

#: Newer builds that an installation may have been upgraded to.
_LATER = {"june": "july", "july": "august", "late-july": "august", "august": "september"}


class Drawn:
    """A thing that hypothesis shows by its own word: its parts would fill pages."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __repr__(self) -> str:
        return repr(self.thing)


def _builder(draw: st.DrawFn, shape: str) -> StateBuilder:
    """An installation of a shape; some of its actors lived under older builds."""
    generation = draw(st.sampled_from(list(ERAS[shape])))
    classes = ["gvisor"] if generation in ("B0", "B1a") else ["gvisor", "microvm"]
    built = StateBuilder(shape, generation, draw(st.sampled_from(classes)))
    built.bucket.location = draw(st.sampled_from(_LOCATIONS))
    names = [f"conv-{number}" for number in range(draw(st.integers(1, 4)))]
    if shape in _LATER and draw(st.booleans()):
        for name in names:
            _actor(draw, built, name, 1, states=("SUSPENDED",))
        built.upgrade(_LATER[shape])
    built.template()
    if built.shape in ("september", "october") and draw(st.booleans()):
        built.actor("gone", turns=False)
        built.delete("gone")
    for name in names:
        # Who is on the way to rest is so while the records are exported.
        states = _STATES if name == names[-1] else tuple(s for s in _STATES if s != "SUSPENDING")
        _actor(draw, built, name, draw(st.integers(0, 3)), states)
    _tags(draw, built)
    return built


def _actor(
    draw: st.DrawFn, built: StateBuilder, name: str, number: int, states: Sequence[str] = _STATES
) -> None:
    has_data = (built.generation, built.sandbox_class) not in _NO_DATA
    content = st.sampled_from(["full", "data"] if has_data else ["full"])
    # Pausing came in June.
    known = [state for state in states if built.shape != "may" or state != "PAUSED"]
    # Other programs' actors lie in other atespaces, which there were none of in May.
    is_other = name == "conv-3" and built.shape != "may"
    atespace = "team-a" if is_other else "ax"
    built.actor(
        name,
        number,
        state=draw(st.sampled_from(known)),
        content=draw(st.lists(content, min_size=number, max_size=number)),
        atespace=atespace,
        turns=atespace == "ax",
    )


def _tags(draw: st.DrawFn, built: StateBuilder) -> None:
    if built.shape not in ("late-july", "august", "september", "october"):
        return
    kept = [a for a in built.fleet.actors if a.snapshots and a.atespace == "ax"]
    for number, actor in enumerate(kept[:2]):
        if draw(st.booleans()):
            tag = built.tag(f"tag-{number}", actor)
            if draw(st.booleans()):
                built.clone(f"clone-{number}", tag)


@st.composite
def builders(draw: st.DrawFn) -> Drawn:
    """Installations of any shape."""
    return Drawn(_builder(draw, draw(st.sampled_from(SHAPES))))


@st.composite
def states(draw: st.DrawFn, shape: str) -> Drawn:
    """An installation with one export or two, a file more, and a log."""
    built = _builder(draw, shape)
    more = draw(st.sampled_from([(), ("workers",), ("atespaces",)]))
    made = state_of(
        built,
        logged=draw(st.booleans()),
        kinds=(*built.kinds(), *more),
        second_fleet=built.fleet if draw(st.booleans()) else None,
        everywhere=draw(st.booleans()),
        verify=draw(st.booleans()),
    )
    return Drawn(made)


def _note(state: State) -> None:
    note("\n".join(sorted(state.built.bucket.objects)))


def _given(examples: int, **strategies: Any) -> Callable[[Callable[..., None]], None]:
    calm = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

    def run(test: Callable[..., None]) -> None:
        chosen = settings(max_examples=examples, deadline=None, suppress_health_check=calm)
        chosen(given(**strategies)(test))()

    return run


def _check_health(shape: str, examples: int) -> None:
    @_given(examples, drawn=states(shape))
    def check(drawn: Drawn) -> None:
        state: State = drawn.thing
        _note(state)
        found = mapped(state)
        assert severe(found) == []
        assert found.verdict in ("ok", "inconclusive")
        assert len(found.snapshots) >= len(state.built.built)


#: The newest; all others are in `make test-all`.
_QUICK = ("october",)


@pytest.mark.parametrize("shape", _QUICK)
def test_a_healthy_installation_has_no_finding_above_info(shape: str) -> None:
    _check_health(shape, 3)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in _QUICK])
def test_many_healthy_installations_have_no_finding_above_info(shape: str) -> None:
    _check_health(shape, 4)


def test_a_target_that_is_as_they_were_restores_them() -> None:
    """With all that can be told of it, nothing is unknown: the verdict is ok."""
    built = healthy_state("august", "B3b")
    target = TargetSettings(
        layout="B3b",
        sandbox_classes=frozenset({"gvisor"}),
        architectures=frozenset({"amd64"}),
        same_cpu=True,
        assets=frozenset(sha256 for *_, sha256 in built.assets),
    )
    found = mapped(state_of(built, target=target, verify=True, logged=True))
    assert severe(found) == []


# --- wounds --------------------------------------------------------------------------------------


def _is_wounded(name: str, built: StateBuilder, snapshot: Built) -> bool:
    """Is it a wound of such a snapshot at all?"""
    is_tag = "/tags/" in f"/{snapshot.prefix}"
    # Of August only the day tells, and only a record's is to be trusted; a golden one's has none.
    is_late = snapshot.generation in ("B4", "B5")
    return {
        # A tag's copy keeps the manifest of another.
        "other-actor": not is_tag,
        # Of a micro-VM the newest builds ask for none.
        "no-pause-image": is_late
        and (snapshot.generation, built.sandbox_class) != ("B5", "microvm"),
        "no-rootfs": is_late,
    }.get(name, True)


def _check_wound(name: str, examples: int) -> None:
    @_given(examples, drawn=builders(), number=st.integers(0, 50))
    def check(drawn: Drawn, number: int) -> None:
        built: StateBuilder = drawn.thing
        snapshot = built.built[number % len(built.built)]
        before = dict(built.bucket.objects)
        assume(_is_wounded(name, built, snapshot))
        try:
            WOUNDS[name](built.bucket, snapshot)
        except (AssertionError, KeyError):
            # Its generation has no such part.
            assume(False)
        assume(built.bucket.objects != before)
        state = state_of(built, verify=True)
        _note(state)
        note(snapshot.prefix)
        named = {(finding.object or finding.snapshot or "") for finding in severe(mapped(state))}
        assert any(one == snapshot.prefix or one.startswith(f"{snapshot.prefix}/") for one in named)


#: A secret is no wound of a snapshot: its own checks find it.
_WOUNDS = sorted(WOUNDS.keys() - {"secret-in-tar"})


@pytest.mark.parametrize("name", _WOUNDS)
def test_a_wound_is_found_and_named(name: str) -> None:
    """The simplest that has it; where else it may be is drawn in `make test-all`."""
    _check_wound(name, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", _WOUNDS)
def test_a_wound_is_found_wherever_it_is(name: str) -> None:
    _check_wound(name, 3)
