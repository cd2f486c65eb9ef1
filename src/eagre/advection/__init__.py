"""Advection of scalars by MPDATA: second order, conservative, sign-preserving or free of new extrema."""

from eagre.advection.ghosts import Open
from eagre.advection.mpdata import Mpdata

__all__ = ["Mpdata", "Open"]
