"""Wave kinematics files for SeaState of OpenFAST.

Sources: OpenFAST documentation, SeaState, Input Files, section Waves (WaveMod 5 and 6, spatial discretization),
https://openfast.readthedocs.io/en/main/source/user/seastate/input_files.html. Where the reader differs from that page,
the files follow the reader: modules/seastate/src/UserWaves.f90, `UserWaves_Init`, reads 13 header lines, one line per
row of points along x, and WaveTMax / WaveDT + 1 times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import numpy as np

from eagre.errors import InputError

HEADER_LINES = 13
VELOCITY, ACCELERATION = (".Vxi", ".Vyi", ".Vzi"), (".Axi", ".Ayi", ".Azi")
PRESSURE, ELEVATION = ".DynP", ".Elev"
_MOST_ROUNDING = 1e-6  # tolerance of the times, as a fraction of a step


@dataclass(frozen=True)
class SeaStateGrid:
    """Points of SeaState's wave grid, around the origin of OpenFAST.

    Parameters
    ----------
    x_half_width, y_half_width : float
        X_HalfWidth and Y_HalfWidth, m, > 0.
    z_depth : float
        Z_Depth, m, > 0: from the lowest points up to the still water level.
    nx, ny, nz : int
        NX, NY, NZ, >= 2; there are 2 NX - 1 and 2 NY - 1 points along x and y.

    Raises
    ------
    InputError
        For values out of range.
    """

    x_half_width: float
    y_half_width: float
    z_depth: float
    nx: int
    ny: int
    nz: int

    def __post_init__(self) -> None:
        for name in ("x_half_width", "y_half_width", "z_depth"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise InputError(
                    f"{name} = {value:g} m of a wave grid",
                    allowed="above 0 m",
                    fix=f"{name} = 10.0",
                    problem=f"The length {name} of the wave grid is not positive.",
                )
        for name in ("nx", "ny", "nz"):
            if getattr(self, name) < 2:
                raise InputError(
                    f"{name} = {getattr(self, name)} of a wave grid",
                    allowed="2 or more",
                    problem=f"The wave grid has too few points: {name} is less than 2.",
                )

    @property
    def x(self) -> np.ndarray:
        """(2 nx - 1,), m."""
        return np.linspace(-self.x_half_width, self.x_half_width, 2 * self.nx - 1)

    @property
    def y(self) -> np.ndarray:
        """(2 ny - 1,), m."""
        return np.linspace(-self.y_half_width, self.y_half_width, 2 * self.ny - 1)

    @property
    def z(self) -> np.ndarray:
        """(nz,), m, from the lowest to 0: z_depth (cos(n pi / (2 (nz - 1))) - 1)."""
        n = np.arange(self.nz)[::-1]
        return self.z_depth * (np.cos(0.5 * np.pi * n / (self.nz - 1)) - 1.0)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Points along z, y, x."""
        return self.nz, 2 * self.ny - 1, 2 * self.nx - 1

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, y, z of all points, (n,), m, in the order of the files: x fastest, then y, then z upward."""
        z, y, x = np.meshgrid(self.z, self.y, self.x, indexing="ij")
        return x.reshape(-1), y.reshape(-1), z.reshape(-1)

    def input_lines(self, root: str, interval: float, end: float) -> list[str]:
        """Return the lines of SeaState's primary input file for the files of WaveMod 6."""
        values = {
            "X_HalfWidth": self.x_half_width, "Y_HalfWidth": self.y_half_width, "Z_Depth": self.z_depth,
            "NX": self.nx, "NY": self.ny, "NZ": self.nz, "WaveMod": 6, "WaveTMax": end, "WaveDT": interval,
            "WvKinFile": f'"{root}"',
        }  # fmt: skip
        return [f"{value!s:>14}   {name}" for name, value in values.items()]


class SeaStateFiles:
    """Writer of the eight files of WaveMod 6, time by time; use it in a ``with`` statement.

    Parameters
    ----------
    root : path
        WvKinFile: the files are ``root.Vxi`` and so on.
    grid : SeaStateGrid
    interval : float
        WaveDT, s, which must be the time step of OpenFAST.

    Notes
    -----
    With WaveStMod = 3 (Wheeler) SeaState maps the level z of the grid to (z - eta) h / (h + eta). Values at
    surface-following fractions of the depth (z + h) / h, with Z_Depth equal to the depth, are therefore correct up to
    the instantaneous surface. NaN (points without water) is written as 0.
    """

    def __init__(self, root: str | Path, grid: SeaStateGrid, interval: float) -> None:
        if not (np.isfinite(interval) and interval > 0.0):
            raise InputError(
                f"interval = {interval:g} s of wave kinematics",
                allowed="above 0 s",
                fix="interval = 0.1",
                problem="The interval is not positive.",
            )
        self._root, self._grid, self.interval, self.times = Path(root), grid, float(interval), 0
        self._streams: dict[str, TextIO] = {}

    def __enter__(self) -> Self:
        self._root.parent.mkdir(parents=True, exist_ok=True)
        for suffix in (*VELOCITY, *ACCELERATION, PRESSURE, ELEVATION):
            stream = Path(f"{self._root}{suffix}").open("w", encoding="ascii", newline="\n")
            self._streams[suffix] = stream
            stream.writelines(f"! {line}\n" for line in self._header(suffix))
        return self

    def __exit__(self, kind: type[BaseException] | None, value: Any, trace: TracebackType | None) -> None:
        for stream in self._streams.values():
            stream.close()

    def _header(self, suffix: str) -> list[str]:
        nz, ny, nx = self._grid.shape
        planes = 1 if suffix == ELEVATION else nz
        lines = [
            f"Wave kinematics for SeaState, WaveMod 6: {suffix[1:]}, SI units",
            f"one line: {nx} points along x; {ny} lines along y; {planes} planes upward; then the next time",
            f"WaveDT = {self.interval:g} s",
        ]
        return lines + [""] * (HEADER_LINES - len(lines))

    def write(
        self, velocity: np.ndarray, acceleration: np.ndarray, dynamic_pressure: np.ndarray, elevation: np.ndarray
    ) -> None:
        """Write one time: velocity and acceleration, (3, n), m/s and m/s2, dynamic pressure, (n,), Pa, at `points`.

        elevation : (points of a horizontal plane,) or (n,), m; only the first plane is used.
        """
        nz, ny, nx = self._grid.shape
        n = nz * ny * nx
        shapes = np.shape(velocity), np.shape(acceleration), np.shape(dynamic_pressure), np.shape(elevation)
        if shapes[:3] != ((3, n), (3, n), (n,)) or shapes[3] not in ((ny * nx,), (n,)):
            got = "velocity {}, acceleration {}, dynamic_pressure {}, elevation {}".format(*shapes)
            raise InputError(
                got,
                allowed=f"(3, {n}) twice, ({n},), and ({ny * nx},)",
                problem="The shapes of the arrays do not fit the wave grid.",
            )
        fields = (*velocity, *acceleration, dynamic_pressure, np.asarray(elevation)[: ny * nx])
        for stream, field in zip(self._streams.values(), fields, strict=True):
            rows = np.nan_to_num(np.asarray(field, np.float64)).reshape(-1, nx)
            stream.writelines("".join(f" {value:14.7E}" for value in row) + "\n" for row in rows)
        self.times += 1


def write_elevation(root: str | Path, times: Sequence[float] | np.ndarray, elevation: np.ndarray) -> Path:
    """Write ``root.Elev`` of WaveMod 5: times from 0, s, and the elevation at the origin of OpenFAST, m.

    SeaState treats the elevation as first-order waves from one direction.

    Raises
    ------
    InputError
        If there are fewer than two times, or times do not begin at 0 or are not evenly spaced.
    """
    t, eta = np.asarray(times, np.float64), np.asarray(elevation, np.float64)
    if t.ndim != 1 or t.shape != eta.shape or t.size < 2 or not (np.isfinite(t).all() and np.isfinite(eta).all()):
        raise InputError(
            f"times {t.shape} and elevations {eta.shape}",
            allowed="two or more numbers of each",
            problem="The times and elevations are not finite sequences of equal length.",
        )
    even = np.arange(t.size) * (t[-1] / (t.size - 1))
    if not t[-1] > 0.0 or np.abs(t - even).max() > _MOST_ROUNDING * t[1]:
        raise InputError(
            f"times from {t[0]:g} s",
            allowed="even steps from 0 s",
            fix="times = times - times[0]",
            problem="The times are not evenly spaced from 0 s.",
        )
    path = Path(f"{root}{ELEVATION}")
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["! Wave elevation for SeaState, WaveMod 5", "! Time (s)  Elevation (m)"]
    lines += [f"{a:14.7E} {b:14.7E}" for a, b in zip(t, eta, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path
