"""Numbers of the first page: what was asked, found no answer and was voted on, within what a person keeps."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Tenant
from accounts.selectors import scope_for
from chat.models import Conversation, Message
from feedback.models import Vote
from feedback.usage import unanswered_questions, usage
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_set, make_tenant, make_user

pytestmark = pytest.mark.django_db


def ask(user, question, *sets, status="answered", vote="", days_ago=0):
    conversation = Conversation.objects.create(user=user, tenant=user.tenant)
    conversation.sets.set(sets)
    message = Message.objects.create(conversation=conversation, question=question, status=status, state="done")
    Message.objects.filter(pk=message.pk).update(created=timezone.now() - timedelta(days=days_ago))
    if vote:
        Vote.objects.create(message=message, user=user, vote=vote)
    return message


@pytest.fixture
def asked():
    """Three questions of an employee, of which one in the set of an owner, and one of another tenant."""
    owner, reader = make_user("owner", is_staff=True), make_user("reader")
    own = make_set("own", owners=[owner])
    ask(reader, "mine?", own, vote="up")
    ask(reader, "missing?", status="refused", vote="down")
    ask(reader, "old?", days_ago=3)
    ask(reader, "ancient?", days_ago=60)
    ask(make_user("far", tenant=make_tenant("elsewhere")), "theirs?", status="refused")
    return owner


def figures(person, **who):
    found = usage(scope=scope_for(person), is_reviewer=who.get("is_reviewer", False))
    return found.questions, found.unanswered, found.up, found.down, found.people


def test_each_role_is_told_the_numbers_of_what_it_keeps(asked):
    root = make_admin("root")
    tenant_admin = make_admin("boss", tenant=Tenant.objects.get(name="elsewhere"))

    assert figures(root) == (4, 2, 1, 1, 2)
    assert figures(tenant_admin) == (1, 1, 0, 0, 1)
    assert figures(make_user("reviewer"), is_reviewer=True) == (3, 1, 1, 1, 1)
    assert figures(asked) == (1, 0, 1, 0, 1)
    assert figures(make_user("nobody")) == (0, 0, 0, 0, 0)


def test_every_day_is_there_and_a_question_counts_on_its_own(asked):
    days = usage(scope=scope_for(make_admin("root")), is_reviewer=True).days

    assert len(days) == 14
    assert (days[-1].questions, days[-4].questions) == (3, 1)


def test_questions_are_shown_to_those_who_see_what_people_ask(asked, django_assert_max_num_queries):
    since = timezone.now() - timedelta(days=14)
    scope = scope_for(make_admin("root"))

    shown = unanswered_questions(scope=scope, is_reviewer=True, since=since)
    to_owner = unanswered_questions(scope=scope_for(asked), is_reviewer=False, since=since)

    assert {message.question for message in shown} == {"missing?", "theirs?"}
    assert list(to_owner) == []
    with django_assert_max_num_queries(3):
        usage(scope=scope, is_reviewer=True)


def test_the_first_page_says_it_in_words_and_asks_for_health_behind_itself(asked):
    root = make_admin("root")

    page = signed_in(root).get(reverse("admin:index")).content.decode()
    owners = signed_in(asked).get(reverse("admin:index")).content.decode()

    assert "2 without an answer" in page
    assert "missing?" in page
    assert 'data-health="/admin/health/"' in page
    assert "missing?" not in owners
    assert "data-health" not in owners
    assert signed_in(asked).get("/admin/health/").status_code == 403


def test_the_state_of_parts_is_a_page_of_the_administration_and_a_fragment_of_its_first_page():
    browser = signed_in(make_admin("root"))

    page = browser.get("/admin/health/")
    fragment = browser.get("/admin/health/", headers={"X-Requested-With": "fetch"}).content.decode()

    assert "admin/base_site.html" in {template.name for template in page.templates}
    assert re.search(r"<time datetime=[^>]+>just now</time>", page.content.decode())
    assert "works" in page.content.decode()
    assert "Questions" in page.content.decode() or "Everything that is set up works." in page.content.decode()
    assert "<html" not in fragment
    assert "works" in fragment
