"""Cluster: what koordpy asks of an API server, whichever it is.

Objects cross this line as bytes (`RawObject`), because only the caller knows which fields it reads. Nothing here
retries: each caller has its own idea of when to come back.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

import msgspec

from koordpy.errors import ApiError, Conflict, Expired, NotFound, TooManyRequests
from koordpy_api.objects import Kind

RawObject = msgspec.Raw
"""The JSON of one object; a view into the answer it came in, which lives as long as the view."""

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One line of a watch. A BOOKMARK's object carries little but a resourceVersion, an ERROR's is a Status."""

    type: EventType
    object: msgspec.Raw


@dataclass(frozen=True, slots=True)
class ListPage:
    """A part of a collection. An empty `continue_token` means that it is the last one."""

    items: list[msgspec.Raw]
    resource_version: str
    continue_token: str


@dataclass(frozen=True, slots=True)
class BindRequest:
    """Bind one Pod to one node, and write `annotations` on it in the same transaction.

    An empty `uid` binds whatever Pod now has that name. within_s: no byte of it leaves later than so long after the
    call, and nobody works on it any longer; None: as for any request.
    """

    namespace: str
    name: str
    uid: str
    node_name: str
    annotations: Mapping[str, str] = field(default_factory=dict)
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind: of one namespace, by label and field selectors as kubectl writes them. Empty: all."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


EVERYTHING: Final = Selection()


class Cluster(Protocol):
    """An API server.

    Raises, everywhere: ApiError for its answer, Unreachable when no answer came or it could not be understood.
    """

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        resource_version: str = "",
    ) -> ListPage:
        """One page of the objects of a kind. Without a `resource_version` it is as new as the last write.

        Raises: Expired if the continue token is too old.
        """
        ...

    def watch(
        self, kind: Kind, resource_version: str, selection: Selection = EVERYTHING, *, timeout_s: int = 300
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """What happens after `resource_version`, bookmarks included, until the server ends it after `timeout_s`.

        Without a version it begins with an ADDED for all that exists.
        Entering it returns once the server has agreed; leaving it, by cancellation too, ends it at once.
        Raises: Expired on entering, or an ERROR event, if the version is too old; Unreachable in the middle.
        """
        ...

    async def get(self, kind: Kind, namespace: str, name: str) -> RawObject: ...

    async def bind(self, request: BindRequest) -> None:
        """Bind a Pod.

        Raises: Conflict if it is bound, terminating or another one; NotFound; another ApiError. An ApiError below 500
        means that nothing was written. After one of 500 and above, or Unreachable, it may have been.
        """
        ...

    async def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        body: Mapping[str, object],
        *,
        subresource: str = "",
        strategic: bool = False,
    ) -> RawObject:
        """Merge `body` into an object: lists are replaced, or merged by their keys if `strategic`."""
        ...

    async def create(self, kind: Kind, namespace: str, body: Mapping[str, object]) -> RawObject:
        """Raises: Conflict if it is there already."""
        ...

    async def update(
        self, kind: Kind, namespace: str, name: str, body: Mapping[str, object], *, subresource: str = ""
    ) -> RawObject:
        """Replace an object. Raises: Conflict if `body` has the resourceVersion of an older one."""
        ...

    async def delete(self, kind: Kind, namespace: str, name: str, *, grace_s: int | None = None, uid: str = "") -> None:
        """Delete an object, at once or, as a Pod on a node is, after `grace_s` or its own grace period.

        Raises: Conflict if `uid` is another's.
        """
        ...

    async def close(self) -> None:
        """Drop every connection. May be called twice."""
        ...


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    retry_after_seconds: float | None = None


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_STATUS: Final = msgspec.json.Decoder(_Status)
_SHOWN: Final = 300


def api_error(body: bytes | msgspec.Raw, status: int = 0, retry_after_s: float | None = None) -> ApiError:
    """The error that a Status object speaks of; `status` and `retry_after_s` are what HTTP's own headers said.

    A body that is no Status, as proxies send, becomes the message.
    """
    try:
        said = _STATUS.decode(body)
    except msgspec.DecodeError:
        said = _Status(message=bytes(body)[:_SHOWN].decode(errors="replace").strip())
    code = status or said.code or 500
    reason = said.reason or "Unknown"
    if reason in ("Expired", "Gone"):
        code = 410  # an ERROR event may carry the reason with another code
    if retry_after_s is None and said.details is not None:
        retry_after_s = said.details.retry_after_seconds or None
    named = {404: NotFound, 409: Conflict, 410: Expired, 429: TooManyRequests}
    return named.get(code, ApiError)(code, reason, said.message or "", retry_after_s)
