"""Validation against exact solutions, published figures and measurements, with a report: `eagre validate`."""

from eagre.laboratory.validation.comparison.measures import Norms, observed_orders, relative_norms
from eagre.laboratory.validation.comparison.result import Result
from eagre.laboratory.validation.registry import validate

__all__ = ["Norms", "Result", "observed_orders", "relative_norms", "validate"]
