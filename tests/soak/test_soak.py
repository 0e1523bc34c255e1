"""A quarter of a minute of the soak; `make soak` plays ten."""

from tests.soak.soak import Plan, play


def test_a_short_soak_is_clean() -> None:
    clean, told = play(Plan(minutes=0.25, seed=7))
    print(f"\n{told}")
    assert clean, told
