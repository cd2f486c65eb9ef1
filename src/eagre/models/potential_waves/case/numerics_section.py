"""The section [numerics] of a case file of the potential-flow waves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, model_validator

from eagre.config.section import Section, case_key
from eagre.config.values.types import Acceleration, PositiveSeconds
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.models.potential_waves.laplace.base import MAX_ITERATIONS
from eagre.models.potential_waves.laplace.stencils import check_layers
from eagre.solvers.multigrid.plan import STRETCHED


def _whole_order(order: int) -> int:
    if order not in (2, 4, 6, 8):
        raise InputError(f"order = {order}", allowed="2, 4, 6 or 8", fix="order = 6")
    return order


class MultigridSection(Section):
    """Multigrid preconditioner of the horizontal equations; the defaults are the fastest known."""

    cycle: Literal["V", "W", "F"] = case_key("cycle: V, W or F", "W", default="V")
    pre: int = case_key("number of pre-smoothing sweeps", 2, default=1, ge=0, le=100)
    post: int = case_key("number of post-smoothing sweeps", 2, default=1, ge=0, le=100)
    levels: int | None = case_key("maximum number of grids", 4, default=None, ge=1)
    stretched: float = case_key(
        "largest ratio of grid spacings up to which both axes are coarsened", 2.0, default=STRETCHED, ge=1.0
    )
    smoother: Literal["red-black", "jacobi"] = case_key("smoother: red-black or jacobi", "jacobi", default="red-black")
    weight: float = case_key("weight of Jacobi sweeps", 0.8, default=0.8, gt=0, le=1)

    @model_validator(mode="after")
    def _sweeps(self) -> MultigridSection:
        if self.pre + self.post < 1:
            raise InputError("pre = 0 and post = 0", allowed="at least one sweep in total", fix="post = 1")
        return self


class NumericsSection(Section):
    """Order, vertical grid, time step and options of the scheme."""

    order: Annotated[int, AfterValidator(_whole_order)] = case_key(
        "order of the finite differences: 2, 4, 6 or 8", 6, default=6
    )
    vertical_points: int = case_key(
        "number of points from the surface to the bed, larger than order", 9, default=9, ge=3
    )
    vertical_clustering: bool = case_key("whether to cluster the vertical points towards the surface", default=True)
    linear: bool = case_key("whether to solve the linearised equations", True, default=False)
    time_step: PositiveSeconds | None = case_key(
        "time step; without it courant_number determines the time step", "0.05 s", default=None
    )
    courant_number: float = case_key(
        "spacings that a wave 20 points long travels per step", 0.5, default=0.5, gt=0, le=10
    )
    tolerance: float = case_key(
        "tolerance of the Laplace solver: relative size of the last correction", 1e-5, default=1e-5, gt=0, le=0.1
    )
    absolute_tolerance: float = case_key(
        "absolute tolerance of the Laplace solver, m2/s; the larger of both tolerances is used", 1e-7, default=0.0, ge=0
    )
    max_iterations: int = case_key(
        "maximum number of iterations per Laplace solve", 200, default=MAX_ITERATIONS, ge=1, le=100000
    )
    on_nonconvergence: Literal["error", "continue"] = case_key(
        "action after max_iterations: error, or continue with the last iterate", "continue", default="error"
    )
    gravity: Acceleration = case_key("acceleration of gravity, m/s2", 9.81, default=GRAVITY)
    surface_filter: int = case_key(
        "number of steps between Savitzky-Golay filterings of the surface; 0: none", 10, default=0, ge=0
    )
    correction_precision: Literal["single", "double"] = case_key(
        "precision of the corrections in a double-precision run", "double", default="single"
    )
    preconditioner: Literal["modes", "lines"] = case_key(
        "preconditioner: modes, or lines along sigma, which is slower", "lines", default="modes"
    )
    multigrid: MultigridSection | None = case_key("the section [numerics.multigrid]", default=None)

    @model_validator(mode="after")
    def _one_step(self) -> NumericsSection:
        if self.time_step is not None and "courant_number" in self.model_fields_set:
            raise InputError("both time_step and courant_number", allowed="one of the two", fix="courant_number = 0.5")
        check_layers(self.vertical_points, self.order)
        return self
