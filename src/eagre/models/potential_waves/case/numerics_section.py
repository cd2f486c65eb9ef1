"""The section [numerics] of a case file of the potential-flow waves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from eagre.config.section import Section
from eagre.config.values.types import Acceleration, PositiveSeconds
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.models.potential_waves.laplace.base import MAX_ITERATIONS
from eagre.models.potential_waves.laplace.stencils import check_layers
from eagre.solvers.multigrid.grids import STRETCHED


def _whole_order(order: int) -> int:
    if order not in (2, 4, 6, 8):
        raise InputError(f"order = {order}", allowed="2, 4, 6 or 8", fix="order = 6")
    return order


class MultigridSection(Section):
    """Multigrid preconditioner of the horizontal equations; the defaults are the fastest known."""

    cycle: Literal["V", "W", "F"] = Field(default="V", description="cycle: V, W or F", examples=["W"])
    pre: int = Field(default=1, description="number of pre-smoothing sweeps", ge=0, le=100, examples=[2])
    post: int = Field(default=1, description="number of post-smoothing sweeps", ge=0, le=100, examples=[2])
    levels: int | None = Field(default=None, description="maximum number of grids", ge=1, examples=[4])
    stretched: float = Field(
        default=STRETCHED,
        description="largest ratio of grid spacings up to which both axes are coarsened",
        ge=1.0,
        examples=[2.0],
    )
    smoother: Literal["red-black", "jacobi"] = Field(
        default="red-black", description="smoother: red-black or jacobi", examples=["jacobi"]
    )
    weight: float = Field(default=0.8, description="weight of Jacobi sweeps", gt=0, le=1, examples=[0.8])

    @model_validator(mode="after")
    def _sweeps(self) -> MultigridSection:
        if self.pre + self.post < 1:
            raise InputError("pre = 0 and post = 0", allowed="at least one sweep in total", fix="post = 1")
        return self


class NumericsSection(Section):
    """Order, vertical grid, time step and options of the scheme."""

    order: Annotated[int, AfterValidator(_whole_order)] = Field(
        default=6, description="order of the finite differences: 2, 4, 6 or 8", examples=[6]
    )
    vertical_points: int = Field(
        default=9, description="number of points from the surface to the bed, larger than order", ge=3, examples=[9]
    )
    vertical_clustering: bool = Field(
        default=True, description="whether to cluster the vertical points towards the surface"
    )
    linear: bool = Field(default=False, description="whether to solve the linearised equations", examples=[True])
    time_step: PositiveSeconds | None = Field(
        default=None, description="time step; without it courant_number determines the time step", examples=["0.05 s"]
    )
    courant_number: float = Field(
        default=0.5, description="spacings that a wave 20 points long travels per step", gt=0, le=10, examples=[0.5]
    )
    tolerance: float = Field(
        default=1e-5,
        description="tolerance of the Laplace solver: relative size of the last correction",
        gt=0,
        le=0.1,
        examples=[1e-5],
    )
    absolute_tolerance: float = Field(
        default=0.0,
        description="absolute tolerance of the Laplace solver, m2/s; the larger of both tolerances is used",
        ge=0,
        examples=[1e-7],
    )
    max_iterations: int = Field(
        default=MAX_ITERATIONS,
        description="maximum number of iterations per Laplace solve",
        ge=1,
        le=100000,
        examples=[200],
    )
    on_nonconvergence: Literal["error", "continue"] = Field(
        default="error",
        description="action after max_iterations: error, or continue with the last iterate",
        examples=["continue"],
    )
    gravity: Acceleration = Field(default=GRAVITY, description="acceleration of gravity, m/s2", examples=[9.81])
    surface_filter: int = Field(
        default=0, description="number of steps between Savitzky-Golay filterings of the surface; 0: none", ge=0,
        examples=[10],
    )  # fmt: skip
    correction_precision: Literal["single", "double"] = Field(
        default="single", description="precision of the corrections in a double-precision run", examples=["double"]
    )
    preconditioner: Literal["modes", "lines"] = Field(
        default="modes", description="preconditioner: modes, or lines along sigma, which is slower", examples=["lines"]
    )
    multigrid: MultigridSection | None = Field(default=None, description="the section [numerics.multigrid]")

    @model_validator(mode="after")
    def _one_step(self) -> NumericsSection:
        if self.time_step is not None and "courant_number" in self.model_fields_set:
            raise InputError("both time_step and courant_number", allowed="one of the two", fix="courant_number = 0.5")
        check_layers(self.vertical_points, self.order)
        return self
