"""What an informer's handlers are told, and what its store holds."""

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Any

import pytest

from koordpy.cluster.informer import Informer
from koordpy.cluster.protocol import ListPage
from koordpy.errors import Expired
from koordpy.virtual_time import run
from koordpy_api.objects import KubeObject, Pod
from tests.cluster.scripted import Diary, Reports, ScriptedCluster, Step, event, page, pod

SILENCE: Sequence[Step] = [1e9]
UNREADABLE: dict[str, Any] = {"spec": {"priority": "high"}}
EXPIRY = Expired(410, "Expired", "too old")


class Follow:
    """An informer that has followed what the API server said for some seconds."""

    def __init__(
        self, lists: Sequence[ListPage], watches: Sequence[Sequence[Step] | Exception], *handlers: Diary
    ) -> None:
        self.diary = Diary()
        self.reports = Reports()
        cluster = ScriptedCluster(lists, [*watches, SILENCE])

        async def main() -> None:
            self.informer = Informer(cluster, Pod, self.reports, random.Random(1))
            for handler in (*handlers, self.diary):
                self.informer.add_handler(handler)
            task = asyncio.create_task(self.informer.run())
            await asyncio.sleep(10)
            assert not task.done()
            task.cancel()

        run(main())


def test_an_added_of_something_known_is_an_update() -> None:
    follow = Follow([page([pod("a", "1")], "1")], [[event("ADDED", pod("a", "2"))]])
    assert follow.diary.lines == ["added default/a@1", "updated default/a@1 to default/a@2"]


def test_a_modified_of_something_unknown_is_an_addition() -> None:
    follow = Follow([page([], "1")], [[event("MODIFIED", pod("a", "2"))]])
    assert follow.diary.lines == ["added default/a@2"]


def test_a_deletion_of_something_unknown_is_ignored() -> None:
    follow = Follow([page([], "1")], [[event("DELETED", pod("a", "2"))]])
    assert follow.diary.lines == []


def test_a_known_name_with_another_uid_is_another_object() -> None:
    follow = Follow([page([pod("a", "1")], "1")], [[event("MODIFIED", pod("a", "2", uid="second"))]])
    assert follow.diary.lines == ["added default/a@1", "deleted default/a@1", "added default/a@2"]
    assert follow.informer.objects["default/a"].uid == "second"


def test_the_same_version_twice_is_told_once() -> None:
    follow = Follow([page([pod("a", "1")], "1")], [[event("ADDED", pod("a", "1"))]])
    assert follow.diary.lines == ["added default/a@1"]


def test_an_older_version_does_not_overwrite_a_newer_one_unless_a_list_says_so() -> None:
    stale = [event("ADDED", pod("a", "12")), event("ADDED", pod("a", "9")), event("MODIFIED", pod("b", "13"))]
    follow = Follow([page([pod("a", "10")], "10")], [stale])
    assert follow.diary.lines == ["added default/a@10", "updated default/a@10 to default/a@12", "added default/b@13"]
    restored = Follow([page([pod("a", "10")], "10"), page([pod("a", "3")], "4")], [EXPIRY])
    assert restored.diary.lines == ["added default/a@10", "updated default/a@10 to default/a@3"]


def test_the_store_holds_what_exists() -> None:
    follow = Follow(
        [page([pod("a", "1"), pod("b", "2")], "2")], [[event("DELETED", pod("a", "3")), event("ADDED", pod("c", "4"))]]
    )
    assert sorted(follow.informer.objects) == ["default/b", "default/c"]
    assert follow.informer.get("default/a") is None
    found = follow.informer.get("default/b")
    assert found is not None
    assert found.metadata.name == "b"


def test_synced_is_set_when_every_handler_knows_the_first_list() -> None:
    diary = Diary()

    async def main() -> None:
        cluster = ScriptedCluster([page([pod("a", "1")], "7", token="more"), page([pod("b", "1")], "7")])
        informer = Informer(cluster, Pod, Reports(), random.Random(1))
        informer.add_handler(diary)
        assert not informer.synced.is_set()
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        assert diary.lines == ["added default/a@1", "added default/b@1"]
        task.cancel()

    run(main())


def test_a_handler_that_comes_late_is_refused() -> None:
    async def main() -> None:
        informer = Informer(ScriptedCluster(), Pod, Reports(), random.Random(1))
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        with pytest.raises(RuntimeError, match="runs already"):
            informer.add_handler(Diary())
        task.cancel()

    run(main())


def test_an_update_that_cannot_be_read_leaves_the_last_good_version() -> None:
    bad = pod("a", "2", **UNREADABLE)
    follow = Follow([page([pod("a", "1")], "1")], [[event("MODIFIED", bad), event("MODIFIED", bad)]])
    assert follow.diary.lines == ["added default/a@1"]
    assert follow.informer.objects["default/a"].metadata.resource_version == "1"
    assert follow.reports.places == [("default/a", "spec.priority")]


def test_an_unreadable_object_does_not_stop_what_comes_after_it() -> None:
    follow = Follow(
        [page([pod("bad", "1", **UNREADABLE), pod("a", "2")], "2")],
        [[event("ADDED", pod("worse", "3", metadata=[])), event("ADDED", pod("b", "4"))]],
    )
    assert follow.diary.lines == ["added default/a@2", "added default/b@4"]


def test_an_unreadable_item_of_a_new_list_still_exists() -> None:
    follow = Follow(
        [page([pod("a", "1"), pod("b", "1")], "1"), page([pod("a", "2", **UNREADABLE)], "5")],
        [EXPIRY],
    )
    assert follow.diary.lines == ["added default/a@1", "added default/b@1", "deleted default/b@1"]


def test_an_object_whose_name_is_anothers_now_is_gone_before_anything_of_a_new_list_comes() -> None:
    follow = Follow(
        [page([pod("b", "1", uid="old")], "1"), page([pod("a", "4"), pod("b", "3", uid="new")], "5")],
        [EXPIRY],
    )
    assert follow.diary.lines == ["added default/b@1", "deleted default/b@1", "added default/a@4", "added default/b@3"]


def test_an_unreadable_object_that_is_deleted_is_gone() -> None:
    follow = Follow([page([pod("a", "1")], "1")], [[event("DELETED", pod("a", "2", **UNREADABLE))]])
    assert follow.diary.lines == ["added default/a@1", "deleted default/a@1"]


def test_an_unreadable_successor_does_not_keep_its_predecessor_alive() -> None:
    follow = Follow([page([pod("a", "1")], "1")], [[event("ADDED", pod("a", "2", uid="second", **UNREADABLE))]])
    assert follow.diary.lines == ["added default/a@1", "deleted default/a@1"]


def test_an_unreadable_object_that_becomes_readable_is_added() -> None:
    follow = Follow([page([pod("a", "1", **UNREADABLE)], "1")], [[event("MODIFIED", pod("a", "2"))]])
    assert follow.diary.lines == ["added default/a@2"]


class Raising(Diary):
    def added(self, obj: KubeObject) -> None:
        raise KeyError(obj.key)

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        raise KeyError(new.key)


class Quitting(Raising):
    """Raises what is no Exception."""

    def added(self, obj: KubeObject) -> None:
        raise SystemExit(obj.key)

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        raise asyncio.CancelledError(new.key)


def test_a_handler_that_wants_to_end_everything_ends_nothing() -> None:
    changed = event("MODIFIED", pod("a", "2"))
    follow = Follow([page([pod("a", "1")], "1")], [[changed]], Quitting())
    assert follow.diary.lines == ["added default/a@1", "updated default/a@1 to default/a@2"]
    assert follow.informer.handler_failures == 2


def test_a_handler_that_raises_stops_neither_the_watch_nor_the_next_handler(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="koordpy.cluster"):
        follow = Follow(
            [page([pod("a", "1"), pod("b", "1")], "1")],
            [[event("MODIFIED", pod("a", "2")), event("MODIFIED", pod("b", "3"))]],
            Raising(),
        )
    assert follow.diary.lines == [
        "added default/a@1",
        "added default/b@1",
        "updated default/a@1 to default/a@2",
        "updated default/b@1 to default/b@3",
    ]
    assert follow.informer.handler_failures == 4
    assert [bool(record.exc_info) for record in caplog.records] == [True, True], "each place once, with its traceback"
