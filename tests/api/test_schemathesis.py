"""Whatever the description of the API allows, and whatever it forbids, is answered without a fault of ours.

What succeeds is what the description says, in status, type and schema; what does not has the one shape of errors.
Each request is sent with a key that has the scope of its route and no other, and, as often as the form says, with keys
that must not open it: one with every other scope, a revoked one, an expired one, and none.

The short form sends some of the systematic requests of each operation and a few generated ones; the full form (`make
test-full`) sends them all, and `SCHEMATHESIS_EXAMPLES` generated ones.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from urllib.parse import unquote, urlsplit

import httpx
import pytest
import schemathesis
from django.urls import Resolver404, resolve
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import load_all_checks
from schemathesis.generation.hypothesis import builder
from schemathesis.generation.hypothesis.builder import add_coverage
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts.key_scopes import ALL_SCOPES, KeyScope
from accounts.models import ApiKey
from accounts.services import api_key_create, api_key_revoke
from ragsite.openapi import METHODS, merged_schema, operations
from ragsite.route_scopes import route_scopes
from tests.api.world import DIFY_FIELDS
from tests.database import database
from tests.factories import ingest, make_admin, make_set
from tests.forms_plugin import examples, is_full, some_of
from tests.live_site import serving_site

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", examples(2)))
SECONDS = 120  # of one request, far above the limits of the site itself
SMALLEST_LIMIT = 1024 * 1024  # bytes of a body that may be refused for its size


@schemathesis.serializer("application/x-ndjson")
def lines_of(_context, value):
    """The body of a bulk load; the description shows one of its lines."""
    rows = value if isinstance(value, list) else [value]
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row, default=str).encode() for row in rows)


def later(test, *arguments, **options):
    """In place of schemathesis' own: the systematic requests are made when the test runs, see `systematic`.

    Every process that shares the work collects the tests, and would make those of all operations, which takes 7 s.
    """
    test.add_systematic = partial(add_coverage, test, *arguments, **options)
    return test


builder.add_coverage = later
load_all_checks()
DESCRIBED = [status_code_conformance, content_type_conformance, response_schema_conformance]
schema = schemathesis.openapi.from_dict(merged_schema())
few = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(600)]


MAKES_KEYS = ("POST", "/api/v1/api-keys")  # refuses scopes that the key does not have itself
OPEN = {("POST", "/api/v1/webhooks/{source}")}  # asks for no key: its messages are signed
NEEDED = {(route.method, route.path): route.scope for route in route_scopes()}


@pytest.fixture(autouse=True)
def systematic(request):
    """The systematic requests of the operation, or some of them."""
    if add := getattr(request.function, "add_systematic", None):
        requests = add().hypothesis_explicit_examples
        requests[:] = some_of(requests)


@dataclass(frozen=True)
class Site:
    url: str
    key: str  # of all scopes but making keys
    only: dict[KeyScope, str]  # keys with one scope
    without: dict[KeyScope, str]  # keys with all the others
    ended: tuple[str, ...]  # revoked and expired keys of all scopes
    tried: set[tuple[str, str]] = field(default_factory=set)


@pytest.fixture(autouse=True)
def _django_db_helper():
    """In place of pytest-django's: the rows must be seen by another process, so no test is wrapped in a transaction."""


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker, tmp_path_factory):
    with django_db_blocker.unblock():
        admin = make_admin()
        ingest(admin, make_set("radio", owners=[admin]), ra="The random access procedure has four steps.")
        key = api_key_create(user=admin, name="contract")[1]
        environment = pytest.MonkeyPatch()
        environment.setenv("QUESTIONS_PER_MINUTE", "0")  # many of the questions below come in one minute
        try:
            with serving_site(tmp_path_factory.mktemp("site")) as url:
                yield Site(url, key, *keys_of(admin))
        finally:
            environment.undo()
            database.restore()


def keys_of(admin):
    """Keys of one scope, of all but one, and keys that have ended."""

    def key(scopes):
        return api_key_create(user=admin, name="contract", scopes=scopes)

    only = {scope: key([scope])[1] for scope in KeyScope}
    without = {scope: key([other for other in KeyScope if other != scope])[1] for scope in KeyScope}
    (revoked, first), (expired, second) = key(ALL_SCOPES), key(ALL_SCOPES)
    api_key_revoke(key=revoked, actor=admin)
    ApiKey.objects.filter(pk=expired.pk).update(expires=timezone.now() - timedelta(seconds=1))
    return only, without, (first, second)


def test_there_are_operations_to_try():
    described = merged_schema()

    assert len(list(operations(described))) > 40
    without_key = {
        (method.upper(), path)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        if method in METHODS and not operation.get("security")
    }
    assert without_key == OPEN
    assert set(NEEDED.values()) == set(KeyScope) - {KeyScope.DIRECTORY}  # of SCIM, which describes itself


def sent_with(case, site, key):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return case.call(base_url=site.url, headers=headers, timeout=SECONDS)


def refuses_other_keys(case, site, needed):
    """A missing scope is 403, a missing or ended key 401, whatever the request says; 404 is for no address at all.

    A body that is too large is refused before anybody looks at its key.
    """
    answers = [sent_with(case, site, key) for key in (site.without[needed], *site.ended, None)]
    if {answer.status_code for answer in answers} == {HTTPStatus.REQUEST_ENTITY_TOO_LARGE}:
        assert len(answers[0].request.body) > SMALLEST_LIMIT
        return

    expected = [HTTPStatus.FORBIDDEN, *[HTTPStatus.UNAUTHORIZED] * 3] if exists(case) else [HTTPStatus.NOT_FOUND] * 4
    assert [answer.status_code for answer in answers] == expected, case.as_curl_command()
    if exists(case):
        assert answers[0].json()["error"]["code"] == "missing_scope"


def exists(case):
    """Whether the site has an address for the case: `documents/true` is none."""
    try:
        resolve(unquote(urlsplit(case.as_transport_kwargs(base_url="http://site")["url"]).path))
    except Resolver404:
        return False
    return True


@schema.parametrize()
@few
def test_no_request_brings_an_operation_down(case, site):
    operation = case.method.upper(), case.path
    needed = NEEDED.get(operation)  # None: another method, or a webhook
    if needed is not None and (is_full() or operation not in site.tried):
        refuses_other_keys(case, site, needed)
        if exists(case):
            site.tried.add(operation)

    answer = sent_with(case, site, site.only[needed] if needed else None)

    if needed is None:
        assert answer.status_code >= HTTPStatus.BAD_REQUEST, "nobody knows the secret of a webhook"
    assert answer.status_code < 500, f"{case.as_curl_command()}\n{answer.text[:2000]}"
    if answer.status_code < HTTPStatus.BAD_REQUEST:
        case.validate_response(answer, checks=DESCRIBED)
    else:
        assert set(answer.json()) - DIFY_FIELDS == {"error"}
        assert set(answer.json()["error"]) >= {"code", "message", "details"}
        assert answer.json()["error"]["code"] != "missing_scope" or operation == MAKES_KEYS


def test_the_site_still_answers_afterwards(site):
    assert len(site.tried) > 40
    answer = httpx.get(f"{site.url}/v1/models", headers={"Authorization": f"Bearer {site.key}"}, timeout=SECONDS)

    assert answer.status_code == 200
