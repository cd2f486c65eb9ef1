"""Eagre: GPU-accelerated models of water and air, from one source for CPUs and NVIDIA GPUs."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from eagre.boundaries import NAMES as CONDITIONS
from eagre.terms import NAMES

__version__ = "0.1.0"

_HOME = {
    "ShallowWater": "eagre.models.shallow_water.model",
    "BarotropicVorticity": "eagre.models.barotropic.model",
    "DoubleGyre": "eagre.models.barotropic.sampling.scales",
    "Layers": "eagre.models.barotropic.layers",
    "curl_of_stress": "eagre.models.barotropic.inputs",
    "varying_curl": "eagre.models.barotropic.forcing.wind",
    "moving_curl": "eagre.models.barotropic.forcing.wind",
    "PotentialWaves": "eagre.models.potential_waves.model",
    "RelaxationZone": "eagre.models.potential_waves.boundaries.relaxation_zones",
    "Wavemaker": "eagre.models.potential_waves.boundaries.sides",
    "SpongeLayer": "eagre.models.potential_waves.boundaries.sides",
    "AnelasticFlow": "eagre.models.anelastic.model",
    "Atmosphere": "eagre.models.anelastic.base.atmosphere",
    **{
        f"{name}Profile": "eagre.models.anelastic.base.vertical_profiles"
        for name in ("Exponential", "Linear", "Table", "Formula")
    },
    "Forcing": "eagre.models.anelastic.forcing.profile_forcing",
    "Nudging": "eagre.models.anelastic.forcing.profile_forcing",
    "Smagorinsky": "eagre.models.anelastic.subgrid.closure",
    "Surface": "eagre.models.anelastic.subgrid.surface",
    "ShallowWaterADI": "eagre.models.shallow_water_adi.model",
    "ShallowWaterADIEnsemble": "eagre.models.shallow_water_adi.ensemble",
    **{name: f"eagre.terms.{module}" for name, module in NAMES.items()},
    "Grid": "eagre.grid",
    "TimeStatistics": "eagre.stepping.averages",
    "Maps": "eagre.stepping.maps",
    "Series": "eagre.time_varying.series",
    "TimeVaryingField": "eagre.time_varying.fields",
    "RecordTimeAxis": "eagre.time_varying.fields",
    "NodeGrid": "eagre.time_varying.fields",
    "Boundaries": "eagre.boundaries",
    "BoundarySegment": "eagre.boundaries",
    "InternalLine": "eagre.boundaries",
    "InternalArea": "eagre.boundaries",
    **{name: f"eagre.boundaries.conditions.{module}" for name, module in CONDITIONS.items()},
    "EagreError": "eagre.errors",
    "InputError": "eagre.errors",
    "DeviceError": "eagre.errors",
    "BlowUpError": "eagre.errors",
    "ConvergenceError": "eagre.errors",
    "MemoryNeededError": "eagre.errors",
    "load_case": "eagre.models.registry",
    "distributed": "eagre.processes",
    "sweep": "eagre.sweeps.sweep",
    "run_sweep": "eagre.sweeps.running",
    "open_sweep": "eagre.sweeps.dataset",
}
_PACKAGES = {
    path.rpartition(".")[2]: f"eagre.{path}"
    for path in (
        *("advection", "boundaries", "io", "laboratory.bench", "laboratory.cases", "models", "plots", "solvers"),
        *("terms", "time_varying.cyclone", "time_varying.tides", "waves"),
    )
}

__all__ = ["__version__", *sorted(_HOME)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Public names, imported at first use: `import eagre` stays light."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(_PACKAGES[name])
    raise AttributeError(f"module 'eagre' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
