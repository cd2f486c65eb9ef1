"""`Multigrid`: solver of u_xx + u_yy - s q(y, x) u = f on grids of points, for several values of s at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.backend.select import select
from eagre.errors import InputError
from eagre.solvers.multigrid import kernels
from eagre.solvers.multigrid.cycle_cpu import CpuCycle
from eagre.solvers.multigrid.plan import ENOUGH, STRETCHED, Choices, Grid, Plan, plan_of
from eagre.solvers.multigrid.plan_cuda import CudaCycle
from eagre.stepping.convergence_loop import ConvergenceLoop, IterationResult, StopTest


class Multigrid:
    """Multigrid solver of u_xx + u_yy - s_m q u = f_m on a grid of points, for layers m = 0, 1, ...

    Five-point second-order differences, red-black Gauss-Seidel smoothing, full weighting and bilinear interpolation;
    the screening is restricted to coarser grids. The convergence rate does not depend on the number of points: a V(1,1)
    cycle reduces the error by a factor of 10 or more if the spacings are similar and q varies slowly.

    Parameters
    ----------
    shape : (ny, nx)
        Number of points; walls are at the first and the last. An axis of one point has no derivative.
    spacing : (dy, dx)
        Grid spacing, m.
    layers : sequence of float
        Dimensionless factors s_m > 0.
    screening : (ny, nx), optional
        Screening q > 0, m^-2; 1 by default. `set_screening` changes it.
    periodic : (y, x)
        Whether an axis is periodic (the period has as many spacings as points). Other axes have walls with a
        homogeneous Neumann condition (u is mirrored about the wall point).
    cycle : {"V", "W", "F"}
        Type of the multigrid cycle.
    pre, post : int
        Number of smoothing sweeps before and after the coarse-grid correction.
    levels : int, optional
        Maximum number of grids. By default grids are coarsened as long as the number of points can be halved: odd
        numbers between walls, multiples of powers of two along periodic axes. The number of sweeps on the coarsest grid
        reduces the error by a factor of 10; it is at most 200.
    stretched : float
        Maximum ratio of the spacings of two axes at which both are coarsened: with 1 only the axis of smaller spacing
        is coarsened, with infinity both axes whenever possible.
    smoother : {"red-black", "jacobi"}
        Jacobi smoothing converges more slowly and is provided for comparison.
    weight : float
        Relaxation factor of the Jacobi sweep, 0 to 1: 4/5 is optimal in two dimensions, 2/3 in one.
    factors : sequence of float
        Factors of the differences along an axis on grids where the axis is coarsened 0, 1, 2, ... times; the last
        factor applies to all further grids. The first factor is part of the equation. The others change the convergence
        rate, mainly of a preconditioner for higher-order differences, which are stiffer for short waves.
    device : str or Device
    precision : {"single", "double"}
    enough : float
        A layer does not visit coarser grids than the first one where the sweeps of a cycle reduce the slowest error to
        this fraction.
    plain : bool
        Use one launch per operation of `kernels` instead of faster fused kernels, whose results differ by rounding.
    paired : bool
        Store u and f of the finest grid as 16-bit numbers, two layers per 32-bit word, where kernels support it: on a
        GPU in single precision, for V(1,1) cycles with a zero initial guess. For preconditioners, as only 8 significant
        bits remain. `separate` ends this mode.
    in_place : bool
        Use one array for u and f where programs support it: on a CPU, for cycles with a zero initial guess; the
        right-hand side is overwritten. For preconditioners: it saves one value per unknown. `separate` ends this mode.

    Attributes
    ----------
    grids : list
        Grid hierarchy, finest first.
    used : list of int
        Number of grids visited by each layer: smoothing alone is sufficient for strongly screened layers.
    u, f : arrays on the device, (layers, ny, nx)
        Solution and right-hand side of `cycle_launches`; in paired mode 32-bit words, (half of the layers, ny, nx).
    screening : array on the device, (1, ny, nx)
        Screening q; run `screening_launches` after writing to it.

    Raises
    ------
    InputError
        For an odd number of points along a periodic axis, a screening that is not positive, or (without `levels`) a
        coarsest grid that needs more than 200 sweeps; the message suggests numbers of points.

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
        factors: Sequence[float] = (1.0,),
        device: str | Device = "auto",
        precision: str = "double",
        enough: float = ENOUGH,
        plain: bool = False,
        paired: bool = False,
        in_place: bool = False,
    ) -> None:
        self.device, self.precision, self.real = select(device), precision, check_precision(precision)
        choices = Choices(cycle, pre, post, levels, stretched, smoother, weight, tuple(factors))
        plan = plan_of(shape, spacing, layers, periodic, choices, enough)
        self._assemble(plan, plain, paired, in_place)
        self.set_screening(np.ones(shape) if screening is None else screening)

    def _assemble(self, plan: Plan, plain: bool, paired: bool = False, in_place: bool = False) -> None:
        """Create arrays and programs for a plan."""
        self._plan, self.grids, self.layers = plan, list(plan.grids), np.asarray(plan.layers)
        self.cycle, pre, post, *_, self.smoother, self._weight, _ = plan.choices
        self.pre, self.post, plain = pre, post, plain or self.smoother != "red-black"
        self._points = [self._numbers(grid) for grid in self.grids]
        self._fast = None if plain or min(pre, post) < 1 or self.device.target != "cpu" else self._cpu_cycle()
        self._s = self.device.array(self.layers.astype(self.real))
        quick = self.cycle == "V" and min(pre, post) > 0 and not plain and self.device.kind == "cuda"
        self._cuda = self._cuda_cycle() if quick else None
        self.paired = bool(paired and self._cuda and self._cuda.takes_pairs)
        self.in_place = bool(in_place and self._fast)
        alone = self.grids[:1] if self._fast else self.grids
        self._f = [self._layers_of(grid, self.paired and grid is self.grids[0]) for grid in alone]
        self._u = self._f if self.in_place else [self.device.zeros(one.shape, one.dtype) for one in self._f]
        self._residuals: dict[int, Any] = {}
        self._q = [self.device.zeros((1, *grid.shape), self.real) for grid in alone]
        self.u, self.f, self.screening = self._u[0], self._f[0], self._q[0]
        names = ("clear", "relax", "damp", "residual", "restrict", "prolong", "row_norm")
        self._loops = {name: self.device.loop(getattr(kernels, name), self.precision) for name in names}

    # -- the equation --------------------------------------------------------------------------

    def set_screening(self, screening: Any) -> None:
        """Set q, (ny, nx), m^-2. Existing launches keep their number of sweeps on the coarsest grid."""
        q = np.asarray(screening, float)
        if q.shape != self.grids[0].shape or not (np.isfinite(q) & (q > 0.0)).all():
            raise InputError(
                f"a screening of shape {q.shape}", allowed=f"{self.grids[0].shape} finite values above 0",
                problem="The screening is not an array of positive values on the grid.",
            )  # fmt: skip
        self._coarsest_sweeps, self.used = self._plan.coarsest_sweeps(float(q.min())), self._plan.used(float(q.min()))
        self.device.fill(self._q[0], q[None].astype(self.real))
        self.device.run(self.screening_launches())

    def screening_launches(self, from_zero: bool = False) -> list[Launch]:
        """Return launches that restrict the screening to coarser grids; `from_zero` : for such cycles only."""
        if self._fast:
            return self._fast.screening_launches(self.screening, max(self.used))
        max_level = self._cuda.in_block if self._cuda and from_zero else len(self.grids) - 1
        return [self._over("restrict", level + 1, 1, self._q[level], self._q[level + 1], self._points[level])
                for level in range(min(max_level, max(self.used) - 1))]  # fmt: skip

    def _cpu_cycle(self) -> CpuCycle:
        over = np.array([[points.over_dx2, points.over_dy2] for points in self._points])
        return CpuCycle(self.device, self.precision, self.grids, len(self.layers), over)

    def _cuda_cycle(self) -> CudaCycle:
        return CudaCycle(self.device, self.precision, self.grids, self._points, self._s, sweeps=(self.pre, self.post))

    def _numbers(self, grid: Grid) -> kernels.Points:
        weights = self.real(grid.x.weight), self.real(grid.y.weight)
        return kernels.Points(*weights, int(grid.x.periodic), int(grid.y.periodic), grid.step_x, grid.step_y)

    # -- cycles --------------------------------------------------------------------------------

    def _over(self, name: str, level: int, layers: int, *arguments: Any) -> Launch:
        ny, nx = self.grids[level].shape
        return self.device.over(self._loops[name], (layers, ny, (nx + 1) // 2 if name == "relax" else nx), arguments)

    def _visiting(self, level: int) -> int:
        """Return the number of layers that visit a grid; these are the first ones."""
        return sum(used > level for used in self.used)

    def _sweeps(self, level: int, count: int) -> list[Launch]:
        """Return launches of smoothing sweeps on a grid."""
        if self.smoother == "jacobi":
            layers = self._visiting(level)
            known = (self._u[level], self._r(level), self._screening(level), self._points[level])
            one = [*self._residual(level, layers), self._over("damp", level, layers, *known, self.real(self._weight))]
            return one * count
        fixed = (self._u[level], self._f[level], self._screening(level), self._points[level])
        half = [self._over("relax", level, self._visiting(level), *fixed, colour) for colour in (0, 1)]
        return half * count

    def _layers_of(self, grid: Grid, paired: bool = False) -> Any:
        count, kind = (-(-len(self.layers) // 2), np.uint32) if paired else (len(self.layers), self.real)
        return self.device.zeros((count, *grid.shape), kind)

    def separate(self) -> None:
        """Use separate arrays for u and f and one value per layer in new launches; existing launches are unchanged."""
        if self.paired or self.in_place:
            self.paired = self.in_place = False
            self._u, self._f = list(self._u), list(self._f)
            self._u[0], self._f[0] = (self._layers_of(self.grids[0]) for _ in range(2))
            self.u, self.f = self._u[0], self._f[0]

    def _r(self, level: int) -> Any:
        """Return the array of residuals of a grid, which fused cycles do not need."""
        if level not in self._residuals:
            self._residuals[level] = self._layers_of(self.grids[level])
        return self._residuals[level]

    def _screening(self, level: int) -> kernels.Screening:
        return kernels.Screening(self._s, self._q[level][0])

    def _residual(self, level: int, layers: int) -> list[Launch]:
        known = (self._u[level], self._f[level], self._r(level), self._screening(level), self._points[level])
        return [self._over("residual", level, layers, *known)]

    def _coarse_correction(self, level: int, cycle: str) -> list[Launch]:
        """Return launches from the residual of a grid to the correction by the next coarser grid."""
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
        """Return launches of a V cycle from zero on a grid, around the launches of the coarser grids."""
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
        """Return launches of one cycle on `u` and `f` (a preconditioner); `from_zero` : set `u` to zero first.

        On a GPU a V cycle with a zero initial guess needs few launches; they do nothing after convergence of a
        `StopTest` whose `control` is given.
        """
        if self._cuda and from_zero:
            arrays = list(zip(self._u, self._f, self._q, strict=True))
            known = (self.used, (self.pre, self.post), self._coarsest_sweeps, self._around)
            return self._cuda.launches(0, arrays, *known, control)
        if (self.paired or self.in_place) and not from_zero:
            raise InputError(
                "a cycle with a nonzero initial guess", allowed="a zero initial guess",
                fix="call separate() before the cycle",
                problem="In-place cycles and cycles with paired layers require a zero initial guess.",
            )  # fmt: skip
        if self._fast:
            cycle = {"cycle": self.cycle, "pre": self.pre, "post": self.post, "coarsest": self._coarsest_sweeps}
            return [self._fast.launch(self.u, self.f, self._s, self.used, from_zero, **cycle)]
        first = [self._over("clear", 0, len(self.layers), self.u)] if from_zero else []
        return [*first, *self._cycle(0, self.cycle)]

    def solve(
        self, f: Any, guess: Any = None, tolerance: float | None = None, most: int = 50
    ) -> tuple[np.ndarray, IterationResult]:
        """Solve by cycles until the residual reaches the tolerance.

        Parameters
        ----------
        f : (layers, ny, nx)
            Right-hand sides, NumPy.
        guess : (layers, ny, nx), optional
            Initial guess; zero by default.
        tolerance : float, optional
            Relative tolerance of the 2-norm of the residual; 1e-10 by default, 1e-5 in single precision.
        most : int
            Maximum number of cycles.

        Returns
        -------
        u : (layers, ny, nx)
            Solution.
        result : IterationResult
            Number of cycles, and the final norm.

        Raises
        ------
        ConvergenceError
            If the tolerance is not reached after `most` cycles.
        """
        self.separate()
        right = np.asarray(f, float)
        if right.shape != tuple(self.f.shape) or not np.isfinite(right).all():
            raise InputError(
                f"a right-hand side of shape {right.shape}", allowed=f"finite values of shape {tuple(self.f.shape)}",
                problem="The right-hand side is not an array of finite values on the grid and its layers.",
            )  # fmt: skip
        start = np.zeros_like(right) if guess is None else np.asarray(guess, float)
        self.device.fill(self.f, right.astype(self.real))
        self.device.fill(self.u, np.broadcast_to(start, right.shape).astype(self.real))
        rows = right.shape[0] * right.shape[1]
        test = StopTest(self.device, rows)
        norm = [
            *self._residual(0, right.shape[0]),
            self.device.over(self._loops["row_norm"], (rows,), (self._r(0), test.partials)),
        ]
        relative_tolerance = (1e-10 if self.precision == "double" else 1e-5) if tolerance is None else tolerance
        until = ConvergenceLoop(self.device, test, [*self.cycle_launches(), *norm], norm, iterations_per_check=1)
        result = until.run(relative_tolerance * float(np.linalg.norm(right)), most)
        return self.device.host(self.u), result
