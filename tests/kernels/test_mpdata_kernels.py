"""MPDATA point by point against the transcription of its stages: every option, side and shape."""

from __future__ import annotations

import re

import numpy as np
import pytest

from eagre.advection import Mpdata, columns
from eagre.advection.mpdata import plan_of
from eagre.advection.plan import Advector, Options, StagedPlan
from eagre.backend.device import PlainDevice
from eagre.backend.select import select
from kernels.recording import RecordingDevice, ir_of, scattered_of, vectors_of
from kernels.test_every_kernel import check
from mpdata_runs import SIDES, expected, rough

OPTIONS = {  # of Mpdata, of the transcription
    "gauge": ({}, {"fct": True}),
    "gauge, not limited": ({"nonoscillatory": False}, {}),
    "donor cell": ({"passes": 1}, {"passes": 1}),
    "sign-preserving": ({"variant": "sign-preserving"}, {"gauge": False, "fct": True}),
    "three passes": ({"variant": "sign-preserving", "passes": 3}, {"gauge": False, "fct": True, "passes": 3}),
    "four passes, not limited": (
        {"variant": "sign-preserving", "passes": 4, "nonoscillatory": False},
        {"gauge": False, "passes": 4},
    ),
    "third order": ({"third_order": True}, {"third": True, "fct": True}),
    "third order, sign-preserving": (
        {"third_order": True, "variant": "sign-preserving"},
        {"third": True, "gauge": False, "fct": True},
    ),
    "third order, three passes": (
        {"third_order": True, "variant": "sign-preserving", "passes": 3},
        {"third": True, "gauge": False, "fct": True, "passes": 3},
    ),
}
SHAPES = [(6, 5, 7), (1, 4, 9), (7, 1, 2), (1, 1, 1)]


def difference(found, known):
    return np.abs(found - known).max()


FUSED = ("gauge", "gauge, not limited", "sign-preserving", "third order", "third order, sign-preserving")
WAYS = [(name, "reference") for name in OPTIONS] + [
    (name, "fast") if name in ("gauge", "third order") else pytest.param(name, "fast", marks=pytest.mark.slow)
    for name in FUSED
]


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize(("name", "kernels"), WAYS)
def test_every_stage_is_that_of_the_transcription(name, sides, kernels):
    ours, theirs = OPTIONS[name]
    gauge = theirs.get("gauge", True)
    for shape in SHAPES:
        x, v, h = rough(shape, low=-1.0 if gauge else 0.0)
        for given in (h, None) if shape == SHAPES[0] else (h,):
            for odd in ((), (0, 2)) if gauge else ((),):
                found = Mpdata(shape, SIDES[sides], kernels=kernels, **ours).step(x, v, given, odd=odd)
                known = expected(x, v, given, SIDES[sides], odd, **theirs)
                assert difference(found, known) < 2e-15


@pytest.mark.slow
@pytest.mark.parametrize("kernels", ["fast", "reference"])
@pytest.mark.parametrize("name", FUSED)
def test_single_precision(name, kernels):
    ours, theirs = OPTIONS[name]
    x, v, h = rough((6, 5, 7), dtype=np.float32)
    found = Mpdata(x.shape, "wall", kernels=kernels, **ours).step(x, v, h)
    known = expected(np.float64(x), [np.float64(a) for a in v], np.float64(h), SIDES["walls"], **theirs)
    assert found.dtype == np.float32
    assert difference(found, known) < 1e-6


@pytest.mark.nojit
@pytest.mark.parametrize("third", [False, True])
def test_a_small_step(third):
    """Small, so that it runs as plain Python too."""
    x, v, h = rough((3, 2, 4), low=-1.0)
    found = Mpdata(x.shape, SIDES["mixed"], third_order=third).step(x, v, h)
    assert difference(found, expected(x, v, h, SIDES["mixed"], fct=True, third=third)) < 2e-15


@pytest.mark.slow
@pytest.mark.parametrize("third", [False, True])
@pytest.mark.parametrize("shape", [(9, 40, 150), (60, 17, 20), (5, 1, 300), (130, 1, 3)])
def test_tiles(shape, third):
    """More than one tile along each axis."""
    x, v, h = rough(shape, low=-1.0)
    for sides in SIDES.values():
        fast, plain = (
            Mpdata(shape, sides, kernels=kernels, third_order=third).step(x, v, h) for kernels in ("fast", "reference")
        )
        assert difference(fast, plain) < 2e-15


@pytest.mark.slow
@pytest.mark.parametrize(("variable", "third"), [(True, False), (False, False), (True, True)])
def test_loops_on_the_cpu_are_vectorised(variable, third):
    shape = (8, 8, 16)
    x, v, h = rough(shape, dtype=np.float32)
    plan = plan_of(select("cpu"), "single", shape, SIDES["rings"], Options(third_order=third))
    [launch] = plan.launches(x, np.zeros_like(x), Advector(*v[::-1], h if variable else None))
    text = ir_of(launch)
    assert vectors_of(text, "fmul") > (80 if third else 35)
    assert vectors_of(text, "fadd") > (80 if third else 35)
    assert vectors_of(text, "fdiv") >= (8 if variable else 2)
    assert scattered_of(text) <= 4  # ghost points at either end of a row: two numbers of a table each, on some machines
    assert not re.findall(r"= f(?:add|sub|mul|div)[^\n]*double", text)


def test_no_doubles_in_single_precision():
    """In what the reference asks a GPU to run."""
    shape, device = (4, 5, 6), RecordingDevice()
    x, v, h = rough(shape, dtype=np.float32)
    for options in (Options(), Options(3, False, True)):
        plan = plan_of(device, "single", shape, SIDES["mixed"], options)
        device.run(plan.launches(x, np.zeros_like(x), Advector(*v[::-1], h)))
    wanted = {"fill_column", "advect", "velocities_column", "allowed_fractions", "correct", "take"}
    assert wanted <= check(device)


@pytest.mark.nojit
@pytest.mark.parametrize("device", [PlainDevice(), pytest.param(None, marks=pytest.mark.simulator)])
@pytest.mark.parametrize("options", [Options(third_order=True), Options(3, False, True), Options(3, False)])
def test_columns_of_a_gpu(options, device, monkeypatch):
    """Threads of several levels, and of all, against the stages."""
    if device is None:
        from eagre.backend.simulated import SimulatedDevice

        device = SimulatedDevice()
    shape = (3, 2, 3)
    x, v, h = rough(shape, low=-1.0 if options.gauge else 0.0)
    for levels, sides in ((4, "mixed"), (99, "walls")):
        monkeypatch.setattr(columns, "levels_of", lambda *_, levels=levels: levels)
        found = []
        for one, kind in ((device, columns.ColumnPlan), (PlainDevice(), StagedPlan)):
            plan, out = kind(one, "double", shape, SIDES[sides], options), np.full(shape, np.nan)
            one.run(plan.launches(x, out, Advector(*v[::-1], h), (False, True, False)))
            found.append(out)
        assert difference(*found) < 2e-15
