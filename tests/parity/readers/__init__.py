"""Which reader reads which kind of case of which file. This is the one place where a reader is registered.

A reader is a function of its own module here: `read(case, legend) -> Outcome`.
"""

from collections.abc import Mapping
from typing import Final

from tests.parity.frame import Readers, Statement, Waiting
from tests.parity.readers import calc, config, filter_and_score, resources

STATEMENT: Final = Statement()
BOOKS: Final = Waiting("DeviceShare books")
TOPOLOGY: Final = Waiting("DeviceShare topology")
MANAGER: Final = Waiting("agent and manager")
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
    **dict.fromkeys(("validate", "normalise", "percard", "fill", "alloc", "cache"), BOOKS),
    **dict.fromkeys(("score", "device_score", "normalise_score"), BOOKS),
    **dict.fromkeys(("numa_hints", "designated_hints"), TOPOLOGY),
    **dict.fromkeys(("mgr", "wh_mutate"), MANAGER),
    "reservation": Waiting("teams"),
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
