"""Mutations of what a row says of itself: its state, owner, configuration, ids and numbers."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from axnb.testing.logs import LogBuilder
from tests.checks.healthy import ids, texts
from tests.checks.mutations.mutant import Mutant, edited, mutation, one_of, pick


@mutation
def change_state(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    names = ("PENDING", "COMPLETED", "FAILED", "CANCELED", "UNSPECIFIED", "PAUSED")
    others = ("completed", "", "3", 0, 1, 2, 3, 4, 5, -1, 2**31, 1.5, None, True, [], {})
    state = one_of(draw, *(f"STATE_{name}" for name in names), *others)
    if state is None and draw(st.booleans()):
        del tree["state"]
    else:
        tree["state"] = state
    return edited(draw, log, place, "state", tree)


@mutation
def change_owner(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    key = log.generation.owner_key
    place = pick(draw, log, lambda tree: key in tree)
    tree = json.loads(log.rows[place].payload)
    assert key is not None
    value = one_of(draw, "antigravity", "drill", "another", "", None, 1, draw(texts))
    tree[key] = value
    return edited(draw, log, place, "owner", tree)


@mutation
def add_owner(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    key = one_of(draw, log.generation.owner_key or "harness_id", "harness_id", "agent_id")
    place = pick(draw, log, lambda tree: key not in tree)
    tree = json.loads(log.rows[place].payload)
    tree[key] = one_of(draw, "antigravity", "drill", "another")
    return edited(draw, log, place, "new owner", tree)


@mutation
def change_config(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    key = log.generation.config_key or "harness_config"
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    tree[key] = one_of(draw, {}, {"model": "other"}, "eyJtb2RlbCI6Im0ifQ==", "?", 5, [], None)
    return edited(draw, log, place, "config", tree)


@mutation
def change_id_inside(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    tree["conversation_id"] = one_of(draw, draw(ids), "", None, log.rows[0].conversation_id)
    return edited(draw, log, place, "id inside", tree)


@mutation
def change_number_inside(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    key = log.generation.step_column
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    tree[key] = one_of(
        draw, log.rows[place].step + 1, 0, -1, 2**31, None, "x", str(tree.get(key, 1))
    )
    return edited(draw, log, place, "number inside", tree)


@mutation
def change_execution_id(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    tree = json.loads(log.rows[place].payload)
    others = [json.loads(row.payload).get("exec_id") for row in log.rows]
    tree["exec_id"] = draw(st.sampled_from(["", "other", None, *others]))
    return edited(draw, log, place, "exec_id", tree)


@mutation
def add_index(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log, lambda tree: tree.get(log.generation.content_key))
    tree = json.loads(log.rows[place].payload)
    index = one_of(draw, log.rows[place].step, 99, -1, 2**63)
    tree[log.generation.content_key][0]["index"] = one_of(draw, index, str(index))
    return edited(draw, log, place, "index", tree)
