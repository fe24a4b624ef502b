"""Every page opens for those who may, and for nobody else; lists do not ask once a row."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.admin.conftest import make_document, signed_in
from tests.factories import make_set, make_user

KNOWLEDGE = ["knowledge_knowledgeset", "knowledge_document", "knowledge_ingestitem", "knowledge_ingestjob"]
REVIEWS = ["feedback_badcase", "chat_message", "chat_conversation", "chat_strategystatistics"]
EVALUATION = ["evaluation_goldenset", "evaluation_goldencase", "evaluation_evaluationrun"]
PEOPLE = ["accounts_user", "accounts_usergroup", "accounts_apikey", "accounts_tenant", "accounts_auditevent"]
LISTS = [*KNOWLEDGE, "knowledge_source", *REVIEWS, *EVALUATION, *PEOPLE]
FORMS = ["knowledge_knowledgeset", "evaluation_goldenset", "evaluation_goldencase", "accounts_user", "accounts_apikey"]


def list_url(model: str) -> str:
    return reverse(f"admin:{model}_changelist")


@pytest.mark.parametrize("model", LISTS)
def test_an_administrator_opens_every_list(administrator, model):
    assert signed_in(administrator).get(list_url(model)).status_code == 200


@pytest.mark.parametrize("model", FORMS)
def test_an_administrator_opens_every_form(administrator, model):
    assert signed_in(administrator).get(reverse(f"admin:{model}_add")).status_code == 200


@pytest.mark.parametrize("model", PEOPLE)
def test_owners_and_reviewers_do_not_see_people(owner, own_set, reviewer, model):
    assert signed_in(owner).get(list_url(model)).status_code == 403
    assert signed_in(reviewer).get(list_url(model)).status_code == 403


@pytest.mark.parametrize("model", KNOWLEDGE)
def test_reviewers_do_not_curate(reviewer, model):
    assert signed_in(reviewer).get(list_url(model)).status_code == 403


@pytest.mark.parametrize("model", ["chat_message", "chat_conversation"])
def test_owners_do_not_read_conversations(owner, own_set, model):
    assert signed_in(owner).get(list_url(model)).status_code == 403


@pytest.mark.every_row
@pytest.mark.parametrize("model", LISTS)
def test_employees_are_sent_to_sign_in(db, model):
    answer = signed_in(make_user()).get(list_url(model))

    assert answer.status_code == 302
    assert "login" in answer["Location"]


def test_administrators_of_a_tenant_see_its_usage_and_quotas_and_change_none(administrator, stranger):
    theirs, ours = (
        reverse("admin:accounts_tenant_change", args=[pk]) for pk in (stranger.tenant_id, administrator.tenant_id)
    )
    values = {"name": "elsewhere", "max_sets": "1", "max_documents": "0", "max_megabytes": "3"}
    make_document("report", make_set(tenant=stranger.tenant))

    assert signed_in(stranger).post(theirs, values).status_code == 403
    assert signed_in(stranger).get(ours).status_code == 302
    assert signed_in(administrator).post(theirs, values).status_code == 302
    page = signed_in(stranger).get(theirs)

    stranger.tenant.refresh_from_db()
    assert (stranger.tenant.max_sets, stranger.tenant.max_documents, stranger.tenant.max_megabytes) == (1, 0, 3)
    shown = page.context["adminform"].form.instance.usage
    assert (shown.sets, shown.documents, shown.bytes) == (1, 1, 10)


def test_the_first_page_counts_what_needs_hands(administrator, own_set):
    make_document("broken", own_set, state="failed", error_code="corrupt_document")
    make_document("fine", own_set)

    counts = {
        str(c["title"]): c["value"] for c in signed_in(administrator).get(reverse("admin:index")).context["counts"]
    }

    assert counts["Failed documents"] == 1
    assert counts["Searchable documents"] == 1
    assert counts["Open feedback cases"] == 0


def test_the_first_page_shows_an_owner_only_what_is_managed(owner, own_set, other_set):
    make_document("mine", own_set, state="failed")
    make_document("theirs", other_set, state="failed")

    counts = {str(c["title"]): c["value"] for c in signed_in(owner).get(reverse("admin:index")).context["counts"]}

    assert counts["Failed documents"] == 1
    assert counts["Knowledge sets"] == 1
    assert "Active users" not in counts


@pytest.mark.parametrize("model", ["knowledge_knowledgeset", "knowledge_document"])
def test_a_list_asks_as_many_queries_for_many_rows_as_for_few(administrator, model):
    client = signed_in(administrator)

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(list_url(model), {"hands": "all"} if "document" in model else {}).status_code == 200
        return len(captured)

    def add(count: int) -> None:
        for _ in range(count):
            home = make_set(owners=[administrator])
            make_document(f"document in {home.code}", home, state="failed")

    add(2)
    queries()  # caches of the process, e.g. content types
    few = queries()
    add(10)

    assert queries() == few


def test_the_admin_carries_its_own_content_security_policy(administrator):
    policy = signed_in(administrator).get(reverse("admin:index"))["Content-Security-Policy"]

    assert "script-src 'self'" in policy.rstrip(";").split("; ")  # in whatever place
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy


def test_anonymous_visitors_see_the_sign_in_page(db):
    assert Client().get(reverse("admin:index")).status_code == 302
