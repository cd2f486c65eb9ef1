"""Benchmark of the potential-flow wave model: steps in the tanks of `eagre.laboratory.cases.wave_tanks`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from eagre.backend.device import Device
from eagre.contract import Model
from eagre.errors import EagreError, InputError
from eagre.grid import Grid
from eagre.laboratory.bench.subject import Benchmark
from eagre.laboratory.cases.wave_tanks import TANKS
from eagre.models.potential_waves.inputs import check_points
from eagre.solvers.multigrid.plan import Axis, near

PARTS = {"standing-wave": 1, "whalin": 16, "berkhoff": 2}  # ratio of the numbers of intervals along x and y
ORDERS = {"standing-wave": 6, "whalin": 6, "berkhoff": 4}
COMPARED_STEPS = 3
COMPARED = 65  # points along x of the short run for verification
OTHER_MS = {"whalin": ((17, 257), 278.0), "berkhoff": ((129, 257), 650.0)}
"""Rows and points, ms per step of OceanWave3D-Fortran90 on one core of a similar machine, with its own tolerances."""

HEIGHT = 0.0464  # maximum wave height, m
MAX_CREST = 2.2 * HEIGHT
"""Maximum plausible crest, m: the shoal of Berkhoff et al. (1982, doi:10.1016/0378-3839(82)90022-9) focuses waves to
2.2 times their height, and a crest is lower than the wave height."""


class Tanks(Benchmark):
    """Steps at the default tolerance from the start of each case; `size` is the number of points along x.

    "standing-wave" is square with 9 layers, order 6; "whalin" has a 16th of the rows and 7 layers, order 6 (257: 30,583
    unknowns); "berkhoff" half of the rows and 5 layers, order 4 (257: 165,765 unknowns).
    """

    case = "tanks"
    variants = tuple(TANKS)
    sizes: ClassVar[Mapping[str, Sequence[int]]] = {"cpu": (129, 257), "cuda": (129, 257, 513, 1025, 2049, 3585)}
    resident = 72.0
    steps_a_call: ClassVar[Mapping[str, int]] = {"cpu": 1, "cuda": 4}
    largest_difference: ClassVar[Mapping[str, float]] = {"single": 1e-4, "double": 1e-5}

    def model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """Return the tank at its start."""
        return TANKS[variant](size, device=device, precision=precision)

    def shape(self, size: int, variant: str) -> tuple[int, ...]:
        """Return the number of surface points along y and x."""
        return (size - 1) // PARTS[variant] + 1, size

    def check_size(self, size: int, variant: str) -> None:
        """Raise `InputError` if an axis has too few points for the order of the differences."""
        ny, nx = self.shape(size, variant)
        try:
            check_points(Grid.from_points(nx, ny, 1.0, 1.0), (False, False), ORDERS[variant])
        except InputError as error:
            raise self.wrong_size(size, variant, error.what) from None

    def better_size(self, size: int, variant: str) -> int:
        """Return the next size whose two axes can be halved repeatedly."""
        while True:
            size = near(Axis(size, 1.0, False))[1]
            rows = self.shape(size, variant)[0]
            if rows > ORDERS[variant] // 2 + 1 and near(Axis(rows, 1.0, False))[0] == rows:
                return size
            size += 1

    def compared_shape(self, size: int) -> tuple[int, int] | None:
        """Return the shape of a small tank, independent of the size."""
        return COMPARED, COMPARED

    def difference(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """Return the maximum difference of the elevation from double-precision loops, divided by a wave height."""
        device_result = TANKS[variant](shape[0], device=device, precision=precision)
        reference_result = TANKS[variant](shape[0], device="cpu", precision="double", tolerance=1e-8)
        for model in (device_result, reference_result):
            model.advance(1e6, max_steps=COMPARED_STEPS)
        return (
            float(np.abs(device_result.field("surface_elevation") - reference_result.field("surface_elevation")).max())
            / HEIGHT
        )

    def verified(self, model: Model, difference: float | None) -> str:
        """Check that all values are finite and the wave height is plausible."""
        high = model.diagnostics()["max_surface_elevation"]
        if not high < MAX_CREST:
            raise EagreError(
                f"The crest after the timed steps on {model.device} is {high:.3g} m high, more than {MAX_CREST:.3g} m."
            )
        iterations = f"{model.statistics()['iterations_a_solve']:.1f} iterations"
        return iterations if difference is None else f"{difference:.1e} from double precision, {iterations}"

    def against_paper(self, record: Mapping[str, Any]) -> str:
        """Return the time of OceanWave3D on one core for the size, and the speed-up."""
        variant, shape = record["variant"], tuple(record["shape"])
        if record["threads"] != 1 or OTHER_MS.get(variant, ((), 0.0))[0] != shape:
            return ""
        reference_result = OTHER_MS[variant][1]
        return f"; OceanWave3D {reference_result:g} ms (core), {reference_result / record['ms_per_step']:.1f}x"
