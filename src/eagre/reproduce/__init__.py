"""Comparison with tables and figures of the five papers that Eagre follows: `eagre reproduce`."""

from eagre.reproduce.run import reproduce
from eagre.reproduce.verdicts import Line

__all__ = ["Line", "reproduce"]
