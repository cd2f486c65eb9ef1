"""Tables and figures of A. B. Amundsen, Auto-tuning shallow water simulations on GPUs, University of Oslo (2014)."""

from __future__ import annotations

from eagre.reproduce.registry import PENDING, without_lines

ITEMS = (
    *without_lines(
        "block sizes of kernels that Eagre does not have: its kernels have rows, registers and strips",
        {"table-3.1": "Block sizes before tuning"},
    ),
    *without_lines(
        PENDING,
        {
            "figure-3.2": "Predicted part of the time step",
            "figure-3.4": "Wet circular dam, first order",
            "figure-3.5": "Wet circular dam, second order",
            "figure-3.6": "Speed of the schemes before tuning",
            "figure-4.1": "Block sizes of FGH, Q1800M",
            "figure-4.2": "Block sizes of FGH, GTX480",
            "figure-4.3": "Block lengths of the line kernels, Q1800M",
            "figure-4.5": "Block sizes of the Y block, Q1800M",
            "figure-4.6": "Block sizes of the Y block, GTX480",
            "figure-4.7": "Block sizes of RK, Q1800M",
            "figure-4.8": "Block sizes of RK with the wet map, Q1800M",
            "figure-4.9": "Block sizes of RK, GTX480",
            "figure-4.11": "Block sizes of the transposes, Q1800M",
            "figure-4.12": "Block sizes of the transposes, GTX480",
            "figure-4.13": "Speed by grid size",
            "figure-4.14": "Gain of tuning, Q1800M",
            "figure-4.15": "Gain of tuning, GTX480",
            "figure-4.16": "Gain of tuning, GTX435M",
            "table-4.1": "Tuned block sizes",
            "table-4.2": "Sine, Q1800M",
            "table-4.3": "Sine, GTX435M",
            "table-4.4": "Sine, GTX480",
            "figure-4.18": "Dry dam, gain of tuning, Q1800M",
            "figure-4.19": "Dry dam, gain of tuning, GTX480",
            "figure-4.20": "Dry dam, gain of tuning, GTX435M",
            "section-4.4.2": "Time at which the bed is wet",
            "chapter-5": "Duration of the tuning",
        },
    ),
)
