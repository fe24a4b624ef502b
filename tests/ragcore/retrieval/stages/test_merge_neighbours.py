"""Passages that stand side by side become one readable text."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ragcore.retrieval.stages.selection import MergeNeighbours
from ragcore.types import Passage
from tests.ragcore.states import ports, ranked_with


class Book:
    """A store with one version whose chunk n stands at place n; every `section` chunks share a heading and a parent."""

    def __init__(self, length, *, section=100, tokens=100):
        self.section = section
        self.passages = {
            n: Passage(
                chunk=n,
                document=1,
                version=1,
                text=f"Text {n}.",
                title="book",
                ordinal=n,
                tokens=tokens,
                page=n,
                heading_path=(f"part {n // section}",),
            )
            for n in range(length)
        }

    def neighbours(self, chunks, *, around):
        near = {
            n + step
            for n in chunks
            for step in range(-around, around + 1)
            if n // self.section == (n + step) // self.section
        }
        return [self.passages[n] for n in sorted(near - set(chunks)) if n in self.passages]

    def siblings(self, chunks, *, max_tokens):
        parts = {}
        for n in self.passages:
            parts.setdefault(n // self.section, []).append(n)
        wanted = [part for part in parts.values() if len(set(part) & set(chunks)) > max(1, len(part) / 2)]
        wanted = [part for part in wanted if sum(self.passages[n].tokens for n in part) <= max_tokens]
        return [tuple(self.passages[n] for n in part) for part in wanted]


def read(book, *hits, **options):
    state = ranked_with(*hits)
    state = replace(state, candidates=tuple(replace(c, passage=book.passages[c.chunk]) for c in state.candidates))
    return MergeNeighbours(**options)(state, ports(passages=book))


def texts_of(state):
    return {c.chunk: c.passage.text for c in state.candidates}


def test_a_hit_is_read_with_its_neighbours_and_stays_what_is_cited():
    state = read(Book(10), 5, around=1)

    found = state.candidates[0]
    assert found.passage.text == "Text 4.\n\nText 5.\n\nText 6."
    assert (found.chunk, found.passage.chunk, found.passage.page) == (5, 5, 5)
    assert found.passage.merged == (4, 5, 6)
    assert found.passage.text[found.passage.start :].startswith("Text 5.")
    assert found.passage.tokens == 300
    assert found.scores == {"lexical": 10.0, "first": 10.0}


def test_hits_side_by_side_become_one_text_under_the_best_of_them():
    state = read(Book(10), 5, 8, 4, around=0)

    assert texts_of(state) == {5: "Text 4.\n\nText 5.", 8: "Text 8."}
    assert [(d.chunks, d.stage, d.reason) for d in state.drops] == [((4,), "merge.neighbours", "read with passage 5")]
    assert state.candidates[1].passage.merged == ()


def test_neighbours_of_another_section_are_not_read():
    assert texts_of(read(Book(10, section=5), 5, around=2)) == {5: "Text 5.\n\nText 6.\n\nText 7."}


def test_a_section_of_which_most_is_hit_is_read_as_a_whole():
    state = read(Book(10, section=5), 0, 4, 2, around=0)

    assert texts_of(state) == {0: "Text 0.\n\nText 1.\n\nText 2.\n\nText 3.\n\nText 4."}
    assert state.candidates[0].passage.merged == (0, 1, 2, 3, 4)


def test_half_of_a_section_is_not_most_of_it():
    assert texts_of(read(Book(4, section=4), 0, 2, around=0)) == {0: "Text 0.", 2: "Text 2."}


def test_no_text_becomes_longer_than_allowed_and_what_does_not_fit_stays_itself():
    state = read(Book(10, tokens=100), 3, 4, 5, 6, around=0, max_tokens=200)

    assert texts_of(state) == {3: "Text 3.\n\nText 4.", 5: "Text 5.\n\nText 6."}


def test_a_passage_is_read_once():
    state = read(Book(10), 3, 5, around=1)

    assert texts_of(state) == {3: "Text 2.\n\nText 3.\n\nText 4.\n\nText 5.\n\nText 6."}


def test_the_extract_of_a_section_is_left_alone():
    book = Book(10)
    book.passages[4] = replace(book.passages[4], kind="section")

    assert texts_of(read(book, 4, 5, around=0)) == {4: "Text 4.", 5: "Text 5."}


def test_nothing_found_is_nothing_to_read():
    assert read(Book(3)).ids() == []


@given(
    hits=st.lists(st.integers(0, 29), unique=True, max_size=12),
    around=st.integers(0, 3),
    section=st.integers(1, 10),
    limit=st.integers(1, 20),
)
def test_every_hit_is_read_once_in_order_and_within_the_limit(hits, around, section, limit):
    state = read(Book(30, section=section), *hits, around=around, max_tokens=limit * 100)

    runs = [list(c.passage.merged) or [c.chunk] for c in state.candidates]
    places = [place for run in runs for place in run]
    assert len(places) == len(set(places))
    assert set(hits) <= set(places)
    assert [c.chunk for c in state.candidates] == [hit for hit in hits if hit in state.ids()]
    for candidate, run in zip(state.candidates, runs, strict=True):
        assert candidate.chunk in run
        assert run == list(range(run[0], run[0] + len(run)))
        assert len(run) <= max(limit, 1)
