"""Patches and selectors of the embedded cluster; the tables are what a kube-apiserver 1.36 answered."""

from typing import Any

import pytest

from koordpy.cluster.embedded.kinds import CORE_EVENT, RESOURCES, Resource
from koordpy.cluster.embedded.patch import merge, strategic
from koordpy.cluster.embedded.selectors import wanted
from koordpy.cluster.kinds import LEASE
from koordpy.cluster.protocol import Selection
from koordpy.errors import ApiError
from koordpy_api.objects import Kind, Node, Pod


def of(kind: Kind) -> Resource:
    return next(each for each in RESOURCES if each.kind == kind)


def conditions(types: str) -> list[dict[str, Any]]:
    return [{"type": each, "status": "True"} for each in types]


@pytest.mark.parametrize(
    ("there", "patch", "order", "merged"),
    [
        pytest.param("A", "B", None, "BA", id="what is new comes first"),
        pytest.param("AB", "C", None, "CAB", id="what is new comes before all that stay"),
        pytest.param("ABC", "BD", None, "ABDC", id="what stood before ours stays before it"),
        pytest.param("ABC", "CA", None, "BCA", id="ours keep the order of the patch"),
        pytest.param("ABC", "AD", None, "ADBC", id="what is new follows what it follows in the patch"),
        pytest.param("ABCD", "XCYAZ", None, "XBCYAZD", id="both orders are kept"),
        pytest.param("AB", "CD", "CDAB", "CDAB", id="an order of all elements is taken"),
        pytest.param("AB", "C", "ACB", "ACB", id="an order may put ours in between"),
        pytest.param("AB", "C", "C", "CAB", id="an order of some leaves the others where they stood"),
    ],
)
def test_a_strategic_patch_orders_a_list_as_the_real_server_does(
    there: str, patch: str, order: str | None, merged: str
) -> None:
    body: dict[str, Any] = {"conditions": conditions(patch)}
    if order is not None:
        body["$setElementOrder/conditions"] = [{"type": each} for each in order]
    found = strategic({"conditions": conditions(there)}, body)
    assert "".join(each["type"] for each in found["conditions"]) == merged


def test_a_strategic_patch_deletes_replaces_and_merges() -> None:
    there = {"conditions": conditions("AB"), "labels": {"a": "1", "b": "2"}, "taints": [{"key": "k"}]}
    assert strategic(there, {"conditions": [{"type": "A", "$patch": "delete"}]})["conditions"] == conditions("B")
    replaced = strategic(there, {"conditions": [{"$patch": "replace"}, *conditions("C")]})
    assert replaced["conditions"] == conditions("C")
    assert strategic(there, {"labels": {"$patch": "replace", "c": "3"}})["labels"] == {"c": "3"}
    assert strategic(there, {"labels": {"a": None}})["labels"] == {"b": "2"}
    assert strategic(there, {"taints": [{"key": "l"}]})["taints"] == [{"key": "l"}]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param({"conditions": [{"status": "True"}]}, "does not contain declared merge key: type", id="no key"),
        pytest.param({"labels": {"$patch": "foo"}}, "unknown patch type: foo", id="an unknown type"),
        pytest.param({"$retainKeys": ["a"]}, "write the field itself", id="retainKeys"),
        pytest.param({"$setElementOrder/finalizers": ["a"]}, "write the field itself", id="an order of bare values"),
        pytest.param(
            {"$deleteFromPrimitiveList/finalizers": ["a"]}, "write the field itself", id="a list of deletions"
        ),
    ],
)
def test_what_a_strategic_patch_cannot_do_is_refused(body: dict[str, Any], said: str) -> None:
    with pytest.raises(ApiError, match=said):
        strategic({"conditions": conditions("A"), "labels": {}}, body)


def test_a_merge_patch_replaces_lists_and_leaves_what_was_there_unchanged() -> None:
    there = {"a": {"b": [1], "c": 2}, "d": 3}
    assert merge(there, {"a": {"b": [4], "c": None}, "e": {"f": None, "g": 5}}) == {
        "a": {"b": [4]},
        "d": 3,
        "e": {"g": 5},
    }
    assert there == {"a": {"b": [1], "c": 2}, "d": 3}


LABELS = {"a": "b", "n": "7", "x.y/z": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        *[
            (text, True)
            for text in ("a", "!q", "a=b", "a==b", "a!=c", "q!=b", "a in (c,b)", "a notin (c)", "q notin (b)")
        ],
        *[
            (text, True)
            for text in ("n>6", "n<8", "x.y/z=", "x.y/z in (,b)", " a = b , n ", "! q", "a in (in, b)", "q!=")
        ],
        *[
            (text, False)
            for text in ("q", "!a", "a=c", "a!=b", "a in ()", "a notin (b,c)", "n>7", "a>5", "q<1", "a=", "in")
        ],
        *[(text, False) for text in ("a=in", "notin in (in)", "a,q", "q=")],
    ],
    ids=lambda value: str(value),
)
def test_a_label_selector_takes_what_it_says(text: str, matches: bool) -> None:
    question = wanted(of(Pod.KIND), Selection(labels=text))
    assert question is not None and question({"metadata": {"labels": LABELS}}) == matches


REFUSED_LABELS = (
    *("a===", "a in (b", "a<x", "a=b c", "a,,b", ",", "a=b,", "a b", "(", "a in b", "-a=b", "a=-b", "a/b/c=d", "a!b"),
    *("!a=b", "=b", "a not in (b)", "a=b=c", "A/b=c", "a=b)", f"a={'x' * 64}", "é=b"),
)


@pytest.mark.parametrize("text", REFUSED_LABELS)
def test_a_label_selector_that_the_real_server_refuses_is_refused(text: str) -> None:
    with pytest.raises(ApiError) as caught:
        wanted(of(Pod.KIND), Selection(labels=text))
    assert (caught.value.status, caught.value.reason) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("kind", "text", "matches"),
    [
        (Pod.KIND, "spec.nodeName=", False),
        (Pod.KIND, "spec.nodeName==n,status.phase!=Failed", True),
        (Pod.KIND, r"metadata.name=a\,b", False),
        (Node.KIND, "metadata.name!=a", False),
        (CORE_EVENT, "involvedObject.name=,reason=Pulled", True),
    ],
    ids=lambda value: value.name if isinstance(value, Kind) else str(value),
)
def test_a_field_selector_takes_what_it_says(kind: Kind, text: str, matches: bool) -> None:
    document = {"metadata": {"name": "a"}, "spec": {"nodeName": "n"}, "status": {}, "reason": "Pulled"}
    question = wanted(of(kind), Selection(fields=text))
    assert question is not None and question(document) == matches


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Pod.KIND, "spec.foo=x"),
        (Pod.KIND, "spec.nodeName"),
        (Pod.KIND, "status.phase in (a)"),
        (Pod.KIND, "=x"),
        (Node.KIND, "metadata.namespace=x"),
        (LEASE, "spec.holderIdentity=x"),
    ],
    ids=lambda value: value.name if isinstance(value, Kind) else str(value),
)
def test_a_field_selector_that_the_real_server_refuses_is_refused(kind: Kind, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        wanted(of(kind), Selection(fields=text))
    assert (caught.value.status, caught.value.reason) == (400, "BadRequest")
