"""Whatever a file holds, it is read or refused in words, and never with an exception."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from koordpy.config.manifests import Found, read
from koordpy.config.shapes import misfits
from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy_api.objects import Device, KubeObject, Node, Pod

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
KEYS = st.sampled_from(
    (
        *("apiVersion", "kind", "metadata", "spec", "status", "items", "template", "name", "labels", "annotations"),
        *("containers", "resources", "limits", "devices", "minor", "conditions"),
    )
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
GOOD = [pod_manifest("a"), node_manifest("n"), device_manifest("n", 2)]


def places_in(value: Any, at: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    yield at
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places_in(each, (*at, key))


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A good manifest with something else at one of its places."""
    manifest: Any = json.loads(json.dumps(draw(st.sampled_from(GOOD))))
    place = draw(st.sampled_from([place for place in places_in(manifest) if place]))
    holder = manifest
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = draw(TREES)
    return dict(manifest)


@given(st.text(max_size=60) | st.text("ab:-[]{}&*!<>|'\"#%@` \n\t\r~?,", max_size=60))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    for found in read(text.encode("utf-8", "surrogatepass")):
        assert isinstance(found, Found)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_without_an_exception(raw: bytes) -> None:
    assert all(isinstance(found, Found) for found in read(raw))


@given(damaged())
def test_any_object_is_read_or_refused_in_words(document: dict[str, Any]) -> None:
    for found in read(json.dumps(document).encode()):
        for mistake in found.mistakes:
            assert mistake.problem.right
            assert mistake.line == 1


@given(damaged())
def test_what_has_no_misfit_can_be_decoded(document: dict[str, Any]) -> None:
    kinds: dict[str, type[KubeObject]] = {"Pod": Pod, "Node": Node, "Device": Device}
    shape = kinds.get(document["kind"] if isinstance(document["kind"], str) else "", Pod)
    assume(all(misfit.is_warning for misfit in misfits(document, shape)))
    assert isinstance(msgspec.convert(without_nulls(document), shape), shape)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value if each is not None]
    return value
