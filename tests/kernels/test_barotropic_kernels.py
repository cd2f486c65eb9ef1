"""The barotropic model's kernels: CUDA (simulated) = CPU; no double arithmetic in single precision."""

from __future__ import annotations

import re

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid, Layers


def model_on(device, nx=17, ny=14, precision="double", **options):
    rng = np.random.default_rng(3)
    grid = Grid.of_points(nx, ny, 2.6, 3.0)
    zeta = np.zeros((ny, nx))
    zeta[1:-1, 1:-1] = 20.0 * rng.standard_normal((ny - 2, nx - 2))
    curl = rng.standard_normal((ny, nx))
    if options.pop("all_terms", False):
        options |= {
            "topography": 5.0 * curl[::-1],
            "biharmonic_viscosity": 1e-4,
            "layers": Layers(3.0, 1.0),
            "vorticity_lower": zeta[::-1],
            "tracer": np.abs(curl),
            "particles": [[0.5, 0.5], [1.0, 2.0]],
        }
    return BarotropicVorticity(
        grid, time_step=1e-3, beta=3.0, viscosity=0.02, wind_curl=curl, vorticity=zeta, bottom_friction=0.1,
        device=device, precision=precision, **options,
    )  # fmt: skip


@pytest.mark.simulator
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scheme": "ab2", "jacobian": "advective", "ny": 23},
        {"nx": 12, "walls": "no-slip"},  # 11 intervals: no plan, a chirp
        {"viscous": "implicit", "fused_points": 0},
        {"fused_points": 0, "scheme": "ab2", "jacobian": "advective"},
        {"all_terms": True},
        {"basin": "channel", "nx": 10, "all_terms": True},
    ],
    ids=["fused", "ab2", "chirp", "implicit", "strips", "all", "channel"],
)
def test_simulated_cuda_equals_the_cpu(options, monkeypatch):
    from eagre.backend.simulated import SimulatedDevice
    from eagre.models.barotropic import passes

    options = dict(options)
    monkeypatch.setattr(passes, "FUSED_POINTS", options.pop("fused_points", passes.FUSED_POINTS))

    both = (("double", 1e-12), ("single", 2e-5))
    for precision, tolerance in both if not options else both[:1]:
        ours = model_on(SimulatedDevice(), precision=precision, **options)
        theirs = model_on("cpu", precision=precision, **options)
        for model in (ours, theirs):
            model.advance(3e-3)
        expected = theirs.state()
        for name, value in ours.state().items():
            scale = np.abs(expected[name]).max()
            assert np.abs(value - expected[name]).max() <= tolerance * scale or name == "landed", name


@pytest.mark.simulator
@pytest.mark.parametrize("n", [16, 48, 64, 96, 11, 43, 130])  # the last three by way of a chirp
def test_simulated_sine_transform(n):
    import scipy.fft

    from eagre.backend.device import Launch
    from eagre.backend.simulated import SimulatedDevice
    from eagre.solvers.poisson.rows_cuda import sine_rows_cuda
    from eagre.solvers.poisson.sine_plan import sine_plan

    plan = sine_plan(n)
    x = np.zeros((5, n + 1))
    x[1:-1, 1:-1] = np.random.default_rng(0).standard_normal((3, n - 1))
    out = np.zeros_like(x)
    device = SimulatedDevice()
    program = device.program(sine_rows_cuda, "double", plan.switches())
    device.run([Launch(program, (x, out, plan.table), (2,), (plan.threads,), plan.shared_bytes(8))])
    expected = scipy.fft.dst(x[1:-1, 1:-1], type=1, axis=1) / 2
    assert np.abs(out[1:-1, 1:-1] - expected).max() < 1e-15 * n * np.abs(x).max()
    assert (out[[0, -1]] == 0).all() and (out[:, 0] == 0).all()


def kernel_ptx(kind, precision):
    from numba import types

    from eagre.backend.cuda import ptx
    from eagre.backend.program import load, source_of
    from eagre.models.barotropic.kernels import Coefficients
    from eagre.models.barotropic.passes_cuda import update_cuda
    from eagre.solvers.poisson.columns_cuda import solve_columns_cuda
    from eagre.solvers.poisson.sine_plan import sine_plan

    real = types.float32 if precision == "single" else types.float64
    field = real[:, ::1]
    if kind == "update":
        entry, switches = update_cuda, sine_plan(1024).switches()
        coefficients = types.NamedTuple([real] * len(Coefficients._fields), Coefficients)
        signature = (field,) * 6 + (real[::1], coefficients, field, field)
    else:
        entry, switches = solve_columns_cuda, {"OWN": 16, "COLUMNS": 8}
        signature = (real[::1], real[::1], field, types.int32)
    module = load(source_of(entry, "cuda", precision, switches), entry.name)
    return ptx(getattr(module, entry.name), signature)


@pytest.mark.parametrize("kind", ["update", "columns"])
def test_single_precision_kernels_have_no_double_arithmetic(kind):
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    text = kernel_ptx(kind, "single")
    assert not re.findall(r"\b(?:add|sub|mul|div|fma|sqrt|rcp|max|min)[\w.]*\.f64", text)
    assert ".local" not in text
    assert len(re.findall(r"^\s+[a-z@%].*;", text, re.MULTILINE)) < 1700  # raise with a measurement only
