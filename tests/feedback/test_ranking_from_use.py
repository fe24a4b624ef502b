"""From what people did with sources to the order of a search: enough people, rights, deletion, erasure, cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from accounts.privacy.erase import person_erase
from chat.models import Conversation, Message
from feedback import ranking_from_use
from feedback.models import Signal, Vote
from feedback.ranking_from_use import set_use_learn, similar_floor, use_learn
from feedback.use_showings import answers_with_acts, set_showings
from knowledge.indexes import use_evidence
from knowledge.indexes.corpus_epoch import epoch_now
from knowledge.models import Chunk, Document, UseEvidence, UseSummary
from knowledge.selectors.use_evidence import use_evidence_of_set
from knowledge.services import document_delete, retrieve
from knowledge.services.options import set_options_update, site_options_update
from knowledge.services.reingest import document_rebuild
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, run_job, scope_of
from tests.feedback.used_sources import ASKED, TEXTS, answer, people, used

ON = {"retrieval": {"use_shift": 0.5}}


def corpus_make():
    owner = make_admin()
    home = make_set("radio", owners=[owner])
    return owner, home, ingest(owner, home, **TEXTS)


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=corpus_make)]


@pytest.fixture
def owner(kept_rows):
    return kept_rows[0]


@pytest.fixture
def home(kept_rows):
    return kept_rows[1]


@pytest.fixture
def corpus(kept_rows):
    return kept_rows[2]


@pytest.fixture
def few_are_enough(monkeypatch):
    monkeypatch.setattr(ranking_from_use, "ENOUGH_ANSWERS", 3)
    monkeypatch.setattr(ranking_from_use, "ENOUGH_PEOPLE", 3)


def order(person, *homes, question=ASKED, **options):
    asked = RetrievalRequest(query=question, sets=tuple(home.pk for home in homes), options=options)
    return [c.passage.external_id for c in retrieve(scope=scope_of(person), request=asked).state.candidates]


def noted(person, *homes, question=ASKED, **options):
    asked = RetrievalRequest(query=question, sets=tuple(home.pk for home in homes), options=options)
    state = retrieve(scope=scope_of(person), request=asked).state
    return {c.passage.external_id: c.detail["use"] for c in state.candidates if "use" in c.detail}


# ── what is learnt ──────────────────────────────────────────────────────────────────────────────


def test_what_people_open_comes_first_for_similar_questions(owner, home, corpus, few_are_enough):
    assert order(owner, home)[:2] == ["alarm", "export"]
    used(corpus, people(9))

    assert set_use_learn(set_id=home.pk) == 2

    assert order(owner, home)[:2] == ["alarm", "export"]  # off until the owner wants it
    assert order(owner, home, use_shift=0.5)[:2] == ["export", "alarm"]
    assert order(owner, home, use_shift=0.5, question="Where do I see the alarms of the base station?")[0] == "export"
    assert noted(owner, home, use_shift=0.5, question="How long does a cake of apples bake?") == {}
    told = noted(owner, home, use_shift=0.5)["export"]
    assert (told["place"], told["people"], told["opened"]) == (2, 9, 9)


def test_nothing_is_learnt_before_there_is_enough(owner, home, corpus):
    used(corpus, people(9))

    assert set_use_learn(set_id=home.pk) == 0

    summary = UseSummary.objects.get(knowledge_set=home)
    assert (summary.answers, summary.people, summary.is_enough) == (9, 9, False)
    assert order(owner, home, use_shift=0.5)[:2] == ["alarm", "export"]


def test_one_person_alone_changes_nothing_for_others(owner, home, corpus, few_are_enough):
    (busy,) = people(1)
    for _ in range(40):
        used(corpus, [busy])
    for person in people(2):
        Vote.objects.create(message=answer(person, corpus["cake"]), user=person, vote="up")

    set_use_learn(set_id=home.pk)

    assert UseSummary.objects.get(knowledge_set=home).is_enough
    assert not UseEvidence.objects.exists()
    assert order(owner, home, use_shift=0.5) == order(owner, home)


def test_votes_reported_and_copied_sources_count(owner, home, corpus, few_are_enough):
    for person in people(4):
        Vote.objects.create(message=answer(person, corpus["export"]), user=person, vote="up")
        wrong = answer(person, corpus["alarm"])
        Signal.objects.create(message=wrong, user=person, kind="wrong_source", value=1)
        copied = answer(person, corpus["cake"], question="How long does a cake of apples bake?")
        Signal.objects.create(message=copied, user=person, kind="copy", value="answer_with_sources")

    set_use_learn(set_id=home.pk)

    found = {one.document.external_id: one for one in use_evidence_of_set(scope=scope_of(owner), set_id=home.pk)}
    assert found["export"].value > 0 > found["alarm"].value
    assert (found["export"].helpful, found["alarm"].unhelpful) == (4, 4)
    assert found["cake"].value > 0


def test_a_complaint_about_the_answer_weighs_less_than_one_about_its_sources(home, corpus):
    (person,) = people(1)
    shown = []
    for reasons in (["unclear"], ["bad_source"]):
        message = answer(person, corpus["alarm"])
        Vote.objects.create(message=message, user=person, vote="down", reasons=reasons)
        shown.append(message)
    rated = answer(person, corpus["alarm"])
    Vote.objects.create(message=rated, user=person, vote="up", rating=4)

    found = set_showings(home=home, answers=answers_with_acts(since=timezone.now() - timedelta(days=1)), most=9)

    assert [one.judgement for one in found.showings] == [-0.5, -1.0, 0.5]
    assert {one.place for one in found.showings} == {None}


def test_copying_from_a_source_is_opening_it_and_copying_words_of_the_answer_is_nothing(home, corpus):
    first, second = people(2)
    copied = answer(first, corpus["alarm"], corpus["export"])
    Signal.objects.create(message=copied, user=first, kind="copy", value=2)
    other = answer(second, corpus["alarm"], corpus["export"])
    Signal.objects.create(message=other, user=second, kind="copy", value="selection")

    found = set_showings(home=home, answers=answers_with_acts(since=timezone.now() - timedelta(days=1)), most=9)

    assert [(one.place, one.opened) for one in found.showings] == [(1, False), (2, True)]


def test_answers_are_read_without_their_words_and_traces_and_in_a_few_statements(home, corpus):
    used(corpus, people(5))
    answers = answers_with_acts(since=timezone.now() - timedelta(days=1))

    with CaptureQueriesContext(connection) as captured:
        assert set_showings(home=home, answers=answers, most=99).showings

    statements = " ".join(one["sql"] for one in captured.captured_queries)
    for column in ("answer", "answer_html", "sentences", "request", "trace", "excerpt", "segment"):
        assert f'."{column}"' not in statements
    assert len(captured) < 9


def test_who_does_not_want_it_recorded_and_programs_teach_nothing(owner, home, corpus, few_are_enough):
    quiet = people(3, record_use=False)
    used(corpus, quiet)  # as if it had been recorded before
    used(corpus, people(3), channel="api")
    service = User.objects.create(
        username="robot", tenant=owner.tenant, is_service=True, service_owner=owner, password="!"
    )
    used(corpus, [service])
    since = timezone.now() - timedelta(days=1)

    assert set_showings(home=home, answers=answers_with_acts(since=since), most=9).showings == []
    assert set_use_learn(set_id=home.pk) == 0


def test_only_what_was_done_lately_counts(home, corpus, few_are_enough, settings):
    old = used(corpus, people(5))
    settings.KEEP_SIGNALS_DAYS = 30
    Message.objects.filter(pk__in=[one.pk for one in old]).update(created=timezone.now() - timedelta(days=31))

    assert set_use_learn(set_id=home.pk) == 0
    assert UseSummary.objects.get(knowledge_set=home).answers == 0


def test_more_answers_than_are_read_are_counted(owner, home, corpus, few_are_enough, monkeypatch):
    monkeypatch.setattr(ranking_from_use, "MOST_ANSWERS", 4)
    used(corpus, people(9))

    set_use_learn(set_id=home.pk)

    summary = UseSummary.objects.get(knowledge_set=home)
    assert (summary.answers, summary.left_out) == (9, 5)
    assert {one.people for one in UseEvidence.objects.all()} == {4}


def test_the_same_text_of_a_new_version_keeps_what_was_learnt(owner, home, corpus, few_are_enough):
    used(corpus, people(9))
    corpus["export"].refresh_from_db()
    run_job(document_rebuild(scope=scope_of(owner), actor=owner, document_id=corpus["export"].pk).pk)
    assert Document.objects.get(pk=corpus["export"].pk).live_version_id != corpus["export"].live_version_id

    set_use_learn(set_id=home.pk)

    assert order(owner, home, use_shift=0.5)[0] == "export"


def test_a_second_night_replaces_the_first_and_forgets_what_was_deleted(owner, home, corpus, few_are_enough):
    messages = used(corpus, people(9))
    set_use_learn(set_id=home.pk)
    first = list(UseEvidence.objects.order_by("chunk").values_list("chunk", "value"))
    set_use_learn(set_id=home.pk)
    assert list(UseEvidence.objects.order_by("chunk").values_list("chunk", "value")) == first

    Conversation.objects.filter(messages__in=messages).delete()
    assert use_learn() == 1  # also a set of which nothing is left
    set_use_learn(set_id=home.pk)

    assert not UseEvidence.objects.exists()


# ── whose it is ─────────────────────────────────────────────────────────────────────────────────


def test_a_passage_is_moved_only_among_what_the_asker_may_see(owner, home, corpus, few_are_enough):
    ingest(owner, home, clearance=3, secret="The alarms of a base station are seen in the secret room only.")
    hidden = Document.objects.get(external_id="secret")
    for person in people(9):
        answer(person, corpus["alarm"], hidden, opened=[2])
    set_use_learn(set_id=home.pk)
    reader = make_user(clearance=0)

    assert "secret" in order(owner, home, use_shift=0.5)
    assert sorted(order(reader, home, use_shift=0.5)) == sorted(order(reader, home))
    assert set(noted(reader, home, use_shift=0.5)) <= {"alarm"}


def test_a_set_that_the_asker_may_not_read_moves_nothing(owner, home, corpus, few_are_enough):
    closed = make_set("closed", owners=[owner], visibility="members")
    corpus["alarm"].sets.add(closed)
    corpus["export"].sets.add(closed)
    used(corpus, people(9))
    set_use_learn(set_id=closed.pk)

    assert noted(owner, use_shift=0.5) != {}
    assert noted(make_user(), use_shift=0.5) == {}


def test_a_tenant_never_learns_from_another(owner, home, corpus, few_are_enough):
    abroad = make_tenant()
    used(corpus, people(9, tenant=abroad))  # conversations of the other tenant that point here

    assert set_use_learn(set_id=home.pk) == 0
    used(corpus, people(9))
    set_use_learn(set_id=home.pk)
    stranger = make_admin(tenant=abroad)
    vector = np.full(768, 0.1, np.float32)
    chunks = list(UseEvidence.objects.values_list("chunk", flat=True))
    model = UseSummary.objects.get(knowledge_set=home).model
    UseEvidence.objects.update(vector=vector.tolist())
    load = lambda scope: use_evidence.use_evidence_load(  # noqa: E731
        scope=scope, sets=[home.pk], vector=vector, model=model, chunks=chunks
    )
    assert len(load(scope_of(owner))) == 2
    assert load(scope_of(stranger)) == []
    assert load(replace(scope_of(owner), tenant_id=abroad.pk)) == []


def test_who_is_erased_takes_part_no_more(owner, home, corpus, few_are_enough, monkeypatch):
    crowd = people(3)
    used(corpus, crowd)
    set_use_learn(set_id=home.pk)
    assert UseEvidence.objects.count() == 2
    sent = []
    monkeypatch.setattr(ranking_from_use, "enqueue_on_commit", lambda name, **values: sent.append((name, values)))

    person_erase(user=crowd[0], actor=owner)

    assert not UseEvidence.objects.exists()
    assert sent == [("feedback.learn_set_use", {"queue": "diagnosis", "set_id": home.pk})]
    set_use_learn(set_id=home.pk)
    assert not UseEvidence.objects.exists()  # two people are too few


def test_a_deleted_document_loses_its_rows_at_once(owner, home, corpus, few_are_enough):
    used(corpus, people(9))
    set_use_learn(set_id=home.pk)

    document_delete(scope=scope_of(owner), actor=owner, document_id=corpus["export"].pk)

    assert {one.document_id for one in UseEvidence.objects.all()} == {corpus["alarm"].pk}
    set_use_learn(set_id=home.pk)  # the answers still cite it
    assert {one.document_id for one in UseEvidence.objects.all()} <= {corpus["alarm"].pk}


# ── where it is on ──────────────────────────────────────────────────────────────────────────────


def test_the_option_of_the_set_holds_where_it_is_asked_alone_that_of_the_site_elsewhere(
    owner, home, corpus, few_are_enough
):
    used(corpus, people(9))
    set_use_learn(set_id=home.pk)
    set_options_update(scope=scope_of(owner), actor=owner, set_id=home.pk, options=ON)
    assert (order(owner, home)[0], order(owner)[0]) == ("export", "alarm")

    site_options_update(scope=scope_of(owner), actor=owner, options=ON)
    assert order(owner)[0] == "export"

    set_options_update(scope=scope_of(owner), actor=owner, set_id=home.pk, options={"retrieval": {"use_shift": 0}})
    other = make_set("other", owners=[owner])
    assert order(owner)[0] == "alarm"  # its owner does not want it, also among others
    assert order(owner, home, other)[0] == "alarm"
    assert order(owner, home, use_shift=0.5)[0] == "export"  # to compare


def test_answers_become_stale_only_where_use_takes_part(owner, home, corpus, few_are_enough):
    used(corpus, people(9))
    before = epoch_now(tenant_id=home.tenant_id)
    set_use_learn(set_id=home.pk)
    assert epoch_now(tenant_id=home.tenant_id) == before

    set_options_update(scope=scope_of(owner), actor=owner, set_id=home.pk, options=ON)
    before = epoch_now(tenant_id=home.tenant_id)
    set_use_learn(set_id=home.pk)
    assert epoch_now(tenant_id=home.tenant_id) > before


def test_it_costs_no_statement_where_it_is_off_and_one_where_it_is_on(
    owner, home, corpus, few_are_enough, nothing_expires
):
    used(corpus, people(9))
    set_use_learn(set_id=home.pk)
    order(owner, home), order(owner, home, use_shift=0.5)  # what is looked up once
    with CaptureQueriesContext(
        connection,
    ) as off:
        order(owner, home)
    with CaptureQueriesContext(connection) as on:
        order(owner, home, use_shift=0.5)

    assert not [one for one in off.captured_queries if "knowledge_use" in one["sql"]]
    assert len([one for one in on.captured_queries if "knowledge_use" in one["sql"]]) == 1
    assert len(on) == len(off) + 1


@pytest.mark.parametrize("mode", ["vector", "bm25"])
def test_a_search_by_one_arm_is_moved_too(owner, home, corpus, few_are_enough, mode):
    used(corpus, people(9))
    set_use_learn(set_id=home.pk)
    asked = RetrievalRequest(query=ASKED, sets=(home.pk,), mode=mode, options={"use_shift": 0.5})

    state = retrieve(scope=scope_of(owner), request=asked).state

    assert {c.passage.external_id for c in state.candidates if "use" in c.detail} == {"alarm", "export"}


def test_evidence_of_another_embedding_model_takes_no_part(owner, home, corpus, few_are_enough):
    used(corpus, people(9))
    set_use_learn(set_id=home.pk)
    UseEvidence.objects.update(model="another")

    assert noted(owner, home, use_shift=0.5) == {}


# ── which questions are similar ─────────────────────────────────────────────────────────────────


def test_the_floor_is_that_of_the_model_or_above_unlike_questions():
    random = np.random.default_rng(1)
    rows = random.normal(size=(80, 16)).astype(np.float32)
    apart = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    near = np.concatenate([np.full((80, 16), 0.3, np.float32), apart], axis=1)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    of_its_own = [frozenset([at]) for at in range(80)]

    assert similar_floor("embedded-minilm-ngrams-1", apart * 0.1, of_its_own) == pytest.approx(0.6)
    assert similar_floor("bge-m3", apart * 0.1, of_its_own) == pytest.approx(0.75)
    assert 0.6 < similar_floor("embedded-minilm-ngrams-1", near, of_its_own) < 0.95
    assert similar_floor("embedded-minilm-ngrams-1", near, [frozenset([1])] * 80) == pytest.approx(
        0.6
    )  # all about the same document
    assert similar_floor("embedded-minilm-ngrams-1", near[:0], []) == pytest.approx(0.6)


def test_the_rows_of_candidates_are_found_by_their_index(owner, home, corpus, few_are_enough):
    used(corpus, people(9))
    set_use_learn(set_id=home.pk)
    one = UseEvidence.objects.first()
    names = "tenant_id, knowledge_set_id, document_id, model, vector, value, people, shown, opened, helpful, unhelpful"
    other = Chunk.objects.exclude(pk=one.chunk_id).values_list("pk", flat=True)[0]
    many = f"""
        INSERT INTO knowledge_useevidence (chunk_id, {names})
        SELECT {other}, {names} FROM knowledge_useevidence, generate_series(1, 3000) WHERE id = {one.pk}"""
    with connection.cursor() as cursor:
        cursor.execute(many)
        cursor.execute("ANALYZE knowledge_useevidence")
        cursor.execute(
            f"EXPLAIN {use_evidence.NEAR}",
            {
                "tenant": home.tenant_id,
                "sets": f"{{{home.pk}}}",
                "chunks": f"{{{one.chunk_id}}}",
                "model": one.model,
                "vector": str(np.full(768, 0.1).tolist()),
            },
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "knowledge_use_chunk" in plan, plan
