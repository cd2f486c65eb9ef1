"""Validation against exact solutions, published figures and measurements, with a report: `eagre validate`."""

from eagre.validation.norms import Norms, observed_orders, relative_norms
from eagre.validation.registry import validate
from eagre.validation.result import Result

__all__ = ["Norms", "Result", "observed_orders", "relative_norms", "validate"]
