"""Passages with what stands beside them, within the asker's rights."""

import pytest
from django.utils import timezone

from knowledge.indexes.visibility import visible_sql
from knowledge.indexes.visible_passages import (
    passages_around,
    passages_load,
    passages_of_sections,
    passages_of_versions,
)
from knowledge.models import Chunk, Document
from knowledge.selectors import documents_askable
from tests.factories import ingest, make_set, make_tenant, make_user, scope_of
from tests.knowledge.owned_rows import owned


def document_make(owner, common):
    return ingest(owner, common, a="alpha beta gamma")["a"]


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(document_make))]


@pytest.fixture
def document(kept_rows):
    return kept_rows[2]


def add(document, *headings, parent=None, tokens=10, kind="body", first=1):
    """Chunks of the live version, one a heading path."""
    return [
        Chunk.objects.create(
            version=document.live_version,
            ordinal=ordinal,
            kind=kind,
            text=f"text {ordinal}",
            heading_path=[heading],
            parent=parent,
            tokens=tokens,
        )
        for ordinal, heading in enumerate(headings, first)
    ]


def bound(user, **given):
    scope = scope_of(user)
    return {"scope": scope, "visible": visible_sql(documents_askable(scope=scope, **given))}


def around(user, *chunks, n=1):
    return sorted(p.ordinal for p in passages_around(**bound(user), chunks=[c.pk for c in chunks], around=n))


def sections(user, *chunks, limit=1000):
    found = passages_of_sections(**bound(user), chunks=[c.pk for c in chunks], max_tokens=limit)
    return [[p.ordinal for p in section] for section in found]


def whole(user, *chunks, most=60, **given):
    found = passages_of_versions(**bound(user, **given), chunks=[c.pk for c in chunks], most=most)
    return [p.ordinal for p in found]


def test_a_passage_brings_weight_rating_and_kind(owner, document):
    Document.objects.filter(pk=document.pk).update(weight=0.5, rating=4.5, ratings=2)
    (section,) = add(document, "A", kind="section")

    found = passages_load(**bound(owner), chunks=[section.pk])[section.pk]

    assert (found.weight, found.rating, found.kind, found.ordinal) == (0.5, 4.5, "section", 1)


def test_neighbours_are_those_of_the_same_section_and_each_comes_once(owner, document):
    chunks = add(document, "A", "A", "A", "A", "B")

    assert around(owner, chunks[1]) == [1, 3]
    assert around(owner, chunks[1], chunks[2]) == [1, 4]
    assert around(owner, chunks[0], n=2) == [2, 3]
    assert around(owner, chunks[3]) == [3]
    assert around(owner, chunks[4]) == []


def test_a_retired_passage_and_an_extract_are_no_neighbours(owner, document):
    chunks = add(document, "A", "A", "A")
    Chunk.objects.filter(pk=chunks[0].pk).update(retired=timezone.now())
    Chunk.objects.filter(pk=chunks[2].pk).update(kind="section")

    assert around(owner, chunks[1]) == []
    assert around(owner, chunks[2]) == []


def test_a_section_of_which_more_than_half_is_found_comes_whole(owner, document):
    (parent,) = add(document, "A", kind="section")
    chunks = add(document, "A1", "A2", "A3", "A4", "A5", parent=parent, first=2)

    assert sections(owner, *chunks[:3]) == [[2, 3, 4, 5, 6]]
    assert sections(owner, *chunks[:2]) == []
    assert sections(owner, *chunks, limit=50) == [[2, 3, 4, 5, 6]]
    assert sections(owner, *chunks, limit=49) == []


def test_one_passage_is_never_most_of_a_section(owner, document):
    (parent,) = add(document, "A", kind="section")
    only = add(document, "A1", parent=parent, first=2)

    assert sections(owner, *only) == []


def test_nobody_reads_the_neighbours_of_what_they_may_not_see(owner, document):
    (parent,) = add(document, "A", kind="section")
    chunks = add(document, "A", "A", "A", parent=parent, first=2)
    assert around(owner, chunks[1]) == [2, 4]
    assert sections(owner, *chunks) == [[2, 3, 4]]

    Document.objects.filter(pk=document.pk).update(clearance=3)

    for stranger in (make_user(clearance=2), make_user(tenant=make_tenant())):
        assert around(stranger, chunks[1]) == []
        assert sections(stranger, *chunks) == []


def test_a_search_in_another_set_reads_no_neighbours_from_here(owner, document):
    chunks = add(document, "A", "A")
    second = make_set("second", owners=[owner])

    given = {**bound(owner, sets=[second.pk]), "chunks": [chunks[0].pk], "around": 1}

    assert passages_around(**given) == []


def test_neighbours_are_those_of_the_live_version_only(owner, document):
    chunks = add(document, "A", "A")
    Document.objects.filter(pk=document.pk).update(live_version=None)

    assert around(owner, chunks[0]) == []


# ── all passages of a document ──────────────────────────────────────────────────────────────────


def test_all_passages_of_a_document_come_in_reading_order(owner, document):
    chunks = add(document, "A", "B", "C")

    assert whole(owner, chunks[2]) == [0, 1, 2, 3]
    assert whole(owner, chunks[2], chunks[0]) == [0, 1, 2, 3]
    assert whole(owner) == []


def test_at_most_so_many_passages_of_each_document_come(owner, common, document):
    chunks = add(document, "A", "B")
    second = ingest(owner, common, b="delta epsilon zeta")["b"]
    others = add(second, "A", "B", "C")

    assert whole(owner, chunks[0], others[2], most=2) == [0, 1, 0, 1]


def test_a_retired_passage_and_an_extract_are_no_part_of_the_whole(owner, document):
    chunks = add(document, "A", "A", "A")
    Chunk.objects.filter(pk=chunks[0].pk).update(retired=timezone.now())
    Chunk.objects.filter(pk=chunks[2].pk).update(kind="section")

    assert whole(owner, chunks[1]) == [0, 2]
    assert whole(owner, chunks[0]) == [0, 2]


def test_nobody_reads_the_whole_of_what_they_may_not_see(owner, document):
    chunks = add(document, "A", "A")
    Document.objects.filter(pk=document.pk).update(clearance=3)

    for stranger in (make_user(clearance=2), make_user(tenant=make_tenant())):
        assert whole(stranger, *chunks) == []
    second = make_set("second", owners=[owner])
    assert whole(owner, *chunks, sets=[second.pk]) == []


def test_a_former_version_is_not_read(owner, document):
    chunks = add(document, "A", "A")
    Document.objects.filter(pk=document.pk).update(live_version=None)

    assert whole(owner, *chunks) == []
