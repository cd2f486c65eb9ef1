"""Named probes in the air of an anelastic model: points and columns, as stations of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.places import Fetching, along, checked_names, ground_between, points_at

USUAL = ("u", "v", "w", "theta")


class Probes:
    """Points with names; between those of the grid fields are linear.

    Parameters
    ----------
    engine : callable
        Gives the engine of the moment.
    probes : mapping of str to mapping
        Of each name: x, m; y, m, which may miss where there is one row; z, m over z = 0, a number or several. Without
        z a column of all levels. Several heights give stations ``"NAME z=20"``.
    variables : sequence of str, optional
        Wind and theta if not given.

    Attributes
    ----------
    names : list of str
    coordinates : dict
        Values, (n,), and attributes of x, y and z of the stations, m.
    variables : sequence of Variable

    Raises
    ------
    InputError
        For points outside the domain or under the ground, or fields that are not there.
    """

    def __init__(
        self, engine: Callable[[], Engine], probes: Mapping[str, Mapping[str, Any]],
        variables: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        setup = engine().setup
        self.names: list[str] = []
        rows: list[tuple[float, float, float]] = []
        for name, given in probes.items():
            x, y = float(given["x"]), given.get("y")
            y = float(setup.grid.y[0] if y is None and setup.grid.ny == 1 else y or 0.0)
            places = along(setup, "y", y), along(setup, "x", x)
            z = given.get("z")
            ground = ground_between(setup, *places)
            column = setup.levels.height * (1.0 - ground / (setup.levels.height[-1] or 1.0)) + ground
            heights = column if z is None else np.atleast_1d(np.asarray(z, float))
            rows += [(x, y, float(height)) for height in heights]
            self.names += [name if heights.size == 1 else f"{name} z={height:.6g}" for height in heights]
        for name in self.names:
            if self.names.count(name) > 1:
                raise InputError(f"two probes {name!r}", allowed="a name of its own for each height")
        self.variables = checked_names(setup, variables, USUAL)
        self.coordinates = _coordinates(rows)
        self._fetching = Fetching(engine, points_at(setup, rows))

    def sample(self) -> dict[str, np.ndarray]:
        """Values of each variable now, (n,)."""
        return self._fetching.fetch(one.name for one in self.variables)


def _coordinates(rows: list[tuple[float, float, float]]) -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    """Coordinates of stations."""
    x, y, z = np.array(rows).T
    up = {"standard_name": "altitude", "long_name": "height of the probe over z = 0", "positive": "up", "units": "m"}
    return {
        "x": (x, {"standard_name": "projection_x_coordinate", "long_name": "x of the probe", "units": "m"}),
        "y": (y, {"standard_name": "projection_y_coordinate", "long_name": "y of the probe", "units": "m"}),
        "z": (z, up),
    }
