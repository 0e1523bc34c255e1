"""Objects that people write: what is read, and what is said of each mistake."""

import json
import re
from typing import Any

import pytest

from koordpy.config.manifests import Found, read
from koordpy.config.places import location_of, path_of
from koordpy.config.yaml_stream import read_stream
from koordpy_api.objects import Pod

POD = """apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  containers:
    - name: main
"""


def told(text: str | bytes) -> list[tuple[int, str, str]]:
    """(line, path, what would be right) of every mistake."""
    found = read(text.encode() if isinstance(text, str) else text)
    return [(each.line, each.problem.path, each.problem.right) for one in found for each in one.mistakes]


def only(text: str) -> Found:
    (found,) = read(text.encode())
    assert not found.mistakes
    return found


# -- what is read ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "version", "place"),
    [
        ("Deployment", "apps/v1", ("spec", "template")),
        ("StatefulSet", "apps/v1", ("spec", "template")),
        ("DaemonSet", "apps/v1", ("spec", "template")),
        ("ReplicaSet", "apps/v1", ("spec", "template")),
        ("Job", "batch/v1", ("spec", "template")),
        ("CronJob", "batch/v1", ("spec", "jobTemplate", "spec", "template")),
        ("ReplicationController", "v1", ("spec", "template")),
        ("PodTemplate", "v1", ("template",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_pod_of_a_workload_is_called_as_the_workload(kind: str, version: str, place: tuple[str, ...]) -> None:
    manifest: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main"}]}}
    for key in reversed(place):
        manifest = {key: manifest}
    manifest |= {"apiVersion": version, "kind": kind, "metadata": {"name": "w", "namespace": "ns"}}
    found = only(json.dumps(manifest))
    assert isinstance(found.obj, Pod)
    assert (found.about, found.obj.key, found.at) == (f"{kind} ns/w", "ns/w", place)
    assert found.obj.metadata.labels == {"a": "b"}


def test_several_documents_and_lists_are_read_in_order() -> None:
    listed = f"---\n# nothing\n---\n{POD}---\nkind: PodList\napiVersion: v1\nitems:\n- metadata: {{name: b}}\n"
    text = f"{listed}  spec: {{containers: [{{name: main}}]}}\n"
    assert [found.about for found in read(text.encode())] == ["Pod default/a", "Pod default/b"]


def test_anchors_and_merge_keys_mean_what_they_mean_to_kubectl() -> None:
    text = POD.replace(
        "  name: a\n", "  name: a\n  labels: &same {app: x}\n  annotations: {<<: *same, tier: web, app: z}\n"
    )
    pod = only(text).obj
    assert isinstance(pod, Pod)
    assert pod.metadata.annotations == {"app": "z", "tier": "web"}


def test_nulls_mean_absent_and_unknown_fields_are_nobodys_business() -> None:
    text = POD.replace("  name: a\n", "  name: a\n  labels: null\n  managedFields: [{manager: kubectl}]\n")
    pod = only(f"{text}  initContainers: null\n  volumes: [{{name: x}}]\nstatus: {{conditions: null}}\n").obj
    assert isinstance(pod, Pod)
    assert (pod.metadata.labels, pod.spec.init_containers) == ({}, [])


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n",
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: x}\n",
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: x}\n",
        "apiVersion: example.test/v1\nkind: AllowList\nmetadata: {name: x}\n",
    ],
    ids=["a Service", "Volcano's Job", "a DeviceClass", "a kind that ends in List"],
)
def test_kinds_of_others_are_named_and_left_alone(text: str) -> None:
    found = only(text)
    assert (found.obj, found.note) == (None, "nobody here reads this kind")


def test_what_is_right_of_an_object_with_mistakes_is_kept() -> None:
    (found,) = read(POD.replace("  name: a\n", "  name: a\n  annotations: {n: 1, t: x}\n").encode())
    assert len(found.mistakes) == 1
    assert isinstance(found.obj, Pod)
    assert found.obj.metadata.annotations == {"t": "x"}


# -- what is said ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("8GB", "write 8G"),
        ("8Gib", "write 8Gi"),
        ("8gi", "write 8Gi"),
        ("64K", "write 64k"),
        ('"1,5"', "write 1.5"),
        ('"1,000Mi"', "write 1000Mi"),
        ("8 Gi", "write 8Gi"),
        ("two", "quantities look like 2, 500m, 1.5, 16Gi or 1e3"),
        ("true", "quantities look like 2, 500m, 1.5, 16Gi or 1e3"),
        ("[1]", "quantities look like 2, 500m, 1.5, 16Gi or 1e3"),
    ],
)
def test_what_is_no_quantity_is_told_the_one_that_was_meant(written: str, right: str) -> None:
    mistakes = told(f"{POD}      resources:\n        limits:\n          memory: {written}\n")
    assert mistakes == [(10, "spec.containers[0].resources.limits.memory", f"must be a quantity; {right}")]


def test_a_negative_amount_is_a_mistake() -> None:
    ((_, path, right),) = told(f"{POD}      resources: {{requests: {{cpu: -1}}}}\n")
    assert (path, right) == ("spec.containers[0].resources.requests.cpu", "must be >= 0")


@pytest.mark.parametrize("written", ["1", "true", "1.50", "1e3", "0x10", "yes", "y", "12345e7"])
def test_an_annotation_that_is_no_text_is_told_to_be_quoted_as_it_stands(written: str) -> None:
    text = POD.replace("  name: a\n", f"  name: a\n  annotations:\n    example.test/x: {written}\n")
    assert told(text) == [(6, 'metadata.annotations["example.test/x"]', f'must be a text; quote it: "{written}"')]


@pytest.mark.parametrize("written", ["2026-05-04", "2026-05-04T08:00:00Z", "12:30:45", "nothing", "0b2", "1_a"])
def test_words_that_kubectl_takes_for_texts_are_texts(written: str) -> None:
    pod = only(POD.replace("  name: a\n", f"  name: a\n  annotations: {{x: {written}}}\n")).obj
    assert isinstance(pod, Pod)
    assert pod.metadata.annotations == {"x": written}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (POD.replace("  name: a\n", "  namespace: b\n"), (3, "metadata.name", "required: what this object is called")),
        (POD.replace("  name: a\n", "  name: 7\n"), (4, "metadata.name", 'must be a text; quote it: "7"')),
        (f"{POD}  priority: '5'\n", (8, "spec.priority", "must be a whole number; take the quotes away: 5")),
        (f"{POD}  priority: 1.5\n", (8, "spec.priority", "must be a whole number")),
        (POD.replace("- name", "  name"), (6, "spec.containers", "must be a list: a dash before each entry")),
        (POD.replace("name: main", "main"), (7, "spec.containers[0]", "must be a mapping, with keys such as name, ")),
        (POD.replace("name: main", "image: x"), (7, "spec.containers[0].name", "required: every container has a name")),
        (
            POD.replace("containers:", "container:"),
            (5, "spec.containers", "required: a Pod has at least one container"),
        ),
        (POD.replace("kind: Pod", "kind: pod"), (2, "kind", "must be Pod")),
        (POD.replace("kind: Pod", "kind: Pods"), (2, "kind", "must be Pod")),
        (POD.replace("kind: Pod\n", ""), (1, "kind", "required: what this is, such as Pod")),
        (POD.replace("apiVersion: v1", "apiVersion: apps/v1"), (1, "apiVersion", "must be v1, of a Pod")),
        (POD.replace("apiVersion: v1\n", ""), (1, "apiVersion", "required: v1, of a Pod")),
        (
            "apiVersion: scheduling.koordinator.sh/v1beta1\nkind: Device\nmetadata: {name: x}\n",
            (1, "apiVersion", "must be scheduling.koordinator.sh/v1alpha1, of a Device"),
        ),
        (
            "apiVersion: v1\nkind: Deployment\nmetadata: {name: x}\n"
            "spec: {template: {spec: {containers: [{name: a}]}}}\n",
            (1, "apiVersion", "must be apps/v1, of a Deployment"),
        ),
        (
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 2}\n",
            (4, "spec.template", "required: the Pods to make"),
        ),
        (
            "apiVersion: v1\nkind: List\nitems: {a: b}\n",
            (3, "items", "must be a list: a dash before each entry"),
        ),
        (
            "apiVersion: v1\nkind: List\nitems: [x]\n",
            (3, "items[0]", "must be a mapping with apiVersion, kind and metadata"),
        ),
    ],
    ids=[
        *("no name", "a name that is a number", "a quoted number", "half a number", "no dash", "a word for a mapping"),
        *("a container without a name", "no containers", "kind in lower case", "kind in plural", "no kind"),
        *("another kind's apiVersion", "no apiVersion", "a version that is not read", "no group", "no template"),
        *("items that are no list", "an item that is no object"),
    ],
)
def test_each_mistake_is_told_with_its_line(text: str, expected: tuple[int, str, str]) -> None:
    ((line, path, right),) = told(text)
    assert (line, path) == expected[:2]
    assert right.startswith(expected[2])


def test_mistakes_of_an_item_carry_its_place_in_the_list() -> None:
    items = "".join(f"  {line}\n" if line else "" for line in POD.splitlines()).replace("  apiV", "- apiV")
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}{items.replace('name: a', 'name: 7')}"
    assert told(text) == [(14, "items[1].metadata.name", 'must be a text; quote it: "7"')]


# -- the YAML itself ---------------------------------------------------------------------------------------------------

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "line", "right"),
    [
        ("", 1, "there is no object in it"),
        ("# only a comment\n---\n", 1, "there is no object in it"),
        (POD.replace("  name", "\tname"), 4, "no YAML: a tab; YAML is indented with spaces"),
        ("a: b: c\n", 1, "no YAML: mapping values are not allowed in this context"),
        (b"a: 1\nname: caf\xe9\n", 2, "no text in UTF-8: byte 0xe9 stands where a character should"),
        (BOMB, 1, "aliases of aliases that mean too many values"),
        ("a: &a [*a]\n", 1, "nested too deeply, or an anchor that contains itself"),
        ("[" * 100_000, 1, "no YAML: exceeded maximum nesting depth"),
        ("just words\n", 1, "must be a mapping with apiVersion, kind and metadata"),
    ],
    ids=[
        *("an empty file", "comments only", "a tab", "two colons", "Latin-1", "an alias bomb", "an endless anchor"),
        *("a hundred thousand brackets", "no mapping"),
    ],
)
def test_a_document_that_cannot_be_read_says_why_and_where(text: str | bytes, line: int, right: str) -> None:
    assert told(text) == [(line, "document", right)]


def test_a_key_that_stands_twice_is_told_with_both_lines() -> None:
    text = POD.replace("  name: a\n", "  name: a\n  labels: {x: a}\n  name: b\n")
    assert told(text) == [(6, "metadata.name", "this key stands here twice, first on line 4")]


def test_a_document_that_is_no_yaml_does_not_hide_the_others() -> None:
    text = f"a: b: c\n---\n{POD}---\n{POD.replace('name: a', 'name: 7')}"
    assert [(line, path) for line, path, _ in told(text)] == [(1, "document"), (14, "metadata.name")]


AS_GO_READS_IT = """
y → true, n → false, Y → true, on → true, off → false, TRUE → true, tRUE → "tRUE", nulL → "nulL", ~ → null, Null → null
010 → 8, 0o10 → 8, 08 → 8, -08 → -8, 0b11 → 3, 0b2 → "0b2", 0x1F → 31, -0x10 → -16, 0x → "0x", 0b_1 → 1, 0_7 → 7
1_000 → 1000, 1__0 → 10, _1 → "_1", 1_a → "1_a", +5 → 5, + → "+", 1_0.5 → 10.5, .5 → 0.5, 5. → 5, . → ".", 1e → "1e"
1e3 → 1000, 1.5e3 → 1500, 12345e7 → 123450000000, 12345678901234567890 → 12345678901234567890, 0.1m → "0.1m"
2026-05-04 → "2026-05-04", 2026-05-04T08:00:00Z → "2026-05-04T08:00:00Z", 12:30 → "12:30", 12:30:45 → "12:30:45"
= → "=", << → "<<", !!str 5 → "5", {1: x} → {"1": "x"}, {1.5: x} → {"1.5": "x"}, {on: x} → {"true": "x"}
"""
"""What sigs.k8s.io/yaml 1.6.0, kubectl's reader, made of each word when it was asked, as JSON."""
WORDS = [tuple(pair.split(" → ")) for pair in re.split(r",\s|\n", AS_GO_READS_IT.strip())]


@pytest.mark.parametrize(("word", "value"), WORDS, ids=[word for word, _ in WORDS])
def test_a_word_is_read_as_kubernetes_reads_it(word: str, value: str) -> None:
    (document,) = read_stream(f"v: {word}\n")
    assert document.value == {"v": json.loads(value)}


@pytest.mark.parametrize(
    "path",
    ["metadata.name", "items[0].spec.containers[12].name", 'metadata.annotations["a.b/c"]', 'a["x\\"y"].b', '["0"]'],
)
def test_a_path_and_its_location_are_the_same_thing(path: str) -> None:
    assert path_of(location_of(path)) == path
