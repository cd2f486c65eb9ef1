"""Time statistics (means, variances, covariances and extrema): request, output variables and values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

import numpy as np

from eagre.arguments import of_type
from eagre.errors import InputError
from eagre.fields import Variable
from eagre.kernels.averages import TOTAL, UNSET, Planes
from eagre.names import did_you_mean, field_names, nearest

if TYPE_CHECKING:
    from eagre.stepping.maps import Maps

Pair = tuple[str, str]
T = TypeVar("T")
KINDS = ("mean", "variance", "covariance", "maximum", "minimum", "time_of_maximum")
TURBULENT = ("u", "v", "w")  # half the sum of their variances is the turbulent kinetic energy
WAVES = "sea_surface_height_above_mean_sea_level"  # standard name of a surface whose variance is due to waves


@dataclass(frozen=True)
class TimeStatistics:
    """Time-weighted means, variances and covariances, and extrema of fields, accumulated at every accepted step.

    Parameters
    ----------
    mean, variance : sequence of str
        Names of fields. A vector name stands for its components: ``"velocity"`` for ``"velocity_x"`` and
        ``"velocity_y"``, or for u, v and w of the anelastic model.
    covariance : sequence of pairs of str
        Pairs of fields.
    start : float, s
        Start of the averaging period; the start of the run by default.
    every : int
        Number of steps between the states used for means, variances and covariances; each state is weighted by the time
        since the previous one.
    maximum, minimum, time_of_maximum : sequence of str
        Names of fields, as for `mean`: maximum, minimum, and the time, s, at which the maximum first occurs. All steps
        and the initial state are used.
    levels : sequence of int, optional
        Indices of vertical levels, from 0 (lowest); all levels by default.

    Notes
    -----
    A state is weighted by the time since the previous state. The variance is the mean square deviation from the mean;
    the covariance is the mean product of the deviations of two fields. Variances of all velocity components also give
    the eddy (or turbulent) kinetic energy, half of their sum. The variance of a surface with waves gives the
    significant wave height, 4 standard deviations. Sums use double precision (`eagre.kernels.averages`): one value per
    cell for a mean, an extremum or a time, one more for a variance, which also needs the mean. All values are NaN
    before `start`.
    """

    mean: Sequence[str] = ()
    variance: Sequence[str] = ()
    covariance: Sequence[Pair] = ()
    start: float = -math.inf
    every: int = 1
    maximum: Sequence[str] = ()
    minimum: Sequence[str] = ()
    time_of_maximum: Sequence[str] = ()
    levels: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not any(getattr(self, key) for key in KINDS):
            raise InputError(
                "no mean, variance, covariance or extreme", allowed="one or more", fix='mean = ["velocity"]',
                problem="No time statistics are requested.",
            )  # fmt: skip
        for key in KINDS:
            if isinstance(names := getattr(self, key), str):
                raise InputError(f"{key} = {names!r}", allowed="a list of names", fix=f'{key} = ["{names}"]')
        for pair in self.covariance:
            if len(pair) != 2 or pair[0] == pair[1]:
                fix = 'covariance = [["velocity_x", "velocity_y"]]'
                problem = "A covariance is not a pair of two different fields."
                raise InputError(
                    f"covariance with {list(pair)}", allowed="pairs of two different fields", fix=fix, problem=problem
                )
        if math.isnan(self.start) or self.start == math.inf:
            raise InputError(f"start = {self.start!r} s", allowed="a time", fix="start = 864000.0")
        if not (isinstance(self.every, int) and self.every >= 1):
            raise InputError(f"every = {self.every!r}", allowed="a whole number from 1 on", fix="every = 10")

    def resolve(self, variables: Mapping[str, Variable], possible: Sequence[str], count: int = 0) -> StatisticsPlan:
        """Return the accumulated quantities and output variables for a model.

        Parameters
        ----------
        variables : mapping of str to Variable
            Variables of the model, by name.
        possible : sequence of str
            Names of variables that support time statistics.
        count : int
            Number of vertical levels; 0 for models without levels.

        Raises
        ------
        InputError
            For other names, and levels that do not exist.
        """
        if self.levels is not None:
            _check_levels(list(self.levels), count)
        means, squares, maxima, minima, timed = (
            field_names(getattr(self, key), possible, key) for key in KINDS if key != "covariance"
        )
        pairs = [(one, one) for one in squares] + [_pair(pair, possible) for pair in self.covariance]
        names = [*means, *(name for pair in pairs for name in pair)]
        quantities = (_once(names), _once(pairs), _once([*maxima, *timed]), _once(minima), _once(timed))
        return StatisticsPlan(
            Planes(*quantities), tuple(means), tuple(maxima), variables, self.start, self.every, self.levels
        )


@dataclass(frozen=True)
class StatisticsPlan:
    """Resolved time statistics of a model.

    Attributes
    ----------
    planes : Planes
        Accumulated quantities; a variance also needs the mean, so they can exceed the output.
    means, maxima : tuple of str
        Accumulated means and maxima that are output.
    variables : mapping of str to Variable
        Variables of the model, by name.
    start, every, levels
        See `TimeStatistics`.
    """

    planes: Planes
    means: tuple[str, ...]
    maxima: tuple[str, ...]
    variables: Mapping[str, Variable]
    start: float
    every: int = 1
    levels: Sequence[int] | None = None

    @property
    def count(self) -> int:
        """Number of accumulated arrays."""
        return self.planes.count

    @property
    def key(self) -> float:
        """Checksum of the request; statistics restart if a restored state has another checksum."""
        return float(crc32(repr((tuple(self.planes), self.start, self.every, self.levels)).encode()))

    @property
    def outputs(self) -> list[Variable]:
        """Output variables, in the order of the files."""
        since = f" (comment: from {self.start:g} s on)" if self.start > -math.inf else ""
        known, planes = self.variables, self.planes
        outputs = [_mean_of(known[name], f"time: mean{since}") for name in self.means]
        outputs += [_product_of(known[one], known[other], since) for one, other in planes.pairs]
        if self.has_eddies:
            standard = known["velocity_x"].standard_name or ""
            name = "specific_kinetic_energy_of_sea_water" if standard.startswith("sea_water") else None
            text = "kinetic energy of deviations from the mean flow"
            outputs.append(Variable("eddy_kinetic_energy", "m2 s-2", text, name, cell_methods=f"time: mean{since}"))
        if self.has_turbulence:
            text = "kinetic energy of deviations from the mean wind"
            outputs.append(replace(known["u"], name="turbulent_kinetic_energy", units="m2 s-2", long_name=text,
                                 standard_name=None, cell_methods=f"time: mean{since}"))  # fmt: skip
        if self.has_waves:
            text = "significant wave height, 4 standard deviations of the surface"
            name = "sea_surface_wave_significant_height"
            outputs.append(Variable("significant_height", "m", text, name, cell_methods=f"time: mean{since}"))
        outputs += [_extreme_of(known[name], "max", "maximum", f"time: maximum{since}") for name in self.maxima]
        outputs += [_extreme_of(known[name], "min", "minimum", f"time: minimum{since}") for name in planes.minima]
        return outputs + [_time_of(known[name]) for name in planes.timed]

    @property
    def has_eddies(self) -> bool:
        """Return whether variances of all velocity components are accumulated."""
        return {(name, name) for name in self._velocity} <= set(self.planes.pairs)

    @property
    def _velocity(self) -> list[str]:
        """Velocity components of the model; shallow water has no vertical one."""
        vertical = ["velocity_z"] if "velocity_z" in self.variables else []
        return ["velocity_x", "velocity_y", *vertical]

    @property
    def has_turbulence(self) -> bool:
        """Return whether variances of all wind components are accumulated."""
        return {(name, name) for name in TURBULENT} <= set(self.planes.pairs)

    @property
    def has_waves(self) -> bool:
        """Return whether the variance of a surface with waves is accumulated."""
        surface = "surface_elevation"
        return (surface, surface) in self.planes.pairs and self.variables[surface].standard_name == WAVES

    def values(self, state: Mapping[str, np.ndarray], lifts: Mapping[str, float | np.ndarray]) -> dict[str, np.ndarray]:
        """Return the statistics by name, float64.

        Parameters
        ----------
        state : mapping
            State of `eagre.stepping.averaging.Averaging.state`.
        lifts : mapping of str to float or array
            Offsets added to means and extrema of quantities that are stored as deviations: the datum for a surface, the
            ambient value for a temperature.
        """
        sums, total = state["maps_averages"], float(state["maps_weights"][TOTAL]) or math.nan
        planes, fields = self.planes, dict[str, np.ndarray]()
        first = planes.sums
        no_number = 0.0 * total  # NaN if nothing has been averaged, otherwise 0
        for name in self.means:
            fields[f"mean_{name}"] = sums[planes.names.index(name)] + (lifts.get(name, 0.0) + no_number)
        for k, (one, other) in enumerate(planes.pairs, len(planes.names)):
            products = sums[k] / total
            fields[_product_name(one, other)] = np.maximum(products, 0.0) if one == other else products
        if self.has_eddies:
            fields["eddy_kinetic_energy"] = 0.5 * sum(fields[f"variance_{name}"] for name in self._velocity)  # type: ignore[assignment]
        if self.has_turbulence:
            variances = [fields[f"variance_{name}"] for name in TURBULENT]
            fields["turbulent_kinetic_energy"] = 0.5 * np.sum(variances, axis=0)
        if self.has_waves:
            fields["significant_height"] = 4.0 * np.sqrt(fields["variance_surface_elevation"])
        extremes = np.where(np.abs(sums[first:]) < UNSET, sums[first:], np.nan)
        names = [f"max_{name}" for name in planes.maxima] + [f"min_{name}" for name in planes.minima]
        raised = [lifts.get(name, 0.0) for name in (*planes.maxima, *planes.minima)]
        fields |= {name: plane + more for name, plane, more in zip(names, extremes, raised, strict=False)}
        times = extremes[len(names) :]
        fields |= {f"time_of_max_{name}": plane for name, plane in zip(planes.timed, times, strict=True)}
        return {one.name: fields[one.name] for one in self.outputs}


def statistics_plan_of(
    time_statistics: TimeStatistics | None, variables: Mapping[str, Variable], possible: Iterable[str],
    maps: Maps | None = None, *, count: int = 0,
) -> StatisticsPlan | None:  # fmt: skip
    """Return `TimeStatistics.resolve`, or None; `maps` : maps of the same run, whose names must differ."""
    if time_statistics is None:
        return None
    time_statistics = of_type("time_statistics", time_statistics, TimeStatistics, 'TimeStatistics(mean=["velocity"])')
    plan = time_statistics.resolve(variables, [*possible], count)
    both = {one.name for one in plan.outputs} & ({one.name for one in maps.outputs} if maps is not None else set())
    if both:
        key = "time_of_maximum" if min(both).startswith("time_of_") else "maximum"
        others = ", ".join(f'"{name}"' for name in maps.variables if name not in both) if maps is not None else ""
        raise InputError(
            f"{key} that makes {min(both)}, which is a map of variables too", allowed="one of them",
            fix=f"variables = [{others}]" if others else "", problem=f"The output {min(both)} is requested twice.",
        )  # fmt: skip
    return plan


def statistics_array_count(plan: StatisticsPlan | None, precision: str) -> int:
    """Return the number of device arrays, in the precision of the run, used by time statistics."""
    return 0 if plan is None else plan.count * (2 if precision == "single" else 1)


def _check_levels(levels: list[int], count: int) -> None:
    """Raise `InputError` for levels that do not exist in a model with `count` levels."""
    if count == 0:
        problem = "The model has no vertical levels."
        raise InputError(f"levels = {levels}", allowed="no levels: this model has none", problem=problem)
    whole = all(isinstance(k, int) for k in levels)
    if not levels or not whole or levels != sorted(set(levels)) or not 0 <= levels[0] <= levels[-1] < count:
        raise InputError(f"levels = {levels}", allowed=f"increasing integers from 0 to {count - 1}", fix="levels = [0]")


def _once(items: Sequence[T]) -> tuple[T, ...]:
    """Return the items without duplicates."""
    return tuple(dict.fromkeys(items))


def _pair(pair: Pair, possible: Sequence[str]) -> Pair:
    for name in pair:
        if name not in possible:
            right = [nearest(one, possible) or possible[0] for one in pair]
            fix = f'covariance = [["{right[0]}", "{right[1]}"]]' if right[0] != right[1] else ""
            got = f"covariance with {json.dumps(name)}{did_you_mean(name, possible)}"
            problem = "A covariance contains an unknown field."
            raise InputError(got, allowed=", ".join(possible), fix=fix, problem=problem)
    return pair[0], pair[1]


def _alone(one: Variable) -> str:
    """Return the long name of a vector component without "x-component", which GIS software treats as a vector."""
    return re.sub(r"^([xy])-component of (.*)", r"\2 along \1", one.long_name)


def _mean_of(one: Variable, method: str) -> Variable:
    text = re.sub(r"^([xy]-component of )?", r"\1mean ", one.long_name)
    return replace(one, name=f"mean_{one.name}", long_name=text, cell_methods=method)


def _extreme_of(one: Variable, stem: str, text: str, method: str) -> Variable:
    return replace(one, name=f"{stem}_{one.name}", long_name=f"{text} {_alone(one)}", cell_methods=method)


def _time_of(one: Variable) -> Variable:
    text = f"time of the maximum {_alone(one)}"
    return replace(one, name=f"time_of_max_{one.name}", units="s", long_name=text, standard_name=None)


def _product_name(one: str, other: str) -> str:
    return f"variance_{one}" if one == other else f"covariance_{one}_{other}"


def _product_of(one: Variable, other: Variable, since: str) -> Variable:
    """Return the output variable of a variance or covariance."""
    units, name = product_of_units(one.units, other.units), _product_name(one.name, other.name)
    if one is other:
        return replace(
            one, name=name, units=units, long_name=f"variance of {_alone(one)}", cell_methods=f"time: variance{since}"
        )
    text = f"covariance of {_alone(one)} and {_alone(other)}"
    return replace(one, name=name, units=units, long_name=text, standard_name=None, cell_methods=f"time: mean{since}")


def product_of_units(one: str, other: str) -> str:
    """Return the units of a product: ``"m s-1"`` times ``"m"`` is ``"m2 s-1"``."""
    powers: dict[str, int] = {}
    for unit, power in re.findall(r"([A-Za-z]+)(-?\d+)?", f"{one} {other}"):
        powers[unit] = powers.get(unit, 0) + int(power or 1)
    return " ".join(f"{unit}{power if power != 1 else ''}" for unit, power in powers.items() if power) or "1"
