"""Advection of scalars by MPDATA: second order, conservative, sign-preserving or non-oscillatory."""

from eagre.advection.ghosts import Open, with_repeated_points, without_repeated_points
from eagre.advection.mpdata import Mpdata

__all__ = ["Mpdata", "Open", "with_repeated_points", "without_repeated_points"]
