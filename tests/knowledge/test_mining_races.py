"""Suggestions are stored while somebody saves, decides or imports terms in another connection."""

from __future__ import annotations

import pytest
from django.db import transaction

from knowledge.models import LexiconTerm
from knowledge.services.lexicon.files import lexicon_import
from knowledge.services.lexicon.mining import MinedLexicon, suggestions_store
from knowledge.services.lexicon.terms import term_save, terms_decide
from ragcore.text.mining.candidates import TermCandidate
from tests.factories import make_admin, make_set, scope_of
from tests.knowledge.locks import Beside

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin():
    return make_admin("admin")


@pytest.fixture
def run(admin) -> MinedLexicon:
    home = make_set("radio", owners=[admin])
    return MinedLexicon(tenant_id=admin.tenant_id, set_id=home.pk, author=admin)


def candidate(text: str, **values) -> TermCandidate:
    return TermCandidate(**{"text": text, "kind": "term", "score": 0.9, "how": "phrase", **values})


FOUND = [candidate("random access"), candidate("paging occasion", synonyms=("PO",)), candidate("carrier aggregation")]


class Stored:
    """How many suggestions are new, once it is known."""

    def __init__(self, run: MinedLexicon) -> None:
        self.run, self.new = run, None

    def __call__(self) -> None:
        self.new = suggestions_store(self.run, FOUND)


def test_a_term_that_somebody_saves_at_the_same_moment_stays_theirs(admin, run):
    stored = Stored(run)
    other = Beside(stored)
    with transaction.atomic():
        values = {"text": "Paging Occasion", "synonyms": ["mine"]}
        term_save(scope=scope_of(admin), actor=admin, values=values, set_id=run.set_id)
        other.start_and_wait_for_lock("transactionid")  # it does not see the term yet, and waits at its key
    other.end()

    assert stored.new == 2
    assert LexiconTerm.objects.count() == 3
    term = LexiconTerm.objects.get(key="paging occasion")
    assert (term.text, term.origin, term.synonyms, term.status) == ("Paging Occasion", "person", ["mine"], "approved")


def test_a_term_that_is_not_saved_after_all_is_suggested(admin, run):
    stored = Stored(run)
    other = Beside(stored)
    with transaction.atomic():
        values = {"text": "Paging Occasion"}
        term_save(scope=scope_of(admin), actor=admin, values=values, set_id=run.set_id)
        other.start_and_wait_for_lock("transactionid")
        transaction.set_rollback(True)
    other.end()

    assert stored.new == 3
    assert set(LexiconTerm.objects.values_list("origin", flat=True)) == {"mined"}


def test_a_suggestion_that_is_decided_at_the_same_moment_keeps_what_was_decided(admin, run):
    suggestions_store(run, [candidate("paging occasion", score=0.2)])
    term = LexiconTerm.objects.get()
    other = Beside(Stored(run))
    with transaction.atomic():
        values = {"synonyms": ["mine"], "status": "approved"}
        term_save(scope=scope_of(admin), actor=admin, values=values, term_id=term.pk)
        other.start_and_wait_for_lock("transactionid")
    other.end()

    term.refresh_from_db()
    assert (term.status, term.synonyms, term.score) == ("approved", ["mine"], 0.2)


def test_an_import_waits_for_suggestions_and_takes_its_lines_all_the_same(admin, run):
    imported = []
    content = b"term,synonyms\nrandom access,RA\nnew term,NT\n"

    def act():
        imported.append(lexicon_import(scope=scope_of(admin), actor=admin, set_id=run.set_id, content=content))

    other = Beside(act)
    with transaction.atomic():
        assert suggestions_store(run, FOUND) == 3
        other.start_and_wait_for_lock("advisory")
    other.end()

    assert not imported[0].faults
    assert (imported[0].added, imported[0].changed) == (1, 1)
    assert LexiconTerm.objects.get(key="random access").synonyms == ["RA"]


def test_repeating_adds_nothing_and_brings_scores_up_to_date(admin, run):
    assert suggestions_store(run, FOUND) == 3
    assert suggestions_store(run, [candidate(one.text, score=0.4) for one in FOUND]) == 0
    assert set(LexiconTerm.objects.values_list("score", flat=True)) == {0.4}
    terms_decide(scope=scope_of(admin), actor=admin, term_ids=[LexiconTerm.objects.first().pk], status="rejected")

    assert suggestions_store(run, FOUND) == 0

    assert sorted(LexiconTerm.objects.values_list("status", "score")) == [
        ("candidate", 0.9),
        ("candidate", 0.9),
        ("rejected", 0.4),
    ]
