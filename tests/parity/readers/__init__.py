"""Which reader reads which kind of case of which file. This is the one place where a reader is registered.

A reader is a function of its own module here: `read(case, legend) -> Outcome`.
"""

from collections.abc import Mapping
from typing import Final

from tests.parity.frame import Readers, Statement, Waiting, WriteOut
from tests.parity.readers import calc, config, filter_and_score, resources
from tests.parity.readers.koordinator import alloc, asked, books, scores
from tests.parity.readers.koordinator.written_out import written_out

STATEMENT: Final = Statement()
TOPOLOGY: Final = Waiting("DeviceShare topology")
MANAGER: Final = Waiting("agent and manager")
TEAMS: Final = Waiting("teams: reservations")
HAMI: Final = Waiting("HAMi dialect")

KUBE_SCHEDULER: Final[Readers] = {
    "filter": filter_and_score.read_filter,
    "score": filter_and_score.read_score,
    "schedule": filter_and_score.read_schedule,
    "resources": resources.read,
    "calc": calc.read,
    "config": config.read,
    "preempt": Waiting("preemption"),
    **dict.fromkeys(("runtime", "queue", "hint", "message", "api", "cache", "volume", "dra", "batch"), STATEMENT),
}
KOORDINATOR: Final[Readers] = {
    "validate": asked.read_validate,
    "normalise": asked.read_normalise,
    "percard": asked.read_percard,
    "fill": asked.read_fill,
    "alloc": alloc.read,
    "cache": books.read,
    "score": alloc.read_score,
    "device_score": scores.read_device,
    "normalise_score": scores.read_normalised,
    **dict.fromkeys(("numa_hints", "designated_hints"), TOPOLOGY),
    **dict.fromkeys(("mgr", "wh_mutate"), MANAGER),
    "reservation": TEAMS,
    "fact": STATEMENT,
}
HAMI_KINDS: Final = (
    *("fit", "vendor", "webhook", "lock", "lock-needed", "unlock", "parse", "node", "weights", "replay", "race"),
    *("decode-node-csv", "decode-node-json", "decode-pod", "quota-key", "extender", "health", "kai", "volcano-encode"),
)
READERS: Final[Mapping[str, Readers]] = {
    "kube-scheduler": KUBE_SCHEDULER,
    "koordinator": KOORDINATOR,
    "hami": dict.fromkeys(HAMI_KINDS, HAMI),
    "field": {"": STATEMENT},
}

WRITTEN_OUT: Final[Mapping[str, WriteOut]] = {"koordinator": written_out}
"""Forms whose cases stand in short."""

RECORDINGS: Final[Mapping[str, Readers]] = {
    "koordinator": {
        "validate": asked.read_recorded_validate,
        "percard": asked.read_recorded_percard,
        "alloc": alloc.read_recorded,
        "cache": books.read_recorded,
        "score": alloc.read_recorded_score,
        "numa_hints": TOPOLOGY,
        **dict.fromkeys(("reservation", "reservations"), TEAMS),
    },
    "hami": {"fit": HAMI},
}
"""The same for recordings."""
