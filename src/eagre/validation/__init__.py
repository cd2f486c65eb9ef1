"""What is compared with exact solutions, figures of papers and measurements, and the report: `eagre validate`."""

from eagre.validation.norms import Norms, observed_orders, relative_norms
from eagre.validation.registry import validate
from eagre.validation.result import Result

__all__ = ["Norms", "Result", "observed_orders", "relative_norms", "validate"]
