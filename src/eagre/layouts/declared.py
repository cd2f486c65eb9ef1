"""All declared launch parameters."""

from __future__ import annotations

from eagre.layouts.models import MODELS
from eagre.layouts.parameter import Parameter
from eagre.layouts.solvers import SOLVERS

PARAMETERS: dict[str, Parameter] = {parameter.key: parameter for parameter in (*SOLVERS, *MODELS)}
