"""`Multigrid`: u_xx + u_yy - s q(y, x) u = f on grids of points, for many s at once, on any device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.backend.select import select
from eagre.checks import checked_number, one_of
from eagre.errors import InputError
from eagre.solvers.multigrid import kernels
from eagre.solvers.multigrid.grids import STRETCHED, Axis, Grid, advice, sequence
from eagre.solvers.multigrid.plan_cpu import CpuCycle
from eagre.solvers.multigrid.plan_cuda import CudaCycle
from eagre.stepping.until import Iterated, StopTest, Until

CYCLES = ("V", "W", "F")
SMOOTHERS = ("red-black", "jacobi")
ENOUGH = 0.1  # to which the sweeps on the coarsest grid bring an error
MOST_SWEEPS = 200


class Multigrid:
    """Solves u_xx + u_yy - s_m q u = f_m for layers m = 0 ... on a grid of points, by multigrid cycles.

    Second-order differences of five points; red-black Gauss-Seidel sweeps, full weighting, bilinear interpolation, the
    screening restricted to coarser grids. Its rate does not depend on the number of points: an error falls to a
    tenth in a V(1,1) cycle, or less, where the spacings are alike and q varies little from point to point.

    Parameters
    ----------
    shape : (ny, nx)
        Points; walls stand on the first and the last. An axis may have one point: there is no derivative along it.
    spacing : (dy, dx)
        m.
    layers : sequence of float
        s_m > 0, 1.
    screening : (ny, nx), optional
        q > 0, m^-2; without it 1. `set_screening` changes it.
    periodic : (y, x)
        Whether the last point of an axis is followed by the first (a period is then as many spacings as points), in
        place of walls, across which nothing changes (u is mirrored about the point on the wall).
    cycle : {"V", "W", "F"}
    pre, post : int
        Sweeps before and after the coarser grids.
    levels : int, optional
        Grids at most. Without it as many as points can be halved: odd numbers between walls, multiples of powers of two
        along periodic axes. On the coarsest as many sweeps are made as bring an error to a tenth, 200 at most.
    stretched : float
        Largest ratio of an axis' spacing to the other's at which it is halved while the other can be: 1 halves the
        finer axis alone, infinity both whenever they can be.
    smoother : {"red-black", "jacobi"}
        Jacobi sweeps converge slower: they are there to compare with.
    weight : float
        Of a Jacobi sweep, 0 to 1: 4/5 is best in the plane, 2/3 along a line.
    device : str or Device
    precision : {"single", "double"}
    enough : float
        A layer visits no coarser grids than one on which the sweeps of a cycle bring its slowest error to this.
    plain : bool
        Work by `kernels`, a launch a part, where there is something faster with the same answers but for rounding.

    Attributes
    ----------
    grids : list
        The sequence, finest first.
    used : list of int
        For each layer how many of them a cycle visits: sweeps bring errors of strongly screened layers down alone.
    u, f : arrays on the device, (layers, ny, nx)
        What `cycle_launches` works on.
    screening : array on the device, (1, ny, nx)
        q; who writes it there runs `screening_launches` then.

    Raises
    ------
    InputError
        For an odd number of points along a periodic axis, a screening that is not above zero, or (without `levels`)
        points that leave a coarsest grid on which more than 200 sweeps would be needed; it names better numbers.

    References
    ----------
    U. Trottenberg, C. Oosterlee, A. Schueller, Multigrid, Academic Press (2001), sections 2.1 to 2.5.

    Examples
    --------
    >>> import numpy as np
    >>> solver = Multigrid((65, 65), (0.1, 0.1), layers=[1.0, 20.0])
    >>> u, made = solver.solve(np.ones((2, 65, 65)))
    >>> [round(float(layer.mean()), 6) for layer in u]
    [-1.0, -0.05]
    """

    def __init__(
        self,
        shape: tuple[int, int],
        spacing: tuple[float, float],
        *,
        layers: Sequence[float] = (1.0,),
        screening: Any = None,
        periodic: tuple[bool, bool] = (False, False),
        cycle: str = "V",
        pre: int = 1,
        post: int = 1,
        levels: int | None = None,
        stretched: float = STRETCHED,
        smoother: str = "red-black",
        weight: float = 0.8,
        device: str | Device = "auto",
        precision: str = "double",
        enough: float = ENOUGH,
        plain: bool = False,
    ) -> None:
        self.device, self.precision, self.real = select(device), precision, check_precision(precision)
        self.cycle, self.pre, self.post, self._levels = cycle, pre, post, levels
        self._enough = enough
        self.smoother, self._weight = (
            one_of("smoother", smoother, SMOOTHERS),
            checked_number("weight", weight, 0.0, 1.0),
        )
        plain = plain or smoother != "red-black"
        self.layers = np.asarray(layers, float)
        _check(shape, spacing, self.layers, cycle, (pre, post), levels, stretched)
        y, x = (Axis(n, d, round_) for n, d, round_ in zip(shape, spacing, periodic, strict=True))
        self.grids = sequence(y, x, levels, stretched)
        self._points = [self._numbers(grid) for grid in self.grids]
        self._fast = None if plain or min(pre, post) < 1 or self.device.target != "cpu" else self._cpu_cycle()
        alone = self.grids[:1] if self._fast else self.grids
        on = [self._layers_of(grid) for grid in alone for _ in range(2)]
        self._u, self._f = on[::2], on[1::2]
        self._residuals: dict[int, Any] = {}
        self._s = self.device.array(self.layers.astype(self.real))
        self._q = [self.device.zeros((1, *grid.shape), self.real) for grid in alone]
        self.u, self.f, self.screening = self._u[0], self._f[0], self._q[0]
        names = ("clear", "relax", "damp", "residual", "restrict", "prolong", "row_norm")
        self._loops = {name: self.device.loop(getattr(kernels, name), precision) for name in names}
        quick = cycle == "V" and min(pre, post) > 0 and not plain and self.device.kind == "cuda"
        self._cuda = CudaCycle(self.device, precision, self.grids, self._points, self._s) if quick else None
        self.set_screening(np.ones(shape) if screening is None else screening)

    # -- the equation --------------------------------------------------------------------------

    def set_screening(self, screening: Any) -> None:
        """Take another q, (ny, nx), m^-2. Launches made before keep their number of sweeps on the coarsest grid."""
        q = np.asarray(screening, float)
        if q.shape != self.grids[0].shape or not (np.isfinite(q) & (q > 0.0)).all():
            raise InputError("this screening", allowed=f"{self.grids[0].shape} values above 0")
        self._coarsest_sweeps = self._sweeps_that_solve(float(q.min()))
        used = [self._grids_of(s * float(q.min())) for s in self.layers]
        self.used = np.maximum.accumulate(used[::-1])[::-1].tolist()  # the first layers visit most
        self.device.fill(self._q[0], q[None].astype(self.real))
        self.device.run(self.screening_launches())

    def screening_launches(self, from_zero: bool = False) -> list[Launch]:
        """Restrict the screening of the finest grid to the others that are visited, by cycles from zero alone if so."""
        if self._fast:
            return self._fast.screening_launches(self.screening, max(self.used))
        most = self._cuda.in_block if self._cuda and from_zero else len(self.grids)
        return [self._over("restrict", level + 1, 1, self._q[level], self._q[level + 1], self._points[level])
                for level in range(min(most, max(self.used) - 1))]  # fmt: skip

    def _cpu_cycle(self) -> CpuCycle:
        over = np.array([[points.over_dx2, points.over_dy2] for points in self._points])
        return CpuCycle(self.device, self.precision, self.grids, len(self.layers), over)

    def _numbers(self, grid: Grid) -> kernels.Points:
        over_dx2, over_dy2 = (0.0 if axis.points == 1 else axis.spacing**-2 for axis in (grid.x, grid.y))
        spacings = self.real(over_dx2), self.real(over_dy2)
        return kernels.Points(*spacings, int(grid.x.periodic), int(grid.y.periodic), grid.step_x, grid.step_y)

    def _rate(self, grid: Grid, screened: float) -> float:
        """To what a sweep brings the slowest error, the same everywhere, where s q is `screened`."""
        own = sum(2.0 * axis.spacing**-2 for axis in (grid.y, grid.x) if axis.points > 1)
        once = own / (own + screened)
        return once**2 if self.smoother == "red-black" else 1.0 - self._weight * (1.0 - once)

    def _grids_of(self, screened: float) -> int:
        """Grids that a layer needs where s q is `screened` or more."""
        sweeps = self.pre + self.post
        good = (n for n, grid in enumerate(self.grids, 1) if self._rate(grid, screened) ** sweeps <= self._enough)
        return next(good, len(self.grids))

    def _sweeps_that_solve(self, q: float) -> int:
        """Sweeps on the coarsest grid, from the rate of its slowest error."""
        rate = self._rate(self.grids[-1], float(self.layers.min()) * q)
        needed = 1 if rate == 0.0 else math.ceil(math.log(ENOUGH) / math.log(rate)) if rate < 1.0 else 2 * MOST_SWEEPS
        if needed > MOST_SWEEPS and self._levels is None:
            raise InputError(
                f"{self.grids[0].shape} points, of which {self.grids[-1].shape} are left when they are halved",
                allowed=f"numbers that leave fewer: {advice(self.grids[0])}",
                fix="Multigrid(..., levels=1) if cycles may take long",
            )
        return max(1 if rate == 0.0 else self.pre + self.post, min(needed, MOST_SWEEPS))

    # -- cycles --------------------------------------------------------------------------------

    def _over(self, name: str, level: int, layers: int, *arguments: Any) -> Launch:
        ny, nx = self.grids[level].shape
        return self.device.over(self._loops[name], (layers, ny, (nx + 1) // 2 if name == "relax" else nx), arguments)

    def _visiting(self, level: int) -> int:
        """Layers that visit a grid: the first ones."""
        return sum(used > level for used in self.used)

    def _sweeps(self, level: int, count: int) -> list[Launch]:
        """Sweeps on a grid."""
        if self.smoother == "jacobi":
            layers = self._visiting(level)
            known = (self._u[level], self._r(level), self._s, self._q[level][0], self._points[level])
            one = [*self._residual(level, layers), self._over("damp", level, layers, *known, self.real(self._weight))]
            return one * count
        fixed = (self._u[level], self._f[level], self._s, self._q[level][0], self._points[level])
        half = [self._over("relax", level, self._visiting(level), *fixed, colour) for colour in (0, 1)]
        return half * count

    def _layers_of(self, grid: Grid) -> Any:
        return self.device.zeros((len(self.layers), *grid.shape), self.real)

    def _r(self, level: int) -> Any:
        """The residual on a grid: an array that fast cycles do without."""
        if level not in self._residuals:
            self._residuals[level] = self._layers_of(self.grids[level])
        return self._residuals[level]

    def _residual(self, level: int, layers: int) -> list[Launch]:
        known = (self._u[level], self._f[level], self._r(level), self._s, self._q[level][0], self._points[level])
        return [self._over("residual", level, layers, *known)]

    def _coarse_correction(self, level: int, cycle: str) -> list[Launch]:
        """From the residual of a grid to the correction that the next coarser one gives."""
        count, grid = self._visiting(level + 1), self._points[level]
        coarse = [
            self._over("restrict", level + 1, count, self._r(level), self._f[level + 1], grid),
            self._over("clear", level + 1, count, self._u[level + 1]),
        ]
        coarse += self._cycle(level + 1, cycle)
        if cycle != "V" and level + 2 < len(self.grids):
            coarse += self._cycle(level + 1, "W" if cycle == "W" else "V")
        return [
            *self._residual(level, count),
            *coarse,
            self._over("prolong", level, count, self._u[level + 1], self._u[level], grid),
        ]

    def _cycle(self, level: int, cycle: str) -> list[Launch]:
        if level == len(self.grids) - 1:
            return self._sweeps(level, self._coarsest_sweeps)
        between = self._coarse_correction(level, cycle) if self._visiting(level + 1) else []
        return [*self._sweeps(level, self.pre), *between, *self._sweeps(level, self.post)]

    def _around(self, level: int, coarser: list[Launch]) -> list[Launch]:
        """A V cycle on a grid from zero, launch by launch, around that on the coarser ones."""
        layers, coarse, points = self._visiting(level), self._visiting(level + 1), self._points[level]
        first = [self._over("clear", level, layers, self._u[level])]
        if not coarse:
            last = level + 1 == len(self.grids)
            return [*first, *self._sweeps(level, self._coarsest_sweeps if last else self.pre + self.post)]
        return [
            *first,
            *self._sweeps(level, self.pre),
            *self._residual(level, coarse),
            self._over("restrict", level + 1, coarse, self._r(level), self._f[level + 1], points),
            *coarser,
            self._over("prolong", level, coarse, self._u[level + 1], self._u[level], points),
            *self._sweeps(level, self.post),
        ]

    def cycle_launches(self, from_zero: bool = False, control: Any = None) -> list[Launch]:
        """One cycle on `u` and `f`, after `u` is set to zero if asked: a preconditioner.

        On a GPU a V cycle from zero takes a few launches, which do nothing while `control`, of a `StopTest`, says so.
        """
        if self._cuda and from_zero:
            arrays = list(zip(self._u, self._f, self._q, strict=True))
            known = (self.used, (self.pre, self.post), self._coarsest_sweeps, self._around)
            return self._cuda.launches(0, arrays, *known, control)
        if self._fast:
            cycle = {"cycle": self.cycle, "pre": self.pre, "post": self.post, "coarsest": self._coarsest_sweeps}
            return [self._fast.launch(self.u, self.f, self._s, self.used, from_zero, **cycle)]
        first = [self._over("clear", 0, len(self.layers), self.u)] if from_zero else []
        return [*first, *self._cycle(0, self.cycle)]

    def solve(
        self, f: Any, guess: Any = None, tolerance: float | None = None, most: int = 50
    ) -> tuple[np.ndarray, Iterated]:
        """Cycles until the residual is small.

        Parameters
        ----------
        f : (layers, ny, nx)
            NumPy.
        guess : (layers, ny, nx), optional
            Else zero.
        tolerance : float, optional
            Of the 2-norm of the residual over that of f; without it 1e-10, in single precision 1e-5.
        most : int
            Cycles.

        Returns
        -------
        u : (layers, ny, nx)
        made : Iterated
            Cycles, and the norm reached.

        Raises
        ------
        ConvergenceError
            If `most` cycles are not enough.
        """
        right = np.asarray(f, float)
        if right.shape != tuple(self.f.shape) or not np.isfinite(right).all():
            raise InputError("this right side", allowed=f"finite values, {tuple(self.f.shape)}")
        start = np.zeros_like(right) if guess is None else np.asarray(guess, float)
        self.device.fill(self.f, right.astype(self.real))
        self.device.fill(self.u, np.broadcast_to(start, right.shape).astype(self.real))
        rows = right.shape[0] * right.shape[1]
        test = StopTest(self.device, rows)
        norm = [
            *self._residual(0, right.shape[0]),
            self.device.over(self._loops["row_norm"], (rows,), (self._r(0), test.partials)),
        ]
        small = (1e-10 if self.precision == "double" else 1e-5) if tolerance is None else tolerance
        until = Until(self.device, test, [*self.cycle_launches(), *norm], norm, look_every=1)
        made = until.run(small * float(np.linalg.norm(right)), most)
        return self.device.host(self.u), made


def _check(
    shape: Any,
    spacing: Any,
    layers: np.ndarray,
    cycle: str,
    sweeps: tuple[int, int],
    levels: int | None,
    stretched: float,
) -> None:
    """Refuse what makes no grid or no cycle."""
    if len(shape) != 2 or any(n != int(n) or n < 1 for n in shape) or max(shape) < 2:
        raise InputError(f"shape = {shape}", allowed="(ny, nx), one of them 2 or more", fix="shape = (65, 129)")
    if len(spacing) != 2 or not all(math.isfinite(d) and d > 0.0 for d in spacing):
        raise InputError(f"spacing = {spacing}", allowed="(dy, dx) above 0, m")
    if layers.ndim != 1 or not layers.size or not (np.isfinite(layers) & (layers > 0.0)).all():
        raise InputError("these layers", allowed="numbers above 0, one at least", fix="layers=[1.0]")
    if cycle not in CYCLES:
        raise InputError(f"cycle = {cycle!r}", allowed=", ".join(CYCLES), fix='cycle="V"')
    if min(sweeps) < 0 or sum(sweeps) < 1:
        raise InputError(f"pre, post = {sweeps}", allowed="one sweep or more together", fix="pre=1, post=1")
    if levels is not None and levels < 1:
        raise InputError(f"levels = {levels}", allowed="1 or more")
    if not stretched >= 1.0:
        raise InputError(f"stretched = {stretched}", allowed="1 or more", fix="stretched=1.5")
