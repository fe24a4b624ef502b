"""Limits of models: defaults, and the table of the environment."""

import math

import pytest

from ragcore.model_limits import BETWEEN_TOKENS_SECONDS, FIRST_TOKEN_SECONDS, ModelLimits, limits_of, parse_limits


def test_without_limits_of_its_own_a_text_that_flows_has_no_end():
    limits = limits_of(object())

    assert (limits.first_token, limits.between_tokens) == (FIRST_TOKEN_SECONDS, BETWEEN_TOKENS_SECONDS)
    assert limits.total == math.inf


def test_another_model_is_asked_after_the_usual_time_or_the_models_own():
    assert ModelLimits().patience(15) == 15
    assert ModelLimits(first_token_seconds=90).patience(15) == 90


def test_a_table_names_what_it_limits():
    table = parse_limits('{"m": {"first_token": 90, "total": 600.5}, "n": {"between_tokens": 5}}')

    assert table["m"] == ModelLimits(first_token_seconds=90, total_seconds=600.5)
    assert table["n"] == ModelLimits(between_tokens_seconds=5)


@pytest.mark.parametrize(
    "table", ["", "[]", '{"m": 5}', '{"m": {}}', '{"m": {"last": 1}}', '{"m": {"total": 0}}', '{"m": {"total": true}}',
              '{"m": {"total": "5"}}', '{"m": {"first_token": 1e9}}']
)  # fmt: skip
def test_what_is_no_table_is_refused(table):
    with pytest.raises(ValueError, match="must|may|JSON"):
        parse_limits(table)
