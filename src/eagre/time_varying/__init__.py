"""Inputs that vary in time: series, tides, fields on nodes and tropical cyclones."""
