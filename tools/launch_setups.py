"""Set-ups for `launch_record`: devices that record launches, and grids on which GPUs use other kernels.

The small set-ups of every option are those of `tests/option_setups.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import eagre
from eagre.backend.device import HostArrays, HostCall, Launch
from eagre.backend.group import Group
from eagre.backend.peer_copies import copy_launches
from eagre.stepping.convergence_loop import ITERATING, SIZE

TIMES = np.array([0.0, 25.0, 60.0, 1e9])


def _work(launches: Any) -> list[Any]:
    """Return the launches of a list that can contain markers."""
    return [one for one in launches if isinstance(one, (Launch, HostCall))]


class RecordingDevice(HostArrays):
    """Recorder of launches: arrays are NumPy arrays, programs are generated for CUDA, and nothing runs.

    log : launches in order, with words for the calls of the device.
    """

    kind, target, name = "cuda", "cuda", "recording cuda"
    graphs, starts_early = True, True

    def __init__(self) -> None:
        self.log: list[Any] = []

    @property
    def multiprocessors(self) -> int:  # type: ignore[override]
        """Of the measured card."""
        return self.properties.multiprocessors

    def run(self, launches: Any) -> None:
        self.log += _work(launches)

    def prepare(self, launches: Any) -> None:
        self.log += ["prepare", *_work(launches), "end"]

    def repeated(self, launches: Any, times: int) -> Callable[[], None]:
        self.log += [f"repeat {times}", *_work(launches), "end"]
        return lambda: None

    def host(self, array: np.ndarray) -> np.ndarray:
        """Return a copy; an iteration whose control numbers were read has converged afterwards."""
        copy = super().host(array)
        if array.shape == (SIZE,) and array.dtype == np.float64 and array[ITERATING] > 0.0:
            array[ITERATING] = 0.0
        return copy

    def free_memory(self) -> int:
        return 2**37


class RecordingGroup(Group):
    """Several recording devices; barriers and copies between devices are recorded too."""

    graphs = True

    def __init__(self, count: int) -> None:
        super().__init__([RecordingDevice() for _ in range(count)])

    def _note(self, word: str) -> None:
        for recorder in self.devices:
            recorder.log.append(word)  # type: ignore[attr-defined]

    def barrier(self) -> None:
        self._note("barrier")

    def repeated(self, schedule: Any, times: int) -> Callable[[], None]:
        self._note(f"repeat {times}")
        self.run(schedule)
        self._note("end")
        return lambda: None

    def copies(self, device: Any, pairs: Any) -> list[Any]:
        return [*copy_launches(device, pairs)] if pairs else []


def recording(count: int) -> Any:
    """Return one recording device, or a group of them."""
    return RecordingDevice() if count == 1 else RecordingGroup(count)


def series(*values: float) -> eagre.Series:
    """A series whose kinks lie within steps."""
    return eagre.Series(TIMES, np.array(values))


def terms(grid: eagre.Grid) -> list[Any]:
    """All sources, as maps and with series."""
    x, y = grid.mesh()
    return [
        eagre.Rain(series(1e-5, 0.0, 2e-5, 0.0), pattern=1.0 + x / x.max()),
        eagre.Coriolis(latitude=50.0, beta=1e-9),
        eagre.WindStress(series(0.4, -0.2, 0.5, 0.1), -0.3),
        eagre.AtmosphericPressure(101325.0 + 80.0 * np.sin(x / 9.0) * np.cos(y / 8.0)),
    ]


def open_sides(grid: eagre.Grid) -> eagre.Boundaries:
    """All conditions, whole sides and parts."""
    wide, high = grid.nx * grid.dx, grid.ny * grid.dy
    return eagre.Boundaries(
        west=[eagre.BoundarySegment(0.3 * high, 0.8 * high, eagre.Stage(series(0.2, 0.5, 0.3, 0.3)))],
        east=[eagre.BoundarySegment(0.1 * high, 0.4 * high, eagre.Discharge(series(4.0, 9.0, 6.0, 6.0))),
              eagre.BoundarySegment(0.4 * high, 0.9 * high, eagre.Absorbing(series(0.0, 0.1, -0.1, 0.0), level=0.1))],
        south=[eagre.BoundarySegment(0.0, 0.3 * wide, eagre.Discharge(2.0))],
        north=[eagre.BoundarySegment(0.3 * wide, 0.6 * wide, eagre.Stage(0.25)),
               eagre.BoundarySegment(0.7 * wide, wide, eagre.Absorbing())],
    )  # fmt: skip


def explicit(device: Any, *, nx: int, ny: int, given: dict[str, Any], sides: str, forced: bool, friction: str) -> Any:
    """An explicit run over noise on a rough bed, partly dry."""
    rng, grid = np.random.default_rng(1), eagre.Grid(nx, ny, 2.0, 1.5)
    bed = rng.uniform(-1.0, 0.3, grid.shape_of("corner"))
    bed[:, -1], bed[-1] = bed[:, 0], bed[0]
    ring = eagre.Periodic()
    boundaries = {
        "walls": eagre.Boundaries(),
        "periodic": eagre.Boundaries(ring, ring, ring, ring),
        "ring": eagre.Boundaries(west=ring, east=ring),
        "open": open_sides(grid),
        "coast": eagre.Boundaries(west=eagre.Absorbing(series(0.0, 0.1, -0.1, 0.0))),
    }[sides]
    manning = {"none": 0.0, "uniform": 0.03, "map": 0.02 + 0.01 * rng.random(grid.shape)}[friction]
    return eagre.ShallowWater(
        grid, bed, surface_elevation=0.1 * rng.standard_normal(grid.shape), velocity_x=0.1, manning=manning,
        boundaries=boundaries, sources=terms(grid) if forced else [], device=device, **given,
    )  # fmt: skip


def implicit(device: Any, *, nx: int, ny: int, given: dict[str, Any], sides: str, forced: bool) -> Any:
    """An implicit run over noise; partly dry where the set-up allows it."""
    rng, grid = np.random.default_rng(2), eagre.Grid(nx, ny, 90.0, 70.0)
    x, _ = grid.mesh("corner")
    wet = given.get("drying") == "off"
    bed = -12.0 + rng.uniform(-1.0, 1.0, x.shape) + (0.0 if wet else 14.0 * np.exp(-(((x - 900.0) / 500.0) ** 2)))
    return eagre.ShallowWaterADI(
        grid, bed, surface_elevation=0.2 * rng.standard_normal(grid.shape), device=device,
        boundaries=open_sides(grid) if sides == "open" else None, sources=terms(grid) if forced else (),
        **{"time_step": 10.0, **given},
    )  # fmt: skip


def gyre(device: Any, *, nx: int, ny: int, given: dict[str, Any], all_terms: bool) -> Any:
    """A barotropic run over noise."""
    rng, grid = np.random.default_rng(3), eagre.Grid.from_points(nx, ny, 2.6, 3.0)
    zeta = np.zeros(grid.shape)
    zeta[1:-1, 1:-1] = 20.0 * rng.standard_normal((ny - 2, nx - 2))
    curl = rng.standard_normal(grid.shape)
    if all_terms:
        given = {
            "topography": 5.0 * curl[::-1], "biharmonic_viscosity": 1e-7, "layers": eagre.Layers(3.0, 1.0),
            "potential_vorticity_lower": zeta[::-1], "tracer": np.abs(curl),
            "particles": [[0.5, 0.5], [1.0, 2.0]], **given,
        }  # fmt: skip
    return eagre.BarotropicVorticity(
        grid, time_step=1e-4 if nx < 500 else 1e-5, beta=3.0, viscosity=0.02, wind_forcing=curl,
        potential_vorticity=zeta, bottom_friction=0.1, device=device, **given,
    )  # fmt: skip


EXPLICIT: dict[str, dict[str, Any]] = {
    "walls": {},
    "euler": {"given": {"scheme": "euler"}},
    "kurganov-petrova": {"given": {"wet_dry": "kurganov-petrova"}, "sides": "open"},
    "exact time step": {"given": {"time_step_control": "exact"}},
    "fixed time step": {"given": {"time_step": 0.05}, "sides": "open", "friction": "uniform"},
    "no early exit": {"given": {"active_tiles": False}},
    "periodic": {"sides": "periodic", "friction": "uniform"},
    "ring": {"sides": "ring"},
    "coast": {"sides": "coast", "friction": "map"},
    "open, forced": {"sides": "open", "forced": True, "friction": "map"},
    "forced": {"forced": True},
}
IMPLICIT: dict[str, dict[str, Any]] = {
    "walls": {"given": {"manning": 0.03}},
    "the scheme of MIKE 21": {"given": {"drying": "off", "dissipation": "none"}},
    "chezy": {"given": {"chezy": 40.0, "viscosity": 3.0}},
    "no convection": {"given": {"momentum_advection": "off"}},
    "open": {"sides": "open"},
    "open, forced": {"sides": "open", "forced": True, "given": {"manning": 0.03}},
    "short step": {"given": {"time_step": 2.0, "dissipation": "none"}},
}
GYRES: dict[str, dict[str, Any]] = {
    "default": {},
    "ab2": {"given": {"scheme": "ab2", "jacobian": "advective"}},
    "no-slip": {"given": {"walls": "no-slip"}},
    "thom": {"given": {"walls": "no-slip-thom"}},
    "implicit": {"given": {"viscosity_scheme": "implicit"}},
    "reduced gravity": {"given": {"deformation_radius": 0.4}},
    "all terms": {"all_terms": True},
    "channel": {"given": {"basin": "channel"}, "all_terms": True},
    "periodic": {"given": {"basin": "periodic"}},
    "compensated": {"given": {"compensated_summation": True}},
}


def larger_setups() -> dict[str, Callable[[Any], Any]]:
    """What is recorded: a function of the device by name."""
    found: dict[str, Callable[[Any], Any]] = {}
    for precision in ("single", "double"):
        for name, options in EXPLICIT.items():
            own = {"sides": "walls", "forced": False, "friction": "none", **options}
            own["given"] = {"precision": precision, **own.get("given", {})}
            sizes = [(75, 43), (430, 320)] if name in ("walls", "coast") else [(75, 43)]
            for nx, ny in sizes:
                found[f"explicit {name} {nx} {precision}"] = partial(explicit, nx=nx, ny=ny, **own)
        for name, options in IMPLICIT.items():
            own = {"sides": "walls", "forced": False, **options}
            own["given"] = {"precision": precision, **own.get("given", {})}
            sizes = [(75, 43), (700, 520)] if name in ("walls", "open, forced") else [(75, 43)]
            for nx, ny in sizes:
                found[f"implicit {name} {nx} {precision}"] = partial(implicit, nx=nx, ny=ny, **own)
        for name, options in GYRES.items():
            if name == "compensated" and precision == "double":
                continue
            own = {"all_terms": False, **options}
            own["given"] = {"precision": precision, **own.get("given", {})}
            for nx in [65, 1025] if name in ("default", "ab2") else [65]:
                found[f"gyre {name} {nx} {precision}"] = partial(gyre, nx=nx, ny=nx - 16, **own)
    return found
