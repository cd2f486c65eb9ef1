"""One run over the processes of an MPI communicator: each process has one device of the run."""
