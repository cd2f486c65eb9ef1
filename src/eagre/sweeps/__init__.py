"""Parameter studies: runs of one case with changed values, each in a separate folder."""
