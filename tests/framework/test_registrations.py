"""Which events may help a Pod that a plugin refused: registered, checked and kept per profile."""

from typing import Any

import pytest

from koordpy.errors import PluginError
from koordpy.framework.registrations import EVERY_EVENT, Registration
from koordpy_api import ActionType, ClusterEvent, EventRegistration, Handle, NoArgs, QueueingHint
from koordpy_api.objects import Device
from tests.framework.scripted_plugins import plugin, profile, raising

ADD, DELETE, ALL = ActionType.ADD, ActionType.DELETE, ActionType.ALL
LABEL, TAINT = ActionType.UPDATE_NODE_LABEL, ActionType.UPDATE_NODE_TAINT


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def registered(**members: Any) -> list[Registration]:
    return [each for each in profile(A=plugin(**members)).registrations if each.plugin == "A"]


def test_a_plugin_that_registers_nothing_hears_of_everything_usual() -> None:
    assert registered(filter=lambda: None) == [Registration("A", event) for event in EVERY_EVENT]
    assert ClusterEvent("storage.k8s.io/VolumeAttachment", ALL) not in EVERY_EVENT


def test_a_plugin_that_can_refuse_nobody_is_registered_for_nothing() -> None:
    assert registered(score=lambda: 1, pod_added=lambda: None) == []


def test_registrations_keep_their_hints() -> None:
    def hint(pod: object, old: object, new: object) -> QueueingHint:
        return QueueingHint.SKIP

    pods = ClusterEvent("Pod", DELETE)
    assert registered(filter=lambda: None, events_to_register=lambda: [EventRegistration(pods, hint)]) == [
        Registration("A", pods, hint)
    ]


def test_whoever_waits_for_a_new_node_waits_for_the_end_of_its_taint() -> None:
    node = ClusterEvent("Node", ADD | LABEL)
    assert registered(filter=lambda: None, events_to_register=lambda: [EventRegistration(node)]) == [
        Registration("A", node),
        Registration("A", ClusterEvent("Node", TAINT)),
    ]


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        row("raises", raising(ValueError("boom")), "events_to_register raises ValueError: boom"),
        row(
            "answers nothing", lambda: None, "events_to_register answers None; a list of koordpy_api.EventRegistration"
        ),
        row("answers events", lambda: [ClusterEvent("Pod", ADD)], "events_to_register answers [ClusterEvent("),
        row(
            "names a kind that is none",
            lambda: [EventRegistration(ClusterEvent("pods", ADD))],
            "events_to_register names resource 'pods'; it is one of",
        ),
    ],
)
def test_a_hook_that_cannot_be_used_keeps_the_profile_from_starting(hook: Any, text: str) -> None:
    with pytest.raises(PluginError) as refused:
        registered(filter=lambda: None, events_to_register=hook)
    assert str(refused.value).startswith(f'plugin "A": {text}')


def test_a_custom_resource_is_named_with_version_and_group() -> None:
    device = ClusterEvent("devices.v1alpha1.scheduling.koordinator.sh", ADD)
    assert registered(filter=lambda: None, events_to_register=lambda: [EventRegistration(device)])


@pytest.mark.parametrize(
    ("registration", "incoming", "covered"),
    [
        row("everything", ClusterEvent("*", ALL), ClusterEvent("Pod", ADD), True),
        row("the same", ClusterEvent("Node", ADD), ClusterEvent("Node", ADD), True),
        row("another action", ClusterEvent("Node", ADD), ClusterEvent("Node", DELETE), False),
        row("another kind", ClusterEvent("Node", ADD), ClusterEvent("Pod", ADD), False),
        row("one of several actions", ClusterEvent("Node", ADD | LABEL), ClusterEvent("Node", LABEL), True),
        row("any kind, one action", ClusterEvent("*", ADD), ClusterEvent("Node", ADD), True),
        row("Pod stands for assigned ones", ClusterEvent("Pod", DELETE), ClusterEvent("AssignedPod", DELETE), True),
        row("and for waiting ones", ClusterEvent("Pod", ALL), ClusterEvent("UnschedulablePod", ADD), True),
        row("more than was registered", ClusterEvent("Node", LABEL), ClusterEvent("Node", LABEL | TAINT), False),
    ],
)
def test_what_a_registration_covers(registration: ClusterEvent, incoming: ClusterEvent, covered: bool) -> None:
    assert registration.covers(incoming) is covered


def test_events_have_upstreams_names() -> None:
    assert [str(ClusterEvent("Node", action)) for action in (ADD, LABEL)] == ["NodeAdd", "NodeUpdateNodeLabel"]


def test_a_plugin_that_registers_nothing_hears_of_what_its_profile_watches() -> None:
    def construct(self: object, args: NoArgs, handle: Handle) -> None:
        handle.watch(Device, Nobody())

    watching = profile(Watcher=plugin(__init__=construct), A=plugin(filter=lambda: None))
    of_devices = [each for each in watching.registrations if each.event.resource.startswith("devices.")]
    # Not the plugin that watches: it cannot refuse.
    assert of_devices == [Registration("A", ClusterEvent("devices.v1alpha1.scheduling.koordinator.sh", ALL))]


class Nobody:
    def added(self, obj: Device) -> None: ...

    def updated(self, old: Device, new: Device) -> None: ...

    def deleted(self, obj: Device) -> None: ...
