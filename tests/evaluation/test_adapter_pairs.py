"""Collecting pairs of a large set: a step at a time, in bounded memory, and the same as with everything in memory."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.selectors import scope_for
from evaluation.jobs import train_adapter
from evaluation.services import adapter_negatives, adapter_pairs, adapter_passages, trainings
from evaluation.services.adapter_negatives import NegativesSearch
from evaluation.services.adapter_pairs import ORIGINS, PairCollection, PairSample
from evaluation.services.adapter_passages import SetPassages
from evaluation.services.adapter_training import training_cancel, training_start
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from feedback.models import Vote
from knowledge.models import Chunk, Document, QueryAdapter
from knowledge.services.edits import chunk_questions_set
from ragcore.text.question_pairs import QuestionPair
from tests.admin.conftest import signed_in
from tests.evaluation.pairs_at_once import pairs_at_once, pairs_collect
from tests.evaluation.topics import WORDS
from tests.evaluation.trained import job_of
from tests.factories import ingest, make_admin, make_set, make_user
from tests.feedback.used_sources import answer
from tests.work.contract import Killed, lease_lapse
from work.runner import slice_run

TOPICS = WORDS[:24]


def radio_make():
    """Short and long documents, headings, texts that stand twice, and something of every origin."""
    admin = make_admin("admin")
    home = make_set("radio", owners=[admin])
    long = {
        f"book-{n}": "\n\n".join(
            f"{word.capitalize()} {n} means shelf {word}. " + f"{word} {n}. " * 150 for word in TOPICS[:5]
        )
        for n in range(3)
    }
    short = {
        word: f"{word.capitalize()} is work of shift {at}. It begins at {at} o'clock." for at, word in enumerate(TOPICS)
    }
    twice = {"copy": f"{TOPICS[0].capitalize()} is work of shift 0. It begins at 0 o'clock."}
    ingest(admin, home, **short, **long, **twice)
    books = Chunk.objects.filter(version__live_for__external_id__startswith="book-").order_by("pk")
    for at, chunk in enumerate(books):  # two passages each; of the last book all of them under one heading
        name = "Everything" if chunk.version.document.external_id == "book-2" else TOPICS[at // 2].capitalize()
        Chunk.objects.filter(pk=chunk.pk).update(heading_path=["Contents", name])
    other = make_set("other", owners=[admin])
    ingest(admin, other, elsewhere="Not in the set at all.")
    rows = [GoldenRow(question=f"Which shift does the {word}?", relevant=(word, "elsewhere")) for word in TOPICS]
    rows += [
        GoldenRow(question="What means shelf?", relevant=("book-1", "copy"), answers=(f"shelf {TOPICS[1]}",)),
        GoldenRow(question="What is nowhere?", relevant=("book-2",), answers=("nothing of it",)),
    ]
    golden_import(tenant=admin.tenant, name="radio", rows=rows).golden_set.sets.add(home)
    for at, word in enumerate((TOPICS[0], TOPICS[3], "copy")):
        chunk = Chunk.objects.get(version__live_for__external_id=word, retired=None)
        questions = [f"When does shift {at} begin its work?", f"Who else may do number {at}?"]
        chunk_questions_set(scope=scope_for(admin), actor=admin, chunk_id=chunk.pk, questions=questions)
    documents = {one.external_id: one for one in Document.objects.all()}
    person = make_user("reader", tenant=admin.tenant)
    for word in TOPICS[:4]:
        message = answer(person, documents[word], documents["elsewhere"], question=f"Helpful: {word}?", opened=[1])
        Vote.objects.create(message=message, user=person, vote="up")
    return admin, home


pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("few_general_texts"),
    pytest.mark.starts_from(make=radio_make),
]


@pytest.fixture
def admin(request, db):
    return request.getfixturevalue("kept_rows")[0] if "radio" in request.fixturenames else make_admin("admin")


@pytest.fixture
def radio(kept_rows):
    return kept_rows[1]


def whole(admin, radio, *origins, **limits):
    return pairs_at_once(scope=scope_for(admin), knowledge_set=radio, origins=origins or ORIGINS, **limits)


def collected(admin, radio, *origins):
    found = pairs_collect(scope=scope_for(admin), knowledge_set=radio, origins=origins or ORIGINS)
    return found.pairs, found.dropped


@pytest.mark.parametrize("at_once", [3, *(pytest.param(number, marks=pytest.mark.full) for number in (1, 1000))])
def test_the_pairs_are_those_that_are_found_with_everything_in_memory(admin, radio, monkeypatch, at_once):
    for module, names in (
        (adapter_pairs, ("CASES_AT_ONCE", "EDITS_AT_ONCE", "WRITTEN_AT_ONCE")),
        (adapter_passages, ("DOCUMENTS_AT_ONCE", "IDS_AT_ONCE")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, at_once)
    expected = whole(admin, radio)

    assert collected(admin, radio) == expected
    assert {pair.origin for pair in expected[0]} >= {"golden", "vote", "question", "title"}
    assert expected[1]["no_passage"] == 1
    for origin in set(ORIGINS) - {"summary"}:  # of which this set has none
        alone = whole(admin, radio, origin)
        assert alone[0], origin
        assert collected(admin, radio, origin) == alone, origin


def test_what_is_balanced_is_the_same(admin, radio, monkeypatch):
    monkeypatch.setattr(adapter_pairs, "MOST_MADE", 8)

    assert collected(admin, radio, "heading", "title") == whole(admin, radio, "heading", "title", most=8)


@pytest.mark.full
def test_a_collection_that_goes_on_from_any_step_ends_with_the_same_pairs(admin, radio, monkeypatch):
    monkeypatch.setattr(adapter_pairs, "CASES_AT_ONCE", 5)
    monkeypatch.setattr(adapter_passages, "DOCUMENTS_AT_ONCE", 4)
    who = {"scope": scope_for(admin), "home": radio}
    collection = PairCollection(**who, origins=ORIGINS)
    steps = 0
    while not collection.is_over:
        collection = PairCollection(**who, stored=collection.packed())
        collection.advance()
        steps += 1

    found = PairCollection(**who, stored=collection.packed()).result()

    assert steps > 20
    assert (found.pairs, found.dropped) == whole(admin, radio)


def test_no_statement_reads_the_texts_of_all_passages(admin, radio, monkeypatch):
    monkeypatch.setattr(adapter_passages, "KEPT_CHARACTERS", 1)
    passages = SetPassages(scope=scope_for(admin), set_id=radio.pk)
    documents = [one.pk for one in Document.objects.filter(external_id__startswith="book-")]

    with CaptureQueriesContext(
        connection,
    ) as asked:
        for document in documents:
            assert len(passages.squeezed(document)) > 1
        passages.headings_after(0)
        passages.every(10)

    assert len(passages._squeezed) == 1  # the last document alone
    read = [one["sql"] for one in asked.captured_queries if '"text"' in one["sql"].split("FROM")[0]]
    assert len(read) == len(documents)
    assert all('"document_id" = ' in sql for sql in read)


def peak_bytes(act) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.full
def test_the_texts_of_a_set_are_never_in_memory_together(admin, monkeypatch):
    home = make_set("large", owners=[admin])
    documents = ingest(admin, home, **{word: f"All about {word}." for word in TOPICS})
    text = "What everybody should know of it is said here at great length. " * 64  # 4 KB, times 2400
    Chunk.objects.bulk_create(
        Chunk(version=document.live_version, ordinal=at, text=f"{at} {text}", tokens=1000)
        for document in documents.values()
        for at in range(1, 101)
    )
    rows = [GoldenRow(question=f"What of {word}?", relevant=(word,), answers=(f"about {word}",)) for word in TOPICS]
    golden_import(tenant=admin.tenant, name="large", rows=rows).golden_set.sets.add(home)
    origins = ("golden", "heading", "title")
    everything = 2400 * len(text)
    expected = whole(admin, home, *origins)
    monkeypatch.setattr(adapter_passages, "KEPT_CHARACTERS", 100_000)

    least = peak_bytes(lambda: whole(admin, home, *origins))
    most = peak_bytes(lambda: collected(admin, home, *origins))

    assert collected(admin, home, *origins) == expected
    assert len(expected[0]) == len(TOPICS)
    assert most < everything / 3 < everything < least


def test_a_sample_of_made_pairs_does_not_depend_on_their_order():
    pairs = [QuestionPair(question=f"Question {n}", chunks=(n,), documents=(n,), origin="heading") for n in range(200)]
    one, other = PairSample(most=20), PairSample(most=20)
    for at, pair in enumerate(pairs):
        one.add((1, at), pair)
    for at, pair in reversed(list(enumerate(pairs))):
        other.add((1, at), pair)

    assert one.pairs() == other.pairs() == sorted(one.pairs(), key=lambda pair: pair.chunks)
    assert (len(one.pairs()), one.left_out) == (20, 180)


def test_made_pairs_beyond_the_sample_are_counted_as_dropped(admin, radio, monkeypatch):
    monkeypatch.setattr(adapter_pairs, "MOST_CANDIDATES", 5)

    pairs, dropped = collected(admin, radio, "heading", "title")

    assert 0 < len(pairs) <= 5
    assert dropped["balance"] > 0
    assert len(pairs) + sum(dropped.values()) == sum(
        len(whole(admin, radio, name)[0]) + sum(whole(admin, radio, name)[1].values()) for name in ("heading", "title")
    )


# ── in a training ───────────────────────────────────────────────────────────────────────────────


def start(admin, radio) -> QueryAdapter:
    origins = ["golden", "vote", "question", "heading"]
    return training_start(scope=scope_for(admin), actor=admin, set_id=radio.pk, origins=origins)


@pytest.fixture
def stops_before_rounds(monkeypatch):
    """A training that has its pairs is far enough for these tests."""

    def stop(**_values):
        raise Killed

    monkeypatch.setattr(train_adapter.AdapterJudge, "of_training", stop)
    monkeypatch.setattr(adapter_pairs, "CASES_AT_ONCE", 5)
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)


def pairs_of(row) -> tuple[list, dict]:
    job = job_of(row)
    with pytest.raises(Killed):
        slice_run(job_id=job.pk)
    row.refresh_from_db()
    assert row.checkpoint is None
    training_cancel(scope=scope_for(row.author), actor=row.author, adapter_id=row.pk)
    return row.pairs, row.figures


@pytest.mark.full
@pytest.mark.parametrize("steps", [4, 0, 1, 7])
@pytest.mark.parametrize("kind", [PairCollection, NegativesSearch])
def test_a_training_that_is_killed_while_it_collects_goes_on_with_the_same_pairs(
    admin, radio, stops_before_rounds, monkeypatch, kind, steps
):
    expected = pairs_of(start(admin, radio))
    row = start(admin, radio)
    done = []
    real = kind.advance

    def dying(self, *given):
        if len(done) == steps:
            raise Killed
        done.append(real(self, *given))

    with monkeypatch.context() as patched:
        patched.setattr(kind, "advance", dying)
        with pytest.raises(Killed):
            slice_run(job_id=job_of(row).pk)
    row.refresh_from_db()
    assert (row.state, row.pairs) == ("building", [])
    lease_lapse(job_of(row))
    counted = []
    monkeypatch.setattr(kind, "advance", lambda self, *given: (counted.append(1), real(self, *given)))

    found = pairs_of(row)

    assert found == expected
    assert found[0]
    total = len(counted) + len(done)
    if kind is NegativesSearch:
        assert total == len(found[0]) + found[1]["dropped"].get("not_found", 0)  # no pair is searched twice


def slices_until_pairs(row, between=lambda job: None) -> None:
    for _ in range(500):
        row.refresh_from_db()
        if row.pairs:
            return
        between(job_of(row))
        with suppress(Killed):
            slice_run(job_id=job_of(row).pk)


@pytest.mark.full
def test_a_training_lets_others_in_between_while_it_collects_and_can_be_cancelled_there(
    admin, radio, stops_before_rounds, monkeypatch
):
    expected = pairs_of(start(admin, radio))
    monkeypatch.setattr(train_adapter.TrainAdapter, "slice_seconds", 0.0)
    page = lambda: signed_in(admin).get(f"{reverse('admin:evaluation_adapters_set')}?set={radio.pk}").content.decode()  # noqa: E731
    row = start(admin, radio)
    slice_run(job_id=job_of(row).pk)
    assert (job_of(row).state, job_of(row).lease_until) == ("queued", None)
    assert "found so far" in page()

    def check(job):
        if job.figures.get("searched") == 3:
            assert f"3 of {job.figures['to_search']} questions searched" in page()

    slices_until_pairs(row, check)
    assert (row.pairs, row.figures) == expected
    training_cancel(scope=scope_for(admin), actor=admin, adapter_id=row.pk)

    other = start(admin, radio)
    slice_run(job_id=job_of(other).pk)
    training_cancel(scope=scope_for(admin), actor=admin, adapter_id=other.pk)

    assert not slice_run(job_id=job_of(other).pk)
    other.refresh_from_db()
    assert (other.reason, other.pairs, other.checkpoint) == ("cancelled", [], None)


@pytest.mark.full
def test_rights_hold_between_two_slices(admin, radio, stops_before_rounds, monkeypatch):
    """Who may no longer search a document learns nothing from it, whatever was collected before."""
    owner = make_user("owner", tenant=admin.tenant, clearance=2)
    radio.owners.add(owner)
    row = training_start(scope=scope_for(owner), actor=owner, set_id=radio.pk, origins=["golden", "title"])
    monkeypatch.setattr(train_adapter.TrainAdapter, "slice_seconds", 0.0)
    slice_run(job_id=job_of(row).pk)
    hidden = Document.objects.get(external_id=TOPICS[0])
    Document.objects.filter(pk=hidden.pk).update(clearance=4)
    slices_until_pairs(row)
    chunks = set(Chunk.objects.filter(version__document=hidden).values_list("pk", flat=True))

    assert row.pairs
    assert not [one for one in row.pairs if chunks & {*one["hard"], *one["masked"]}]


def test_negatives_are_looked_up_among_the_passages_of_the_set_alone(admin, radio):
    passages = SetPassages(scope=scope_for(admin), set_id=radio.pk)
    pairs, _dropped = collected(admin, radio, "golden")

    found = adapter_negatives.pair_confused(pair=pairs[0], passages=passages)

    others = [*found.hard, *found.masked]
    assert found.is_relevant
    assert others
    assert set(passages.document_of(others)) == set(others)
