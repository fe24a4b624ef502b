"""Cutting documents anew: what would change, and doing it."""

from __future__ import annotations

import pytest

from accounts.errors import NotAllowedError
from knowledge.models import Chunk, Document
from knowledge.selectors import chunks_of
from knowledge.services.options import set_options_update
from knowledge.services.previews import chunking_preview
from knowledge.services.rebuilds import document_rebuild, set_rebuild
from ragcore.errors import InvalidOptionsError
from tests.factories import ingest, make_set, make_user, run_job, scope_of
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
