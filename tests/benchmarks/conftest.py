import sys
from pathlib import Path

# The benchmarks are scripts, not a package: they find each other in their own directory.
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
