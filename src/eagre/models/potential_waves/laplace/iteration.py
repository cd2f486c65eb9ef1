"""Iteration of a Laplace problem: relaxed defect correction, with conjugate residuals if it converges slowly.

A solve starts with one relaxation factor. If the convergence rate exceeds SLOW, three factors are used cyclically: the
Chebyshev factors for the ratio of operator to preconditioner below steep waves. If the rate exceeds FAILING, conjugate
residuals continue the solve. Over a bed steeper than STEEP the solve starts with conjugate residuals. Lines along sigma
always have the factor 1. No information is kept between solves, so a restarted run equals an uninterrupted one.

The generalized conjugate residual method, for steep beds, minimises the residual over corrections::

    u = M^-1 r,   q = A u        both orthogonalised against the last KEPT q_i
    alpha = <r, q> / <q, q>,     Psi += alpha u,     r -= alpha q

The method works on the modes of the residual, which A maps to modes. A u is the difference of the updated residual and
the residual of Psi + u. The next iteration corrects rounding errors, so single precision is sufficient. Source:
S. C. Eisenstat, H. C. Elman, M. H. Schultz, SIAM J. Numer. Anal. 20, 345-357 (1983), doi:10.1137/0720023:
Orthomin(KEPT).

All iterations have the same launches, one graph on a GPU: the indices of the newest u and q and all coefficients are
stored on the device. q_i and r are in one array, (SLOTS + 1) times the layers, u_i in another.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, real, serial_entry, switch
from eagre.backend.device import Device
from eagre.errors import ConvergenceError
from eagre.models.potential_waves.laplace.stencils import RELAXATION, Vertical
from eagre.models.potential_waves.surface.reference_kernels import keep
from eagre.stepping.convergence_loop import (
    NO_PROLOGUE,
    THREADS,
    ConvergenceLoop,
    IterationResult,
    Prologue,
    StopTest,
    add_up,
)

PART = 32  # points of a row per thread in products
KEPT = 8  # directions kept; 4 would double the iterations over a bed of slope 1.5
SLOTS = KEPT + 1  # including the newest

COUNT, SLOT, NEWEST, ALPHA, SQUARES = range(5)  # indices of the numbers: count of u and q, slot of the next ones, ...
FACTORS = SQUARES + SLOTS
NUMBERS = FACTORS + SLOTS
SIDE_BY_SIDE = switch(
    "SIDE_BY_SIDE", False
)  # GPU: neighbouring threads process neighbouring points; otherwise a thread processes a row
CHEBYSHEV = (1.106, 0.796, 0.622)
"""1 / (c - w cos) for ratios from 0.85 to 1.66."""

SLOW = 0.28  # ratio of the norms of successive corrections
FAILING = 0.6
STEEP = 0.85  # maximum bed slope (decision 0043)
SYNC_INTERVAL = 3  # iterations between host synchronisations with a GPU; sufficient for most solves
FIRST, LATER = 6, 3  # iterations between checks of the rate: complete cycles of factors


class Problem(Protocol):
    """Interface of a `LaplaceProblem` for iterations."""

    preconditioner: str
    device: Device
    vertical: Vertical
    multigrid: Any
    shape: Any
    real: Any
    psi: Any
    test: Any

    def zeros(self, layers: int) -> Any:
        """Return a zero array of a number of layers."""
        ...

    def defect(self) -> list[Any]:
        """Return launches that compute the modes of the residual."""
        ...

    def correction(self, weight: float = 1.0) -> list[Any]:
        """Return launches that add the correction from the modes."""
        ...

    def iteration(self, weight: float) -> list[Any]:
        """Return the launches of one defect correction."""
        ...

    def on_each(self, program: Any, *arguments: Any) -> Any:
        """Return the launch of a one-block program on every device."""
        ...

    def rows_of_all(self, count: int) -> tuple[Any, Any, list[Any]]:
        """Return arrays of row values, own and of all devices, and launches that complete the latter."""
        ...


@cell
def set_image(k, j, i, f, images, numbers, layers):
    """Set the image of the newest direction: the updated residual minus the residual of Psi + u."""
    here, r = np.int64(numbers[SLOT]) * layers + k, SLOTS * layers + k
    for m in range(np.int64(i), i + 1 if SIDE_BY_SIDE else f.shape[2]):
        images[here, j, m] = images[r, j, m] - f[k, j, m]


@cell
def is_kept(n, numbers):
    """Return whether q_n is a stored direction other than the newest."""
    return n < np.int64(numbers[COUNT]) and n != np.int64(numbers[SLOT])


@cell
def set_products(k, j, i, images, sums, numbers, layers, with_itself):
    """Compute products of the newest q in double precision: with the stored ones, or `with_itself` and r.

    On a GPU sums over every so many points of a row, (.., parts), else over a row, (.., 1).
    """
    n, slot = np.int64(k // layers), np.int64(numbers[SLOT])
    newest, layer = slot * layers + k - n * layers, k - n * layers
    if with_itself:
        n = slot if n == 0 else np.int64(SLOTS)
    total = 0.0
    if with_itself or is_kept(n, numbers):
        for m in range(np.int64(i), images.shape[2], sums.shape[2] if SIDE_BY_SIDE else 1):
            total += np.float64(images[newest, j, m]) * np.float64(images[n * layers + layer, j, m])
    sums[k, j, i] = total


@cell
def set_row_sums(k, j, i, partial_sums, sums):
    """Set the sum of the partial sums of a row."""
    total = 0.0
    for p in range(partial_sums.shape[2]):
        total += partial_sums[k, j, p]
    sums[k, j, i] = total


@cell
def combine(k, j, i, u, directions, images, numbers, layers):
    """Orthogonalise the newest u and q of a row against the stored directions."""
    here = np.int64(numbers[SLOT]) * layers + k
    for m in range(u.shape[2]):
        directions[here, j, m] = u[k, j, m]
    for n in range(np.int64(numbers[COUNT])):
        factor, there = real(numbers[FACTORS + n]), n * layers + k
        for m in range(u.shape[2]):
            directions[here, j, m] += factor * directions[there, j, m]
            images[here, j, m] += factor * images[there, j, m]


@combine.variant("cuda")
def combine_point(k, j, i, u, directions, images, numbers, layers):
    """See `combine`; for one point."""
    here = np.int64(numbers[SLOT]) * layers + k
    a, b = u[k, j, i], images[here, j, i]
    for n in range(np.int64(numbers[COUNT])):
        factor, there = real(numbers[FACTORS + n]), n * layers + k
        a += factor * directions[there, j, i]
        b += factor * images[there, j, i]
    directions[here, j, i] = a
    images[here, j, i] = b


@cell
def advance(k, j, i, u, f, pairs, numbers, layers):
    """Apply alpha times the newest direction: update r and f, and set u, the modes of the correction.

    pairs : directions and their images
    """
    directions, images = pairs
    here, r = np.int64(numbers[NEWEST]) * layers + k, SLOTS * layers + k
    alpha = real(numbers[ALPHA])
    for m in range(np.int64(i), i + 1 if SIDE_BY_SIDE else f.shape[2]):
        left = images[r, j, m] - alpha * images[here, j, m]
        images[r, j, m] = left
        f[k, j, m] = left
        u[k, j, m] = alpha * directions[here, j, m]


@cell
def product_of(sums, n, layers, first, step):
    """Return the sum of the rows of array n, with stride `step`."""
    total, ny = 0.0, sums.shape[1]
    for row in range(first, layers * ny, step):
        total += sums[n * layers + row // ny, row % ny, 0]
    return total


@cell
def set_factor(numbers, n, product):
    """Set minus the coefficient of q_n in the newest q; 0 for unused slots."""
    square = numbers[SQUARES + n]
    numbers[FACTORS + n] = -product / square if is_kept(n, numbers) else 0.0


@cell
def set_step(numbers, square, along):
    """Set alpha and the slot of the next direction."""
    slot = np.int64(numbers[SLOT])
    square = square if square > 0.0 else 1.0
    numbers[SQUARES + slot] = square
    numbers[ALPHA] = along / square
    numbers[NEWEST] = slot
    numbers[SLOT] = (slot + 1) % SLOTS
    numbers[COUNT] = min(numbers[COUNT] + 1.0, float(SLOTS))


@serial_entry
def forget_cpu(numbers):
    """Discard all directions."""
    for n in range(NUMBERS):
        numbers[n] = 1.0 if SQUARES <= n < FACTORS else 0.0


@entry
def forget_cuda(numbers):
    """See `forget_cpu`; one block."""
    n = cuda.threadIdx.x
    if n < NUMBERS:
        numbers[n] = 1.0 if SQUARES <= n < FACTORS else 0.0


@serial_entry
def set_factors_cpu(sums, numbers, layers):
    """Set all coefficients."""
    for n in range(SLOTS):
        set_factor(numbers, n, product_of(sums, n, layers, 0, 1))


@entry
def set_factors_cuda(sums, numbers, layers):
    """See `set_factors_cpu`; one block, with a reproducible tree reduction over its threads."""
    tree, t = cuda.shared.array(THREADS, np.float64), cuda.threadIdx.x
    for n in range(SLOTS):
        add_up(tree, t, THREADS, product_of(sums, n, layers, t, THREADS))
        if t == 0:
            set_factor(numbers, n, tree[0])
        cuda.syncthreads()


@serial_entry
def set_step_cpu(sums, numbers, layers):
    """Set alpha from the sums of all rows, <q, q> and <r, q>."""
    set_step(numbers, product_of(sums, 0, layers, 0, 1), product_of(sums, 1, layers, 0, 1))


@entry
def set_step_cuda(sums, numbers, layers):
    """See `set_step_cpu`; one block."""
    tree, t = cuda.shared.array(THREADS, np.float64), cuda.threadIdx.x
    add_up(tree, t, THREADS, product_of(sums, 0, layers, t, THREADS))
    square = tree[0]
    cuda.syncthreads()
    add_up(tree, t, THREADS, product_of(sums, 1, layers, t, THREADS))
    if t == 0:
        set_step(numbers, square, tree[0])


ENTRIES = {
    "cpu": {"forget": forget_cpu, "set_factors": set_factors_cpu, "set_step": set_step_cpu},
    "cuda": {"forget": forget_cuda, "set_factors": set_factors_cuda, "set_step": set_step_cuda},
}


class ConjugateResiduals:
    """Conjugate-residual solver of a `LaplaceProblem`; stores 2 SLOTS + 2 values per unknown.

    Parameters
    ----------
    laplace : Problem
    """

    def __init__(self, laplace: Problem) -> None:
        self._laplace, self._device, multigrid = laplace, laplace.device, laplace.multigrid
        multigrid.separate()  # data kept between iterations need full precision
        self._layers, device, test = laplace.vertical.nz - 1, laplace.device, laplace.test
        self._directions, self._images = (self._several(count, multigrid.real) for count in (SLOTS, SLOTS + 1))
        self._r = self._images[SLOTS * self._layers :]
        self._numbers, self._stored_psi = device.zeros((NUMBERS,), np.float64), laplace.zeros(self._layers + 2)
        kind = {"SIDE_BY_SIDE": device.kind == "cuda"}
        cells = (set_image, set_products, combine, advance, keep)
        self._loops = {one.name: device.loop(one, multigrid.precision, kind) for one in cells}
        self._entries = ENTRIES["cuda" if device.kind == "cuda" else "cpu"]
        carry = device.over(self._loops["keep"], (self._layers, *laplace.shape), (multigrid.f, self._r))
        self._begin = [*laplace.defect(), carry, self._on_each("forget")]
        self._until = ConvergenceLoop(device, test, self._iteration(), iterations_per_check=1)

    def _several(self, count: int, real: Any) -> Any:
        """Return a number of arrays of all modes."""
        return self._device.field_zeros((count * self._layers, *self._laplace.shape), real)

    def _iteration(self) -> list[Any]:
        laplace, multigrid, layers = self._laplace, self._laplace.multigrid, self._layers
        both = self._directions, self._images
        psi = "double" if laplace.real is np.float64 else "single"
        keep_psi, shape = self._device.loop(keep, psi), (layers + 2, *laplace.shape)
        return [
            *multigrid.cycle_launches(from_zero=True, control=laplace.test.control),
            self._device.over(keep_psi, shape, (laplace.psi, self._stored_psi)),
            *laplace.correction(1.0),
            *laplace.defect(),
            self._over("set_image", multigrid.f, self._images),
            *self._products(SLOTS, "set_factors"),
            self._over("combine", multigrid.u, *both),
            *self._products(2, "set_step"),
            self._over("advance", multigrid.u, multigrid.f, both),
            self._device.over(keep_psi, shape, (self._stored_psi, laplace.psi)),
            *laplace.correction(1.0),
        ]

    def _products(self, arrays: int, consumer: str) -> list[Any]:
        """Return launches for products of the newest q, with all stored ones or with itself and r, and their use."""
        device, (ny, nx), count = self._device, self._laplace.shape, arrays * self._layers
        sums, all_sums, spread = self._laplace.rows_of_all(count)
        partials, per_row = sums, 1
        if device.kind == "cuda":
            per_row = -(-nx // PART)
            partials = device.field_zeros((count, ny, per_row), np.float64)
        known = (self._images, partials, self._numbers, self._layers, int(arrays == 2))
        launches = [device.over(self._loops["set_products"], (count, ny, per_row), known)]
        if partials is not sums:
            launches.append(device.over(device.loop(set_row_sums, "double"), (count, ny, 1), (partials, sums)))
        return [*launches, *spread, self._on_each(consumer, all_sums, self._numbers, self._layers)]

    def _over(self, name: str, *arguments: Any) -> Any:
        """Return the launch of a kernel over the modes, by points on a GPU and by rows on a CPU."""
        ny, nx = self._laplace.shape
        region = (self._layers, ny, nx if self._device.kind == "cuda" else 1)
        return self._device.over(self._loops[name], region, (*arguments, self._numbers, self._layers))

    def _on_each(self, name: str, *arguments: Any) -> Any:
        program = self._device.program(self._entries[name], "double")
        return self._laplace.on_each(program, *(arguments or (self._numbers,)))

    def run(self, tolerance: float, max_iterations: int, prologue: Prologue, completed: int) -> IterationResult:
        """Iterate until the 2-norm of a correction of Psi is at most `tolerance`; see `ConvergenceLoop.run`.

        Raises
        ------
        ConvergenceError
            If `max_iterations` iterations are not sufficient.
        """
        launches = [*prologue.launches, *self._begin]
        lead_in = Prologue(("residuals", prologue.name), launches, prologue.overlapped)
        return self._until.run(tolerance, max_iterations, lead_in, completed)


class Convergence(NamedTuple):
    """Convergence history of a Laplace solve.

    Attributes
    ----------
    method : {"one weight", "three weights", "conjugate residuals"}
        Method of the last iterations: defect correction with one relaxation factor or with three, used cyclically, or
        conjugate residuals.
    iterations : int
        Number of iterations.
    rate : float
        Geometric mean of the ratios of the norms of successive corrections with this method; NaN if it has no two
        iterations or a correction is zero.
    norms : (iterations,) array, m2/s
        Root mean square over the unknowns of the correction of the potential in each iteration.
    tolerance : float, m2/s
        Tolerance of the norm.
    """

    method: str
    iterations: int
    rate: float
    norms: np.ndarray
    tolerance: float


class Solve(NamedTuple):
    """Method and length of the last solve."""

    method: str = "one weight"
    iterations: int = 0
    previous_iterations: int = 0  # iterations before this method
    tolerance: float = math.nan  # tolerance of the 2-norm

    def convergence(self, norms: np.ndarray, scale: float) -> Convergence:
        """Return the history; norms : 2-norms of all iterations, `scale` times the root mean square."""
        norms, steps = norms[: self.iterations] / scale, self.iterations - self.previous_iterations - 1
        falls = steps > 0 and min(norms[self.previous_iterations], norms[-1]) > 0.0
        rate = float(norms[-1] / norms[self.previous_iterations]) ** (1.0 / steps) if falls else math.nan
        return Convergence(self.method, self.iterations, rate, norms, self.tolerance / scale)


class Iteration:
    """Iterative solver of a `LaplaceProblem`.

    Parameters
    ----------
    laplace : Problem
    test : StopTest
    steepest : float
        Maximum slope of the bed.

    Attributes
    ----------
    last : Solve
    """

    def __init__(self, laplace: Problem, test: StopTest, bed_slope: float) -> None:
        self._laplace, self._steep = laplace, bed_slope > STEEP
        order, device = laplace.vertical.order, laplace.device
        self._alone = laplace.preconditioner == "lines"
        one = laplace.iteration(1.0 if self._alone else RELAXATION[order])
        three = [laplace.iteration(weight) for weight in CHEBYSHEV]
        weighted_iterations = [*three[0], test.launch, *three[1], test.launch, *three[2]]
        self._methods = {
            "one weight": ConvergenceLoop(device, test, one, iterations_per_check=SYNC_INTERVAL),
            "three weights": ConvergenceLoop(device, test, weighted_iterations, iterations_per_check=1),
        }
        self._residuals: ConjugateResiduals | None = None
        self.last = Solve()

    def run(self, tolerance: float, max_iterations: int, prologue: Prologue) -> IterationResult:
        """Iterate until the 2-norm of a correction of Psi is at most `tolerance`, after the launches of `prologue`.

        Raises
        ------
        ConvergenceError
            If `max_iterations` are not sufficient, or corrections are not finite.
        """
        method, count, norm, rate = "one weight", 0, math.nan, math.nan
        while count < max_iterations and not self._steep and not rate > FAILING:
            stop = max_iterations if self._alone else min(max_iterations, count + (LATER if count else FIRST))
            try:
                return self._run(self._methods[method], method, tolerance, stop, prologue, count)
            except ConvergenceError as slow:
                rate = (slow.norm / norm) ** (1.0 / (slow.iterations - count))
                count, norm = slow.iterations, slow.norm
            if not math.isfinite(norm):
                break
            method, prologue = "three weights" if rate > SLOW else method, NO_PROLOGUE
        if count >= max_iterations or (count and not math.isfinite(norm)):
            raise ConvergenceError(count, norm, tolerance)
        self._residuals = self._residuals or ConjugateResiduals(self._laplace)
        return self._run(self._residuals, "conjugate residuals", tolerance, max_iterations, prologue, count)

    def _run(
        self, iteration: ConvergenceLoop | ConjugateResiduals, method: str, tolerance: float, max_iterations: int,
        prologue: Prologue, completed: int,
    ) -> IterationResult:  # fmt: skip
        """Run a method up to a total of `max_iterations` iterations, and set `last`."""
        previous = self.last.previous_iterations if completed and method == self.last.method else completed
        try:
            result = iteration.run(tolerance, max_iterations, prologue, completed)
        except ConvergenceError as slow:
            self.last = Solve(method, slow.iterations, previous, tolerance)
            raise
        self.last = Solve(method, result.iterations, previous, tolerance)
        return result
