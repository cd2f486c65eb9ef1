"""The boundary conditions, one per file; no other module belongs here (see `eagre.boundaries`)."""
