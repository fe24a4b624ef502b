"""The whole of a document that a search has found a part of: within rights, in order, with vectors of its sentences."""

import pytest

from accounts.errors import NotFoundError
from knowledge.models import Chunk, Document
from knowledge.services.retrieval import document_passages, sections_around
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_set, make_tenant, make_user, scope_of
from tests.knowledge.owned_rows import owned
from tests.knowledge.test_sentence_vectors import calls, forgotten

__all__ = ["calls", "forgotten"]
PART = "The {0} is turned by a motor that draws {1} watts and stops at once when its cover is opened by hand. "


def documents_make(owner, common):
    return ingest(
        owner,
        common,
        fan="\n\n".join(f"# Part {n}\n\n{12 * PART.format('fan', n)}" for n in range(8)),
        saw=12 * PART.format("saw", 9),
    )


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(documents_make))]


@pytest.fixture
def documents(kept_rows):
    return kept_rows[2]


def chunks_of(document):
    rows = Chunk.objects.filter(version=document.live_version_id, kind="body", retired=None).order_by("ordinal")
    return list(rows.values_list("pk", flat=True))


def whole(user, *chunks, most=60, limited_by=None, **request):
    found = document_passages(
        scope=scope_of(user).limited_to(scope_of(limited_by or user)),
        request=RetrievalRequest(query="", **request),
        chunks=chunks,
        most=most,
    )
    return [passage.chunk for passage in found]


def test_all_passages_come_with_the_document_of_the_first_chunk_first(owner, documents):
    fan, saw = chunks_of(documents["fan"]), chunks_of(documents["saw"])
    assert len(fan) > 2

    assert whole(owner, fan[-1]) == fan
    assert whole(owner, saw[0], fan[1]) == [*saw, *fan]
    assert whole(owner, fan[1], saw[0]) == [*fan, *saw]
    assert whole(owner, fan[-1], most=2) == fan[:2]


def test_nobody_gets_a_document_that_they_may_not_see(owner, documents):
    fan = chunks_of(documents["fan"])
    Document.objects.filter(pk=documents["fan"].pk).update(clearance=3)
    low = make_user(clearance=2)

    assert whole(low, *fan) == []
    assert whole(make_user(tenant=make_tenant()), *fan) == []
    assert whole(owner, *fan, limited_by=low) == []
    assert whole(owner, *fan) == fan


def test_only_what_the_search_may_find_is_read(owner, documents):
    fan = chunks_of(documents["fan"])
    second = make_set("second", owners=[owner])

    assert whole(owner, *fan, sets=(second.pk,)) == []
    with pytest.raises(NotFoundError):
        whole(owner, *fan, sets=(second.pk + 1,))


@pytest.mark.usefixtures("calls")
def test_passages_bring_the_vectors_of_their_sentences(owner, common):
    chunks = chunks_of(ingest(owner, common, saw=12 * PART.format("saw", 9))["saw"])

    found = document_passages(scope=scope_of(owner), request=RetrievalRequest(query=""), chunks=chunks, most=60)

    assert [len(passage.sentences.keys) > 0 for passage in found] == [True] * len(chunks)


def test_a_model_without_vectors_of_sentences_brings_none(owner, documents):
    (passage,) = document_passages(
        scope=scope_of(owner), request=RetrievalRequest(query=""), chunks=chunks_of(documents["saw"])[:1], most=1
    )

    assert passage.sentences is None


def test_sections_are_within_the_rights_of_a_second_person_too(owner, documents):
    fan = chunks_of(documents["fan"])
    version = documents["fan"].live_version
    section = Chunk.objects.create(
        version=version, ordinal=90, kind="section", text="Fan", heading_path=["Fan"], tokens=9
    )
    Chunk.objects.filter(pk__in=fan).update(parent=section)
    Document.objects.filter(pk=documents["fan"].pk).update(clearance=3)
    asked = {"scope": scope_of(owner), "request": RetrievalRequest(query=""), "chunks": fan[:1], "max_tokens": 9000}

    assert [[passage.chunk for passage in one] for one in sections_around(**asked)] == [fan]
    asked["scope"] = asked["scope"].limited_to(scope_of(make_user(clearance=2)))
    assert sections_around(**asked) == []
