"""Restart states: reference data that must agree, and states of runs with other scalars or forcing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eagre.checks import check_state
from eagre.models.anelastic.forcing.open_boundaries import open_axes
from eagre.models.anelastic.inputs import HELD, SIDES
from eagre.models.anelastic.setup import Setup
from eagre.restart_references import RestartReference

Array = np.ndarray
State = Mapping[str, Array]
KINDS = SIDES["x"]  # boundary conditions of all axes
OWN = ("u", "v", "w", "theta", "phi")
PERTURBATION = "theta_perturbation"  # theta' in restart files; earlier versions wrote it as theta


def restart_references(setup: Setup) -> dict[str, RestartReference]:
    """Return the reference data of a state: levels, terrain, base state, boundaries and wind at open boundaries."""
    levels, air, of = setup.levels, setup.air, "of the run that wrote it"
    z, box = levels.height, f"levels, top_height and terrain_height in [domain] {of}"
    ground = np.zeros(0) if levels.terrain_height is None else levels.terrain_height
    section, nothing = f"[atmosphere] {of}", np.zeros(z.shape)
    theta, density = (f"equations, {key} in {section}" for key in ("theta and frequencies", "theta and density"))
    references = {
        "heights": RestartReference("levels at heights", z, "m", box),
        "terrain_height": RestartReference("terrain height", ground, "m", box),
        "air_density": RestartReference("reference density", air.density(z) + nothing, "kg/m3", density),
        "air_reference": RestartReference("reference potential temperature", air.reference(z) + nothing, "K", theta),
        "air_ambient": RestartReference("ambient potential temperature", air.ambient(z) + nothing, "K", theta),
        "air_gravity": RestartReference("gravity", air.gravity, "m/s2", f"equations and gravity in {section}"),
    }
    for axis, kind in zip("zyx", setup.boundaries, strict=True):
        name = f"boundaries_{axis}"
        references[name] = RestartReference(name, KINDS.index(kind), "", f"{name} in [domain] {of}", KINDS)
    if open_axes(setup):
        for name, profile in zip("uv", air.wind, strict=True):
            what = f"ambient wind {name} at open boundaries"
            references[f"air_wind_{name}"] = RestartReference(what, profile(z) + nothing, "m/s", f"wind in {section}")
    return references


def with_perturbation(state: State) -> dict[str, Array]:
    """Return a state in which theta' has the name that it has in output files, not the internal name theta."""
    return {PERTURBATION if name == "theta" else name: array for name, array in state.items()}


def without_perturbation(state: State) -> dict[str, Array]:
    """Return a state with internal names; restart files of earlier versions have them already."""
    return {"theta" if name == PERTURBATION else name: array for name, array in state.items()}


@dataclass(frozen=True)
class AdaptedState:
    """State that a run can continue from.

    Attributes
    ----------
    state : mapping of name to array
        Complete state, including added fields.
    begun : tuple of str
        Fields whose explicit tendency of the previous step is unknown.
    notes : tuple of str
        Notes for the user.
    """

    state: dict[str, Array]
    begun: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def adapt_state(state: State, current: State, setup: Setup, fresh: bool) -> AdaptedState:
    """Adapt the state of a run with other scalars or other forcing.

    Scalars that the state lacks keep their initial values if the run is `fresh`, that is, has no completed step.
    Scalars that the run does not define are dropped.

    Parameters
    ----------
    state, current : mapping of name to array
        State to load; current state of the run.
    setup : Setup
    fresh : bool

    Raises
    ------
    InputError
        For a state of another model or grid, or with other reference data.
    """
    # profiles (keys "averages...") and maps can be requested again
    current = {name: array for name, array in current.items() if not name.startswith(("averages", "maps"))}
    fields = {name: array.shape for name, array in current.items() if array.ndim == 3}
    check_state(state, {}, setup.grid, references=restart_references(setup))
    adapted = _with_missing_fields(state, current, setup, fresh)
    check_state(adapted.state, fields, setup.grid, [name for name in current if name not in fields])
    return adapted


def _with_missing_fields(state: State, current: State, setup: Setup, fresh: bool) -> AdaptedState:
    added = [name for name in current if name.startswith("drag_") and name not in state]
    unknown_tendencies = tuple(name.removeprefix("drag_") for name in added)
    begun = [name for name in setup.scalars if name not in state and fresh]
    left = [name for name in carried(state) if name not in setup.scalars]
    lacking = {*added, *begun}
    ambient = {name for name in current if name.startswith("inflow_") and name.split("_", 2)[2] in OWN}
    lacking |= ambient | {name for name in current if name.startswith("inflow_") and name.split("_", 2)[2] in begun}
    time = float(state["clock"][0] + state["clock"][1]) if "clock" in state else 0.0
    said = [f"scalar {name} starts from its initial values at t = {time:g} s: not in the restart" for name in begun]
    said += [f"scalar {name} of the restart is dropped: the case does not define it" for name in left]
    return AdaptedState({**{name: current[name] for name in lacking}, **state}, unknown_tendencies, tuple(said))


def carried(state: State) -> list[str]:
    """Return the names of the scalars of a state."""
    fields = (name for name, array in state.items() if np.ndim(array) == 3 and name not in OWN)
    return [name for name in fields if not name.startswith(HELD)]
