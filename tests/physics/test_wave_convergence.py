"""Convergence of the Laplace solver: published curves, history, tolerances and solves that do not converge."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Grid, PotentialWaves
from eagre.errors import BlowUpError, InputError
from eagre.models.potential_waves.config import PotentialWavesCase
from eagre.waves import StreamFunctionWave

LENGTH = 2.0  # wave length, m


def wave_of(points, waves=1, order=6, sweeps=1, layers=7, rows=1, **more):
    """The wave of section 6 of the document, kh = 0.5 and H / L = 0.0088, with the line preconditioner."""
    depth = 0.25 * LENGTH / np.pi
    wave = StreamFunctionWave(height=0.0088 * LENGTH, depth=depth, length=LENGTH, gravity=9.81, eulerian_current=0.0)
    grid = Grid.from_points(points * waves, rows, waves * LENGTH, 1.0, periodic=(True, False))
    at = grid.x[None] + np.zeros((rows, 1)), 0.0, 0.0
    options = {"tolerance": 1e-7, "preconditioner": "lines", "multigrid": {"pre": sweeps, "post": sweeps}, **more}
    return PotentialWaves(
        grid, depth, surface_elevation=wave.elevation(*at), surface_potential=wave.surface_potential(*at),
        periodic="x", order=order, vertical_points=layers, vertical_clustering=False, precision="double", **options,
    )  # fmt: skip


def iterations_of(model):
    """Mean iterations per solve of the first step."""
    model.advance(model.time_step)
    return model.statistics()["iterations_a_solve"]


@pytest.mark.parametrize(("order", "count"), [(2, 3.75), (4, 5.75), (6, 6.5), (8, 7.75)])
def test_figure_6_4(order, count):
    """V(5,5), 26 points per wave. Order 2 gains one decade per iteration; all norms fall."""
    model = wave_of(26, order=order, sweeps=5, layers=max(7, order + 1))
    assert iterations_of(model) == pytest.approx(count, abs=0.25)
    history = model.convergence()
    falls = history.norms[1:] / history.norms[:-1]
    assert history.method == "one weight" and history.iterations == history.norms.size
    assert history.rate == pytest.approx(np.exp(np.mean(np.log(falls))), rel=1e-12) and falls.max() < 0.511
    assert history.norms[-1] <= history.tolerance < history.norms[-2]
    assert order > 2 or history.rate < 0.1


@pytest.mark.parametrize(
    ("points", "sweeps", "count"), [(24, 1, 12.75), (96, 1, 8.25), (24, 2, 10.75), (96, 2, 7.0), (24, 5, 7.75)]
)
def test_figure_6_5(points, sweeps, count):
    """The finer the grid, the fewer iterations: no divergence."""
    assert iterations_of(wave_of(points, sweeps=sweeps)) == pytest.approx(count, abs=0.25)


def test_figures_6_8_and_6_10():
    """Three grids are few, four are sufficient; the size of the domain has no influence."""
    few, enough = (iterations_of(wave_of(1536, multigrid={"levels": levels})) for levels in (3, 4))
    assert (few, enough) == (pytest.approx(12.25, abs=0.25), pytest.approx(4.25, abs=0.25))
    assert [iterations_of(wave_of(26, waves)) for waves in (2, 8)] == pytest.approx([12.75, 12.75], abs=0.25)


def test_the_larger_tolerance_is_used():
    """max(absolute, relative * RMS of the difference of the potentials at bed and surface)."""
    first = wave_of(24, tolerance=1e-5)
    first.advance(first.time_step)
    scale = float(np.sqrt(np.mean(first.state()["psi"][first.setup.vertical.nz - 1] ** 2)))
    found = []
    for absolute in (0.5e-5 * scale, 2e-4 * scale):
        model = wave_of(24, tolerance=1e-5, absolute_tolerance=absolute)
        model.restore(first.state())
        model.advance(model.time + model.time_step)
        found.append(model.convergence())
    assert [one.tolerance for one in found] == pytest.approx([1e-5 * scale, 2e-4 * scale], rel=1e-12, abs=0.0)
    assert found[1].iterations < found[0].iterations and all(one.norms[-1] <= one.tolerance for one in found)


def test_a_solve_that_does_not_converge():
    """An error by default; with "continue" the step is completed and the summary counts the solves."""
    model = wave_of(24, max_iterations=3)
    with pytest.raises(BlowUpError, match=r"did not converge .* after 3 iterations; tolerance"):
        model.advance(model.time_step)
    history = model.convergence()
    assert history.iterations == history.norms.size == 3 and history.norms[-1] > history.tolerance
    model = wave_of(24, max_iterations=3, on_nonconvergence="continue")
    model.advance(model.time_step)
    assert ("not converged", "4 Laplace solves reached max_iterations = 3") in model.summary_rows
    assert model.steps == 1 and model.convergence().norms.size == 3
    assert not any(name == "not converged" for name, _ in wave_of(24).summary_rows)


def test_the_history_of_two_devices_is_that_of_one():
    options = {"preconditioner": "modes", "multigrid": None, "rows": 17}
    one, two = (wave_of(32, **options, device=device) for device in ("cpu", "cpu,cpu"))
    for model in (one, two):
        model.advance(model.time_step)
    assert one.convergence().norms.tolist() == two.convergence().norms.tolist() != []


def test_the_history_is_copied_on_request_only(monkeypatch):
    """No copy of the norms during a step, and the same state with and without requests."""
    silent, asked = wave_of(24), wave_of(24)
    laplace, copied = silent._engine.laplace, []
    host = laplace.device.host

    def copy(array):
        copied.append(array is laplace.test.norms)
        return host(array)

    monkeypatch.setattr(laplace.device, "host", copy)
    for _ in range(2):
        silent.advance(silent.time + silent.time_step)
        asked.advance(asked.time + asked.time_step)
        assert asked.convergence().iterations > 1
    assert copied and not any(copied)
    for name, values in silent.state().items():
        np.testing.assert_array_equal(values, asked.state()[name], name)
    assert silent.convergence().norms.tolist() == asked.convergence().norms.tolist() and any(copied)


def test_the_rate_covers_all_iterations_of_the_method():
    """Also if the rate was checked in between, after 6 iterations."""
    model = wave_of(24, preconditioner="modes", tolerance=1e-12)
    model.advance(model.time_step)
    method, count, rate, norms, _ = model.convergence()
    assert method == "one weight" and count == norms.size > 7
    assert rate == pytest.approx((norms[-1] / norms[0]) ** (1.0 / (count - 1)), rel=1e-12)


def test_before_the_first_solve():
    history = wave_of(24).convergence()
    assert history.iterations == history.norms.size == 0 and np.isnan([history.rate, history.tolerance]).all()


CASE = """
model = "potential-waves"
run.end_time = "1 s"
run.device = "cpu"
basin = {nx = 33, length_x = 2.0, depth = 0.5}
[numerics]
"""


def test_keys_of_a_case(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(CASE + 'max_iterations = 7\nabsolute_tolerance = 1e-6\non_nonconvergence = "continue"\n')
    model = PotentialWavesCase.load(path).build()
    wanted = {"max_iterations": 7, "absolute_tolerance": 1e-6, "on_nonconvergence": "continue"}
    assert {
        name: getattr(model.setup, name) for name in wanted
    } == wanted and wanted.items() <= model.settings().items()
    for line, allowed in (
        ("max_iterations = 0", "greater than or equal to 1"), ("absolute_tolerance = -1.0", "equal to 0"),
        ('on_nonconvergence = "warn"', "error, continue"),
    ):  # fmt: skip
        path.write_text(CASE + line + "\n")
        with pytest.raises(InputError) as caught:
            PotentialWavesCase.load(path)
        assert line.split()[0] in str(caught.value) and allowed in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [{"max_iterations": 0}, {"max_iterations": 2.5}, {"absolute_tolerance": -1.0}, {"on_nonconvergence": "warn"}],
)
def test_arguments_out_of_range(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        wave_of(24, **wrong)
