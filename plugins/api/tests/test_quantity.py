"""Kubernetes quantities: what is read, how it is rounded and cut, and how it is written again."""

from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from koordpy_api import QuantityError
from koordpy_api.quantity import (
    MAX_VALUE,
    NANO,
    Quantity,
    RawQuantity,
    format_binary,
    format_decimal,
    milli_value_of,
    parse_quantity,
    value_of,
)

SUFFIXES = {
    **{name: Fraction(1, 1000**power) for power, name in enumerate(["", "m", "u", "n"])},
    **{name: Fraction(1000**power) for power, name in enumerate("kMGTPE", 1)},
    **{f"{name}i": Fraction(1024**power) for power, name in enumerate("KMGTPE", 1)},
}


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


@pytest.mark.parametrize("suffix", [pytest.param(name, id=name or "none") for name in SUFFIXES])
def test_every_suffix_multiplies_by_its_power(suffix: str) -> None:
    assert Fraction(parse_quantity(f"3{suffix}").nanos, NANO) == 3 * SUFFIXES[suffix]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        row("a bare integer of JSON", 2, 2),
        row("a bare number of JSON with a fraction is rounded up", 1.5, 2),
        row("a bare float that Python writes with an exponent", 1e16, 10**16),
        row("a zero", "0", 0),
        row("a negative zero is zero", "-0", 0),
        row("a plus sign says nothing", "+5", 5),
        row("a minus sign", "-5", -5),
        row("digits before the point only", "5.", 5),
        row("digits after the point only", ".5k", 500),
        row("leading zeros", "007", 7),
        row("a small e is an exponent", "1e3", 1000),
        row("a large E followed by digits is an exponent", "1E3", 1000),
        row("a large E alone is exa", "1E", 10**18),
        row("Ei is exbi", "1Ei", 2**60),
        row("an exponent may carry a plus", "1e+3", 1000),
        row("an exponent may carry a minus", "5000e-3", 5),
        row("a fraction of a binary unit is exact", "0.5Gi", 2**29),
        row("a tenth is a tenth", "0.1k", 100),
        row("a thousandth is rounded up to one", "1m", 1),
        row("a negative fraction is rounded away from zero", "-100m", -1),
    ],
)
def test_the_value_is_exact_and_rounded_away_from_zero(raw: RawQuantity, value: int) -> None:
    assert value_of(raw) == value


@pytest.mark.parametrize(
    ("raw", "milli"),
    [
        row("half a CPU", "500m", 500),
        row("a fraction of a milli is rounded up", "0.1m", 1),
        row("one nano is rounded up", "1n", 1),
        row("one and a half", 1.5, 1500),
        row("minus one nano is rounded away from zero", "-1n", -1),
    ],
)
def test_the_milli_value_is_rounded_away_from_zero(raw: RawQuantity, milli: int) -> None:
    assert milli_value_of(raw) == milli


@pytest.mark.parametrize(
    "raw",
    [
        row("one more than the maximum", str(2**63)),
        row("ten exa", "10E"),
        row("sixteen exbi", "16Ei"),
        row("an absurd exponent", "1e999999"),
        row("an exponent of a hundred digits", "1e" + "9" * 100),
        row("a float of JSON", 1e300),
        row("an integer of JSON", 10**30),
    ],
)
def test_what_is_larger_than_the_maximum_is_cut_to_it(raw: RawQuantity) -> None:
    assert value_of(raw) == MAX_VALUE == 2**63 - 1


def test_what_is_smaller_than_the_minimum_is_cut_to_it() -> None:
    assert value_of("-1e30") == -MAX_VALUE


@pytest.mark.parametrize("text", ["0.1n", "1e-10", "1e-999999", "0." + "0" * 500 + "1", "0.0000000000001Ki"])
def test_what_is_finer_than_a_nano_is_rounded_up_to_one(text: str) -> None:
    assert parse_quantity(text).nanos == 1


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        row("decimal amounts take the largest suffix that leaves no fraction", "1000000", "1M"),
        row("a decimal that no suffix divides stays", "1001", "1001"),
        row("a fraction becomes the next smaller unit", "1.5", "1500m"),
        row("a fraction of a kilo becomes whole", "0.5k", "500"),
        row("a micro", "0.000001", "1u"),
        row("a nano", "0.000000001", "1n"),
        row("binary amounts take the largest binary suffix", "1024Mi", "1Gi"),
        row("a binary amount that no suffix divides stays in its unit", "1536Mi", "1536Mi"),
        row("a binary fraction becomes whole", "1.5Gi", "1536Mi"),
        row("a binary amount below 1024 is written as a decimal", "0.5Ki", "512"),
        row("a binary amount that is no whole number is written as a decimal", "1.0001Ki", "1024102400u"),
        row("an exponent stays an exponent", "1000e0", "1e3"),
        row("an exponent is brought to a multiple of three", "1e4", "10e3"),
        row("a negative exponent too", "1e-4", "100e-6"),
        row("an exponent of nothing is left out", "5e0", "5"),
        row("zero has no suffix", "0Gi", "0"),
        row("a negative amount", "-2000", "-2k"),
        row("a negative binary amount", "-2048Mi", "-2Gi"),
        row("a plus is not written", "+1Ki", "1Ki"),
    ],
)
def test_the_canonical_text_is_upstreams(raw: RawQuantity, text: str) -> None:
    assert str(parse_quantity(raw)) == text


@pytest.mark.parametrize(
    "raw",
    [
        row("an empty text", ""),
        row("a lone point", "."),
        row("a lone sign", "-"),
        row("a lone suffix", "Gi"),
        row("a leading space", " 1"),
        row("a trailing space", "1 "),
        row("a trailing newline", "1\n"),
        row("a space before the unit", "1 Gi"),
        row("an underscore", "1_0"),
        row("a comma", "1,5"),
        row("full-width digits", "\uff11\uff12"),
        row("Arabic digits", "\u0663"),
        row("two points", "1.2.3"),
        row("two signs", "--1"),
        row("a sign in the middle", "1-"),
        row("NaN", "NaN"),
        row("a float that is no number", float("nan")),
        row("a float without end", float("inf")),
        row("infinity", "inf"),
        row("hexadecimal", "0x10"),
        row("an exponent without digits", "1e"),
        row("an exponent with a sign only", "1e+"),
        row("an exponent with a fraction", "1e1.5"),
        row("an exponent and a suffix", "1e3Ki"),
        row("a small k with an i", "1ki"),
        row("a unit of bytes", "1Kib"),
        row("a large B", "1GB"),
        row("a large K", "1K"),
        row("a milli with an i", "1mi"),
        row("a true", True),
        row("a false", False),
        row("a text longer than any amount", "1" * 2000),
    ],
)
def test_what_is_no_quantity_is_refused(raw: RawQuantity) -> None:
    with pytest.raises(QuantityError, match="is not a quantity; quantities look like"):
        parse_quantity(raw)


@pytest.mark.parametrize(("number", "boolean"), [(1, True), (1.0, True), (0.0, False)])
def test_a_boolean_is_refused_although_an_equal_number_was_read_before(number: RawQuantity, boolean: bool) -> None:
    parse_quantity(number)
    with pytest.raises(QuantityError):
        parse_quantity(boolean)


def test_equal_numbers_of_two_types_keep_the_form_in_which_each_was_written() -> None:
    assert parse_quantity(10.0**20).form == "DecimalExponent"
    assert parse_quantity(10**20).form == "DecimalSI"


def test_a_refusal_shows_only_the_beginning_of_a_long_text() -> None:
    with pytest.raises(QuantityError) as refused:
        parse_quantity("x" * 5000)
    assert len(str(refused.value)) < 200


texts = st.builds(
    lambda sign, whole, part, suffix: (sign, whole, part, suffix),
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**25),
    st.one_of(st.none(), st.text("0123456789", max_size=14)),
    st.sampled_from(sorted(SUFFIXES)),
)


@settings(deadline=None)
@given(texts)
def test_any_text_of_the_grammar_means_what_the_same_fraction_means(parts: tuple[str, int, str | None, str]) -> None:
    sign, whole, part, suffix = parts
    text = f"{sign}{whole}{'' if part is None else '.' + part}{suffix}"
    exact = Fraction(f"{whole}.{part or '0'}") * SUFFIXES[suffix]
    nanos = min(ceil(exact * NANO), MAX_VALUE * NANO) * (-1 if sign == "-" else 1)
    read = parse_quantity(text)
    assert read.nanos == nanos
    away = floor if nanos < 0 else ceil
    assert read.value() == away(Fraction(nanos, NANO))
    assert read.milli_value() == away(Fraction(nanos, NANO // 1000))


@settings(deadline=None)
@given(st.integers(0, 10**45), st.sampled_from(sorted(SUFFIXES)), st.integers(0, 3))
def test_a_plain_text_is_read_quickly_and_as_the_grammar_says(digits: int, suffix: str, zeros: int) -> None:
    text = f"{'0' * zeros}{digits}{suffix}"
    assert parse_quantity(text) == parse_quantity(f"+{text}")  # a sign goes by the grammar


@given(st.integers(-(10**20), 10**20), st.integers(-30, 30))
def test_any_exponent_means_what_the_same_power_means(digits: int, exponent: int) -> None:
    exact = min(ceil(abs(digits) * Fraction(10) ** exponent * NANO), MAX_VALUE * NANO)
    assert parse_quantity(f"{digits}e{exponent}").nanos == (exact if digits >= 0 else -exact)


@settings(deadline=None)
@given(st.integers(-MAX_VALUE * NANO, MAX_VALUE * NANO), st.sampled_from(["DecimalSI", "BinarySI", "DecimalExponent"]))
@example(5000 * NANO, "BinarySI")
def test_a_written_quantity_reads_as_the_same_amount_and_is_written_the_same_again(nanos: int, form: Any) -> None:
    """Again in the form that its text shows: 5000 bytes have no binary unit, so they read as 5k."""
    text = str(Quantity(nanos, form))
    again = parse_quantity(text)
    assert again.nanos == nanos
    assert str(again) == text or again.form != form
    assert str(parse_quantity(str(again))) == str(again)


@settings(deadline=None)
@given(st.integers(0, MAX_VALUE))
def test_the_canonical_texts_of_whole_amounts_read_back(value: int) -> None:
    assert value_of(format_decimal(value)) == value
    assert value_of(format_binary(value)) == value


@settings(deadline=None)
@given(st.text(max_size=12))
def test_any_other_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        read = parse_quantity(text)
    except QuantityError:
        return
    assert parse_quantity(str(read)).nanos == read.nanos
