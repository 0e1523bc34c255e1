"""Recordings: what the real program answered to random inputs, one JSON object a line, mostly gzipped.

A line has `id`, `kind`, the whole input and `answer`; `quirk` says that the answer hangs on a surprise of upstream's.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.parity.frame import RECORDED, Case, CaseFile, Readers, form_of, kind_of

HERE: Final = Path(__file__).parent / "recorded"
KEYS: Final = ("id", "kind", "answer")


class NoRecordingError(ValueError):
    """The file is none; the text says where, and what would be right."""


def recordings(folder: Path = HERE) -> list[Path]:
    """The samples that are kept beside the tests."""
    return sorted(folder.glob("*.jsonl.gz"))


def read_recording(path: Path, registered: Mapping[str, Readers]) -> CaseFile:
    """registered: form of file → its kinds; the kinds of the lines say which form this one has.

    Raises: NoRecordingError.
    """
    cases = list(_lines(path))
    if not cases:
        raise NoRecordingError(f"{path}: no line; a recording has one JSON object a line")
    form = form_of("", cases, registered)
    known = registered[form]
    for number, case in enumerate(cases, 1):
        if kind_of(case) not in known:
            kinds = ", ".join(sorted(known))
            raise NoRecordingError(f"{path}:{number}: kind is {case['kind']!r}; a recording of {form} has {kinds}")
    return CaseFile(RECORDED + form, {}, cases)


def _lines(path: Path) -> Iterator[Case]:
    for number, line in enumerate(_text(path).splitlines(), 1):
        try:
            case: Any = json.loads(line)
        except ValueError as error:
            raise NoRecordingError(f"{path}:{number}: {error}; a recording has one JSON object a line") from None
        missing = [key for key in KEYS if key not in case] if isinstance(case, dict) else list(KEYS)
        if missing:
            raise NoRecordingError(f"{path}:{number}: no {', '.join(missing)}; every line has {', '.join(KEYS)}")
        yield case


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except OSError as error:  # no such file, or no gzip
        raise NoRecordingError(f"{path}: {error.strerror or error}; write FILE.jsonl.gz or FILE.jsonl") from None
    except (EOFError, zlib.error) as error:
        raise NoRecordingError(f"{path}: the gzip file is cut off or damaged ({error})") from None
    except UnicodeDecodeError as error:
        raise NoRecordingError(f"{path}: no text ({error}); write FILE.jsonl.gz or FILE.jsonl") from None
