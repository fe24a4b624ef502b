"""Searches for terms: what they read, what they leave to people, and what becomes of those that are lost."""

import pytest
from django.utils import timezone

from accounts.models import User
from knowledge.models import LexiconChange, LexiconMining, LexiconTerm
from knowledge.services.lexicon import change_undo, mining_run, mining_start, minings_resume, term_save, terms_delete
from knowledge.services.lexicon.files import lexicon_import
from knowledge.services.lexicon.mining import MOST_STARTS, suggestions_store
from knowledge.tasks import sweep_ingest_leases
from ragcore.text.mining.candidates import TermCandidate
from tests.factories import ingest, make_admin, make_set, scope_of

pytestmark = pytest.mark.django_db

OPEN = "Carrier Aggregation (CA) is used in the downlink."
CLOSED = "Beam Failure Recovery (BFR) is a secret of few."


def candidate(text, **values):
    return TermCandidate(**{"text": text, "kind": "term", "score": 0.9, "how": "phrase", **values})


def started(person, home=None, **values):
    return LexiconMining.objects.create(tenant=person.tenant, knowledge_set=home, author=person, **values)


def silent(run):
    """Nothing has been heard of it for long."""
    LexiconMining.objects.filter(pk=run.pk).update(heartbeat=timezone.now() - LexiconMining.LOST_AFTER * 2)


def imported(owner, home, *lines):
    content = "\n".join(("term,synonyms", *lines)).encode()
    return lexicon_import(scope=scope_of(owner), actor=owner, set_id=home.pk, content=content, approve=False)


# ── what people have changed ────────────────────────────────────────────────────────────────────


def test_an_import_is_undone_after_a_search_has_brought_its_suggestions_up_to_date(owner, common):
    done = imported(owner, common, "paging occasion,")
    suggestions_store(started(owner, common), [candidate("paging occasion", score=0.4, synonyms=("PO",))])
    assert LexiconTerm.objects.get().score == 0.4

    change_undo(scope=scope_of(owner), actor=owner, change_id=done.change_id)

    assert not LexiconTerm.objects.exists()


def test_a_search_brings_no_synonym_back_that_somebody_took_out(owner, common):
    run, found = started(owner, common), [candidate("paging occasion", synonyms=("PO",))]
    suggestions_store(run, [candidate("paging occasion")])
    suggestions_store(run, found)
    term = LexiconTerm.objects.get()
    assert term.synonyms == ["PO"]  # nobody had changed it
    term_save(scope=scope_of(owner), actor=owner, term_id=term.pk, values={"synonyms": []})

    suggestions_store(run, found)

    term.refresh_from_db()
    assert (term.synonyms, term.score) == ([], 0.9)


def test_what_is_deleted_together_is_undone_together(owner, common):
    imported(owner, common, *(f"term {letter}," for letter in "abc"))
    LexiconTerm.objects.update(evidence="what a document says", evidence_version=1)
    ids = list(LexiconTerm.objects.values_list("pk", flat=True))

    changes = terms_delete(scope=scope_of(owner), actor=owner, term_ids=ids)

    assert not LexiconTerm.objects.exists()
    change_undo(scope=scope_of(owner), actor=owner, change_id=changes[1].pk)
    assert set(LexiconTerm.objects.values_list("pk", flat=True)) == set(ids)


# ── what is read, and quoted ────────────────────────────────────────────────────────────────────


def mined(person, home=None):
    run = mining_start(scope=scope_of(person), actor=person, set_id=home.pk if home else None)
    mining_run(mining_id=run.pk)
    run.refresh_from_db()
    assert run.state == "done"
    return {term.text: term for term in LexiconTerm.objects.filter(knowledge_set=home)}


def test_a_suggestion_says_which_version_it_quotes_and_the_history_does_not_quote(owner, common):
    version = ingest(owner, common, open=OPEN)["open"].live_version_id

    term = mined(owner, common)["CA"]

    assert "Aggregation (CA)" in term.evidence
    assert term.evidence_version == version
    terms_delete(scope=scope_of(owner), actor=owner, term_ids=[term.pk])
    assert "Aggregation (CA)" not in str(LexiconChange.objects.values_list("before", "after").get())


def test_the_next_search_quotes_what_is_there_now_up_to_the_clearance_of_the_suggestion(owner, common):
    old = {"evidence": "the old words", "source": 1}
    suggestions_store(started(owner, common), [candidate("a term", **old), candidate("open term", **old)])
    now = {"evidence": "the new words", "source": 2}

    suggestions_store(started(owner, common), [candidate("a term", **now), candidate("open term", level=3, **now)])

    quoted = LexiconTerm.objects.order_by("key").values_list("text", "evidence", "evidence_version")
    assert list(quoted) == [("a term", "the new words", 2), ("open term", "the old words", 1)]


def test_a_search_for_the_tenant_reads_only_sets_that_are_open_to_everyone(owner, common):
    closed = make_set("closed", owners=[owner], members=[owner], visibility="members")
    ingest(owner, common, open=OPEN)
    ingest(owner, closed, closed=CLOSED)

    assert set(mined(owner)) == {"CA"}
    assert set(mined(owner, closed)) == {"BFR"}


def test_a_search_for_a_tenant_without_open_sets_reads_nothing(owner):
    ingest(owner, make_set("closed", owners=[owner], visibility="members"), closed=CLOSED)

    assert mined(owner) == {}


# ── lost searches ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_search_whose_message_or_worker_was_lost_is_begun_again_once_at_a_time(owner, common, monkeypatch, state):
    sent = []
    monkeypatch.setattr("knowledge.services.lexicon.mining.enqueue_on_commit", lambda *task, **ids: sent.append(ids))
    ingest(owner, common, open=OPEN)
    run = started(owner, common, state=state)
    assert minings_resume() == 0
    silent(run)

    sweep_ingest_leases()
    sweep_ingest_leases()

    assert sent == [{"mining_id": run.pk}]
    run.refresh_from_db()
    assert run.state == "queued"
    mining_run(mining_id=run.pk)
    run.refresh_from_db()
    assert (run.state, run.starts) == ("done", 1)


def test_a_message_that_comes_again_leaves_a_search_to_its_worker(owner, common):
    run = started(owner, common, state="running")

    mining_run(mining_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.starts) == ("running", 0)


def test_a_lost_search_that_was_cancelled_is_over(owner, common):
    run = started(owner, common, state="running", is_cancelled=True)
    silent(run)

    assert minings_resume() == 0

    run.refresh_from_db()
    assert run.state == "cancelled"


def test_a_search_that_stops_its_workers_again_and_again_has_failed(owner, common):
    run = started(owner, common, state="running", starts=MOST_STARTS)
    silent(run)

    assert minings_resume() == 0

    run.refresh_from_db()
    assert (run.state, run.error_code) == ("failed", "worker_lost")


def test_a_search_of_somebody_who_is_gone_has_failed(owner, common):
    run = started(owner, common)
    User.objects.filter(pk=owner.pk).update(is_active=False)

    mining_run(mining_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.error_code) == ("failed", "author_gone")


def test_a_search_that_waits_is_not_lost(owner, common):
    run = started(owner, common)
    silent(run)
    run.refresh_from_db()

    assert not run.is_lost


def test_administrators_search_for_their_own_tenant(owner, common):
    """The sets of another tenant are open to everyone there."""
    ingest(owner, common, open=OPEN)

    assert mined(make_admin(tenant=owner.tenant)).keys() == {"CA"}
