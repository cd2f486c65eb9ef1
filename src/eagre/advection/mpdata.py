"""`Mpdata`: solver of the advection equation for NumPy and CuPy arrays, and checks of its arguments.

The divergence term of MPDATA: a correction of the advector that makes the scheme second order in divergent flow.

A step of second order needs the flux v x at the middle of the step. By then x has changed by
-dt/2 (v grad x + x div v) / h. The pseudo velocities of `eagre.advection.plan` contain the first part. The second part
multiplies the advector by 1 - dt div(v) / (2 h), which is the term of Smolarkiewicz (1984) moved from the corrective
pass to the donor cell. There the flux-corrected transport does not limit it, and kernels need no term for it.

Source: P. K. Smolarkiewicz, J. Comput. Phys. 54, 325-362 (1984), doi:10.1016/0021-9991(84)90121-9.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np

from eagre.advection import plan_cpu
from eagre.advection.columns import ColumnPlan
from eagre.advection.ghosts import KINDS, Open, with_repeated_points, without_checks, without_repeated_points
from eagre.advection.plan import Advector, Options, StagedPlan
from eagre.advection.streaming import kernel
from eagre.backend.device import Device, Work, array_module, on_gpu
from eagre.backend.select import device_of
from eagre.checks import checked_switch, one_of
from eagre.errors import InputError

DIVERGENCE_ROUNDING = 64  # in units of the last place of the largest flux: a divergence below this is taken as 0


def with_divergence_term(faces: Sequence[Any], h: Any, sides: Sequence[str | Open]) -> list[Any]:
    """Return the advector with its divergence term; the same arrays if its divergence is 0 to rounding.

    Parameters
    ----------
    faces : arrays, one per axis
        Fluxes through faces, times dt/dx; see `eagre.advection.Mpdata`.
    h : array or None
        Density times Jacobian at the points; None for 1.
    sides : str or Open, one per axis
        Boundaries. The outer faces of open boundaries are not corrected: inflow has a fixed value during the step.
    """
    kinds = [side if isinstance(side, str) else "open" for side in sides]
    axes = [axis for axis, a in enumerate(faces) if a.shape[axis] > 2]  # nothing flows along axes of one point
    if not axes or not faces[0].size:
        return list(faces)
    xp = array_module(faces[0])
    div: Any = sum(xp.diff(_as_read(faces[axis], axis, kinds[axis]), axis=axis) for axis in axes)
    max_flux = max(float(abs(faces[axis]).max()) for axis in axes)
    if float(abs(div).max()) <= DIVERGENCE_ROUNDING * float(xp.finfo(div.dtype).eps) * max_flux:
        return list(faces)
    return [
        _corrected(a, div, h, axis, kinds[axis]) if axis in axes else a  # type: ignore[arg-type]
        for axis, a in enumerate(faces)
    ]


def _as_read(a: Any, axis: int, kind: str) -> Any:
    """Fluxes along an axis with the outer faces that kernels use in their place; see `eagre.advection.ghosts.faces`."""
    if kind == "open":
        return a
    known = array_module(a).moveaxis(a.copy(), axis, 0)
    if kind == "periodic":
        known[-1] = known[0]
    else:
        known[0], known[-1] = -known[1], -known[-2]
    return array_module(a).moveaxis(known, 0, axis)


def _corrected(a: Any, div: Any, h: Any, axis: int, kind: str) -> Any:
    """Fluxes along one axis times 1 - (sum of div) / (2 (sum of h)), the sums over the two points of a face."""
    xp = array_module(a)
    result = a.copy()
    flux, d = xp.moveaxis(result, axis, 0), xp.moveaxis(div, axis, 0)
    mass = None if h is None else xp.moveaxis(h, axis, 0)
    half = a.dtype.type(0.5)

    def factor(left: Any, right: Any) -> Any:
        total = a.dtype.type(2.0) if mass is None else mass[left] + mass[right]
        return 1 - half * (d[left] + d[right]) / total

    flux[1:-1] *= factor(slice(None, -1), slice(1, None))
    if kind == "periodic":
        flux[0] *= factor(-1, 0)
        flux[-1] = flux[0]
    return result


ROUNDING = 64  # tolerance in units of the last place, for Courant numbers of exactly 1


def check_field(name: str, a: Any, like: Any, shape: tuple[int, ...] | None = None) -> None:
    """Raise `InputError` unless a has the given shape, and the type and kind of `like`."""
    expected = tuple(like.shape) if shape is None else shape
    if tuple(getattr(a, "shape", ())) != expected or a.dtype != like.dtype or on_gpu(a) != on_gpu(like):
        got = f"{type(a).__name__} of shape {getattr(a, 'shape', '?')} and type {getattr(a, 'dtype', '?')}"
        raise InputError(
            f"{name}, {got}", allowed=f"{type(like).__name__} of shape {expected} and type {like.dtype}",
            problem=f"The array {name} does not match the field x.",
        )  # fmt: skip
    check_whole(name, a)


def check_whole(name: str, a: Any) -> None:
    """Raise `InputError` for an array with masked values."""
    if np.ma.is_masked(a):
        count = int(np.ma.getmaskarray(a).sum())
        raise InputError(
            f"{name} with {count} masked values", allowed="a value everywhere", fix=f"{name}.filled(0.0)",
            problem=f"The array {name} has masked values.",
        )  # fmt: skip


def check_out(out: Any, like: Any) -> None:
    """Raise `InputError` unless out is a writable array like another one."""
    check_field("out", out, like)
    if not getattr(out.flags, "writeable", True):
        raise InputError(
            "out, whose memory is read-only", allowed="a writable array", fix="out=None",
            problem="The array out is read-only.",
        )  # fmt: skip


def check_axes(odd: Any, ndim: int) -> None:
    """Raise `InputError` unless odd is a set of axes."""
    axes: Collection[Any] = odd if isinstance(odd, Collection) else (None,)
    if not all(isinstance(axis, int | np.integer) and 0 <= axis < ndim for axis in axes):
        raise InputError(f"odd = {odd!r}", allowed=f"a tuple of axes, 0 to {ndim - 1}", fix="odd = (0,)")


def check_arrays(shape: tuple[int, ...], x: Any, v: Sequence[Any], h: Any, order: str) -> list[Any]:
    """Return the arrays of v, one per axis; raise `InputError` unless all arrays have the shapes for `shape`."""
    grid_shape, form = (x.shape[1:], f"(fields, *{shape})") if order == "C" else (x.shape[:-1], f"(*{shape}, fields)")
    if tuple(x.shape) != shape and tuple(grid_shape) != shape:
        raise InputError(
            f"x of shape {tuple(x.shape)}", allowed=f"{shape}, or several fields, {form}",
            problem="The shape of x does not match the grid.",
        )  # fmt: skip
    check_whole("x", x)
    faces = [v] if hasattr(v, "dtype") and len(shape) == 1 else list(v) if hasattr(v, "__len__") else []
    if len(faces) != len(shape):
        got = f"{len(faces)} arrays" if faces else f"type {type(v).__name__}"
        problem = "The velocity v does not have one array per axis."
        raise InputError(f"v of {got}", allowed=f"a list of {len(shape)} arrays, one per axis", problem=problem)
    for axis, a in enumerate(faces):
        check_field(f"v[{axis}]", a, x, tuple(n + (axis == b) for b, n in enumerate(shape)))
    if h is not None:
        check_field("h", h, x, shape)
    return faces


def contiguous(shape: tuple[int, ...], x: Any, faces: Sequence[Any], h: Any) -> tuple[Any, list[Any], Any]:
    """Return x as (fields, axes), v and h; arrays not in C order or in read-only memory are copied."""

    def as_read(a: Any) -> Any:  # kernels are compiled for writable arrays
        return array_module(a).ascontiguousarray(a) if on_gpu(a) else np.require(a, requirements=("C", "W", "E"))

    fields = as_read(x).reshape(-1, *shape)
    return fields, [as_read(a) for a in faces], None if h is None else as_read(h)


def check_open(side: str | Open) -> None:
    """Raise `InputError` for open boundaries with inflow values that are not finite numbers."""
    for value in () if isinstance(side, str) else side:
        if value is not None and not (isinstance(value, Real) and math.isfinite(value)):
            problem = "The inflow values of an open boundary are not finite numbers."
            raise InputError(
                f"boundaries {side!r}", allowed="finite numbers, or None", fix="Open(0.0, None)", problem=problem
            )


def check_sign(x: Any, any_sign: bool) -> None:
    """Raise `InputError` for a field that is not finite, or has two signs where one is required."""
    if not x.size:
        return
    low, high = float(x.min()), float(x.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(
            "x with values that are not finite", allowed="finite numbers", problem="The field x has NaN or infinity."
        )
    if not any_sign and low < 0.0 < high:
        raise InputError(
            f'x from {low:g} to {high:g} with variant = "sign-preserving"',
            allowed="fields of one sign",
            problem="The sign-preserving variant is only first-order accurate for fields of both signs.",
            fix='variant = "gauge"',
        )


def check_courant(
    plan: StagedPlan, v: Advector, shape: tuple[int, ...], is_reversed: bool = False, name: str = "v"
) -> None:  # fmt: skip
    """Raise `InputError` for outflow Courant numbers above 1, with the point; `is_reversed` : axes are reversed."""
    for array, a in (("v", v.v1), ("v", v.v2), ("v", v.v3), ("h", v.h)):
        if a is not None and not math.isfinite(float(a.sum())):
            raise InputError(
                f"{array} with values that are not finite", allowed="finite numbers",
                problem=f"The array {array} contains NaN or infinity.",
            )  # fmt: skip
    if v.h is not None and not float(v.h.min()) > 0.0:
        raise InputError(
            f"h with a minimum of {float(v.h.min()):g}", allowed="numbers above 0",
            problem="The array h contains values that are not positive.",
        )  # fmt: skip
    numbers = plan.device.zeros(plan.shape, plan.dtype)
    plan.device.run(plan.courant(numbers, v))
    worst = float(numbers.max())
    if worst > 1.0 + ROUNDING * float(array_module(numbers).finfo(plan.dtype).eps):
        flat, indices = int(numbers.argmax()), []
        for n in reversed(shape):
            flat, index = divmod(flat, n)
            indices.insert(0, index)
        point = tuple(indices[::-1] if is_reversed else indices)
        raise InputError(
            f"an outflow Courant number of {worst:.4g} at point {point}, of {name} and h",
            allowed="up to 1: the sum of |v|/h over the outflow faces",
            problem="The Courant number exceeds the stability limit.",
            fix="a shorter time step",
        )


VARIANTS = ("gauge", "sign-preserving")
PRECISIONS = {np.dtype(np.float32): "single", np.dtype(np.float64): "double"}
DUPLICATED = "duplicated"  # periodic axis whose last point repeats the first
PLACES = {1: (2,), 2: (0, 2), 3: (0, 1, 2)}  # positions of the caller's axes among k, j, i


class Mpdata:
    """MPDATA (multidimensional positive definite advection transport algorithm) for d(h x)/dt + div(v x) = 0.

    Parameters
    ----------
    shape : sequence of int
        Number of points along one to three axes, in the order of the arrays: (nx,), (ny, nx) or (nz, ny, nx). There is
        no flow along an axis of one point.
    boundaries : str, Open or sequence of them
        ``"periodic"``; ``"duplicated"``: periodic, with a last point that repeats the first, as in EULAG; ``"wall"``,
        through the outermost points, which own half a cell each; ``"open"``: inflow has the value of the outermost
        point, or the values of ``Open(low, high)``. One for all axes, or one per axis.
    passes : int
        1: donor cell (first order). 2: one corrective pass. More passes require ``variant="sign-preserving"``.
    variant : {"gauge", "sign-preserving"}
        Infinite-gauge variant, for fields of any sign, or the basic scheme for fields of one sign, which preserves it.
    third_order : bool
        Add terms that make the scheme third-order accurate in uniform flow.
    nonoscillatory : bool
        Limit corrections (flux-corrected transport) so that no new extrema appear.
    solenoidal : bool
        True: the caller guarantees that the divergence of v is 0, and the scheme does not compute it. False (default):
        each call of `step` computes the divergence and adds its term where the flow is divergent; without this term the
        scheme is first-order accurate in divergent flow.
    kernels : {"fast", "reference"}
        Fused kernels where available, or the stage-by-stage reference.
    order : {"C", "F"}
        Memory order of the arrays. Arrays in Fortran order, (nx, ny, nz) with x fastest, are not copied, except v of a
        divergent flow. Several fields in Fortran order have the shape (nx, ny, nz, fields).

    Raises
    ------
    InputError
        For values outside these ranges.

    Notes
    -----
    The advector v has one array per axis, in the order of the axes: ``v[a]`` is defined at the faces normal to axis a,
    whose number exceeds the number of points by one; face i is between points i - 1 and i. It is the velocity times
    dt/dx, times h if h (density times Jacobian, at the points) is given, positive towards higher indices. The outer
    faces of a periodic axis are the same face, and the first is read; outer faces of walls are not read. On a
    duplicated axis of n points the first and the last point are equal, and so are faces 0 and n - 1, of which the first
    is read, and 1 and n.

    A step is stable and preserves signs if the outflow Courant number, the sum of abs(v)/h over the outflow faces of a
    point, is at most 1. In the infinite-gauge variant without the limiter (`nonoscillatory`) waves of a few spacings
    are unstable above 0.529 in three dimensions and 0.592 in two if the flow is oblique to the grid. The sum of h x is
    conserved; points on walls have a weight of 1/2 (1/4 in corners). A constant field is preserved if div(v) = 0.

    The scheme is also second-order accurate in divergent flow: each call multiplies v by 1 - div(v)/(2 h), with div(v)
    and h summed over the two points of a face. This is the term of Smolarkiewicz (1984), as part of the donor-cell
    pass, where it is not limited. If div(v) is 0 to rounding, v is not changed. The stability limits apply to the
    multiplied v, which is larger in convergent flow. If v depends on time, pass its value at the middle of the step.

    Precision and array type of the result are those of x: float32 or float64, NumPy or CuPy. Arrays in the memory order
    `order` are not copied; arrays in another order or in read-only memory are. The same applies to `out`, unless it
    shares memory with x, v or h.

    References
    ----------
    P. K. Smolarkiewicz and L. G. Margolin, J. Comput. Phys. 140, 459-480 (1998), doi:10.1006/jcph.1998.5901.
    P. K. Smolarkiewicz, J. Comput. Phys. 54, 325-362 (1984), doi:10.1016/0021-9991(84)90121-9.
    """

    def __init__(
        self,
        shape: Sequence[int],
        boundaries: str | Open | Sequence[str | Open] = "periodic",
        *,
        passes: int = 2,
        variant: str = "gauge",
        third_order: bool = False,
        nonoscillatory: bool = True,
        solenoidal: bool = False,
        kernels: str = "fast",
        order: str = "C",
    ) -> None:
        self.shape = _checked_shape(shape)
        self.boundaries = _checked_sides(boundaries, self.shape)
        gauge = one_of("variant", variant, VARIANTS) == "gauge"
        if not isinstance(passes, Integral) or passes < 1:
            raise InputError(f"passes = {passes!r}", allowed="a whole number, 1 or more", fix="passes = 2")
        if gauge and passes > 2:
            raise InputError(
                f'passes = {passes} with variant = "gauge"',
                allowed="1 or 2",
                fix='variant = "sign-preserving"',
                problem="The gauge variant supports one or two passes: its corrections are fluxes, not velocities.",
            )
        options = Options.checked(third_order=third_order, nonoscillatory=nonoscillatory)
        self.options = options._replace(passes=int(passes), gauge=gauge)
        self.solenoidal = checked_switch("solenoidal", solenoidal)
        self._kernels = one_of("kernels", kernels, ("fast", "reference"))
        self._plans: dict[tuple[int, str], StagedPlan] = {}
        self.order = one_of("order", order, ("C", "F"))
        self._is_reversed = False  # True for the solver of reversed axes of another solver
        self._reversed: Mpdata | None = None
        self._distinct: Mpdata | None = None  # solver for the distinct points of duplicated axes
        in_c = self
        if self.order == "F":
            in_c = self._reversed = self._like(self.shape[::-1], self.boundaries[::-1])
            in_c._is_reversed = True
        if repeating := in_c._repeating:
            shape = tuple(n - (axis in repeating) for axis, n in enumerate(in_c.shape))
            sides = tuple("periodic" if side == DUPLICATED else side for side in in_c.boundaries)
            in_c._distinct = in_c._like(shape, sides)

    def _like(self, shape: tuple[int, ...], boundaries: tuple[str | Open, ...]) -> Mpdata:
        """Return a copy of this solver for arrays in C order of another shape."""
        other = copy(self)
        other.shape, other.boundaries, other.order = shape, boundaries, "C"
        return other

    @property
    def _repeating(self) -> list[int]:
        """Axes whose last point repeats the first."""
        return [axis for axis, side in enumerate(self.boundaries) if side == DUPLICATED]

    def step(
        self,
        x: Any,
        v: Sequence[Any],
        h: Any = None,
        *,
        steps: int = 1,
        odd: Collection[int] = (),
        out: Any = None,
        check: bool = True,
    ) -> Any:
        """Return the field after `steps` steps with a constant advector.

        Parameters
        ----------
        x : array of `shape`, or several fields, ``(fields, *shape)``; in Fortran order ``(*shape, fields)``
        v : sequence of arrays, one per axis
            Courant numbers at the faces, times h if h is given; see `Mpdata`.
        h : array of `shape`, optional
            Density times Jacobian, above 0; 1 by default.
        odd : axes
            Axes with walls across which x is odd (changes its sign), as the normal velocity.
        out : array of the shape of x, optional
            Result; may be x.
        check : bool
            Check x, v and h: finite values, Courant numbers up to 1, one sign where the variant requires it. The cost
            is about one step per call; two in divergent flow.

        Raises
        ------
        InputError
            For arrays of other shapes or types, and for failed checks; the message names the point.
        """
        device, precision = self._device(x)
        if not isinstance(steps, Integral) or steps < 0:
            raise InputError(f"steps = {steps!r}", allowed="a whole number, 0 or more", fix="steps = 1")
        faces = check_arrays(self.shape, x, v, h, self.order)
        if out is not None:
            check_out(out, x)
        if self._reversed is not None:
            return self._step_reversed(x, faces, h, steps=int(steps), odd=odd, out=out, check=check)
        if self._distinct is not None:
            return self._step_distinct(x, faces, h, steps=int(steps), odd=odd, out=out, check=check)
        fields, faces, h = contiguous(self.shape, x, faces, h)
        mirrored = _mirrored(odd, len(self.shape))
        plan = self._plan(device, precision)
        with device.joined():
            advector = self._advector(plan, faces, h)
            if check:
                check_sign(x, self.options.gauge)
                check_courant(plan, advector, self.shape, self._is_reversed)
            corrected = faces if self.solenoidal else with_divergence_term(faces, h, self.boundaries)
            if any(one is not other for one, other in zip(corrected, faces, strict=True)):
                advector = self._advector(plan, corrected, h)
                if check:
                    check_courant(plan, advector, self.shape, self._is_reversed, "v, corrected for its divergence,")
            whole = out is not None and out.flags.c_contiguous and not _shares_memory(out, (x, *faces, h))
            result: Any = out if whole else device.zeros(fields.shape, fields.dtype)
            new_fields = result.reshape(fields.shape)
            lifted = (fields.shape[0], *plan.shape)
            _advance(plan, fields.reshape(lifted), new_fields.reshape(lifted), advector, mirrored, int(steps))
            new_fields = new_fields.reshape(x.shape)
            if out is None:
                return new_fields
            if not whole:
                out[...] = new_fields
        return out

    def _step_reversed(
        self, x: Any, faces: Sequence[Any], h: Any, *, odd: Collection[int], out: Any, **options: Any
    ) -> Any:  # fmt: skip
        """Advance arrays in Fortran order: with reversed axes they are in C order."""
        assert self._reversed is not None
        check_axes(odd, len(self.shape))
        across = [len(self.shape) - 1 - axis for axis in odd]
        reversed_faces = [a.T for a in reversed(faces)]
        reversed_out = None if out is None else out.T
        density = None if h is None else h.T
        result = self._reversed.step(x.T, reversed_faces, density, odd=across, out=reversed_out, **options)
        return result.T if out is None else out

    def _step_distinct(
        self, x: Any, faces: Sequence[Any], h: Any, *, out: Any, check: bool, **options: Any
    ) -> Any:  # fmt: skip
        """Advance the distinct points and repeat the first point at the end."""
        assert self._distinct is not None
        ndim = len(self.shape)
        axes = [axis - ndim for axis in self._repeating]  # counted from the last: the field axis may come first

        def distinct(name: str, a: Any, axes: Sequence[int]) -> Any:
            return without_repeated_points(a, axes, name) if check else without_checks(a, axes)

        fluxes = []
        for along, a in enumerate(faces):
            distinct_faces = without_checks(a, [along - ndim]) if along in self._repeating else a
            fluxes.append(distinct(f"v[{along}]", distinct_faces, [axis for axis in axes if axis != along - ndim]))
        density = None if h is None else distinct("h", h, axes)
        new_points = self._distinct.step(distinct("x", x, axes), fluxes, density, check=check, **options)
        result = with_repeated_points(new_points, axes)
        if out is None:
            return result
        out[...] = result
        return out

    def _plan(self, device: Device, precision: str) -> StagedPlan:
        key = (id(device), precision)
        if key not in self._plans:
            axes = PLACES[len(self.shape)]
            shape: list[int] = [1, 1, 1]
            sides: list[str | Open] = ["periodic", "periodic", "periodic"]
            for axis, n, side in zip(axes, self.shape, self.boundaries, strict=True):
                shape[axis], sides[axis] = n, side
            self._plans[key] = plan_of(
                device, precision, (shape[0], shape[1], shape[2]), (sides[0], sides[1], sides[2]), self.options,
                self._kernels,
            )  # fmt: skip
        return self._plans[key]

    def _advector(self, plan: StagedPlan, faces: Sequence[Any], h: Any) -> Advector:
        """Return the advector along x, y and z from the caller's arrays."""
        fluxes: list[Any] = [None, None, None]
        for normal, a in zip(PLACES[len(self.shape)], faces, strict=True):
            shape = tuple(n + (normal == axis) for axis, n in enumerate(plan.shape))
            fluxes[normal] = a.reshape(shape) if plan.shape[normal] > 1 else None
        return Advector(fluxes[2], fluxes[1], fluxes[0], None if h is None else h.reshape(plan.shape))

    def _device(self, x: Any) -> tuple[Device, str]:
        if getattr(x, "dtype", None) not in PRECISIONS:
            raise InputError(
                f"x, which is {getattr(x, 'dtype', type(x).__name__)}",
                allowed="an array of float32 or float64",
                fix="x = numpy.asarray(x, dtype=numpy.float64)",
                problem="The field x is not an array of float32 or float64.",
            )
        return device_of(x), PRECISIONS[np.dtype(x.dtype)]


def plan_of(
    device: Device,
    precision: str,
    shape: tuple[int, int, int],
    sides: tuple[str | Open, str | Open, str | Open],
    options: Options,
    kernels: str = "fast",
) -> StagedPlan:
    """Return the fastest plan that supports these options on a device.

    Fused kernels support one corrective pass of second order; on a GPU they require compute capability 8.0 and fields
    of fewer than 2^32 values. All other options use the stage-by-stage plan.
    """
    arguments = (device, precision, shape, sides, options)
    if kernels == "fast" and plan_cpu.serves(device, options):
        return plan_cpu.FusedPlan(*arguments)
    if kernels == "fast" and kernel.serves(device, options, shape):
        return kernel.StreamingPlan(*arguments)
    if kernels == "fast" and device.kind == "cuda":
        return ColumnPlan(*arguments)
    return StagedPlan(*arguments)


def _advance(plan: StagedPlan, x: Any, out: Any, v: Advector, odd: tuple[bool, bool, bool], steps: int) -> None:
    """Advance fields, (fields, nz, ny, nx), from x to out; x is unchanged."""
    if steps == 0:
        plan.device.copy(out, x)
        return

    def step(source: Any, target: Any) -> list[Work]:
        return plan.together([(one, other, odd) for one, other in zip(source, target, strict=True)], v)

    last = out
    if steps > 1:
        other = plan.device.zeros(out.shape, plan.dtype)
        first, last = (out, other) if steps % 2 else (other, out)
        plan.device.run(step(x, first))
        there, back = step(first, last), step(last, first)
        plan.device.repeated([*there, *back], (steps - 1) // 2)()
        if steps % 2 == 0:
            plan.device.run(there)
        return
    plan.device.run(step(x, last))


def _shares_memory(out: Any, read: Sequence[Any]) -> bool:
    """Return whether the result would overwrite input that is still needed."""
    may = array_module(out).may_share_memory
    return any(a is not None and may(out, a) for a in read)


def _mirrored(odd: Collection[int], ndim: int) -> tuple[bool, bool, bool]:
    """Return whether each of the axes k, j, i is one of the caller's axes `odd`."""
    check_axes(odd, ndim)
    axes = PLACES[ndim]
    odd_axes = {axes[axis] for axis in odd}
    return 0 in odd_axes, 1 in odd_axes, 2 in odd_axes


def _checked_shape(shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(n, (int, np.integer)) and n >= 1 for n in sizes):
        problem = "The shape is not one to three positive integers."
        raise InputError(
            f"shape {shape!r}",
            allowed="one to three whole numbers, 1 or more",
            fix="Mpdata((64, 128))",
            problem=problem,
        )
    return tuple(map(int, sizes))


def _checked_sides(boundaries: Any, shape: tuple[int, ...]) -> tuple[str | Open, ...]:
    one, ndim = isinstance(boundaries, (str, Open)), len(shape)
    sides = (boundaries,) * ndim if one else tuple(boundaries)
    if len(sides) != ndim or not all(isinstance(side, Open) or side in (*KINDS, DUPLICATED) for side in sides):
        raise InputError(
            f"boundaries {boundaries!r}",
            allowed=f'"periodic", "duplicated", "wall", "open" or Open(low, high), for all {ndim} axes or one for each',
            fix='boundaries = "periodic"',
            problem="The boundaries do not match the axes.",
        )
    for axis, (side, n) in enumerate(zip(sides, shape, strict=True)):
        check_open(side)
        if side == DUPLICATED and n < 2:
            problem = "A duplicated axis needs at least two points."
            raise InputError(f"a duplicated axis {axis} of {n} point", allowed="two points or more", problem=problem)
    return sides
