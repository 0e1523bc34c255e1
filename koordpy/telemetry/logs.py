"""One line per log record, on standard error, with the fields that a search needs."""

import logging
import sys
from typing import Final

LEVELS: Final = ("debug", "info", "warning", "error")


def set_up(level: str) -> None:
    """Log koordpy's own records at `level`, everyone else's from warning on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("koordpy").setLevel(level.upper())
