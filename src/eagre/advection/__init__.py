"""Advection of scalars by MPDATA: second order, conservative, sign-preserving or non-oscillatory."""

from eagre.advection.ghosts import Open
from eagre.advection.mpdata import Mpdata
from eagre.advection.repeated import with_repeated_points, without_repeated_points

__all__ = ["Mpdata", "Open", "with_repeated_points", "without_repeated_points"]
