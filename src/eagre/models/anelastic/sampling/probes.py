"""Named probes of an anelastic model: points and columns, as stations of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.sampling.interpolation import FieldSampler, along, checked_names, ground_between, points_at

USUAL = ("u", "v", "w", "theta")


class Probes:
    """Sampler of named points; fields are interpolated linearly.

    Parameters
    ----------
    engine : callable
        Returns the current engine.
    probes : mapping of str to mapping
        Coordinates by name: x, m; y, m, optional for one row; z, m above z = 0, one or several heights. Without z the
        probe is a column of all levels. Several heights give stations ``"NAME z=20"``.
    variables : sequence of str, optional
        Names of fields; wind and theta by default.

    Attributes
    ----------
    names : list of str
    coordinates : dict
        Values, (n,), and attributes of x, y and z of the stations, m.
    variables : sequence of Variable

    Raises
    ------
    InputError
        For points outside the domain or below the terrain, and for unknown fields.
    """

    def __init__(
        self, engine: Callable[[], Engine], probes: Mapping[str, Mapping[str, Any]],
        variables: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        setup = engine().setup
        self.names: list[str] = []
        rows: list[tuple[float, float, float]] = []
        for name, coordinates in probes.items():
            x, y = float(coordinates["x"]), coordinates.get("y")
            y = float(setup.grid.y[0] if y is None and setup.grid.ny == 1 else y or 0.0)
            position = along(setup, "y", y), along(setup, "x", x)
            z = coordinates.get("z")
            ground = ground_between(setup, *position)
            column = setup.levels.height * (1.0 - ground / (setup.levels.height[-1] or 1.0)) + ground
            heights = column if z is None else np.atleast_1d(np.asarray(z, float))
            rows += [(x, y, float(height)) for height in heights]
            self.names += [name if heights.size == 1 else f"{name} z={height:.6g}" for height in heights]
        for name in self.names:
            if self.names.count(name) > 1:
                raise InputError(
                    f"two probes {name!r}", allowed="unique names of probes", problem="Two probes have the same name."
                )
        self.variables = checked_names(setup, variables, USUAL)
        self.coordinates = _coordinates(rows)
        self._fetching = FieldSampler(engine, points_at(setup, rows))

    def sample(self) -> dict[str, np.ndarray]:
        """Return the current values of each variable, (n,)."""
        return self._fetching.fetch(one.name for one in self.variables)


def _coordinates(rows: list[tuple[float, float, float]]) -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    """Return the coordinates of the stations."""
    x, y, z = np.array(rows).T
    up = {"standard_name": "altitude", "long_name": "altitude of the probe", "positive": "up", "units": "m"}
    return {
        "x": (x, {"standard_name": "projection_x_coordinate", "long_name": "x of the probe", "units": "m"}),
        "y": (y, {"standard_name": "projection_y_coordinate", "long_name": "y of the probe", "units": "m"}),
        "z": (z, up),
    }
