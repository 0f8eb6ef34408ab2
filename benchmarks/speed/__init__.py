"""The parts of `benchmarks/bench.py`, each in a file of its own."""
