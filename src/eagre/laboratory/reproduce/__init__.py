"""Comparison with tables and figures of the five papers that Eagre follows: `eagre reproduce`."""

from eagre.laboratory.reproduce.registry import Line
from eagre.laboratory.reproduce.run import reproduce

__all__ = ["Line", "reproduce"]
