"""What is timed, after its answer was verified, and on which machine: `eagre bench`."""

from eagre.bench.benchmark import bench, measurements

__all__ = ["bench", "measurements"]
