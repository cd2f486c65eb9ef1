"""Tuning on a card: times by events, a search from end to end."""

from __future__ import annotations

import time

import pytest

from eagre.backend.select import select
from eagre.backend.tuned import chosen
from eagre.bench.shallow_water import basin
from eagre.bench.tuner import tune_benchmark
from eagre.bench.workload import timer_of

pytestmark = pytest.mark.gpu


def test_events_agree_with_the_clock():
    """Some 50 ms of steps: what begins and ends a run is nothing then (F36)."""
    device = select("cuda")
    model = basin((2048, 2048), device, "single", "rk2")
    work, timer = model.unchecked_steps(100), timer_of(device)
    work()
    by_events = min(timer(work) for _ in range(5))
    by_clock = []
    for _ in range(5):
        device.synchronize()
        start = time.perf_counter()
        work()
        device.synchronize()
        by_clock.append(time.perf_counter() - start)
    assert by_events == pytest.approx(min(by_clock), rel=0.05)


def test_a_search_ends_with_values_that_runs_use(monkeypatch, tmp_path):
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path))
    device, lines = select("cuda"), []
    (found,) = tune_benchmark(
        "shallow-water", device, "single", [256], only=["shallow-water.boundary"], tell=lines.append
    )
    assert len(found.outcome.trials) == 4 and not any(trial.failed for trial in found.outcome.trials)
    assert found.outcome.after <= 1.02 * found.outcome.before and "too few cells" in lines[0]
    used = chosen("cuda", "shallow-water", 256 * 256, "single", "rk2")
    assert ("tuned for" in used.words) == bool(found.outcome.values)
