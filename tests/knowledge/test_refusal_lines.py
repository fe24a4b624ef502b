"""A set's own line of refusals is drawn from its passages, used, and drawn again when they change."""

import pytest
from django.urls import reverse

from accounts.selectors import scope_for
from knowledge.indexes.corpus_epoch import epoch_now
from knowledge.models import RefusalLine
from knowledge.selectors.refusal_lines import refusal_line_of, refusal_lowered
from knowledge.services import refusal_lines, retrieve
from knowledge.services.refusal_lines import refusal_lines_draw
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, make_user

pytestmark = pytest.mark.django_db

SUBJECTS = ("radio", "antenna", "battery", "router", "cabinet", "turbine", "sensor", "filter")
PLACES = ("Aachen", "Bremen", "Cottbus", "Dresden", "Erfurt", "Freiburg", "Gera", "Hamburg")


@pytest.fixture
def small(monkeypatch):
    """Sizes at which a handful of documents is enough."""
    monkeypatch.setattr(refusal_lines, "LEAST_PASSAGES", 5)
    monkeypatch.setattr(refusal_lines, "LEAST_QUESTIONS", 3)
    monkeypatch.setattr("ragcore.answerability.own_line.LEAST_QUESTIONS", 3)


def texts(start, end):
    return {
        f"d{n}": f"The {SUBJECTS[n % 8]} of {PLACES[n // 8 % 8]} was replaced by technicians after {n + 10} years."
        for n in range(start, end)
    }


def searched(owner, *sets):
    return retrieve(scope=scope_for(owner), request=RetrievalRequest(query="Which radio?", sets=sets))


def test_a_line_is_drawn_once_and_again_when_documents_have_changed(small, monkeypatch):
    owner = make_user()
    own = make_set("sites", owners=[owner])
    ingest(owner, own, **texts(0, 10))
    epoch = epoch_now(tenant_id=own.tenant_id)

    assert refusal_lines_draw() == 1
    line = RefusalLine.objects.get(pk=own.pk)
    assert line.questions >= 3
    assert line.passages == line.documents == 10
    assert line.lowered >= 0
    assert epoch_now(tenant_id=own.tenant_id) > epoch  # answers that were kept are made anew
    assert refusal_lines_draw() == 0

    ingest(owner, own, **texts(10, 13))
    assert refusal_lines_draw() == 1
    assert RefusalLine.objects.get(pk=own.pk).documents == 13


def test_searches_carry_the_line_of_the_sets_that_are_asked():
    owner = make_user()
    forms, prose, small_one = (make_set(code, owners=[owner]) for code in ("forms", "prose", "small"))
    for one, key in ((forms, "a"), (prose, "b"), (small_one, "c")):
        ingest(owner, one, **{key: f"The radio {key} is blue."})
    RefusalLine.objects.create(knowledge_set=forms, lowered=0.9, questions=100, passages=300)
    RefusalLine.objects.create(knowledge_set=prose, lowered=0.0, questions=100, passages=600)
    RefusalLine.objects.create(knowledge_set=small_one, lowered=0.0, questions=0, passages=1)

    assert searched(owner, forms.pk).refusal_lowered == pytest.approx(0.9)
    assert searched(owner, prose.pk).refusal_lowered == 0.0
    assert searched(owner, forms.pk, prose.pk).refusal_lowered == pytest.approx(0.3)
    assert searched(owner, small_one.pk).refusal_lowered == 0.0
    assert searched(owner).refusal_lowered == pytest.approx(0.3)


def test_lines_of_another_tenant_do_not_count():
    owner = make_user()
    scope = scope_for(owner)
    one = make_set("forms", owners=[owner])
    RefusalLine.objects.create(knowledge_set=one, lowered=0.9, questions=100, passages=300)
    elsewhere = type(scope)(tenant_id=scope.tenant_id + 1, user_id=0, clearance=0)

    assert refusal_lowered(scope=elsewhere, sets=[one.pk], epoch=1) == 0.0


def test_a_set_that_is_too_small_keeps_the_shipped_line():
    owner = make_user()
    own = make_set("few", owners=[owner])
    ingest(owner, own, **texts(0, 3))

    assert refusal_lines_draw() == 1
    assert refusal_line_of(scope=scope_for(owner), set_id=own.pk) is None
    assert refusal_lines_draw() == 0  # and is not looked at again


def test_owners_see_the_line_on_the_page_of_the_set(client):
    one = make_set("forms")
    RefusalLine.objects.create(knowledge_set=one, lowered=0.9, questions=142, passages=300)
    client.force_login(make_admin())

    page = client.get(reverse("admin:knowledge_knowledgeset_change", args=[one.pk])).content.decode()

    assert "lowered after 142 questions" in page
    assert "0.90 (log-odds)" in page
