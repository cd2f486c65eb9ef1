"""Tuning on a card: times by events, a search from end to end."""

from __future__ import annotations

import time

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.backend.tuned import chosen
from eagre.laboratory.bench.shallow_water import basin
from eagre.laboratory.bench.tuning.tuner import tune_benchmark
from eagre.laboratory.bench.tuning.workload import timer_of

pytestmark = pytest.mark.gpu


def test_events_measure_time_on_the_card():
    """No more than the clock says of the same work, and twice as much for twice the work (F36).

    Others may use the card meanwhile: of several runs some two are alike.
    """
    device = select("cuda")
    model = basin((2048, 2048), device, "single", "rk2")
    work, timer = model.steps_without_checks(100), timer_of(device)
    work()
    ratios = []
    for _ in range(8):
        start = time.perf_counter()
        once = timer(work)
        assert 0.0 < once <= time.perf_counter() - start
        ratios.append(timer(lambda: [work(), work()]) / once)
    assert min(abs(ratio - 2.0) for ratio in ratios) < 0.1


def test_a_limit_of_registers_needs_no_second_compilation():
    """Programs that differ in it share their PTX; each keeps to its own limit, and has the same results."""
    device = select("cuda")
    model = basin((64, 64), device, "single", "euler")
    model.advance(1e9, max_steps=4)
    shipped = device.table.values["shallow-water.march.registers"]
    for limit in (232, 96):
        own = {"shallow-water.march.registers": {**shipped, "single": {"first": limit, "second": limit}}}
        other = basin((64, 64), device.with_parameters(own, "a test"), "single", "euler")
        other.advance(1e9, max_steps=4)
        programs = [launch.program for launch in other._engine.schedule.launches]
        (stage,) = {one for one in programs if one.py_func.__name__ == "stage_cuda"}
        (kernel,) = stage.overloads.values()
        assert not stage._cache_misses and kernel.regs_per_thread <= limit
        np.testing.assert_allclose(other.field("depth"), model.field("depth"), rtol=1e-5)


def test_a_model_takes_other_layouts_up_and_goes_on():
    """With tiles, which keep no ghosts, and with marches: to the bits of a model that was made with these layouts."""
    device = select("cuda")
    layouts = ({"shallow-water.tiles.most": 0}, {"shallow-water.tiles.most": 4}, {"shallow-water.boundary.threads": 32})
    model = basin((96, 80), device, "double", "rk2")
    for values in layouts:
        where = device.with_parameters(values, "a test")
        state = model.state()
        other = basin((96, 80), where, "double", "rk2")
        other.restore(state)
        model.use_tuning(where)
        for one in (model, other):
            one.advance(1e9, max_steps=7)
        assert type(model._engine.schedule) is type(other._engine.schedule) and model.steps == other.steps
        np.testing.assert_array_equal(model.field("depth"), other.field("depth"))


def test_a_search_ends_with_values_that_runs_use(monkeypatch, tmp_path):
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path))
    device, lines = select("cuda"), []
    (found,) = tune_benchmark(
        "shallow-water", device, "single", [256], only=["shallow-water.boundary"], tell=lines.append
    )
    assert len(found.outcome.trials) == 4 and not any(trial.failed for trial in found.outcome.trials)
    assert found.outcome.tuned_seconds <= 1.02 * found.outcome.shipped_seconds
    assert any("too few cells" in line for line in lines)
    used = chosen("cuda", "shallow-water", 256 * 256, "single", "rk2")
    assert ("tuned for" in used.words) == bool(found.outcome.values)
