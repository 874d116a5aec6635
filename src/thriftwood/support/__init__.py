"""Tools that every room needs: validation, arrays, numba, threads, progress."""
