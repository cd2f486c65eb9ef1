"""Exact solutions on NumPy arrays."""
