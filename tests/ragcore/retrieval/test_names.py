"""What names in a question add to a search, on values."""

from __future__ import annotations

from dataclasses import replace

from ragcore.ports import RerankScore
from ragcore.retrieval.names import FEW, NO_NAMES, find_names, with_names
from ragcore.retrieval.stages.rerank import Rerank
from ragcore.retrieval.stages.selection import CutoffCliff
from ragcore.types import Hit, NamedDocument, Query, ScoreScale
from tests.ragcore.states import passage, ports, ranked_with, state_with


class Index:
    """Names by the key or the words that documents have."""

    def __init__(self, **documents: tuple[NamedDocument, ...]) -> None:
        self.documents = documents
        self.asked: list[str] = []

    def named(self, mentions):
        self.asked += [mention.text for mention in mentions]
        return [self.documents.get(mention.text, ()) for mention in mentions]


def document(number: int, *, place: int | None = 0, title: str = "title") -> NamedDocument:
    return NamedDocument(document=number, chunks=(10 * number,), name="plan 77", title=title, place=place)


def asked(text: str, **weights: float) -> Query:
    return Query(text=text, terms=tuple(weights), weights=weights)


def test_a_sentence_does_not_ask_the_index():
    index = Index()

    assert find_names(asked("How does handover work?"), index) == NO_NAMES
    assert index.asked == []
    assert find_names(asked("plan_77.txt"), None) == NO_NAMES


def test_a_whole_name_counts_more_than_a_part():
    found = find_names(asked("plan_77.txt"), Index(**{"plan_77.txt": (document(1), document(2))}))
    part = find_names(asked("plan_77.txt"), Index(**{"plan_77.txt": (document(1, place=None),)}))

    assert (set(found.whole), set(found.part)) == ({1, 2}, set())
    assert (set(part.whole), set(part.part)) == (set(), {1})


def test_what_lies_inside_of_a_name_that_was_found_is_not_another_one():
    index = Index(**{"the report (1).pdf": (document(1),), "1).pdf": (document(2),), "(1).pdf": (document(2),)})

    assert set(find_names(asked("the report (1).pdf"), index).whole) == {1}


def test_plain_words_name_few_documents_whose_title_says_less():
    same, other = document(1, title="tilt plan"), document(2, title="other")
    many = tuple(document(n, place=None) for n in range(FEW + 1))

    assert set(find_names(asked("tilt plan"), Index(**{"tilt plan": (same, other)})).whole) == {2}
    assert find_names(asked("tilt plan"), Index(**{"tilt plan": many})).names == {}


def test_a_part_scores_as_a_text_with_each_word_once_and_a_whole_name_as_the_best_hit():
    hits = [Hit(1, 1, 9.0), Hit(2, 2, 2.0)]
    index = Index(**{"plan_77.txt": (document(5),)})
    query = asked("plan_77.txt", plan=2.0, other=1.5)

    exact = with_names(hits, find_names(query, index), query)
    loose = with_names(hits, replace(find_names(query, index), whole={}, part={5: document(5)}), query)

    assert [(hit.chunk, hit.score, hit.representation) for hit in exact] == [
        (50, 9.0, "name"),
        (1, 9.0, "body"),
        (2, 2.0, "body"),
    ]
    assert [(hit.chunk, hit.score) for hit in loose] == [(1, 9.0), (50, 3.5), (2, 2.0)]
    assert with_names(hits, NO_NAMES, query) is hits


def test_named_documents_lead_every_ranking_by_their_scores():
    state = replace(state_with(lexical={1: 3.0, 2: 2.0, 3: 1.0}), named_documents=frozenset({2, 3}))

    ranked = state.ranked("one", {1: 0.9, 2: 0.1, 3: 0.5}, keep=2)
    again = ranked.ranked("two", {3: 0.0, 2: 0.7}, keep=2)

    assert ranked.ids() == [3, 2]
    assert again.ids() == [2, 3]
    assert [drop.chunks for drop in ranked.drops] == [(1,)]


def test_a_score_gap_spares_named_documents():
    scores = {1: 9.0, 2: 8.9, 3: 0.1, 4: 0.0}
    state = ranked_with(1, 2, 3, 4).ranked("rerank", scores, keep=4)
    state = replace(state, scale=ScoreScale(cliff=1.0))

    assert CutoffCliff()(state, ports()).ids() == [1, 2]
    assert CutoffCliff()(replace(state, named_documents=frozenset({4})), ports()).ids() == [1, 2, 4]


def test_the_reranker_reads_the_name_behind_the_title():
    class Reader:
        name, cliff = "reader", 1.0

        def __init__(self):
            self.titles = []

        def score(self, query, inputs):
            self.titles += [one.passage.title for one in inputs]
            return [RerankScore(score=0.0) for _ in inputs]

    state = replace(ranked_with(1, 2, 3), names={2: "plan 77", 3: ""})
    state = replace(state, candidates=tuple(c.loaded(passage(c.chunk)) for c in state.candidates))
    reader = Reader()

    done = Rerank()(state, ports(reranker=reader))

    assert reader.titles == ["title", "title plan 77", "title"]
    assert {c.passage.title for c in done.candidates if c.passage} == {"title"}
