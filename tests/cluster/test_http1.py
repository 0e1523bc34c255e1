"""HTTP/1.1 answers, however the network cuts them into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordpy.cluster.kube.http1 import LONGEST_HEAD, Answer, AnswerReader, NotHttp

SIZED = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nab\r\n\r\n3\r\ncde\r\n0\r\nTrailer: t\r\n\r\n"
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"
BUSY = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nCONNECTION: Close\r\ncontent-length: 0\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED

ANSWERS = {
    SIZED: Answer(201, "", b"hello", reusable=True),
    CHUNKED: Answer(200, "", b"ab\r\ncde", reusable=True),
    EMPTY: Answer(204, "", b"", reusable=True),
    BUSY: Answer(429, "7", b"", reusable=False),
    INTERIM: Answer(201, "", b"hello", reusable=True),
}


def test_an_interim_answer_is_none_even_if_the_connection_then_ends() -> None:
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") is None
    assert reader.end() is None


def read(pieces: list[bytes]) -> list[Answer]:
    reader = AnswerReader()
    found = [reader.feed(piece) for piece in pieces]
    return [answer for answer in found if answer is not None]


@pytest.mark.parametrize("sent", ANSWERS)
def test_an_answer_in_one_piece_is_read(sent: bytes) -> None:
    assert read([sent]) == [ANSWERS[sent]]


@given(st.lists(st.sampled_from([SIZED, CHUNKED, EMPTY, INTERIM]), min_size=1, max_size=3), st.data())
def test_answers_are_the_same_in_whatever_pieces_they_come(sent: list[bytes], data: st.DataObject) -> None:
    pieces: list[bytes] = []
    for each in sent:
        cuts = sorted(data.draw(st.sets(st.integers(1, len(each) - 1))))
        pieces += [each[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(each)], strict=True)]
    assert read(pieces) == [ANSWERS[each] for each in sent]


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.0 200 OK\r\n\r\nall of ") is None
    assert reader.feed(b"it") is None
    assert reader.end() == Answer(200, "", b"all of it", reusable=False)


@pytest.mark.parametrize("sent", [SIZED, CHUNKED, BUSY], ids=["with its length", "in chunks", "without a body"])
def test_an_answer_that_breaks_off_is_none(sent: bytes) -> None:
    reader = AnswerReader()
    assert reader.feed(sent[:-1]) is None
    assert reader.end() is None


def test_a_connection_on_which_more_came_than_was_asked_for_is_not_used_again() -> None:
    assert read([SIZED + b"HTTP"]) == [Answer(201, "", b"hello", reusable=False)]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/2 200\r\n\r\n", id="another version"),
        pytest.param(b"HTTP/1.1 2x0 OK\r\n\r\n", id="a status that is no number"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", id="a change of protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", id="a negative length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n", id="a length that only Python reads"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", id="an encoding that nobody asked for"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", id="a chunk of no length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc", id="a chunk that is longer"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"x" * LONGEST_HEAD, id="headers without an end"),
    ],
)
def test_what_is_no_http_is_an_error(sent: bytes) -> None:
    with pytest.raises(NotHttp):
        read([sent])
