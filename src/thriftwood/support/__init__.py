"""What every room needs and no room is about: validation, arrays, numba, threads, progress."""
