"""CycleState: one attempt's notes, under typed keys."""

import pytest

from koordpy_api import CycleState, StateKey, share

NAMES = StateKey[list[str]]("Names", clone=list.copy)
LIMIT = StateKey[int]("Limit", clone=share)


def test_a_plugin_reads_back_what_it_wrote() -> None:
    state = CycleState()
    state.write(LIMIT, 7)
    assert (state.read(LIMIT), state.get(LIMIT)) == (7, 7)


def test_the_last_writing_counts() -> None:
    state = CycleState()
    state.write(LIMIT, 7)
    state.write(LIMIT, 8)
    assert state.read(LIMIT) == 8


def test_reading_what_nobody_wrote_is_an_error_that_names_the_key() -> None:
    with pytest.raises(KeyError, match="nothing was written under 'Names' in this attempt"):
        CycleState().read(NAMES)


def test_asking_for_what_nobody_wrote_answers_none() -> None:
    assert CycleState().get(NAMES) is None


def test_what_was_deleted_is_gone_and_may_be_deleted_again() -> None:
    state = CycleState()
    state.write(LIMIT, 7)
    state.delete(LIMIT)
    state.delete(LIMIT)
    assert state.get(LIMIT) is None


def test_keys_of_two_plugins_do_not_mix() -> None:
    state = CycleState()
    state.write(LIMIT, 7)
    assert state.get(StateKey[int]("Other", clone=share)) is None


def test_a_clone_may_change_without_the_original() -> None:
    state = CycleState()
    state.write(NAMES, ["a"])
    clone = state.clone()
    clone.read(NAMES).append("b")
    clone.write(LIMIT, 1)
    assert (state.read(NAMES), state.get(LIMIT)) == (["a"], None)
    assert clone.read(NAMES) == ["a", "b"]


def test_a_frozen_value_is_shared_with_the_clone() -> None:
    state = CycleState()
    frozen = StateKey[frozenset[str]]("Frozen", clone=share)
    state.write(frozen, frozenset({"a"}))
    assert state.clone().read(frozen) is state.read(frozen)
