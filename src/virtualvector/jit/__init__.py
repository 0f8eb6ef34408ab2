"""The only place that knows the inside of numba, and what its compiling needs around it."""
