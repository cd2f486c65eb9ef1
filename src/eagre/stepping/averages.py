"""Means, variances and covariances over time: what is asked for, where it is kept on a device, what comes out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from eagre.backend.cells import Cell
from eagre.backend.device import Device, Launch
from eagre.errors import InputError
from eagre.fields import Variable
from eagre.kernels.averages import EVERY, LAST, NUMBERS, SEEN, SINCE, TOTAL, Quantities, averaged

Pair = tuple[str, str]
COMPONENTS = ("x", "y", "z")


@dataclass(frozen=True)
class Averages:
    """Means, variances and covariances of fields, weighted by time, gathered at every accepted step.

    Parameters
    ----------
    mean, variance : sequence of str
        Names of fields; ``"velocity"`` stands for ``"velocity_x"`` and ``"velocity_y"``, any vector likewise.
    covariance : sequence of pairs of str
    start : float, s
        States before it do not count; that of the start of the run if not given.
    every : int
        Of so many steps the last one counts, for the time of all; of 1 each does.

    Notes
    -----
    A state counts for the time since the one before it. The variance is the mean square of deviations from the mean,
    the covariance the mean product of those of two fields. With the variances of both velocities comes half their
    sum, the kinetic energy of eddies. Sums are kept in double precision (`eagre.kernels.averages`): a mean takes one
    word of it a cell, a variance one more and the mean; nothing is a number before `start`.
    """

    mean: Sequence[str] = ()
    variance: Sequence[str] = ()
    covariance: Sequence[Pair] = ()
    start: float = -math.inf
    every: int = 1

    def __post_init__(self) -> None:
        if not (self.mean or self.variance or self.covariance):
            raise InputError("no mean, variance or covariance", allowed="one", fix='mean = ["velocity"]')
        for pair in self.covariance:
            if len(pair) != 2 or pair[0] == pair[1]:
                fix = 'covariance = [["velocity_x", "velocity_y"]]'
                raise InputError(f"covariance with {list(pair)}", allowed="pairs of two different fields", fix=fix)
        if math.isnan(self.start) or self.start == math.inf:
            raise InputError(f"start = {self.start!r} s", allowed="a time", fix="start = 864000.0")
        if not (isinstance(self.every, int) and self.every >= 1):
            raise InputError(f"every = {self.every!r}", allowed="a whole number from 1 on", fix="every = 10")

    def asked(self, variables: Mapping[str, Variable], possible: Sequence[str]) -> Asked:
        """What that is of a model's variables, of which those of `possible` can be averaged.

        Raises
        ------
        InputError
            For names of others.
        """
        means, squares = _single("mean", self.mean, possible), _single("variance", self.variance, possible)
        pairs = [(one, one) for one in squares] + [_pair(pair, possible) for pair in self.covariance]
        names = list(dict.fromkeys([*means, *(name for pair in pairs for name in pair)]))
        return Asked(tuple(names), tuple(dict.fromkeys(pairs)), tuple(means), variables, self.start, self.every)


@dataclass(frozen=True)
class Asked:
    """Averages of a model: `names` whose means are kept, `pairs` of them, `means` that are given out."""

    names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    means: tuple[str, ...]
    variables: Mapping[str, Variable]
    start: float
    every: int = 1

    @property
    def count(self) -> int:
        """Planes of the sums."""
        return len(self.names) + len(self.pairs)

    @property
    def key(self) -> float:
        """A number that other averages hardly have."""
        return float(crc32(repr((self.names, self.pairs, self.start, self.every)).encode()))

    @property
    def outputs(self) -> list[Variable]:
        """What comes out."""
        since = f" (comment: from {self.start:g} s on)" if self.start > -math.inf else ""
        found = [_mean_of(self.variables[name], f"time: mean{since}") for name in self.means]
        for one, other in self.pairs:
            found.append(_product_of(self.variables[one], self.variables[other], since))
        if self.has_eddies:
            standard = self.variables["velocity_x"].standard_name or ""
            name = "specific_kinetic_energy_of_sea_water" if standard.startswith("sea_water") else None
            text = "kinetic energy of deviations from the mean flow"
            found.append(Variable("eddy_kinetic_energy", "m2 s-2", text, name, cell_methods=f"time: mean{since}"))
        return found

    @property
    def has_eddies(self) -> bool:
        """Whether both velocities have variances."""
        return {("velocity_x", "velocity_x"), ("velocity_y", "velocity_y")} <= set(self.pairs)

    def values(self, state: Mapping[str, np.ndarray], lifts: Mapping[str, float | np.ndarray]) -> dict[str, np.ndarray]:
        """Averages, float64, from `Averaging.state`; lifts : what a quantity of the kernels is short of the field."""
        sums, total = state["maps_averages"], float(state["maps_weights"][TOTAL])
        if total == 0.0:
            sums, total = np.full_like(sums, np.nan), 1.0
        found: dict[str, np.ndarray] = {}
        for name in self.means:
            found[f"mean_{name}"] = sums[self.names.index(name)] + lifts.get(name, 0.0)
        for k, (one, other) in enumerate(self.pairs, len(self.names)):
            products = sums[k] / total
            found[_product_name(one, other)] = np.maximum(products, 0.0) if one == other else products
        if self.has_eddies:
            found["eddy_kinetic_energy"] = 0.5 * (found["variance_velocity_x"] + found["variance_velocity_y"])
        return found


def asked_of(averages: Averages | None, variables: Mapping[str, Variable], possible: Iterable[str]) -> Asked | None:
    """`Averages.asked`, or None."""
    return None if averages is None else averages.asked(variables, [*possible])


def words_of(asked: Asked | None, precision: str) -> int:
    """How many arrays of the precision of a run its averages take on a device."""
    return 0 if asked is None else asked.count * (2 if precision == "single" else 1)


class Averaging:
    """The averages of a run on one device; models derive from it, and say when a state is taken up.

    Parameters
    ----------
    engine : object
        Its `device` and `precision`, and its `setup` with `averages`, `Asked` or None, which keeps nothing, and `grid`.
    quantities : Quantities
    """

    def __init__(self, engine: Any, quantities: Quantities) -> None:
        self._device: Device = engine.device
        self._precision, self._shape = engine.precision, engine.setup.grid.shape
        self.asked: Asked | None = engine.setup.averages
        planes = (1, 1, 1) if self.asked is None else (self.asked.count, *self._shape)
        self.sums, self.numbers = self._device.zeros(planes, np.float64), self._device.zeros((NUMBERS,), np.float64)
        if self.asked is not None:
            cells = {name: quantities.cells[name] for name in self.asked.names}
            self._cell = averaged(quantities.fields, cells, self.asked.pairs)

    def take(self, weighing: Cell, times: Sequence[Any], *fields: Any) -> list[Launch]:
        """What takes a state up; weighing : cell ``(i, numbers, times..)`` that weighs it, run by one thread."""
        if self.asked is None:
            return []
        device, precision = self._device, self._precision
        first = device.over(device.loop(weighing, precision), (1,), (self.numbers, *times))
        program = device.loop(self._cell, precision)
        return [first, device.over(program, self._shape, (*fields, self.sums, self.numbers))]

    def begin(self, time: float) -> None:
        """Begin at a time, s: the state of that weighs nothing."""
        if self.asked is not None:
            numbers = np.zeros(NUMBERS)
            numbers[SINCE], numbers[EVERY] = max(time, self.asked.start), self.asked.every
            numbers[LAST] = numbers[SEEN] = time
            self._device.fill(self.sums, np.zeros(self.sums.shape))
            self._device.fill(self.numbers, numbers)

    def state(self) -> dict[str, np.ndarray]:
        """What a restart needs; nothing where there are no averages."""
        if self.asked is None:
            return {}
        sums, numbers = self._device.host(self.sums), self._device.host(self.numbers)
        return {"maps_averages": sums, "maps_weights": np.append(numbers, self.asked.key)}

    def take_over(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Go on with the averages of a state, or `begin` where it has not the same."""
        if self.asked is None:
            return
        if "maps_weights" not in state or state["maps_weights"][NUMBERS] != self.asked.key:
            self.begin(time)
            return
        self._device.fill(self.sums, state["maps_averages"])
        self._device.fill(self.numbers, state["maps_weights"][:NUMBERS])


def _single(key: str, names: Sequence[str], possible: Sequence[str]) -> list[str]:
    """Names one by one, vectors as their components; refuses what cannot be averaged."""
    found: list[str] = []
    for name in names:
        own = [name] if name in possible else [f"{name}_{axis}" for axis in COMPONENTS if f"{name}_{axis}" in possible]
        if not own:
            vectors = [one[:-2] for one in possible if one.endswith("_x")]
            raise InputError(f"{key} with {name!r}", allowed=", ".join([*vectors, *possible]))
        found += own
    return list(dict.fromkeys(found))


def _pair(pair: Pair, possible: Sequence[str]) -> Pair:
    for name in pair:
        if name not in possible:
            raise InputError(f"covariance with {name!r}", allowed=", ".join(possible))
    return pair[0], pair[1]


def _mean_of(one: Variable, method: str) -> Variable:
    return replace(one, name=f"mean_{one.name}", long_name=f"mean {one.long_name}", cell_methods=method)


def _product_name(one: str, other: str) -> str:
    return f"variance_{one}" if one == other else f"covariance_{one}_{other}"


def _product_of(one: Variable, other: Variable, since: str) -> Variable:
    """The variance of a variable, or the covariance of two."""
    units, name = product_of_units(one.units, other.units), _product_name(one.name, other.name)
    if one is other:
        return replace(
            one, name=name, units=units, long_name=f"variance of {one.long_name}", cell_methods=f"time: variance{since}"
        )
    text = f"covariance of {one.long_name} and {other.long_name}"
    return replace(one, name=name, units=units, long_name=text, standard_name=None, cell_methods=f"time: mean{since}")


def product_of_units(one: str, other: str) -> str:
    """Units of a product: ``"m s-1"`` times ``"m"`` is ``"m2 s-1"``."""
    powers: dict[str, int] = {}
    for unit, power in re.findall(r"([A-Za-z]+)(-?\d+)?", f"{one} {other}"):
        powers[unit] = powers.get(unit, 0) + int(power or 1)
    return " ".join(f"{unit}{power if power != 1 else ''}" for unit, power in powers.items() if power) or "1"
