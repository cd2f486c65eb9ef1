"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CaseFile = Annotated[Path, typer.Argument(metavar="CASE.toml", help="The case; see eagre new.")]
Device = Annotated[str | None, typer.Option("--device", help="auto, cpu, cuda, cuda:1; or cuda:0,cuda:1.")]
Precision = Annotated[str | None, typer.Option("--precision", help="single or double.")]
Restart = Annotated[Path | None, typer.Option("--restart", help="Restart file to continue from.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a case value, e.g. friction.manning=0.03."),
]
Variable = Annotated[
    str | None,
    typer.Option(
        "--variable",
        "-v",
        help="Field, stored or derived (speed, discharge, froude, vorticity). Default: surface elevation and "
        "flood depth, or the first field.",
    ),
]
Perspective = Annotated[bool, typer.Option("--perspective", help="Shaded 3-D view of the water surface.")]
Vectors = Annotated[bool, typer.Option("--vectors", help="Arrows of velocity on the map.")]
WetDepth = Annotated[
    str | None,
    typer.Option("--wet-depth", help='Depth above which a cell is drawn as wet, e.g. "5 cm". Default: 0.01 m.'),
]
Slice = Annotated[str | None, typer.Option("--slice", help='Slice of fields on levels, e.g. "z = 500 m" or "y = 0".')]
