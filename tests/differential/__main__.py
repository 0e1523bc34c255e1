"""`make diff-kube-scheduler`: koordpy against kube-scheduler's plugins, on random clusters.

Ends with 1 if they differ where no rule of differences.yaml says so, and with 2 if it could not be asked.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from koordpy.errors import ConfigError
from tests.controlplane.build import BuildError, oracle_program
from tests.differential.clusters import PLUGINS, case_of
from tests.differential.files import FileError, cases_in
from tests.differential.oracle import Oracle, OracleError
from tests.differential.running import compare
from tests.options import whole
from tests.parity.frame import Case


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make diff-kube-scheduler", description=__doc__)
    parser.add_argument("--cases", type=whole(1), default=20_000, help="how many clusters (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (%(default)s)")
    parser.add_argument("--first", type=whole(0), default=0, help="number of the first (%(default)s)")
    parser.add_argument("--file", type=Path, help="a file of cases in the form of tests/parity instead")
    options = parser.parse_args(arguments)
    numbers = range(options.first, options.first + options.cases)
    cases: Iterable[Case] = (case_of(options.seed, number) for number in numbers)
    started = time.monotonic()
    try:
        if options.file is not None:
            cases = cases_in(options.file, print)
        with Oracle(oracle_program(os.environ)) as oracle:
            tally = compare(oracle, cases, print)
    except (FileError, BuildError, OracleError, ConfigError) as error:
        print(f"diff-kube-scheduler: {error}", file=sys.stderr)
        return 2
    for line in tally.lines(PLUGINS):
        print(line)
    which = options.file if options.file is not None else f"seed {options.seed}"
    print(f"{time.monotonic() - started:.1f} s, {which}")
    return 1 if tally.found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
