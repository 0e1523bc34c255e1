"""Places in a document: as keys, and as people read them."""

import json
import re
from collections.abc import Sequence
from typing import Final

Location = tuple[int | str, ...]
"""Keys and indices from the document down to a place in it."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STEP: Final = re.compile(
    r"""
    \.? (?P<name> [^.\[\]"]+ )
    | \[ (?P<index> \d+ ) \]
    | \[ (?P<quoted> "(?:[^"\\]|\\.)*" ) \]
    | \[ (?P<bare> [^\]]* ) \]
    """,
    re.VERBOSE,
)


def path_of(location: Sequence[int | str]) -> str:
    """("metadata", "annotations", "a.b/c") → metadata.annotations["a.b/c"]"""
    path = ""
    for key in location:
        if isinstance(key, int):
            path += f"[{key}]"
        elif _PLAIN_KEY.fullmatch(key):
            path += f".{key}" if path else key
        else:
            path += f"[{json.dumps(key, ensure_ascii=False)}]"
    return path


def location_of(path: str) -> Location:
    """The reverse of path_of; in brackets a key may also stand without quotes."""
    keys: list[int | str] = []
    for step in _STEP.finditer(path):
        if step["index"]:
            keys.append(int(step["index"]))
        elif step["quoted"]:
            keys.append(str(json.loads(step["quoted"])))
        else:
            keys.append(step["name"] or step["bare"])
    return tuple(keys)
