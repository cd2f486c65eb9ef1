"""C library `libeagre.so` for stand-alone C and Fortran programs; ``eagre library FOLDER`` writes it."""
