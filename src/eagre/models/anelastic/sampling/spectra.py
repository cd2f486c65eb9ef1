"""Spectra of an anelastic model along x and y at given heights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eagre.arguments import array_copy
from eagre.errors import InputError
from eagre.fields import Variable
from eagre.io.writers.measured import Axis
from eagre.models.anelastic.base.metric import plane_weights
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.sampling.interpolation import FieldSampler, checked_names, plane_at_height
from eagre.models.anelastic.setup import Setup

Array = np.ndarray
USUAL = ("u", "v", "w", "theta_perturbation")
SQUARED = {"m s-1": "m3 s-2", "K": "K2 m", "m2 s-2": "m5 s-4", "1": "m"}
"""Units of the spectral density per wavenumber, by unit of the field."""


def one_sided(lines: Array, spacing: float, weights: Array) -> Array:
    """Return the one-sided spectral density along lines, averaged over the lines.

    Parameters
    ----------
    lines : (m, n)
        Values at n points of m periodic lines.
    spacing : float, m
    weights : (m,)
        Weights of the lines.

    Returns
    -------
    (n // 2,) array
        Density at wavenumbers 2 pi / (n spacing) times 1, 2, ...; the integral is the mean variance.
    """
    n = lines.shape[1]
    power = np.abs(np.fft.rfft(lines, axis=1)[:, 1:] / n) ** 2
    power[:, : (n - 1) // 2] *= 2.0  # positive and negative wavenumbers, except the Nyquist wavenumber of an even n
    return np.average(power, axis=0, weights=weights) * (n * spacing) / (2.0 * np.pi)


class Spectra:
    """Sampler of spectra of fields at heights.

    Parameters
    ----------
    engine : callable
        Returns the current engine.
    heights : (n,), m
        Heights above z = 0 and above all terrain.
    variables : sequence of str, optional
        Names of fields; wind and theta' by default.
    axes : sequence of "x", "y", optional
        Axes of the spectra; all periodic axes by default.

    Attributes
    ----------
    variables, axes, dimensions
        See `eagre.io.writers.measured.Measured`: ``u_spectrum_x`` on ``("z", "wavenumber_x")`` ...

    Raises
    ------
    InputError
        For an axis that is not periodic, heights below the terrain or above the top, and unknown fields.
    """

    def __init__(
        self, engine: Callable[[], Engine], heights: Sequence[float], variables: Sequence[str] | None = None,
        axes: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        setup = engine().setup
        self._along = _checked_axes(setup, axes)
        fields = checked_names(setup, variables, USUAL)
        self._names = [one.name for one in fields]
        levels = _checked_heights(setup, heights)
        self._planes = [FieldSampler(engine, plane_at_height(setup, float(z))) for z in levels]
        self._spacing = {"x": setup.grid.dx, "y": setup.grid.dy}
        self._weights = plane_weights(setup.shape, setup.boundaries)
        declared = {f"{one.name}_spectrum_{axis}": (one, axis) for one in fields for axis in self._along}
        self.variables: Sequence[Variable] = [
            Variable(name, SQUARED[one.units], f"one-sided spectral density along {axis} of the {one.long_name}")
            for name, (one, axis) in declared.items()
        ]
        self.dimensions = {name: ("z", f"wavenumber_{axis}") for name, (_, axis) in declared.items()}
        self.axes: Sequence[Axis] = _declared_axes(setup, levels, self._along)

    def sample(self) -> dict[str, Array]:
        """Return the current spectral densities, (heights, wavenumbers)."""
        planes = [fetching.fetch(self._names) for fetching in self._planes]
        spectra = {}
        for axis in self._along:
            weights = self._weights["xy".index(axis)]
            for name in self._names:
                lines = [plane[name] if axis == "x" else plane[name].T for plane in planes]
                spectra[f"{name}_spectrum_{axis}"] = np.array(
                    [one_sided(one, self._spacing[axis], weights) for one in lines]
                )
        return spectra


def _checked_axes(setup: Setup, axes: Sequence[str] | None) -> list[str]:
    """Return the periodic axes of the spectra."""
    periodic = [axis for n, axis in ((2, "x"), (1, "y")) if setup.boundaries[n] == "periodic" and setup.shape[n] > 1]
    for axis in axes or ():
        if axis not in ("x", "y"):
            raise InputError(
                f"spectra along {axis!r}",
                allowed='"x", "y"',
                fix='axes = ["x"]',
                problem="Spectra are computed along x and y.",
            )
        if axis not in periodic:
            side = "one point" if setup.shape["zyx".index(axis)] == 1 else setup.boundaries["zyx".index(axis)]
            raise InputError(
                f"spectra along {axis}, which has boundaries {side!r}",
                allowed="spectra along periodic axes",
                problem=f"The axis {axis} is not periodic.",
            )
    if not periodic:
        raise InputError(
            "spectra where neither x nor y is periodic",
            allowed="spectra along periodic axes",
            fix='boundaries_x = "periodic"',
            problem="Spectra require a periodic axis.",
        )
    return list(dict.fromkeys(axes or periodic))


def _checked_heights(setup: Setup, heights: Sequence[float]) -> Array:
    """Return increasing heights above all terrain, m."""
    levels = array_copy("heights", heights)
    if levels.ndim != 1 or not levels.size or not np.isfinite(levels).all() or not (np.diff(levels) > 0.0).all():
        raise InputError(
            "these heights of spectra",
            allowed="increasing heights, m",
            fix="heights = [100.0, 500.0]",
            problem="The heights of the spectra do not increase.",
        )
    ground = 0.0 if setup.levels.terrain_height is None else float(setup.levels.terrain_height.max())
    if levels[0] < ground:
        raise InputError(
            f"spectra at z = {levels[0]:g} m, below the highest terrain",
            allowed=f"from {ground:.6g} m",
            problem="A height of the spectra is below the highest terrain.",
        )
    return levels


def _declared_axes(setup: Setup, heights: Array, along: Sequence[str]) -> list[Axis]:
    """Return the axes of heights, m, and wavenumbers, rad/m."""
    standard = "height" if setup.levels.terrain_height is None else "altitude"
    about = {"long_name": "height above z = 0", "units": "m", "standard_name": standard, "axis": "Z", "positive": "up"}
    axes = [Axis("z", ("z",), heights, about)]
    for axis in along:
        n, d = {"x": (setup.grid.nx, setup.grid.dx), "y": (setup.grid.ny, setup.grid.dy)}[axis]
        waves = 2.0 * np.pi / (n * d) * np.arange(1, n // 2 + 1)
        name = f"wavenumber_{axis}"
        axes.append(Axis(name, (name,), waves, {"long_name": f"angular wavenumber along {axis}", "units": "rad m-1"}))
    return axes
