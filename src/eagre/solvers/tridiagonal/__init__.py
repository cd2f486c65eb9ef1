"""Batched tridiagonal systems."""
