"""Frequencies within what one may see, where that is little."""

from __future__ import annotations

import pytest

from knowledge.backends import ScopedLexicalIndex
from knowledge.indexes import lexical, search_space
from knowledge.indexes.lexical import lexical_query
from knowledge.indexes.visibility import visible_sql
from knowledge.models import KnowledgeSet
from knowledge.selectors import documents_askable
from knowledge.services import document_delete
from knowledge.wiring import query_of
from tests.factories import ingest, make_set, scope_of
from tests.knowledge.owned_rows import owned

EVERYTHING = {"representations": {"summaries": True, "questions": True}}


@pytest.fixture(autouse=True)
def _forgotten():
    for memory in (search_space.counts, lexical.totals, lexical.terms_counted):
        memory.clear()


def shelves_make(owner, _common):
    small, large = make_set("small", owners=[owner]), make_set("large", owners=[owner])
    ingest(owner, small, a="The beam is strong.", b="The antenna has four ports.", c="A filter and its losses.")
    ingest(owner, large, **{f"x{n}": f"The beam number {n} of the girder." for n in range(12)})
    return small, large


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(shelves_make))]


@pytest.fixture
def shelves(kept_rows):
    """A set about beams, and one in which the same word is nearly everywhere."""
    return kept_rows[2]


def asked(owner, chosen: KnowledgeSet, text, **fields):
    visible = visible_sql(documents_askable(scope=scope_of(owner), sets=(chosen.pk,)))
    return lexical_query(scope=scope_of(owner), terms=query_of(text).terms, visible=visible, **fields)


def test_a_term_is_as_rare_as_it_is_among_visible_passages(owner, shelves):
    small, large = shelves

    within_small, within_large = asked(owner, small, "beam"), asked(owner, large, "beam")

    assert within_small.idf["beam"] > 5 * within_large.idf["beam"]
    assert list(within_small.frequencies.values()) == [1]
    assert list(within_large.frequencies.values()) == [12]


def test_terms_of_passages_that_one_may_not_see_weigh_nothing(owner, shelves):
    small, _ = shelves

    assert asked(owner, small, "girder").weights == {}
    assert set(asked(owner, small, "girder antenna").idf) == set(asked(owner, small, "antenna").idf)


def test_what_others_store_changes_no_weight(owner, shelves):
    small, large = shelves
    before = asked(owner, small, "beam antenna filter").idf

    ingest(owner, large, y="An antenna, a filter, and yet another antenna.")

    assert asked(owner, small, "beam antenna filter").idf == before


def test_a_change_in_the_set_is_counted_at_once(owner, shelves):
    small, _ = shelves
    assert list(asked(owner, small, "beam").frequencies.values()) == [1]

    documents = ingest(owner, small, z="One more beam.")
    assert list(asked(owner, small, "beam").frequencies.values()) == [2]
    document_delete(scope=scope_of(owner), actor=owner, document_id=documents["z"].pk)

    assert list(asked(owner, small, "beam").frequencies.values()) == [1]


def test_a_passage_counts_once_whatever_stands_for_it(owner, shelves):
    rich = make_set("rich", owners=[owner], options=EVERYTHING)
    ingest(owner, rich, a="The beam manager selects the strongest beam of the cell. " * 30)

    found = asked(owner, rich, "beam")

    assert list(found.frequencies.values()) == [1]


def test_each_term_is_counted_once_until_the_corpus_changes(owner, shelves, monkeypatch):
    small, _ = shelves
    counted = []
    original = lexical._counted
    monkeypatch.setattr(
        lexical, "_counted", lambda visible, terms: counted.append(len(terms)) or original(visible, terms)
    )

    for text in ("beam", "beam", "beam antenna", "antenna"):
        asked(owner, small, text)

    assert counted == [1, 1]


def test_where_much_or_everything_is_visible_the_tenants_statistics_serve(owner, shelves, monkeypatch):
    small, large = shelves
    visible = visible_sql(documents_askable(scope=scope_of(owner)))
    everything = lexical_query(scope=scope_of(owner), terms=("beam",), visible=visible)
    assert list(everything.frequencies.values()) == [13]

    monkeypatch.setattr(lexical, "LOCAL_PASSAGES", 5)

    assert list(asked(owner, large, "beam").frequencies.values()) == [13]
    assert list(asked(owner, small, "beam").frequencies.values()) == [1]


def test_scores_are_those_of_the_weights(owner, shelves):
    small, _ = shelves
    visible = visible_sql(documents_askable(scope=scope_of(owner), sets=(small.pk,)))
    index = ScopedLexicalIndex(scope_of(owner), visible)
    query = query_of("beam")

    [hit] = index.search(query, limit=5)

    assert 0.5 < hit.score / index.weights(query)["beam"] < 2.2
