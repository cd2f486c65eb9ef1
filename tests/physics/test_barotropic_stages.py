"""Stages of the barotropic model: true declarations, few exchanges, and fast kernels that equal what they replace."""

from __future__ import annotations

import pytest

from barotropic_runs import CASES, assert_same_states, model_on
from eagre import Layers, TimeStatistics
from eagre.backend.group import BARRIER
from eagre.models.barotropic import engine as engines
from eagre.models.barotropic.step import start, step
from eagre.models.barotropic.update.kernel_sets import FUSIONS
from eagre.runtime.stage import ALL, fused
from runtime_declarations import ranks_of, wrong_declarations

SETUPS = {
    **{name: CASES[name] for name in ("default", "ab2", "no-slip", "implicit", "reduced gravity", "changing wind")},
    "all terms": {**CASES["all terms"], "biharmonic": 1e-4, "walls": "no-slip"},
    "biharmonic": {"biharmonic_viscosity": 1e-4, "deformation_radius": 0.4},
    "compensated": CASES["compensated"],
    "statistics": {"time_statistics": TimeStatistics(mean=("streamfunction", "speed"))},
    "tracer": {"layers": Layers(3.0, 1.0), "dye": True},
}
EXCHANGES = {
    "default": 2,
    "no-slip": 2,
    "changing wind": 2,
    "statistics": 2,
    "tracer": 2,
    "implicit": 3,
    "all terms": 3,
}


def after_steps(name, count=3):
    """A run after some steps, on CPU devices."""
    model = model_on(["cpu"] * count, 17, 15, **{"time_step": 1e-3, **SETUPS[name]})
    model.advance(4 * model.time_step)
    return model


@pytest.mark.parametrize("name", SETUPS)
def test_declarations_are_true(name):
    engine = after_steps(name)._engine
    for old in (0, 1):
        assert wrong_declarations(engine, lambda one, old=old: step(one.stages, old)) == []
        assert wrong_declarations(engine, lambda one, old=old: one.steps()[old]) == []


@pytest.mark.parametrize("name", ["all terms", "implicit"])
def test_all_ranks_declare_the_same(name):
    """So that every process derives the same exchanges."""
    engine = after_steps(name)._engine
    first, *others = (
        [(stage.name, stage.extent) for stage in rank.stages] + [rank.reads, rank.writes]
        for rank, _ in ranks_of(engine, lambda one: one.steps()[0])
    )
    assert others == [first, first]


def changes():
    """Every stage of a step with many terms, with one declaration less; the number of it among those of the stage."""
    stages = step(after_steps("all terms")._engine.subdomains[1].stages, 0)
    for k, stage in enumerate(stages[:-1]):
        yield from ((k, "write", n) for n in range(len(stage.writes)))
        yield from ((k, "rows", n) for n, (_, rows) in enumerate(stage.reads) if 0 < rows < ALL)


def changed(stage, kind, n):
    """The stage without write n, or without the neighbouring rows of read n."""
    if kind == "write":
        return stage._replace(writes=[*stage.writes[:n], *stage.writes[n + 1 :]])
    reads = list(stage.reads)
    reads[n] = reads[n][0], 0
    return stage._replace(reads=reads)


def test_a_missing_declaration_is_found():
    """Every write but those of stored tendencies that a step of the other phase replaces, and every stencil."""
    engine, unseen = after_steps("all terms")._engine, []
    for k, kind, n in changes():

        def steps(one, k=k, kind=kind, n=n):
            stages = step(one.stages, 0)
            return [*stages[:k], changed(stages[k], kind, n), *stages[k + 1 :]]

        if not wrong_declarations(engine, steps):
            unseen.append((kind, step(engine.subdomains[0].stages, 0)[k].writes[n]))
    state = engine.subdomains[0].fields
    other = [state.tracer_history[0], *(history[0] for history in state.history), *state.rounding]
    assert [id(array) for _, array in unseen] == [id(array) for array in other]
    assert {kind for kind, _ in unseen} == {"write"}


@pytest.mark.parametrize("name", EXCHANGES)
def test_exchanges_of_a_step(name):
    """The tracer and particles are part of other exchanges; the Laplacians of two layers are one exchange."""
    for launches in after_steps(name)._engine.launches:
        assert sum(stage is BARRIER for stage in launches) == EXCHANGES[name]


def entries_of(model):
    """The entries of the table that replace stages of a step of a model."""
    stages = model._engine.subdomains[0].stages
    names = [stage.name for stage in step(stages, 0)]
    return {
        entry.stages
        for entry in FUSIONS
        if entry.serves(stages)
        and any(tuple(names[k : k + len(entry.stages)]) == entry.stages for k in range(len(names)))
    }


def assert_fast_equals_stages(monkeypatch, entries, steps, tolerance, **options):
    """The fusions `entries` change a state by rounding errors only."""
    fast = model_on(**options)
    assert entries_of(fast) == entries
    monkeypatch.setattr(engines, "FUSIONS", ())
    plain = model_on(**options)
    for model in (fast, plain):
        model.advance(steps * model.time_step)
    assert_same_states(fast, plain, tolerance)


ON_CPU = {
    "default": {("vorticity",)},
    "ab2": {("vorticity",)},
    "all terms": {("tracer",), ("vorticity",)},
    "implicit": {("vorticity",)},
}


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", ON_CPU)
def test_fast_kernels_equal_their_stages(monkeypatch, name, precision):
    options = {"device": "cpu", "nx": 33, "ny": 29, "precision": precision, **SETUPS[name]}
    assert_fast_equals_stages(monkeypatch, ON_CPU[name], 10, 2e-6 if precision == "single" else 1e-13, **options)


ON_GPU = {
    "default": {("vorticity", "forward")},
    "tracer": {("tracer",), ("vorticity", "forward")},
    "all terms": {("tracer",), ("vorticity", "forward")},
    "biharmonic": {("vorticity", "forward")},
    "implicit": {("vorticity", "forward")},
}


@pytest.mark.simulator
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("name", ON_GPU)
def test_simulated_fast_kernels_equal_their_stages(monkeypatch, name, devices):
    from eagre.backend.simulated import SimulatedDevice

    device = [SimulatedDevice() for _ in range(devices)] if devices > 1 else SimulatedDevice()
    options = {"device": device, "nx": 17, "ny": 12, **SETUPS[name], "time_step": 1e-3}
    assert_fast_equals_stages(monkeypatch, ON_GPU[name], 3, 1e-14, **options)


def test_every_fusion_is_compared():
    compared = {stages for table in (ON_CPU, ON_GPU) for some in table.values() for stages in some}
    assert compared == {entry.stages for entry in FUSIONS}


def test_the_start_needs_no_fast_kernel():
    """A fusion starts with an update, which the start has not."""
    stages = after_steps("default")._engine.subdomains[0].stages
    names = [stage.name for stage in start(stages)]
    assert names == [stage.name for stage in fused(start(stages), FUSIONS, stages, 0)]
