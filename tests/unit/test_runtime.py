"""Exchanges and barriers that follow from what stages read and write."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import EagreError
from eagre.runtime.exchanges import Access, planned
from eagre.runtime.stage import ALL, Fusion, Stage, arrays_of, fused, near

NOW, NEXT = ("a", "b"), ("b", "a")


def syncs(*steps, halo=1, repeats=True):
    """Arrays that meet before each stage, by the name of the stage."""
    plan = planned(steps, halo, repeats)
    return [
        {stage.stage: before for stage, before in zip(*pair, strict=True) if before}
        for pair in zip(steps, plan, strict=True)
    ]


def test_a_stencil_needs_one_exchange_per_step():
    steps = [[Access("move", {old: 1}, (new,))] for old, new in (NOW, NEXT)]
    assert syncs(*steps) == [{"move": [("a",)]}, {"move": [("b",)]}]


def test_a_stencil_in_place_waits_for_the_copies_of_others():
    assert syncs([Access("move", {"a": 1}, ("a",))]) == [{"move": [("a",), ()]}]


def test_an_exchange_takes_along_what_is_needed_later():
    """But not what is written again before. The second stage overwrites c, which others copy."""
    step = [
        Access("first", {"a": 1, "b": 1, "c": 1}, ()),
        Access("second", {"a": 0}, ("a", "b", "c", "d")),
        Access("third", {"a": 1, "c": 0}, ("c",)),
        Access("outputs", {"d": 1}, ()),
    ]
    assert syncs(step) == [{"first": [("c",)], "second": [()], "third": [("a", "b", "d")]}]


def test_computed_halo_rows_replace_an_exchange():
    """Halo rows of two stencils: one exchange of two rows, which others copy before they are overwritten."""
    step = [Access("first", {"a": 1}, ("b",), extent=1), Access("second", {"b": 1}, ("a",))]
    assert syncs(step, halo=2) == [{"first": [("a",)], "second": [()]}]
    with pytest.raises(EagreError, match="first needs 2 halo rows of a; there are 1"):
        syncs(step, halo=1)


def test_slots_of_all_ranks_are_exchanged_when_one_was_written():
    step = [Access("leave", {}, ("ends",)), Access("join", {"ends": ALL}, ("a",)), Access("move", {"a": 1}, ("b",))]
    assert syncs(step) == [{"join": [("ends",)], "move": [("a",)]}]


def test_a_list_that_runs_once_begins_with_invalid_halo_rows():
    step = [Access("move", {"a": 1}, ("b",))]
    assert syncs(step) == [{}] and syncs(step, repeats=False) == [{"move": [("a",)]}]


def test_a_barrier_separates_a_copy_from_a_write_in_the_next_step():
    """The exchange at the end takes along what the next step reads first."""
    step = [Access("read", {"a": 1}, ("b",)), Access("write", {}, ("a",)), Access("outputs", {"b": 1}, ())]
    assert syncs(step) == [{"read": [()], "outputs": [("a", "b")]}]


def stages_of(*arrays):
    a, b, c = arrays
    return [
        Stage("first", list, near(1, a), (b,)),
        Stage("second", list, near(0, b), (c,)),
        Stage("third", list, near(1, c), (a,)),
    ]


def test_a_fusion_reads_and_writes_what_its_stages_do():
    a, b, c = (np.zeros(1) for _ in range(3))
    table = [Fusion(("second",), lambda model: False, None), Fusion(("first", "second"), bool, lambda *given: given)]
    first, last = fused(stages_of(a, b, c), table, "model", 1)
    assert (first.name, last.name) == ("first + second", "third") and first.make() == ("model", 1)
    assert [(id(array), rows) for array, rows in first.reads] == [(id(a), 1)]
    assert [id(array) for array in first.writes] == [id(b), id(c)]


def test_stages_that_need_an_exchange_are_not_fused():
    table = [Fusion(("second", "third"), bool, lambda *given: given)]
    with pytest.raises(EagreError, match="third needs an exchange"):
        fused(stages_of(*(np.zeros(1) for _ in range(3))), table, "model", 0)


def test_arrays_are_named_after_attributes():
    class Owner:
        def __init__(self):
            self.real, self.one, self.pairs = np.float32, np.zeros(1), [[np.zeros(2), np.zeros(3)]]

    assert {name: array.size for name, array in arrays_of(state=Owner()).items()} == {
        "state.one": 1, "state.pairs[0][0]": 2, "state.pairs[0][1]": 3
    }  # fmt: skip
