"""Mutations of rows: gone, twice, elsewhere, under another number or in another storage class.

Numbers and ids inside a payload are put right in some of them, as a program would that knows AX:
then only the history can tell.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from axnb.testing.logs import LogBuilder
from tests.checks.healthy import ids
from tests.checks.mutations.mutant import (
    InapplicableError,
    Mutant,
    at_home,
    copied,
    mutation,
    one_of,
    pick,
)


@mutation
def delete_row(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    place = pick(draw, log)
    changed = copied(log)
    row = changed.rows.pop(place)
    return Mutant(f"delete {row}", changed, {row.conversation_id})


@mutation
def copy_under_its_number(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    row = changed.rows[pick(draw, log)]
    changed.rows.append(row)
    return Mutant(f"twice {row}", changed, {row.conversation_id}, keyed=False)


@mutation
def copy_to_the_end(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    row = changed.rows[pick(draw, log)]
    copy = replace(row, step=log.last_step(row.conversation_id) + 1)
    changed.rows.append(at_home(log, copy) if draw(st.booleans()) else copy)
    return Mutant(f"copy to the end {changed.rows[-1]}", changed, {row.conversation_id})


@mutation
def copy_over_another(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    source, target = changed.rows[pick(draw, log)], pick(draw, log)
    old = changed.rows[target]
    copy = replace(old, payload=source.payload)
    changed.rows[target] = at_home(log, copy) if draw(st.booleans()) else copy
    return Mutant(f"instead of {old}: {changed.rows[target]}", changed, {old.conversation_id})


@mutation
def swap_payloads(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    first, second = pick(draw, log), pick(draw, log)
    a, b = changed.rows[first], changed.rows[second]
    if a == b:
        raise InapplicableError
    fix = draw(st.booleans())
    for place, row, payload in ((first, a, b.payload), (second, b, a.payload)):
        new = replace(row, payload=payload)
        changed.rows[place] = at_home(log, new) if fix else new
    what = f"swap payloads, {'keys put right' if fix else 'as they are'}: {a}, {b}"
    return Mutant(what, changed, {a.conversation_id, b.conversation_id})


@mutation
def swap_numbers(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    first = pick(draw, log)
    name = log.rows[first].conversation_id
    second = draw(st.sampled_from([n for n, r in enumerate(log.rows) if r.conversation_id == name]))
    a, b = changed.rows[first], changed.rows[second]
    if a == b:
        raise InapplicableError
    changed.rows[first], changed.rows[second] = replace(a, step=b.step), replace(b, step=a.step)
    return Mutant(f"swap numbers: {a}, {b}", changed, {name})


@mutation
def move_to_another_conversation(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    place = pick(draw, log)
    row = changed.rows[place]
    names = {r.conversation_id for r in log.rows} - {row.conversation_id}
    target = draw(st.sampled_from(sorted(names)) | ids) if names else draw(ids)
    if target == row.conversation_id:
        raise InapplicableError
    taken = {r.step for r in log.rows if r.conversation_id == target}
    step = row.step if row.step not in taken else log.last_step(target) + 1
    moved = replace(row, conversation_id=target, step=step)
    changed.rows[place] = at_home(log, moved) if draw(st.booleans()) else moved
    what = f"move {row} to {changed.rows[place]}"
    return Mutant(what, changed, {row.conversation_id, target})


@mutation
def renumber(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    place = pick(draw, log)
    row = changed.rows[place]
    last = log.last_step(row.conversation_id)
    odd = (
        None,
        "x",
        str(row.step),
        row.step + 0.5,
        float(row.step),
        b"\x01",
        str(row.step).encode(),
    )
    usual = (last + 1, last + 900, 2**31 - 1, 2**31, 2**62, 0, -1, -(2**62))
    step = one_of(draw, *odd, *usual)
    new = replace(row, step=step)
    if isinstance(step, int) and draw(st.booleans()):
        new = at_home(log, new)
    changed.rows[place] = new
    typed = isinstance(step, int) or (draw(st.booleans()) and step is not None)
    return Mutant(f"renumber {row} to {new}, {typed=}", changed, {row.conversation_id}, typed=typed)


@mutation
def change_storage_class(draw: st.DrawFn, log: LogBuilder) -> Mutant:
    changed = copied(log)
    place = pick(draw, log)
    row = changed.rows[place]
    new = one_of(
        draw,
        replace(row, payload=row.payload.encode()),
        replace(row, payload=None),
        replace(row, payload=7),
        replace(row, conversation_id=row.conversation_id.encode()),
        replace(row, conversation_id=None),
        replace(row, conversation_id=row.conversation_id.encode() + b"\xff"),
    )
    changed.rows[place] = new
    what = f"store {row} as {new}"
    return Mutant(what, changed, {row.conversation_id}, typed=False)
