"""Benchmarks of the models, with verified results and a description of the machine: `eagre bench`."""

from eagre.laboratory.bench.benchmark import bench, measurements

__all__ = ["bench", "measurements"]
