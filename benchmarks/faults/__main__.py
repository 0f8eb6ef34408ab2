"""Run every attack for a share of the time: `python benchmarks/faults --seconds 3600`.

`python benchmarks/faults services --kills 30 --database postgresql` kills a service so many times,
and its server now and then, and tells what became of all labels.

Each is a module beside this one with a function ``attack(seconds, seed)`` that yields outcomes.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

ATTACKS = ("models", "inputs", "runs", "services")


def main() -> None:
    """Exit with 1 if anything happened that must not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attacks", nargs="*", default=ATTACKS, choices=[*ATTACKS, ATTACKS])
    parser.add_argument("--seconds", type=float, default=3600.0, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, help="of one service, instead of all for a time")
    parser.add_argument("--database", default="sqlite", choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    if options.kills is not None:
        services = import_module("faults.services")
        print(services.kill(options.kills, options.database, options.seed), flush=True)
        return
    failed = False
    for name in options.attacks:
        share = options.seconds / len(options.attacks)
        for outcome in import_module(f"faults.{name}").attack(share, options.seed):
            print(outcome, flush=True)
            failed |= bool(outcome.failures)
    sys.exit(failed)


if __name__ == "__main__":
    main()
