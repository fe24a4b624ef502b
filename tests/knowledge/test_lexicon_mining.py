"""Searches for terms: what they read, what they leave to people, and the contract of all background work."""

import json
import re

import pytest

from accounts.models import User
from knowledge.models import LexiconChange, LexiconTerm
from knowledge.services.lexicon import MiningOptions, change_undo, mining_start, term_save, terms_decide, terms_delete
from knowledge.services.lexicon.files import lexicon_import
from knowledge.services.lexicon.mining import MinedLexicon, suggestions_store
from ragcore.text.mining.candidates import TermCandidate
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.migrating import long_released, migrations_apply, migrations_unapply
from tests.scripted_llm import Reply, serving
from tests.work.contract import KindContract, work_off
from work.claims import jobs_sweep
from work.models import Job

pytestmark = pytest.mark.django_db

OPEN = "Carrier Aggregation (CA) is used in the downlink."
CLOSED = "Beam Failure Recovery (BFR) is a secret of few."


def candidate(text, **values):
    return TermCandidate(**{"text": text, "kind": "term", "score": 0.9, "how": "phrase", **values})


def started(person, home):
    return MinedLexicon(tenant_id=person.tenant_id, set_id=home.pk, author=person)


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


def mined(person, home=None, **options):
    run = mining_start(
        scope=scope_of(person),
        actor=person,
        set_id=home.pk if home else None,
        options=MiningOptions(**options),
    )
    work_off(run)
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


def test_administrators_search_for_their_own_tenant(owner, common):
    """The sets of another tenant are open to everyone there."""
    ingest(owner, common, open=OPEN)

    assert mined(make_admin(tenant=owner.tenant)).keys() == {"CA"}


# ── a language model's say ──────────────────────────────────────────────────────────────────────


SCORES = {"CA": 0.9, "BFR": 0.2}


def judging(request):
    """As a model that knows the terms of SCORES."""
    numbered = re.findall(r"^(\d+)\. (\w+)", request.body["messages"][0]["content"], re.M)
    scores = [{"number": int(number), "score": SCORES[word]} for number, word in numbered]
    return Reply(texts=(json.dumps({"scores": scores}),))


@pytest.fixture
def model(settings):
    with serving() as server:
        server.respond = judging
        settings.LLM_BASE_URL, settings.LLM_MODEL = server.url, "light"
        yield server


def test_a_language_model_scores_suggestions_once(owner, common, model):
    ingest(owner, common, open=OPEN, closed=CLOSED)

    terms = mined(owner, common, asks_model=True)

    assert {text: term.model_score for text, term in terms.items()} == SCORES
    assert terms["BFR"].score > 0.5  # of the statistics, as before
    assert len(model.requests) == 1
    assert common.name in model.requests[0].body["messages"][0]["content"]
    figures = Job.objects.latest("pk").figures
    assert (figures["scored"], figures["unscored"]) == (2, 0)
    terms_decide(scope=scope_of(owner), actor=owner, term_ids=[terms["CA"].pk], status="approved")
    assert mined(owner, common, asks_model=True)["BFR"].model_score == 0.2
    assert len(model.requests) == 1  # what is decided or scored is not asked about again


def test_without_being_wanted_no_model_is_asked(owner, common, model):
    ingest(owner, common, open=OPEN)

    assert mined(owner, common)["CA"].model_score is None
    assert model.requests == []


@pytest.mark.parametrize("reply", [Reply(status=400), Reply(texts=("I would rather not.",))])
def test_a_search_is_complete_where_the_model_fails(owner, common, model, reply):
    model.respond = lambda _request: reply
    ingest(owner, common, open=OPEN, closed=CLOSED)

    terms = mined(owner, common, asks_model=True)

    assert {text: term.model_score for text, term in terms.items()} == {"CA": None, "BFR": None}
    assert Job.objects.latest("pk").figures == {"found": 2, "scored": 0, "unscored": 2}
    model.respond = judging
    assert mined(owner, common, asks_model=True)["CA"].model_score == 0.9  # the next search asks again


def test_a_model_that_fails_again_and_again_is_left_alone(owner, common, model, monkeypatch):
    monkeypatch.setattr("knowledge.services.lexicon.model_filter.AT_ONCE", 1)
    monkeypatch.setattr("knowledge.services.lexicon.model_filter.MOST_FAILURES", 1)
    model.respond = lambda _request: Reply(status=400)
    ingest(owner, common, open=OPEN, closed=CLOSED)

    assert len(mined(owner, common, asks_model=True)) == 2
    assert len({request.body["messages"][0]["content"] for request in model.requests}) == 1


def test_without_a_model_there_are_no_scores_and_no_fault(owner, common):
    ingest(owner, common, open=OPEN)

    assert mined(owner, common, asks_model=True)["CA"].model_score is None


def test_a_search_may_suggest_nouns_only(owner, common):
    texts = {f"text{n}": f"They send packets {n}. We send packets, and you send packets {n}." for n in range(4)}
    ingest(owner, common, **texts)

    assert "send packets" not in mined(owner, common, compounds_only=True)
    assert "send packets" in mined(owner, common)


# ── as background work ──────────────────────────────────────────────────────────────────────────


class TestMineTerms(KindContract):
    @pytest.fixture(autouse=True)
    def _documents(self, owner, common):
        self.owner, self.common = owner, common
        ingest(owner, common, open=OPEN, closed=CLOSED)

    def start(self):
        return mining_start(scope=scope_of(self.owner), actor=self.owner, set_id=self.common.pk)

    def outcome(self, job):
        return sorted(LexiconTerm.objects.values_list("text", flat=True)), job.figures.get("found", 0)

    def whole(self):
        return ["BFR", "CA"], 2


def test_a_search_of_somebody_who_is_gone_has_failed(owner, common):
    run = mining_start(scope=scope_of(owner), actor=owner, set_id=common.pk)
    User.objects.filter(pk=owner.pk).update(is_active=False)

    work_off(run)

    assert (run.state, run.error_code) == ("failed", "author_gone")


def test_a_search_of_a_set_that_is_deleted_meanwhile_finds_nothing(owner, common):
    ingest(owner, common, open=OPEN)
    run = mining_start(scope=scope_of(owner), actor=owner, set_id=common.pk)
    common.delete()

    work_off(run)

    assert (run.state, run.figures) == ("done", {"found": 0})


SEARCHES = ("knowledge", "0066")


@long_released
@pytest.mark.django_db(transaction=True)
def test_searches_of_before_become_jobs_and_what_waits_goes_on(owner, common):
    try:
        searches = migrations_unapply(*SEARCHES).get_model("knowledge", "LexiconMining").objects
        of_set = {"tenant_id": owner.tenant_id, "knowledge_set_id": common.pk, "author_id": owner.pk}
        of_tenant = {"tenant_id": owner.tenant_id, "author_id": owner.pk}
        searches.create(**of_set, state="done", documents=3, documents_done=3, found=2, starts=1)
        searches.create(**of_set, state="running", documents=3, documents_done=1, starts=2)  # its worker was lost
        searches.create(**of_set, state="running", documents=3, documents_done=2, starts=4)
        searches.create(**of_tenant, state="queued", is_cancelled=True)
        searches.create(**of_tenant, state="failed", error_code="author_gone")
        created = list(searches.order_by("pk").values_list("created", flat=True))
    finally:
        migrations_apply(*SEARCHES)

    jobs = Job.objects.order_by("pk")
    rows = jobs.values_list("subject", "state", "done", "total", "attempt", "error_code")
    of_set = f"set:{common.pk}"
    assert list(rows) == [
        (of_set, "done", 3, 3, 1, ""),
        (of_set, "failed", 1, 3, 2, "interrupted"),
        (of_set, "queued", 2, 3, 4, ""),
        ("", "cancelled", 0, 0, 0, ""),
        ("", "failed", 0, 0, 0, "author_gone"),
    ]
    assert list(jobs.values_list("created", flat=True)) == created
    assert jobs_sweep() == 1
    assert work_off(jobs.get(state="queued")).state == "done"
    try:
        searches = migrations_unapply(*SEARCHES).get_model("knowledge", "LexiconMining").objects
        back = list(searches.order_by("pk").values_list("state", "documents_done", "found"))
    finally:
        migrations_apply(*SEARCHES)
    assert back[:2] == [("done", 3, 2), ("failed", 1, 0)]
