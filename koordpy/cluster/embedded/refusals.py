"""Refusals: what the embedded cluster does not do, in the words that people know from kubectl."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from koordpy.cluster.embedded.kinds import Resource
from koordpy.cluster.protocol import api_error
from koordpy.errors import ApiError

Problem = tuple[str, str]
"""A field's path, and what is wrong there."""

# Where Kubernetes' reason is not HTTP's phrase without its spaces.
_REASONS: Final[Mapping[int, str]] = {410: "Expired", 422: "Invalid", 500: "InternalError", 504: "Timeout"}


def refused(status: int, message: str, reason: str = "", retry_after_s: float | None = None) -> ApiError:
    said = {"reason": reason or _REASONS.get(status, HTTPStatus(status).phrase.replace(" ", "")), "message": message}
    return api_error(msgspec.json.encode(said), status, retry_after_s)


def conflict(resource: str, name: str, why: str) -> ApiError:
    return refused(409, f'Operation cannot be fulfilled on {resource} "{name}": {why}')


def invalid(resource: Resource, name: str, problems: list[Problem]) -> ApiError:
    told = ", ".join(f"{path}: {what}" for path, what in problems)
    return refused(422, f'{resource.titled} "{name}" is invalid: {f"[{told}]" if len(problems) > 1 else told}')
