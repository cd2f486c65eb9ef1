"""The kinds of models, by name; nothing is imported until a kind is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagre.errors import InputError
from eagre.names import nearest

if TYPE_CHECKING:
    from eagre.config.case import Case
    from eagre.contract import Model


@dataclass(frozen=True)
class Kind:
    """One kind of model.

    Parameters
    ----------
    name : str
        Name in case files and on the command line.
    summary : str
        One line for people.
    model, case : str
        ``"module:Class"`` of the model and of its case.
    """

    name: str
    summary: str
    model: str
    case: str

    def model_class(self) -> type[Model]:
        """Import the model's class."""
        return _load(self.model)

    def case_class(self) -> type[Case]:
        """Import the class of the model's case files."""
        return _load(self.case)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "shallow-water",
            "explicit shallow water with wetting and drying: dam breaks, floods, tsunamis, rivers",
            "eagre.models.shallow_water.model:ShallowWater",
            "eagre.models.shallow_water.config:ShallowWaterCase",
        ),
        Kind(
            "shallow-water-adi",
            "implicit shallow water for long waves at large Courant numbers: tides, surges, harbours",
            "eagre.models.shallow_water_adi.model:ShallowWaterADI",
            "eagre.models.shallow_water_adi.config:ShallowWaterADICase",
        ),
        Kind(
            "barotropic",
            "wind-driven ocean circulation: vorticity and a fast direct solver for the streamfunction",
            "eagre.models.barotropic.model:BarotropicVorticity",
            "eagre.models.barotropic.config:BarotropicCase",
        ),
        Kind(
            "potential-waves",
            "nonlinear waves on water of any depth: flumes, shoals, harbours, seas, by potential flow",
            "eagre.models.potential_waves.model:PotentialWaves",
            "eagre.models.potential_waves.config:PotentialWavesCase",
        ),
        Kind(
            "anelastic",
            "anelastic (sound-proof) atmosphere: turbulence, convection, density currents, flow over hills",
            "eagre.models.anelastic.model:AnelasticFlow",
            "eagre.models.anelastic.config:AnelasticCase",
        ),
    )
}
"""Every kind that can be run."""


def find_kind(name: str) -> Kind:
    """Return the kind of that name.

    Raises
    ------
    InputError
        If there is none; the message tells the nearest one.
    """
    if name not in KINDS:
        near = nearest(name, KINDS) or next(iter(KINDS))
        raise InputError(f'model = "{name}"', allowed=", ".join(KINDS), fix=f'model = "{near}"')
    return KINDS[name]


def load_case(path: str | Path, changes: Mapping[str, Any] | None = None) -> Case:
    """Read a case file of any model; `Case.build` returns the model.

    Parameters
    ----------
    path : str or Path
        A TOML file whose key ``model`` names the kind.
    changes : dict, optional
        Values that replace values of the file, ``{"friction.manning": 0.03, "output.file": "rough.nc"}``. Keys have the
        form of error messages (``boundaries.north[1].rate``). None removes a key. Paths are relative to the case file.

    Raises
    ------
    InputError
        If the file is missing, is not valid TOML, does not name a model, or has wrong contents.
    """
    from eagre.arguments import of_type
    from eagre.config.problems import ConfigError, Problem
    from eagre.config.toml import line_of, read_toml

    changes = of_type("changes", changes or {}, Mapping, '{"friction.manning": 0.03}')
    data, text = read_toml(path)
    allowed = ", ".join(KINDS)
    name = data.get("model")
    if not isinstance(name, str):
        what = "nothing: this key is needed" if name is None else f"model = {name!r}"
        problem = Problem(("model",), what, allowed, f'model = "{next(iter(KINDS))}"', line_of(text, ("model",)))
        raise ConfigError([problem], str(path))
    try:
        kind = find_kind(name)
    except InputError as error:
        problem = Problem(("model",), error.what, error.allowed, error.fix, line_of(text, ("model",)), error.problem)
        raise ConfigError([problem], str(path)) from None
    return kind.case_class().load(path, changes)


def _load(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
