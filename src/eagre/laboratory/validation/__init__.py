"""Validation against exact solutions, published figures and measurements, with a report: `eagre validate`."""

from eagre.laboratory.validation.measures import Norms, observed_orders, relative_norms
from eagre.laboratory.validation.registry import validate
from eagre.laboratory.validation.result import Result

__all__ = ["Norms", "Result", "observed_orders", "relative_norms", "validate"]
