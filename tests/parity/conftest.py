"""`pytest tests/parity --cases DIR --recorded FILE`, and the table of what came of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark import ParameterSet
from _pytest.terminal import TerminalReporter

from tests.parity.frame import RECORDED, CaseFile, Judge, Statement, kind_of, read_folder
from tests.parity.meant import read_disputed, read_rules
from tests.parity.readers import READERS, RECORDINGS, WRITTEN_OUT
from tests.parity.recordings import NoRecordingError, read_recording, recordings
from tests.parity.tally import Tally

CASES: Final = Path(__file__).parent / "cases"
TALLY: Final = pytest.StashKey[Tally]()
FILES: Final = pytest.StashKey[list[CaseFile]]()
SECTION: Final = "parity"
ALL_READERS: Final = {**READERS, **{RECORDED + form: kinds for form, kinds in RECORDINGS.items()}}


def pytest_addoption(parser: pytest.Parser) -> None:
    """In a run of all tests this is loaded too late for the command line; there the default holds."""
    parser.addoption("--cases", metavar="DIR", help="the folder of cases that tests/parity reads")
    parser.addoption("--recorded", metavar="FILE", help="the recording it reads instead of the kept sample")


def pytest_configure(config: pytest.Config) -> None:
    """A file that cannot be read is a mistake of the command line, told before anything runs."""
    folder, recording = (config.getoption(name, default=None) for name in ("--cases", "--recorded"))
    try:
        recorded = [Path(recording)] if recording else recordings()
        config.stash[FILES] = read_all(Path(folder) if folder else CASES, recorded)
    except (NoRecordingError, FileNotFoundError) as error:
        raise pytest.UsageError(str(error)) from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per case that is data; statements are only counted."""
    if not {"file", "case"} <= {*metafunc.fixturenames}:
        return
    tally = metafunc.config.stash.setdefault(TALLY, Tally())
    data: list[ParameterSet] = []
    for file in metafunc.config.stash[FILES]:
        for case in file.cases:
            kind = kind_of(case)
            if isinstance(ALL_READERS[file.stem].get(kind), Statement):
                tally.add(file.stem, kind, Statement())
            else:
                name = f"{file.stem.replace(' ', '-')}-{kind}-{case.get('id', len(data))}"
                data.append(pytest.param(file, case, id=name))
    metafunc.parametrize(("file", "case"), data)


def read_all(folder: Path = CASES, recorded: Sequence[Path] = ()) -> list[CaseFile]:
    """Files of cases, written out, and recordings. Raises: NoRecordingError."""
    return [
        *read_folder(folder, READERS, WRITTEN_OUT),
        *(read_recording(path, RECORDINGS) for path in recorded),
    ]


@pytest.fixture(scope="session")
def tally(request: pytest.FixtureRequest) -> Tally:
    return request.config.stash[TALLY]


@pytest.fixture(scope="session")
def judge() -> Judge:
    return Judge(ALL_READERS, read_rules(), read_disputed())


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    tally = config.stash.get(TALLY, None)
    if tally is None or config.option.collectonly or tally.is_empty:
        return
    terminalreporter.section(SECTION)
    for line in tally.lines([rule.name for rule in read_rules()]):
        terminalreporter.line(line)
