"""Figures of the dashboard: whose they are, what they count, and how fast they are."""

from __future__ import annotations

from datetime import date, timedelta
from time import perf_counter

import pytest
from django.db import connection
from django.utils import timezone

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent, Tenant
from accounts.selectors import scope_for
from chat.models import Conversation, Message
from chat.turns.turn_figures import turn_figures_store
from feedback.dashboard import Range, Viewer, dashboard, estimates_of
from feedback.errors import EstimateError
from feedback.estimates import estimate_set
from feedback.models import Vote
from knowledge.models import Document
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user

pytestmark = pytest.mark.django_db


def ask(user, question, *sets, status="answered", vote="", rating=None, days_ago=0, **metadata):
    conversation = Conversation.objects.create(user=user, tenant=user.tenant)
    message = Message.objects.create(
        conversation=conversation,
        question=question,
        status=status,
        state="done",
        request={"sets": [one.pk for one in sets]},
        metadata={"total_time": 1.0, "model": "small", **metadata},
    )
    Message.objects.filter(pk=message.pk).update(created=timezone.now() - timedelta(days=days_ago))
    turn_figures_store(message_id=message.pk)
    if vote:
        Vote.objects.create(message=message, user=user, vote=vote, rating=rating)
    return message


@pytest.fixture
def asked():
    """An owner; questions in the set, elsewhere, and of another tenant."""
    owner, reader, colleague = make_user("owner", is_staff=True), make_user("reader"), make_user("colleague")
    own, other = make_set("own", owners=[owner]), make_set("other")
    ask(reader, "How many days of leave?", own, vote="up", rating=5, cost=0.5, usage={"total_tokens": 100})
    ask(colleague, "how many days  of LEAVE?", own, status="refused", vote="down", rating=2, total_time=3.0)
    ask(reader, "What is parental leave?", own, status="search_results", cache="exact")
    ask(reader, "Hello", own, status="conversation")
    ask(reader, "Where is the printer?", other, days_ago=3)
    ask(reader, "ancient", own, days_ago=60)
    ask(make_user("far", tenant=make_tenant("elsewhere")), "theirs?")
    return owner, own, other


def figures(person, *, is_reviewer=False, sets=(), period=None):
    viewer = Viewer(scope_for(person), is_reviewer, tuple(one.pk for one in sets))
    return dashboard(viewer=viewer, period=period or Range.of(None, None))


def test_an_owner_has_numbers_of_the_own_set_and_nobody_s_words(asked):
    owner, own, other = asked
    found = figures(owner)

    totals = found.totals
    assert (totals.questions, totals.answered, totals.refused, totals.searched) == (3, 1, 1, 1)
    assert (totals.cached, totals.cost, totals.tokens, totals.up, totals.down) == (1, 0.5, 100, 1, 1)
    assert (found.people, found.satisfaction, found.mean_rating) == (2, 0.5, 3.5)
    assert not found.shows_questions
    assert (found.top_questions, found.topics) == ((), ())
    assert figures(owner, sets=[other]).totals.questions == 0
    assert figures(owner, sets=[own]).totals.questions == 3


def test_administrators_and_reviewers_see_what_is_asked_in_their_tenant(asked):
    root, boss = make_admin("root"), make_admin("boss", tenant=Tenant.objects.get(name="elsewhere"))
    reviewer = make_user("reviewer")

    assert figures(root).totals.questions == 5
    assert figures(boss).totals.questions == 1
    found = figures(reviewer, is_reviewer=True)
    assert found.totals.questions == 4
    (top,) = found.top_questions
    assert (top.text.lower().split()[0], top.asked, top.people, top.unanswered) == ("how", 2, 2, 1)
    assert ("leave", 2) in found.topics
    assert figures(make_user("nobody")).totals.questions == 0


def test_each_day_has_its_own_figures(asked):
    owner, _own, other = asked
    found = figures(make_admin("root"), period=Range.of(timezone.localdate() - timedelta(days=3), None))

    assert [day.questions for day in found.days] == [1, 0, 0, 4]
    assert found.days[1].median_seconds is None
    assert found.days[-1].p95_seconds > found.days[-1].median_seconds
    assert found.percentiles[50] == pytest.approx(1, rel=0.05)
    assert found.percentiles[99] == pytest.approx(3, rel=0.05)
    assert found.models[0].model == "small"


def test_a_range_is_made_sound():
    today = date(2026, 11, 23)

    assert Range.of(None, None, today=today).first == date(2026, 10, 25)
    assert Range.of(date(2027, 1, 1), date(2026, 1, 1), today=today).first == date(2026, 1, 1)
    assert Range.of(None, date(2030, 1, 1), today=today).last == today
    assert len(Range.of(date(1990, 1, 1), None, today=today).days) == 366


def test_saved_time_is_the_owner_s_estimate(asked):
    owner, own, _other = asked
    assert figures(owner).saved_minutes == 5

    estimate_set(actor=owner, set_id=own.pk, minutes=12)

    assert figures(owner).saved_minutes == 12
    assert estimates_of(scope=scope_for(owner)) == {own.pk: 12}
    assert AuditEvent.objects.filter(action="set.estimate", actor=owner).count() == 1
    with pytest.raises(EstimateError):
        estimate_set(actor=owner, set_id=own.pk, minutes=481)


def test_nobody_estimates_for_another_s_set(asked):
    _owner, own, other = asked
    with pytest.raises((NotAllowedError, NotFoundError)):
        estimate_set(actor=make_user("stranger", is_staff=True), set_id=own.pk, minutes=1)
    with pytest.raises((NotAllowedError, NotFoundError)):
        estimate_set(actor=asked[0], set_id=other.pk, minutes=1)


def test_sets_and_documents_that_nothing_was_answered_from(asked):
    owner, own, _other = asked
    idle = make_set("idle", owners=[owner])
    ingest(owner, idle, leave="Annual leave has 30 days.")
    found = figures(owner)

    assert [one.code for one in found.unused_sets] == ["idle"]
    assert [one.pk for one in found.unused_documents] == [Document.objects.get().pk]
    assert found.unused_document_count == 1


ROWS = """
WITH people AS (
    INSERT INTO chat_conversation (
        id, tenant_id, user_id, channel, title, pinned, folder, archived, summary, created, updated
    )
    SELECT gen_random_uuid(), %(tenant)s, %(user)s, 'web', '', false, '', false, '', now(), now()
    FROM generate_series(1, 100) RETURNING id
), turns AS (
    INSERT INTO chat_message (
        id, conversation_id, question, answer, answer_html, state, status, sentences, request, metadata, trace,
        error_code, error_message, error_data, created
    )
    SELECT gen_random_uuid(), people.id, 'question ' || (n %% 700), '', '', 'done', 'answered', '[]', '{}', '{}', '{}',
        '', '', '{}', now() - n * interval '25 minutes'
    FROM people, generate_series(1, 1000) AS n RETURNING id, question, created
)
INSERT INTO chat_turnfigures (
    message_id, tenant_id, user_id, asked, status, cache, seconds, cost, tokens, model, question_key, sets, arm
)
SELECT id, %(tenant)s, %(user)s, created,
    (ARRAY['answered', 'answered', 'answered', 'refused', 'search_results'])[1 + abs(hashtext(id::text)) %% 5],
    CASE WHEN abs(hashtext(id::text)) %% 7 = 0 THEN 'exact' ELSE 'none' END,
    random() * 10, random(), 500, 'model-' || abs(hashtext(id::text)) %% 3, hashtext(question),
    ARRAY[%(set)s]::bigint[], ''
FROM turns
"""


@pytest.mark.full
def test_a_hundred_thousand_questions_are_counted_at_once():
    owner = make_user("owner", is_staff=True)
    own = make_set("own", owners=[owner])
    with connection.cursor() as cursor:
        cursor.execute(ROWS, {"tenant": owner.tenant_id, "user": owner.pk, "set": own.pk})
        cursor.execute("ANALYZE chat_turnfigures, chat_message, feedback_vote")
    spent = []
    for viewer in (Viewer(scope_for(owner), False), Viewer(scope_for(make_admin("root")), True)) * 3:
        start = perf_counter()
        found = dashboard(viewer=viewer, period=Range.of(None, None))
        spent.append(perf_counter() - start)
    assert found.totals.questions == 100_000
    assert min(spent) < 1.5  # 0.3 on quiet cores, which tests do not have
