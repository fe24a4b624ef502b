"""Cutting documents anew: what would change, and doing it."""

from __future__ import annotations

import pytest
from django.utils.module_loading import import_string

from accounts.errors import NotAllowedError
from knowledge.errors import JobOverError
from knowledge.models import Chunk, Document, IngestItem
from knowledge.selectors import chunks_of
from knowledge.services import document_delete, job_cancel
from knowledge.services.chunking_previews import chunking_preview
from knowledge.services.options import set_options_update
from knowledge.services.reingest import document_rebuild, set_rebuild
from ragcore.errors import InvalidOptionsError
from tests.factories import ingest, make_set, make_user, run_job, scope_of
from tests.knowledge.test_edits import once_before
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "\n\n".join(
    f"Sentence {n} says that unit {n} of the rack is checked each week by the site team." for n in range(90)
)


@pytest.fixture
def owner():
    return make_user()


@pytest.fixture
def kept(owner):
    return make_set(owners=[owner])


def test_a_preview_counts_both_ways_and_stores_nothing(owner, kept):
    ingest(owner, kept, a=LONG, b="Short.")
    before = Chunk.objects.count()

    preview = chunking_preview(scope=scope_of(owner), set_id=kept.pk, chunking={"max_tokens": 200, "min_tokens": 100})

    assert preview.documents_total == 2
    assert preview.passages_before == before
    assert preview.passages_after > preview.passages_before
    assert max(one.after.longest_tokens for one in preview.documents) <= 200
    assert Chunk.objects.count() == before


def test_the_preview_of_a_choice_is_what_rebuilding_makes(owner, kept):
    document = ingest(owner, kept, a=LONG)["a"]
    choice = {"max_tokens": 200, "min_tokens": 100}
    expected = chunking_preview(scope=scope_of(owner), set_id=kept.pk, chunking=choice).passages_after
    set_options_update(scope=scope_of(owner), actor=owner, set_id=kept.pk, options={"chunking": choice})

    job = set_rebuild(scope=scope_of(owner), actor=owner, set_id=kept.pk)
    assert chunks_of(scope=scope_of(owner), document_id=document.pk).count() != expected  # the old ones, until then
    run_job(job.pk)

    assert chunks_of(scope=scope_of(owner), document_id=document.pk).count() == expected
    assert job.items.count() == 1


def test_impossible_sizes_are_refused(owner, kept):
    with pytest.raises(InvalidOptionsError):
        chunking_preview(scope=scope_of(owner), set_id=kept.pk, chunking={"max_tokens": 1})


def test_documents_that_others_keep_too_are_not_rebuilt(owner, kept):
    documents = ingest(owner, kept, a="Mine.", b="Shared.")
    documents["b"].sets.add(make_set(owners=[make_user()]))

    job = set_rebuild(scope=scope_of(owner), actor=owner, set_id=kept.pk)

    assert [item.version.document.external_id for item in job.items.all()] == ["a"]


def test_a_document_with_a_newer_version_on_its_way_is_left_alone(owner, kept):
    made = upload(owner, kept, external_id="x", content=b"# One\n\nfirst")
    run_job(made.job.pk)
    upload(owner, kept, external_id="x", content=b"# Two\n\nsecond")

    job = document_rebuild(scope=scope_of(owner), actor=owner, document_id=made.document.pk)

    assert job.items.count() == 0


def test_what_never_went_live_is_tried_again_instead(owner, kept):
    waiting = upload(owner, kept).document

    with pytest.raises(NotAllowedError):
        document_rebuild(scope=scope_of(owner), actor=owner, document_id=waiting.pk)

    assert Document.objects.get(pk=waiting.pk).versions.count() == 1


def test_rebuilding_a_set_asks_no_more_for_more_documents(owner, kept, django_assert_max_num_queries):
    ingest(owner, kept, **{f"d{n}": f"Text {n}." for n in range(12)})

    with django_assert_max_num_queries(30):
        job = set_rebuild(scope=scope_of(owner), actor=owner, set_id=kept.pk)

    assert (job.items.count(), job.kind) == (12, "rebuild")


def test_rebuilding_passes_over_what_is_rebuilt_already_or_deleted_meanwhile(owner, kept, monkeypatch):
    monkeypatch.setattr("knowledge.services.reingest.BATCH", 1)
    documents = ingest(owner, kept, a="Alpha.", b="Beta.", c="Gamma.")
    document_rebuild(scope=scope_of(owner), actor=owner, document_id=documents["a"].pk)
    once_before(
        monkeypatch,
        "knowledge.services.reingest.items_add",
        lambda: document_delete(scope=scope_of(owner), actor=owner, document_id=documents["c"].pk),
    )

    job = set_rebuild(scope=scope_of(owner), actor=owner, set_id=kept.pk)

    assert [item.version.document for item in job.items.all()] == [documents["b"]]


def test_a_rebuild_that_is_cancelled_while_it_is_prepared_ends(owner, kept, monkeypatch):
    monkeypatch.setattr("knowledge.services.reingest.BATCH", 1)
    ingest(owner, kept, a="Alpha.", b="Beta.")
    real = import_string("knowledge.services.reingest.job_work")

    def cancelling(job, **options):
        real(job, **options)
        job_cancel(scope=scope_of(owner), actor=owner, job_id=job.pk)

    monkeypatch.setattr("knowledge.services.reingest.job_work", cancelling)

    with pytest.raises(JobOverError):
        set_rebuild(scope=scope_of(owner), actor=owner, set_id=kept.pk)

    assert list(IngestItem.objects.filter(job__kind="rebuild").values_list("stage", flat=True)) == ["cancelled"]
    assert Document.objects.filter(state="live").count() == 2
