"""Cumulative infiltration: state of a run, and the formula that removes infiltrated water from a cell.

The potential depth of a step follows from the term (`eagre.terms.infiltration`, `eagre.terms.green_ampt`). Both
shallow-water models apply it to the state at the end of a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.backend.device import Device
from eagre.fields import Variable
from eagre.kernels.bits import binade, is_bad
from eagre.kernels.roots import larger, select, smaller
from eagre.terms.assembly.collect import Terms
from eagre.terms.assembly.compose import SOIL, TermArrays, bind

INFILTRATION_DEPTH = Variable("infiltration_depth", "m", "cumulative infiltration depth", gauged=False)
NAME = "infiltration"  # of the cumulative infiltration in a state
MIN_UNIT = 2.0**-38  # m: quotients of a depth and it are less than 2^51
ROUND = 1.5 * 2.0**52  # (x + ROUND) - ROUND is the integer nearest to x, |x| < 2^51, in double precision


@cell
def removed(depth, soil, eta):
    """Return the depth by which eta falls, m, if `depth` infiltrates."""
    return depth


@removed.variant(None, "single")
def _removed(depth, soil, eta):
    # Units in the last place of eta that the cumulative infiltration completes. Rounding of each step would lose
    # infiltration that is slow compared with the precision of eta.
    unit = max(float(binade(eta)) * 2.0**-23, MIN_UNIT)
    scale = 1.0 / unit
    return real(unit * (((soil + float(depth)) * scale + ROUND) - (soil * scale + ROUND)))


@cell
def infiltrated(eta, bottom, soil, dt, forcing, row, index):
    """Return eta and the cumulative infiltration, m, after the infiltration of a step.

    The depth h = eta - bottom is the upper limit. The cumulative infiltration is double.

    eta, bottom : surface, and its value in a dry cell, m; soil : cumulative infiltration, m; dt : time step, s;
    forcing, row, index : see `eagre.terms.assembly.compose`.
    """
    h = larger(eta - bottom, real(0.0))
    depth = smaller(SOIL(real(0.0), h, real(soil), dt, forcing, row, index), h)
    level = select(depth < h, larger(eta - removed(depth, soil, eta), bottom), smaller(eta, bottom))
    return select(is_bad(eta), eta, level), soil + float(depth)  # a run that blew up must not look dry


@cell
def sum_of_row(j, soil, sums):
    """Set sums[j] to the sum of row j of the cumulative infiltration, m."""
    total = 0.0
    for i in range(soil.shape[1]):
        total += soil[j, i]
    sums[j] = total


class Soil:
    """Cumulative infiltration of a run on one device.

    Parameters
    ----------
    terms : Terms
    device : Device
    real : type
        Floating-point type of the run.
    count : int
        Number of buffers, as many as the state has.

    Attributes
    ----------
    depths : list of (ny, nx) double arrays, m
        Cumulative infiltration of each buffer.
    arguments : tuple
        Arguments `terms` of a kernel; `switches` selects the formula.
    """

    def __init__(self, terms: Terms, device: Device, real: Any, count: int = 1) -> None:
        self._device, self.present = device, bool(terms.soil)
        shape = terms.grid.shape if self.present else (1, 1)
        self.depths = [device.zeros(shape, np.float64) for _ in range(count)]
        if not self.present:
            return
        self._sums = device.zeros((shape[0],), np.float64)

        def to_device(role: str, values: np.ndarray) -> Any:
            return device.array(values.astype(real))

        values = device.zeros((1, 1), np.float64)
        bound = bind(terms, {"SOIL": "soil"}, values, 0, real, TermArrays(to_device, to_device))
        self.arguments, self.switches = bound.arguments, bound.switches

    def state(self, current: int = 0) -> dict[str, np.ndarray]:
        """Return the cumulative infiltration of a buffer, for a restart; empty without infiltration."""
        return {NAME: self._device.host(self.depths[current])} if self.present else {}

    def resume(self, state: Mapping[str, np.ndarray], current: int = 0) -> None:
        """Restore the cumulative infiltration of a state, or set it to 0 if the state has none."""
        if self.present:
            self._device.fill(self.depths[current], state.get(NAME, np.zeros(self.depths[current].shape)))

    def row_sums(self, current: int = 0) -> np.ndarray:
        """Return the sum over each row, m; empty without infiltration."""
        if not self.present:
            return np.zeros(0)
        program = self._device.loop(sum_of_row, "double")
        self._device.run([self._device.over(program, self._sums.shape, (self.depths[current], self._sums))])
        return self._device.host(self._sums)


def soil_array_count(terms: Terms, precision: str, count: int) -> int:
    """Return the number of arrays of a run, in its precision, with the cumulative infiltration of `count` buffers."""
    return count * (2 if precision == "single" else 1) if terms.soil else 0
