"""`pytest tests/parity --cases DIR`, and the table of what came of it."""

from pathlib import Path
from typing import Final

import pytest
from _pytest.mark import ParameterSet
from _pytest.terminal import TerminalReporter

from tests.parity.frame import Judge, Statement, kind_of, read_folder
from tests.parity.meant import read_disputed, read_rules
from tests.parity.readers import READERS
from tests.parity.tally import Tally

CASES: Final = Path(__file__).parent / "cases"
TALLY: Final = pytest.StashKey[Tally]()
SECTION: Final = "parity"


def pytest_addoption(parser: pytest.Parser) -> None:
    """In a run of all tests this is loaded too late for the command line; there the default holds."""
    parser.addoption("--cases", metavar="DIR", help="the folder of cases that tests/parity reads")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per case that is data; statements are only counted."""
    if not {"file", "case"} <= {*metafunc.fixturenames}:
        return
    files = read_folder(Path(metafunc.config.getoption("--cases", default=None) or CASES), READERS)
    cases = [(file, case) for file in files for case in file.cases]
    tally = metafunc.config.stash.setdefault(TALLY, Tally())
    data: list[ParameterSet] = []
    for file, case in cases:
        kind = kind_of(case)
        if isinstance(READERS[file.stem].get(kind), Statement):
            tally.add(file.stem, kind, Statement())
        else:
            data.append(pytest.param(file, case, id=f"{file.stem}-{kind}-{case.get('id', len(data))}"))
    metafunc.parametrize(("file", "case"), data)


@pytest.fixture(scope="session")
def tally(request: pytest.FixtureRequest) -> Tally:
    return request.config.stash[TALLY]


@pytest.fixture(scope="session")
def judge() -> Judge:
    return Judge(READERS, read_rules(), read_disputed())


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    tally = config.stash.get(TALLY, None)
    if tally is None or config.option.collectonly or tally.is_empty:
        return
    terminalreporter.section(SECTION)
    for line in tally.lines([rule.name for rule in read_rules()]):
        terminalreporter.line(line)
