"""Functions of the C library: the only declaration of names, arguments, array shapes and descriptions.

`eagre.library.write` generates the header, the Fortran interface and the C source from this table. `.calls` derives the
`ctypes` types of the Python functions and the shapes of their arrays from the same table.
"""

from __future__ import annotations

import ctypes
import zlib
from typing import NamedTuple

import numpy as np

PRECISIONS = {"": np.float64, "_f": np.float32}
"""Suffixes of the names of functions and the types of their arrays."""
REALS = {"": ("double", "c_double"), "_f": ("float", "c_float")}
"""Types of arrays in C and Fortran, by suffix."""

CONSTANTS = {
    "OK": (0, "status: success"),
    "FAILED": (1, "status: internal error"),
    "BAD_INPUT": (2, "status: invalid argument"),
    "NO_SOLUTION": (3, "status: no convergence, or the solution blew up"),
    "NO_PYTHON": (4, "status: Python or Eagre could not be started, or eagre_stop was called before"),
    "PERIODIC": (0, "boundary of eagre_mpdata: periodic"),
    "DUPLICATED": (1, "boundary of eagre_mpdata: periodic, the last point repeats the first"),
    "WALL": (2, "boundary of eagre_mpdata: wall through the outermost points, which own half a cell each"),
    "OPEN": (3, "boundary of eagre_mpdata: open; inflow has the value of the outermost point"),
}


class Kind(NamedTuple):
    """Kind of argument: declarations in C and Fortran, `ctypes` type, and whether it is passed by value in C.

    In the declarations, {n} is the name, {f} the suffix, {real} the type of arrays and {shape} the Fortran shape.
    """

    c: str
    fortran: str
    type: type
    by_value: bool = False
    optional: bool = False


KINDS = {
    "int": Kind("int {n}", "integer(c_int), value :: {n}", ctypes.c_int, True),
    "double": Kind("double {n}", "real(c_double), value :: {n}", ctypes.c_double, True),
    "in": Kind("const {real} *{n}", "real({real}), intent(in) :: {n}({shape})", ctypes.c_void_p),
    "maybe": Kind(
        "const {real} *{n}", "real({real}), intent(in), optional :: {n}({shape})", ctypes.c_void_p, optional=True
    ),
    "inout": Kind("{real} *{n}", "real({real}), intent(inout) :: {n}({shape})", ctypes.c_void_p),
    "count": Kind("int *{n}", "integer(c_int), intent(out) :: {n}", ctypes.c_void_p),
    "number": Kind("double *{n}", "real(c_double), intent(out) :: {n}", ctypes.c_void_p),
    "function": Kind("eagre_operator{f} *{n}", "type(c_funptr), value :: {n}", ctypes.c_void_p, optional=True),
    "data": Kind("void *{n}", "type(c_ptr), value :: {n}", ctypes.c_void_p, optional=True),
}


class Argument(NamedTuple):
    """Argument of a function; `shape` is for arrays, x first, as in ``"nx+1 ny"``."""

    name: str
    kind: str
    about: str
    shape: str = ""


class Function(NamedTuple):
    """Function of the library; double precision without a suffix, single precision with ``_f``."""

    name: str
    about: str
    arguments: tuple[Argument, ...]


FUNCTIONS = (
    Function(
        "tridiagonal",
        "Solve a(l,i,k) x(l,i-1,k) + b(l,i,k) x(l,i,k) + c(l,i,k) x(l,i+1,k) = d(l,i,k) for all l and k, without\n"
        "pivoting. inner = 1: the unknowns of a system are contiguous. outer = 1: the systems are interleaved.",
        (
            Argument("inner", "int", "number of interleaved systems, the fastest index l"),
            Argument("n", "int", "number of unknowns per system, index i"),
            Argument("outer", "int", "number of blocks of systems, the slowest index k"),
            Argument("a", "in", "lower diagonal; not used at i = 1", "inner n outer"),
            Argument("b", "in", "main diagonal", "inner n outer"),
            Argument("c", "in", "upper diagonal; not used at i = n", "inner n outer"),
            Argument("d", "in", "right-hand side", "inner n outer"),
            Argument("x", "inout", "solution", "inner n outer"),
        ),
    ),
    Function(
        "sweep",
        "Advance the implicit shallow-water model by ADI time steps; the outer faces are walls. z is at the cell\n"
        "centres, p and q are at the west and south faces, positive to the east and north. Per step, a sweep along x\n"
        "advances p, and then a sweep along y advances q, which is known half a step before and after z and p.\n"
        "Start from p = q = 0: q_before = -q_after = dt/2 g h dz/dy (second order), or 0 (first order).",
        (
            Argument("nx", "int", "number of cells along x (to the east)"),
            Argument("ny", "int", "number of cells along y (to the north)"),
            Argument("dx", "double", "cell size along x, m"),
            Argument("dy", "double", "cell size along y, m"),
            Argument("time_step", "double", "time step dt, s"),
            Argument("steps", "int", "number of steps"),
            Argument("gravity", "double", "gravitational acceleration, m s-2"),
            Argument("viscosity", "double", "eddy viscosity of the unit discharges, m2 s-1"),
            Argument("dry_depth", "double", "water depth below which a face is closed, m"),
            Argument("bed", "in", "bed elevation at the cell corners, m, positive upwards", "nx+1 ny+1"),
            Argument("manning", "maybe", "Manning's n, s m-1/3; null: no friction", "nx ny"),
            Argument("z", "inout", "surface elevation, m; equal to the bed or below in dry cells", "nx ny"),
            Argument("p", "inout", "unit discharge along x, m2 s-1", "nx+1 ny"),
            Argument("q_before", "inout", "unit discharge along y half a step before, m2 s-1", "nx ny+1"),
            Argument("q_after", "inout", "unit discharge along y half a step after, m2 s-1", "nx ny+1"),
        ),
    ),
    Function(
        "mpdata",
        "Advance d(h x)/dt + div(v x) = 0 by MPDATA. v is the velocity times dt/dx, times h, at the faces normal to\n"
        "each axis, positive towards higher indices; face i is between points i - 1 and i. An axis of one point has\n"
        "no flow, and its v may be null. The sum of |v|/h over the outflow faces of a point must not exceed 1.",
        (
            Argument("nx", "int", "number of points along x"),
            Argument("ny", "int", "number of points along y"),
            Argument("nz", "int", "number of points along z"),
            Argument("steps", "int", "number of steps with constant v"),
            Argument("boundary_x", "int", "boundary along x: EAGRE_PERIODIC, _DUPLICATED, _WALL or _OPEN"),
            Argument("boundary_y", "int", "boundary along y"),
            Argument("boundary_z", "int", "boundary along z"),
            Argument("passes", "int", "1: donor cell, 2: one corrective pass; 3 or more if sign_preserving"),
            Argument("sign_preserving", "int", "0: infinite-gauge variant, 1: basic scheme for fields of one sign"),
            Argument("nonoscillatory", "int", "1: limit the corrections so that no new extrema appear, 0: do not"),
            Argument("vx", "maybe", "velocity along x", "nx+1 ny nz"),
            Argument("vy", "maybe", "velocity along y", "nx ny+1 nz"),
            Argument("vz", "maybe", "velocity along z", "nx ny nz+1"),
            Argument("h", "maybe", "density times Jacobian, above 0; null: 1", "nx ny nz"),
            Argument("x", "inout", "field", "nx ny nz"),
        ),
    ),
    Function(
        "gcr",
        "Solve L(x) = right by the generalized conjugate residual method GCR(k) for a linear operator L.\n"
        "After EAGRE_NO_SOLUTION, x is unchanged.",
        (
            Argument("n", "int", "number of unknowns, all axes together"),
            Argument("apply", "function", "operator L, see eagre_operator"),
            Argument("precondition", "function", "approximate inverse of L, or null"),
            Argument("data", "data", "pointer for apply and precondition, or null"),
            Argument("kept", "int", "number k of stored directions, 1 or more"),
            Argument("tolerance", "double", "absolute tolerance of max |L(x) - right|"),
            Argument("most", "int", "maximum number of iterations"),
            Argument("right", "in", "right-hand side", "n"),
            Argument("x", "inout", "initial guess, then the solution", "n"),
            Argument("iterations", "count", "number of iterations", "1"),
            Argument("norm", "number", "max |L(x) - right|", "1"),
        ),
    ),
)


def digest() -> int:
    """Return a number that changes with the arguments of any function and with the constants."""
    arguments = [(one.name, [argument[:2] + argument[3:] for argument in one.arguments]) for one in FUNCTIONS]
    return zlib.crc32(repr((arguments, {name: value for name, (value, _) in CONSTANTS.items()})).encode())
