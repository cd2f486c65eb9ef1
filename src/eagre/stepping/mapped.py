"""The maps of a run as something to write: what `eagre.io.MeasuredWriter` asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from eagre.fields import Variable
from eagre.grid import Grid
from eagre.io.cf import axis_attributes
from eagre.io.measured import Axis
from eagre.stepping.maps import Maps, Water, values_of


class RunMaps:
    """The maps of a run up to its present.

    Parameters
    ----------
    maps : Maps
    grid : Grid
    bed : (ny, nx) array, m
        Of the cells.
    state : callable
        Gives the state of the maps with the present one taken up, and the time, s.
    water : Water

    Attributes
    ----------
    variables, axes, dimensions
        As of `eagre.io.measured.Measured`: fields of (y, x).
    """

    def __init__(
        self, maps: Maps, grid: Grid, bed: np.ndarray, state: Callable[[], tuple[Mapping[str, np.ndarray], float]],
        water: Water,
    ) -> None:  # fmt: skip
        self._maps, self._state, self._water = maps, state, water
        self.variables: Sequence[Variable] = maps.outputs
        self.dimensions: dict[str, tuple[str, ...]] = {one.name: ("y", "x") for one in self.variables}
        ground = {
            "long_name": "bed elevation, mean of the cell",
            "units": "m",
            "standard_name": "ground_level_altitude",
        }
        self.axes: Sequence[Axis] = (
            Axis("x", ("x",), grid.x, axis_attributes("x", "x of the cell centres")),
            Axis("y", ("y",), grid.y, axis_attributes("y", "y of the cell centres")),
            Axis("bed", ("y", "x"), bed, ground),
        )

    def sample(self) -> dict[str, np.ndarray]:
        """The maps up to now, (ny, nx) each; not a number where there was no water, or what is timed never came."""
        state, now = self._state()
        return values_of(self._maps, state, now, self._water)
