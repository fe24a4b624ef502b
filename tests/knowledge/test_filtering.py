"""What a filter on attributes may say."""

import pytest

from knowledge.filtering import AnyOf, Between, conditions_of


@pytest.mark.parametrize(
    ("wanted", "condition"),
    [
        ("BTS", AnyOf(("BTS",))),
        (17, AnyOf((17,))),
        (True, AnyOf((True,))),
        (["16", "17"], AnyOf(("16", "17"))),
        ({"gte": 2020, "lte": 2024.5}, Between({"gte": 2020, "lte": 2024.5}, "number")),
        ({"gt": "2024-01-31"}, Between({"gt": "2024-01-31"}, "day")),
    ],
)
def test_a_value_any_of_several_and_a_range_are_understood(wanted, condition):
    assert conditions_of({"x": wanted}) == {"x": condition}


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        (None, "x: must be"),
        ([], "x: a list must hold"),
        (["a"] * 101, "x: a list must hold"),
        ([["a"]], "x: must be"),
        ([{"gte": 1}], "x: must be"),
        ("a" * 1025, "x: a text may have"),
        (float("inf"), "x: must be a finite number"),
        ({}, "x: a range needs"),
        ({"between": [1, 2]}, "x: unknown operator 'between'"),
        ({"gte": 1, "$where": "1"}, "x: unknown operator '$where'"),
        ({"gte": 1, "lte": "2024-01-31"}, "x: bounds must be"),
        ({"gte": True}, "x: bounds must be"),
        ({"gte": [1]}, "x: bounds must be"),
        ({"gte": float("nan")}, "x: bounds must be"),
        ({"gte": "2024-02-30"}, "x: bounds must be"),
        ({"gte": "2024-01-31T10:00"}, "x: bounds must be"),
        ({"gte": "20240131"}, "x: bounds must be"),
        ({"gte": "２０２４-０１-３１"}, "x: bounds must be"),
    ],
)
def test_what_is_not_understood_is_named(wanted, fault):
    with pytest.raises(ValueError, match="^" + fault.replace("$", r"\$")):
        conditions_of({"x": wanted})


@pytest.mark.parametrize("attributes", [{"": 1}, {"n" * 257: 1}, {f"n{i}": 1 for i in range(51)}])
def test_names_are_limited_in_length_and_number(attributes):
    with pytest.raises(ValueError, match="attributes"):
        conditions_of(attributes)
