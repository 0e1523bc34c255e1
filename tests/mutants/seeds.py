"""The bugs: one line of one module of koordpy_deviceshare, and what stands there instead."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[2] / "plugins" / "deviceshare" / "koordpy_deviceshare"


@dataclass(frozen=True, slots=True)
class Seed:
    """right stands once in the module; wrong is put in its place."""

    name: str
    module: str
    right: str
    wrong: str

    def apply(self, package: Path) -> None:
        """Raises: ValueError if the line is not what it was."""
        path = package / self.module
        text = path.read_text()
        if (times := text.count(self.right)) != 1:
            raise ValueError(
                f"{self.name}: {self.module} has {self.right!r} {times} times; adapt tests/mutants/seeds.py"
            )
        path.write_text(text.replace(self.right, self.wrong))


SEEDS: Final = (
    Seed(
        "ratio off by one",
        "model.py",
        "asked[GPU_MEMORY] * 100 // memory",
        "asked[GPU_MEMORY] * 100 // memory + 1",
    ),
    Seed(
        "forgotten release",
        "cache.py",
        "            book.release(uid)\n            book.count_nameless(uid, 0)\n",
        "            book.count_nameless(uid, 0)\n",
    ),
    Seed(
        "wrong minor after replacement",
        "node_book.py",
        "                return moved\n",
        "                return minor\n",
    ),
)
