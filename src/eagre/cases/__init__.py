"""Ready-made cases, each with its reference: `Case` objects that make a model, `validate` and `bench`.

Modules by subject: `lakes`, `dam_breaks`, `basins`, `channels`, `waves`, `seeds`, `monai`; the exact
solutions alone, on NumPy arrays, are in the `exact_*` modules.
"""

from eagre.cases.benchmark import bench
from eagre.cases.case import Case, Water, cell_centres, cell_means, still_water
from eagre.cases.norms import Norms, observed_orders, relative_norms
from eagre.cases.result import Result
from eagre.cases.validation import validate

__all__ = [
    "Case",
    "Norms",
    "Result",
    "Water",
    "bench",
    "cell_centres",
    "cell_means",
    "observed_orders",
    "relative_norms",
    "still_water",
    "validate",
]
