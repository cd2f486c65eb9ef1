"""C library `libeagre.so` for standalone C and Fortran programs; ``eagre library FOLDER`` writes it."""
