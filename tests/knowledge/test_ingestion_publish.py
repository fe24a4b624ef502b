"""What publishing leaves behind: passages with owners' edits, entries of every kind, statistics, reports."""

import pytest

from knowledge.indexes.checks import frequencies_drift, incomplete_documents, totals_drift
from knowledge.indexes.lexical_statistics import effective_length
from knowledge.models import (
    Chunk,
    Document,
    DuplicatePair,
    IndexEntry,
    KnowledgeSet,
    LexicalStatistics,
    SketchBand,
    Term,
)
from knowledge.selectors import corpus_epoch
from knowledge.services import document_delete, versions_compare
from knowledge.services.edits import chunk_disable, chunk_questions_set, chunk_replace
from tests.factories import ingest, reweighed, scope_of

pytestmark = pytest.mark.django_db

EVERYTHING = {"representations": {"summaries": True, "questions": True, "tables": True}}
LONG = "The beam manager selects the strongest beam of the cell. " * 30
TABLE = "Limits\n\n| alarm | level |\n|---|---|\n| 26501 | major |\n| 26529 | minor |\n"


@pytest.fixture
def rich(common):
    KnowledgeSet.objects.filter(pk=common.pk).update(options=EVERYTHING)
    return common


def drift():
    return [*totals_drift(), *frequencies_drift(), *incomplete_documents()]


def by(person, **more):
    return {"scope": scope_of(person), "actor": person, **more}


# ── statistics ──────────────────────────────────────────────────────────────────────────────────


def test_a_passage_counts_once_however_much_is_written_about_it(owner, common, rich):
    ingest(owner, rich, long=LONG, other="Gamma rays.")

    kinds = set(IndexEntry.objects.values_list("representation", flat=True))
    totals = LexicalStatistics.objects.get(language="en")
    assert {"body", "summary", "question"} <= kinds
    assert totals.entries == Chunk.objects.count()
    assert Term.objects.get(text="beam").frequency == 1
    assert totals.total_length == sum(IndexEntry.objects.filter(representation="body").values_list("length", flat=True))


def test_statistics_do_not_drift_when_documents_with_every_representation_come_change_and_go(owner, rich):
    documents = ingest(owner, rich, a=LONG, b="Beta. " + LONG, table=TABLE, zh="随机接入过程需要前导码。" * 40)
    assert drift() == []

    ingest(owner, rich, a="Alpha. " + LONG)
    chunk = Chunk.objects.get(version__document=documents["b"], version__live_for__isnull=False)
    chunk_replace(**by(owner, chunk_id=chunk.pk, text="Another text."))
    document_delete(**by(owner, document_id=documents["table"].pk))

    assert drift() == []


def test_what_is_written_about_a_passage_gains_nothing_by_being_short(owner, rich):
    ingest(owner, rich, long=LONG, other="Gamma rays and their many uses in medicine. " * 10)

    term = Term.objects.get(text="beam").pk
    written = IndexEntry.objects.exclude(representation="body")
    weights = [weight for e in written if (weight := dict(zip(*sides(e), strict=True)).get(term - 1)) is not None]
    once = 1.0  # the weight of one mention in a passage of average length
    assert min(weights) == pytest.approx(once, rel=0.01)


def sides(entry):
    return entry.bm25.indices(), entry.bm25.values()


@pytest.mark.parametrize(("kind", "length", "expected"), [("body", 5, 5), ("question", 5, 100), ("summary", 200, 200)])
def test_only_the_documents_own_words_are_weighed_by_their_own_length(kind, length, expected):
    assert effective_length(kind, length, 100.2) == expected


def test_weights_of_every_kind_are_the_same_when_computed_again_with_the_same_average(owner, rich):
    ingest(owner, rich, a=LONG, b="Gamma rays and their uses.")
    for totals in LexicalStatistics.objects.filter(entries__gt=0):
        reweighed(totals)
    before = {e.pk: sides(e) for e in IndexEntry.objects.all()}

    for totals in LexicalStatistics.objects.filter(entries__gt=0):
        reweighed(totals)

    after = {e.pk: sides(e) for e in IndexEntry.objects.all()}
    assert after.keys() == before.keys()
    for pk, (indices, values) in after.items():
        assert indices == before[pk][0]
        assert values == pytest.approx(before[pk][1], rel=1e-4)


# ── edits ───────────────────────────────────────────────────────────────────────────────────────


def live_chunks(document):
    return Chunk.objects.filter(version__live_for=document).order_by("ordinal")


def test_edits_are_done_again_when_the_document_is_ingested_again(owner, common):
    text = "\n\n".join(f"# {name}\n\n" + f"This part is about {name}. " * 90 for name in ("alpha", "beta", "gamma"))
    document = ingest(owner, common, spec=text)["spec"]
    first, second, *_ = live_chunks(document)
    chunk_replace(**by(owner, chunk_id=first.pk, text="Alpha in our own words."))
    chunk_disable(**by(owner, chunk_id=second.pk))

    document = ingest(owner, common, spec=text + "An addition at the end.")["spec"]

    chunks = {chunk.ordinal: chunk for chunk in live_chunks(document)}
    assert (chunks[0].text, chunks[0].retired, chunks[0].edit.kind) == ("Alpha in our own words.", None, "replace")
    assert (chunks[1].edit.kind, chunks[1].entries.count()) == ("disable", 0)
    assert chunks[1].retired is not None
    assert document.live_version.report["edits"] == {"applied": 2, "lost": 0, "disabled": 1}
    assert drift() == []


def test_questions_of_owners_are_entries_of_their_own(owner, common):
    document = ingest(owner, common, spec="The lamp is red when the board fails.")["spec"]
    chunk_questions_set(**by(owner, chunk_id=live_chunks(document).get().pk, questions=["Why is the light on?"]))

    document = ingest(owner, common, spec="The lamp is red when the board fails. Always.")["spec"]

    lost = document.live_version.report["edits"]["lost"]
    questions = IndexEntry.objects.filter(version=document.live_version, representation="question")
    assert (lost, questions.count()) == (0, 1)


def test_a_document_of_which_everything_is_disabled_still_goes_live(owner, common):
    document = ingest(owner, common, spec="The only passage.")["spec"]
    chunk_disable(**by(owner, chunk_id=live_chunks(document).get().pk))
    Document.objects.filter(pk=document.pk).update(title="Another title")

    document = ingest(owner, common, spec="The  only passage.")["spec"]

    assert (document.state, document.live_version.number) == ("live", 2)
    assert not IndexEntry.objects.filter(version=document.live_version).exists()


# ── around it ───────────────────────────────────────────────────────────────────────────────────


def test_the_report_counts_what_was_made(owner, rich):
    document = ingest(owner, rich, table=TABLE)["table"]

    report = document.live_version.report
    assert report["passages"] == Chunk.objects.count()
    assert sum(report["entries"].values()) == IndexEntry.objects.count()
    assert report["entries"]["body"] == 1


def test_near_duplicates_are_found_behind_the_back_of_ingestion(owner, common):
    text = " ".join(f"Alarm {number} is raised by board {number * 7}." for number in range(60))
    documents = ingest(owner, common, a=text, b=text + " A little more.", c="Something else entirely.")

    assert versions_compare() == 3
    pair = DuplicatePair.objects.get()
    assert {pair.first_id, pair.second_id} == {documents["a"].pk, documents["b"].pk}
    assert SketchBand.objects.values("version").distinct().count() == 3
    assert versions_compare() == 0


def test_each_publication_moves_the_epoch(owner, common):
    before = corpus_epoch(scope=scope_of(owner))

    ingest(owner, common, a="alpha")

    assert corpus_epoch(scope=scope_of(owner)) > before
