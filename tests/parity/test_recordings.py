"""Recordings: what is read, what is said about a file that is none, and the sample that is kept."""

import gzip
import json
from pathlib import Path

import pytest

from tests.parity.frame import kind_of
from tests.parity.readers import RECORDINGS
from tests.parity.recordings import NoRecordingError, read_recording, recordings
from tests.parity.sample import SIZE, pick

LINE = json.dumps({"id": "a-1", "kind": "percard", "req": {}, "answer": {"count": 1}})


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["anything.jsonl.gz", "anything.jsonl"])
def test_a_recording_is_known_by_its_kinds_under_any_name(tmp_path: Path, name: str) -> None:
    file = read_recording(write(tmp_path / name, f"{LINE}\n{LINE}\n"), RECORDINGS)
    assert file.stem == "recorded koordinator"
    assert [case["id"] for case in file.cases] == ["a-1", "a-1"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", "", "no line"),
        ("a.jsonl", f"{LINE}\n{{broken", ":2: "),
        ("a.jsonl", "[1, 2]", ":1: no id, kind, answer; every line has"),
        ("a.jsonl", '{"id": 1, "kind": "percard"}', ":1: no answer"),
        ("a.jsonl", LINE.replace("percard", "parcard"), ":1: kind is 'parcard'; a recording of"),
    ],
    ids=[
        "an empty file",
        "a line that is no JSON",
        "a line that is no object",
        "no answer",
        "a kind that nobody knows",
    ],
)
def test_a_file_that_is_none_is_told_with_its_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(NoRecordingError) as error:
        read_recording(write(tmp_path / name, text), RECORDINGS)
    assert said in str(error.value) and str(tmp_path / name) in str(error.value)


def test_a_file_that_cannot_be_unpacked_is_told(tmp_path: Path) -> None:
    (tmp_path / "plain.jsonl.gz").write_text(LINE)
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(LINE.encode() * 50)[:-20])
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe")
    for name, said in [("plain", "gzip"), ("cut", "cut off"), ("missing", "No such file"), ("bytes", "no text")]:
        path = tmp_path / (f"{name}.jsonl" if name == "bytes" else f"{name}.jsonl.gz")
        with pytest.raises(NoRecordingError, match=said):
            read_recording(path, RECORDINGS)


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.name)
def test_the_kept_sample_is_picked_from_itself_whole(path: Path) -> None:
    """So a sample of a sample is the sample, and what is picked hangs on nothing but the lines."""
    file = read_recording(path, RECORDINGS)
    assert len(file.cases) == SIZE
    assert pick(file.cases[::-1], "koordinator") == list(file.cases)[::-1]
    assert {kind_of(case) for case in file.cases} == RECORDINGS["koordinator"].keys()
