"""Launch parameters of GPU kernels: declarations (`solvers`, `models`), and measured tables, one per device (JSON)."""
