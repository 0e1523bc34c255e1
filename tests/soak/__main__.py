"""python -m tests.soak: exit status 1 if anything was wrong."""

import argparse
import sys
from random import SystemRandom

from tests.soak.soak import Plan, play


def main() -> int:
    parser = argparse.ArgumentParser(description="Minutes of everything that can happen to a cluster.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="of the whole story; default: a new one, printed")
    options = parser.parse_args()
    seed = SystemRandom().randrange(10**6) if options.seed is None else options.seed
    print(f"soak: {options.minutes:g} minutes, seed {seed}", flush=True)
    clean, told = play(Plan(options.minutes, seed))
    print(told)
    print("clean" if clean else "NOT clean")
    return int(not clean)


if __name__ == "__main__":
    sys.exit(main())
