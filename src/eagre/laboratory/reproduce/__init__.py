"""Comparison with tables and figures of the five papers that Eagre follows: `eagre reproduce`."""

from eagre.laboratory.reproduce.run import reproduce
from eagre.laboratory.reproduce.verdicts import Line

__all__ = ["Line", "reproduce"]
