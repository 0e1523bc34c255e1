"""`python -m tests.parity.sample RECORDING`: the part of a recording that is kept beside the tests.

Round after round, a line of every kind and of everything that a kind waits for; four of what can be asked now. Which
ones, the digest of their id says, so that equal recordings give equal samples.
"""

import gzip
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.parity.frame import Case, Waiting, kind_of
from tests.parity.readers import RECORDINGS
from tests.parity.recordings import HERE, read_recording
from tests.parity.rules import WAITS

SIZE: Final = 300
OF_ASKED: Final = 4
"""So many lines a round of a kind that can be asked now."""


def pick(cases: Sequence[Case], form: str, size: int = SIZE) -> list[Case]:
    """In the order in which they were recorded."""
    strata: dict[tuple[str, str], list[Case]] = {}
    for case in sorted(cases, key=_digest):
        strata.setdefault(_stratum(case, form), []).append(case)
    chosen = list(_rounds(strata))[:size]
    return [case for case in cases if case in chosen]


def _rounds(strata: dict[tuple[str, str], list[Case]]) -> Iterator[Case]:
    while any(strata.values()):
        for (_, waits_for), left in sorted(strata.items()):
            for _ in range(1 if waits_for else OF_ASKED):
                if left:
                    yield left.pop(0)


def _stratum(case: Case, form: str) -> tuple[str, str]:
    """Kind, and what it waits for."""
    kind = kind_of(case)
    known = RECORDINGS[form][kind]
    if isinstance(known, Waiting):
        return kind, known.for_what
    waiting = WAITS[kind](case) if kind in WAITS else None
    return kind, waiting.for_what if waiting else ""


def _digest(case: Case) -> str:
    return hashlib.sha256(str(case["id"]).encode()).hexdigest()


def write(recording: Path, folder: Path = HERE) -> Path:
    file = read_recording(recording, RECORDINGS)
    form = file.stem.split()[-1]
    lines = [json.dumps(case, separators=(",", ":")) for case in pick(file.cases, form)]
    sample = folder / f"{form}-{SIZE}.jsonl.gz"
    sample.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    return sample


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
