"""Whatever the description of the API allows, and whatever it forbids, is answered without a fault of ours (D38).

What succeeds is what the description says, in status, type and schema; what does not has the one shape of errors.

The short form sends some of the systematic requests of each operation and a few generated ones; the full form (`make
test-full`) sends them all, and `SCHEMATHESIS_EXAMPLES` generated ones.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from http import HTTPStatus

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts.services import api_key_create
from ragsite.openapi import merged_schema, operations
from tests.database import database
from tests.factories import ingest, make_admin, make_set
from tests.forms_plugin import examples
from tests.live_site import serving_site

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", examples(4)))
SECONDS = 120  # of one request, far above the limits of the site itself


@schemathesis.serializer("application/x-ndjson")
def lines_of(_context, value):
    """The body of a bulk load; the description shows one of its lines."""
    rows = value if isinstance(value, list) else [value]
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row, default=str).encode() for row in rows)


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

pytestmark = [pytest.mark.first, pytest.mark.django_db, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Site:
    url: str
    key: str


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
                yield Site(url, key)
        finally:
            environment.undo()
            database.restore()


def test_there_are_operations_to_try():
    assert len(list(operations(merged_schema()))) > 40


@schema.parametrize()
@few
def test_no_request_brings_an_operation_down(case, site):
    headers = {"Authorization": f"Bearer {site.key}"}

    answer = case.call(base_url=site.url, headers=headers, timeout=SECONDS)

    assert answer.status_code < 500, f"{case.as_curl_command()}\n{answer.text[:2000]}"
    if answer.status_code < HTTPStatus.BAD_REQUEST:
        case.validate_response(answer, checks=DESCRIBED)
    else:
        assert set(answer.json()) == {"error"}
        assert set(answer.json()["error"]) >= {"code", "message", "details"}


def test_the_site_still_answers_afterwards(site):
    answer = httpx.get(f"{site.url}/v1/models", headers={"Authorization": f"Bearer {site.key}"}, timeout=SECONDS)

    assert answer.status_code == 200
