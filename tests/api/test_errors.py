"""Every error has the promised shape and a status by the one table."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import OperationalError
from django.http import Http404
from hypothesis import given
from hypothesis import strategies as st
from ninja.errors import HttpError
from ninja.errors import ValidationError as NinjaValidationError
from psycopg.errors import QueryCanceled
from redis.exceptions import ConnectionError as RedisConnectionError
from rest_framework import exceptions as drf

from accounts.errors import NameTakenError, NotAllowedError, NotAuthenticatedError, NotFoundError
from ragcore.errors import ModelUnavailableError, PermanentError, RagError, TransientError
from ragsite.errors import body_of, problem_of, status_of

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def kinds_of(base: type[RagError]) -> Iterator[type[RagError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds_of(kind)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotAuthenticatedError(), 401, "not_authenticated"),
        (NotFoundError(), 404, "not_found"),
        (NotAllowedError(), 404, "not_allowed"),
        (NameTakenError(), 409, "name_taken"),
        (PermanentError(), 422, "permanent_error"),
        (TransientError(), 503, "transient_error"),
        (ModelUnavailableError(), 503, "model_unavailable"),
        (ModelUnavailableError(strict=True), 500, "model_unavailable"),
        (drf.ParseError(), 422, "malformed"),
        (drf.NotAuthenticated(), 401, "not_authenticated"),
        (drf.AuthenticationFailed(), 401, "not_authenticated"),
        (drf.PermissionDenied(), 404, "not_allowed"),
        (drf.PermissionDenied("CSRF Failed: no cookie."), 403, "csrf_failed"),
        (drf.NotFound(), 404, "not_found"),
        (drf.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (drf.UnsupportedMediaType("a/b"), 415, "unsupported_media_type"),
        (drf.Throttled(wait=30), 429, "rate_limited"),
        (NinjaValidationError([]), 422, "invalid"),
        (HttpError(400, "Cannot parse request body"), 422, "malformed"),
        (HttpError(401, "Unauthorized"), 401, "not_authenticated"),
        (Http404(), 404, "not_found"),
        (PermissionDenied(), 404, "not_allowed"),
        (RequestDataTooBig(), 413, "body_too_large"),
        (OperationalError("secret host"), 503, "unavailable"),
        (RedisConnectionError("secret host"), 503, "unavailable"),
        (ZeroDivisionError("secret"), 500, "internal"),
    ],
)
def test_each_error_has_its_status_and_code(error, status, code):
    problem = problem_of(error)

    assert (problem.http_status, problem.body()["error"]["code"]) == (status, code)
    assert "secret" not in json.dumps(problem.body())
    assert ("Retry-After" in problem.http_headers()) == (status in (429, 503))
    assert ("WWW-Authenticate" in problem.http_headers()) == (status == 401)


def test_a_statement_that_ran_out_of_time_is_a_timeout():
    error = OperationalError("canceling statement")
    error.__cause__ = QueryCanceled()

    assert problem_of(error).http_status == 504


def test_the_error_says_when_to_come_back():
    assert problem_of(TransientError(retry_after_seconds=7.4)).http_headers()["Retry-After"] == "7"
    assert problem_of(drf.Throttled(wait=0.2)).http_headers()["Retry-After"] == "1"


def test_an_unexpected_error_is_logged_with_its_traceback(caplog):
    try:
        raise ZeroDivisionError("what only the log may say")
    except ZeroDivisionError as error:
        problem_of(error)

    assert "what only the log may say" in caplog.text


def test_nested_faults_name_their_field():
    error = drf.ValidationError({"profile": {"interests": {2: ["Too long."]}}, "sets": ["Needed."]})

    details = problem_of(error).details

    assert details == [
        {"field": "profile.interests.2", "message": "Too long."},
        {"field": "sets", "message": "Needed."},
    ]


def test_faults_of_ninja_name_the_field_as_the_client_knows_it():
    faults = [
        {"loc": ("body", "body", "filters", "axis"), "msg": "Unknown."},
        {"loc": ("query", "page"), "msg": "Too small."},
        {"loc": ("body", "body"), "msg": "Needed."},
    ]

    assert [d["field"] for d in problem_of(NinjaValidationError(faults)).details] == ["filters.axis", "page", "body"]


def test_every_error_of_the_product_has_a_status_that_clients_expect():
    kinds = list(kinds_of(RagError))

    assert len(kinds) > 20
    for kind in kinds:
        error = kind.__new__(kind)  # some errors need more than a message
        RagError.__init__(error)
        assert status_of(error) in {401, 403, 404, 409, 410, 413, 415, 422, 429, 500, 503, 504, 507}, kind
        if isinstance(error, TransientError):
            assert status_of(error) >= 429, kind


@given(code=st.text(), message=st.text(st.characters()), details=st.lists(st.dictionaries(st.text(), anything)))
def test_any_error_can_be_sent_as_json(code, message, details):
    body = json.dumps(body_of(code, message, details), ensure_ascii=False, allow_nan=False).encode()

    error = json.loads(body)["error"]
    assert set(error) == {"code", "message", "details"}
    assert all(isinstance(detail, dict) for detail in error["details"])
