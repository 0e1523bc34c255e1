"""What comes back on one HTTP/1.1 connection, read as it arrives by llhttp. Knows bytes, not sockets.

The only file that imports httptools. No compression is understood, since none is asked for.
"""

from dataclasses import dataclass
from typing import Final

import httptools

LONGEST_HEAD: Final = 2**16


class NotHttp(Exception):
    """What came is no HTTP/1.1 answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """status, the text of Retry-After, and the body. reusable: the connection is good for another request."""

    status: int
    retry_after: str
    body: bytes
    reusable: bool


class AnswerReader:
    """Reads one answer after the other. *Raises* NotHttp, and is of no more use then.

    Of its methods that begin with `on_`, httptools is the caller.
    """

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._answer: Answer | None = None
        self._problem = ""
        self.on_message_begin()

    def feed(self, data: bytes | memoryview) -> Answer | None:
        """What has come next. Returns: the answer once it is complete."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise NotHttp(self._problem or f"no answer of HTTP/1.1: {error}") from error
        if self._problem:
            raise NotHttp(self._problem)
        self._head_bytes += 0 if self._has_head else len(data)
        if self._head_bytes > LONGEST_HEAD:
            raise NotHttp(f"more than {LONGEST_HEAD} bytes, and no end of the headers")
        answer, self._answer = self._answer, None
        return answer

    def end(self) -> Answer | None:
        """The connection has ended. Returns: the answer, if that is what ends it."""
        if self._has_head and not self._knows_its_length:
            return Answer(self._parser.get_status_code(), self._retry_after, b"".join(self._parts), reusable=False)
        return None

    # -- what httptools calls ----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._answer is not None:  # more has come than was asked for
            self._answer = Answer(self._answer.status, self._answer.retry_after, self._answer.body, reusable=False)
        self._head_bytes = 0
        self._has_head = False
        self._knows_its_length = False
        self._retry_after = ""
        self._parts: list[bytes] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._has_head:
            return  # a trailer
        match name.lower():
            case b"content-length":
                self._knows_its_length = True
            case b"transfer-encoding":
                self._knows_its_length = True
                if value.strip().lower() != b"chunked":
                    self._problem = f"an unknown transfer encoding {value[:80]!r}"
            case b"retry-after":
                self._retry_after = value.decode("latin-1").strip()

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            self._has_head = False
            return  # an interim answer; the true one is still to come
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._answer = Answer(status, self._retry_after, body, self._parser.should_keep_alive())
        self._has_head, self._parts = False, []
