"""Layouts of GPU kernels: what each parameter means (`solvers`, `models`), and measured tables, one a device (JSON)."""
