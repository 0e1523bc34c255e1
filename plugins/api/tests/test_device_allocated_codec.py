"""The device-allocated annotation: the bytes we write, and what we read of others' bytes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy_api import AnnotationError
from koordpy_api.koordinator import (
    DEVICE_ALLOCATED,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    GPU_MINORS,
    GPU_UUIDS,
    RDMA,
    AllocatedDevice,
    VirtualFunction,
    decode_device_allocated,
    encode_device_allocated,
    encode_gpu_lists,
)

GI = 1024**3

# Koordinator's own example: what its scheduler writes for half a card.
GPU_PART = (
    '{"minor":0,"resources":{"koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory":"40Gi",'
    '"koordinator.sh/gpu-memory-ratio":"50"},"id":"GPU-11aa"}'
)
RDMA_PART = (
    '{"minor":1,"resources":{"koordinator.sh/rdma":"1"},"id":"0000:11:00.0",'
    '"extension":{"vfs":[{"minor":3,"busID":"0000:11:00.4"}]}}'
)
HALF_CARD = AllocatedDevice(0, {GPU_CORE: 50, GPU_MEMORY: 40 * GI, GPU_MEMORY_RATIO: 50}, "GPU-11aa")


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def test_half_a_card_is_written_byte_for_byte_as_koordinator_writes_it() -> None:
    assert encode_device_allocated({"gpu": [HALF_CARD]}) == '{"gpu":[' + GPU_PART + "]}"


def test_koordinators_example_is_read_with_its_virtual_functions() -> None:
    nic = AllocatedDevice(1, {RDMA: 1}, "0000:11:00.0", (VirtualFunction(3, "0000:11:00.4"),))
    text = '{"gpu":[' + GPU_PART + '],"rdma":[' + RDMA_PART + "]}"
    assert decode_device_allocated(text) == {"gpu": (HALF_CARD,), "rdma": (nic,)}


@pytest.mark.parametrize(
    ("device", "text"),
    [
        row(
            "a device without an id has no such key",
            AllocatedDevice(3, {RDMA: 1}),
            '{"minor":3,"resources":{"koordinator.sh/rdma":"1"}}',
        ),
        row(
            "virtual functions stand in an extension, their minor 0 left out",
            AllocatedDevice(1, {RDMA: 1}, "n", (VirtualFunction(3, "b3"), VirtualFunction(0, "b0"))),
            '{"minor":1,"resources":{"koordinator.sh/rdma":"1"},"id":"n",'
            '"extension":{"vfs":[{"minor":3,"busID":"b3"},{"busID":"b0"}]}}',
        ),
        row(
            "a template stands there too",
            AllocatedDevice(2, {}, template="vir04"),
            '{"minor":2,"resources":{},"extension":{"gpuSharedResourceTemplate":"vir04"}}',
        ),
        row("minor zero is written", AllocatedDevice(0, {}), '{"minor":0,"resources":{}}'),
        row(
            "memory is binary where it can be",
            AllocatedDevice(0, {GPU_MEMORY: 1536 * 2**20}),
            '{"minor":0,"resources":{"koordinator.sh/gpu-memory":"1536Mi"}}',
        ),
        row(
            "odd memory is a bare number",
            AllocatedDevice(0, {GPU_MEMORY: 1001}),
            '{"minor":0,"resources":{"koordinator.sh/gpu-memory":"1001"}}',
        ),
        row(
            "a thousand percent is canonical",
            AllocatedDevice(0, {GPU_CORE: 1000}),
            '{"minor":0,"resources":{"koordinator.sh/gpu-core":"1k"}}',
        ),
    ],
)
def test_one_device_is_written_canonically(device: AllocatedDevice, text: str) -> None:
    assert encode_device_allocated({"gpu": [device]}) == '{"gpu":[' + text + "]}"


def test_types_and_resources_are_sorted_and_devices_are_not() -> None:
    later, earlier = AllocatedDevice(5, {GPU_MEMORY_RATIO: 1, GPU_CORE: 2}), AllocatedDevice(2, {})
    assert encode_device_allocated({"rdma": [], "gpu": [later, earlier]}) == (
        '{"gpu":[{"minor":5,"resources":{"koordinator.sh/gpu-core":"2","koordinator.sh/gpu-memory-ratio":"1"}},'
        '{"minor":2,"resources":{}}],"rdma":[]}'
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        row("a null is nothing", "null", {}),
        row("an empty object is nothing", "{}", {}),
        row("a null list is an empty one", '{"gpu":null}', {"gpu": ()}),
        row("null resources are none", '{"gpu":[{"minor":1,"resources":null}]}', {"gpu": (AllocatedDevice(1, {}),)}),
        row(
            "numbers need no quotes",
            '{"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":50}}]}',
            {"gpu": (AllocatedDevice(1, {GPU_CORE: 50}),)},
        ),
        row(
            "space between tokens",
            '{ "gpu" : [ { "resources" : { } , "minor" : 1 } ] }',
            {"gpu": (AllocatedDevice(1, {}),)},
        ),
        row(
            "an old name is read as today's",
            '{"gpu":[{"minor":0,"resources":{"kubernetes.io/gpu-core":"30","kubernetes.io/gpu-memory":"1Gi"}}]}',
            {"gpu": (AllocatedDevice(0, {GPU_CORE: 30, GPU_MEMORY: GI}),)},
        ),
        row(
            "the new name wins over the old one before it",
            '{"gpu":[{"minor":0,"resources":{"kubernetes.io/gpu-core":"30","koordinator.sh/gpu-core":"40"}}]}',
            {"gpu": (AllocatedDevice(0, {GPU_CORE: 40}),)},
        ),
        row(
            "the new name wins over the old one after it",
            '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"40","kubernetes.io/gpu-core":"30"}}]}',
            {"gpu": (AllocatedDevice(0, {GPU_CORE: 40}),)},
        ),
        row(
            "an unknown type and an unknown resource stay",
            '{"xpu":[{"minor":0,"resources":{"acme.io/x":"2"}}]}',
            {"xpu": (AllocatedDevice(0, {"acme.io/x": 2}),)},
        ),
    ],
)
def test_what_others_write_is_read(text: str, read: dict[str, tuple[AllocatedDevice, ...]]) -> None:
    assert decode_device_allocated(text) == read


@pytest.mark.parametrize(
    ("text", "place", "value"),
    [
        row("an empty text", "", "", ""),
        row("no JSON", "gpu: 1", "", "gpu: 1"),
        row("cut off in the middle", '{"gpu":[{"minor":0', "", '{"gpu":[{"minor":0'),
        row("a list", "[]", "", "[]"),
        row("a text", '"gpu"', "", '"gpu"'),
        row("a device that is no object", '{"gpu":[1]}', "", '{"gpu":[1]}'),
        row(
            "a minor that is a text",
            '{"gpu":[{"minor":"0","resources":{}}]}',
            "",
            '{"gpu":[{"minor":"0","resources":{}}]}',
        ),
        row("a minor that is missing", '{"gpu":[{"resources":{}}]}', "", '{"gpu":[{"resources":{}}]}'),
        row(
            "a negative minor",
            '{"gpu":[{"minor":0,"resources":{}},{"minor":-1,"resources":{}}]}',
            ".gpu[1].minor",
            "-1",
        ),
        row(
            "an amount that is no quantity",
            '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"half"}}]}',
            ".gpu[0].resources[koordinator.sh/gpu-core]",
            "half",
        ),
        row(
            "a negative amount",
            '{"rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":"-1"}}]}',
            ".rdma[0].resources[koordinator.sh/rdma]",
            "-1",
        ),
    ],
)
def test_a_corrupt_text_is_refused_with_its_place_and_its_value(text: str, place: str, value: str) -> None:
    with pytest.raises(AnnotationError) as refused:
        decode_device_allocated(text)
    problem = refused.value.problem
    assert (problem.path, problem.value) == (f"metadata.annotations[{DEVICE_ALLOCATED}]{place}", value)
    assert problem.right


def test_a_text_that_is_nested_without_end_is_corrupt() -> None:
    with pytest.raises(AnnotationError):
        decode_device_allocated('{"gpu":[{"minor":0,"x":' + "[" * 5000 + "]" * 5000 + "}]}")


def test_a_long_corrupt_text_is_shown_only_in_part() -> None:
    with pytest.raises(AnnotationError) as refused:
        decode_device_allocated("[" * 100_000)
    assert len(refused.value.problem.value) == 120


devices = st.builds(
    AllocatedDevice,
    minor=st.integers(0, 2**31 - 1),
    resources=st.dictionaries(
        st.sampled_from([GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, RDMA, "acme.io/x"]), st.integers(0, 2**63 - 1)
    ),
    id=st.text(max_size=20),
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=8), st.lists(devices, max_size=4), max_size=3))
def test_what_is_written_reads_back_the_same(allocations: dict[str, list[AllocatedDevice]]) -> None:
    again = decode_device_allocated(encode_device_allocated(allocations))
    assert again == {device_type: tuple(held) for device_type, held in allocations.items()}
    assert encode_device_allocated(again) == encode_device_allocated(allocations)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        decode_device_allocated(text)
    except AnnotationError as error:
        problem = error.problem
    else:
        return
    assert problem.path.startswith("metadata.annotations[")


# ----------------------------------------------------------------- flat lists


def test_minors_and_ids_are_listed_in_one_order_by_ascending_minor() -> None:
    devices = [AllocatedDevice(10, {}, "GPU-a"), AllocatedDevice(2, {}, "GPU-b")]
    assert encode_gpu_lists({"gpu": devices}) == {GPU_MINORS: "2,10", GPU_UUIDS: "GPU-b,GPU-a"}


def test_a_list_of_ids_that_would_miss_a_card_is_empty() -> None:
    devices = [AllocatedDevice(0, {}, "GPU-a"), AllocatedDevice(1, {})]
    assert encode_gpu_lists({"gpu": devices}) == {GPU_MINORS: "0,1", GPU_UUIDS: ""}


def test_who_holds_no_gpu_has_no_lists() -> None:
    assert encode_gpu_lists({"rdma": [AllocatedDevice(0, {RDMA: 1}, "nic")], "gpu": []}) == {}
