"""Several rankings for one question become one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.search_profile import Retrieved
from knowledge.services import retrieve
from knowledge.services.merging import STAGE, merge_results
from knowledge.types import RetrievalRequest
from ragcore.types import Candidate, Passage, Query, State
from tests.factories import ingest, scope_of


def found(scores, *, stage="rerank", text="a question", cut=None):
    """A ranking of chunk -> score, best first; `cut`: what was cut off after the stage."""
    order = sorted(scores, key=lambda chunk: -scores[chunk])
    return Retrieved(
        state=State(
            query=Query(text=text, terms=()),
            candidates=tuple(candidate(chunk, stage, scores[chunk], rank) for rank, chunk in enumerate(order, 1)),
            fallen={chunk: candidate(chunk, stage, score, 99) for chunk, score in (cut or {}).items()},
            is_ranked=True,
        ),
        relevant=True,
        timings_ms={"total": 1.0},
        searched=100,
    )


def candidate(chunk, stage, score, rank):
    return Candidate(chunk=chunk, document=chunk, scores={"fuse.rsf": 0.5, stage: score}, ranks={stage: rank})


def order(result):
    return [candidate.chunk for candidate in result.state.candidates]


def merged_scores(result):
    return {candidate.chunk: candidate.scores[STAGE] for candidate in result.state.candidates}


rankings = st.dictionaries(st.integers(1, 12), st.floats(-10, 10, allow_nan=False), min_size=1, max_size=8)


def test_documents_that_a_form_names_come_first():
    plain, other = found({1: 9.0, 2: 8.0, 3: 1.0}), found({1: 9.0, 4: 8.0})
    naming = replace(plain, state=replace(plain.state, named_documents=frozenset({3})))

    assert order(merge_results([naming, other], top_k=4)) == [3, *order(merge_results([plain, other], top_k=4))[:3]]
    assert order(merge_results([naming, other], top_k=2))[0] == 3


def test_the_best_passages_of_the_first_documents_of_each_form_stay():
    def of_documents(ranking, documents):
        candidates = (
            replace(one, document=document) for one, document in zip(ranking.state.candidates, documents, strict=True)
        )
        return replace(ranking, state=replace(ranking.state, candidates=tuple(candidates)))

    first = of_documents(found({1: 9.0, 2: 8.0, 3: 7.0, 4: 6.0, 5: 5.0}), (10, 10, 20, 30, 40))
    second = of_documents(found({6: 4.0, 7: 3.0, 8: 2.0}), (50, 60, 70))

    merged = merge_results([first, second], top_k=3, documents_each=3)

    assert set(order(merged)) == {1, 3, 4, 6, 7, 8}  # three documents of each, also beyond top_k
    assert order(merge_results([first, second], top_k=3))[0] == 1


# ── one form ────────────────────────────────────────────────────────────────────────────────────


@given(ranking=rankings)
def test_one_form_keeps_its_order_and_its_scores(ranking):
    result = found(ranking)

    assert merge_results([result], top_k=10) is result


@given(ranking=rankings, times=st.integers(2, 4))
def test_forms_that_find_the_same_keep_its_order_and_its_scores(ranking, times):
    result = found(ranking)

    merged = merge_results([result] * times, top_k=10)

    assert order(merged) == order(result)
    assert merged_scores(merged) == pytest.approx(ranking)


# ── forms of the same question: the mean, and the question itself at least ──────────────────────


def test_a_passage_that_all_forms_found_stands_before_one_that_only_one_found_with_the_same_best_score():
    merged = merge_results([found({1: 0.9, 2: 0.9, 4: 0.1}), found({2: 0.7, 3: 0.2})], top_k=10)

    assert order(merged)[0] == 2
    assert merged_scores(merged)[2] == pytest.approx(0.9)


def test_in_a_conversation_the_question_alone_counts_no_more_than_its_context():
    merged = merge_results([found({1: 0.9, 2: 0.5}), found({2: 0.7, 3: 0.3})], top_k=10, in_conversation=True)

    assert merged_scores(merged) == pytest.approx({2: 0.6, 1: (0.9 + 0.3) / 2, 3: (0.5 + 0.3) / 2})


@given(question=rankings, others=st.lists(rankings, min_size=1, max_size=3))
def test_no_form_makes_a_passage_worth_less_than_it_is_for_the_question(question, others):
    merged = merge_results([found(question), *map(found, others)], top_k=20)

    assert all(merged_scores(merged)[chunk] >= score - 1e-9 for chunk, score in question.items())


def test_a_form_counts_a_passage_that_it_did_not_find_as_low_as_its_lowest():
    merged = merge_results([found({1: 0.9, 2: 0.5}), found({2: 0.7, 3: 0.3})], top_k=10)

    assert merged_scores(merged) == pytest.approx({1: 0.9, 2: (0.5 + 0.7) / 2, 3: (0.5 + 0.3) / 2})


def test_a_form_counts_a_passage_that_it_cut_off_with_the_score_that_it_gave_it():
    # the first form found nothing near to passage 1, and cut the rest off
    sure = found({1: 0.9}, cut={2: 0.1, 3: 0.2})
    merged = merge_results([sure, found({2: 0.5, 3: 0.4})], top_k=10)

    assert order(merged) == [1, 3, 2]
    assert merged_scores(merged) == pytest.approx({1: 0.9, 3: (0.2 + 0.4) / 2, 2: (0.1 + 0.5) / 2})


def test_what_only_was_cut_off_does_not_come_back():
    merged = merge_results([found({1: 0.9}, cut={5: 0.8}), found({1: 0.7}, cut={5: 0.6})], top_k=10)

    assert order(merged) == [1]


@given(question=rankings, first=rankings, second=rankings)
def test_the_order_of_the_other_forms_does_not_change_the_scores(question, first, second):
    there = merge_results([found(question), found(first), found(second)], top_k=30)
    back = merge_results([found(question), found(second), found(first)], top_k=30)

    assert merged_scores(there) == pytest.approx(merged_scores(back))


@given(first=rankings, second=rankings)
def test_a_merged_score_lies_between_the_scores_of_the_forms(first, second):
    merged = merge_results([found(first), found(second)], top_k=20)

    lowest, highest = min(*first.values(), *second.values()), max(*first.values(), *second.values())
    assert all(lowest - 1e-9 <= score <= highest + 1e-9 for score in merged_scores(merged).values())


def test_a_form_that_found_nothing_has_no_say():
    merged = merge_results([found({1: 0.9, 2: 0.5}), found({})], top_k=10)

    assert merged_scores(merged) == pytest.approx({1: 0.9, 2: 0.5})
    assert order(merge_results([found({}), found({})], top_k=10)) == []


# ── questions of their own: the maximum ─────────────────────────────────────────────────────────


def test_a_part_keeps_the_score_of_what_only_it_found():
    question, part = found({1: 0.6, 2: 0.5}), found({7: 0.9, 1: 0.1})

    assert merged_scores(merge_results([question, part], top_k=10, parts=1)) == {7: 0.9, 1: 0.6, 2: 0.5}
    assert merged_scores(merge_results([question, part], top_k=10))[7] == pytest.approx(0.7)


def test_forms_and_parts_come_together():
    forms = [found({1: 0.8, 2: 0.4}), found({1: 0.6, 2: 0.6})]

    merged = merge_results([*forms, found({2: 0.55}), found({3: 0.9})], top_k=10, parts=2)

    assert merged_scores(merged) == pytest.approx({3: 0.9, 1: 0.8, 2: 0.55})


@given(question=rankings, part=rankings)
def test_with_parts_nothing_loses_against_its_best_score(question, part):
    merged = merged_scores(merge_results([found(question), found(part)], top_k=20, parts=1))

    assert merged == {chunk: max(r[chunk] for r in (question, part) if chunk in r) for chunk in {**question, **part}}


# ── scores that cannot be compared: ranks ───────────────────────────────────────────────────────


def test_rankings_by_different_scores_are_merged_by_their_ranks():
    merged = merge_results([found({1: 9.0, 2: 8.0}), found({2: 0.3, 3: 0.2}, stage="rank.single_arm")], top_k=10)

    assert order(merged) == [2, 1, 3]
    assert merged_scores(merged)[2] == pytest.approx((61 / 62 + 1) / 2)
    scores = {candidate.chunk: candidate.scores for candidate in merged.state.candidates}
    assert scores[2]["rerank"] == 8.0, "the scores of the first form that found it"


# ── what is kept ────────────────────────────────────────────────────────────────────────────────


@given(results=st.lists(rankings, min_size=2, max_size=4), top_k=st.integers(1, 20), parts=st.integers(0, 3))
def test_hits_are_best_first_once_each_and_every_form_has_its_places(results, top_k, parts):
    every = [found(ranking, text=f"form {number}") for number, ranking in enumerate(results)]

    merged = merge_results(every, top_k=top_k, parts=min(parts, len(every) - 1))

    scores = [candidate.scores[STAGE] for candidate in merged.state.candidates]
    assert scores == sorted(scores, reverse=True)
    assert [candidate.ranks[STAGE] for candidate in merged.state.candidates] == list(range(1, len(scores) + 1))
    assert len(set(order(merged))) == len(scores) == min(top_k, len({c for ranking in results for c in ranking}))
    places = top_k // len(every)
    assert all(set(order(result)[:places]) <= set(order(merged)) for result in every)


def test_the_scores_shown_are_those_of_the_form_that_a_passage_fits_best():
    merged = merge_results([found({1: 0.2}), found({1: 0.6}), found({1: 0.4})], top_k=10)

    (only,) = merged.state.candidates
    assert (only.scores["rerank"], only.detail["queries"]) == (0.6, [0, 1, 2])


def test_what_has_no_place_is_told_as_dropped():
    merged = merge_results([found({1: 0.9, 2: 0.5}), found({3: 0.8, 4: 0.4})], top_k=2)

    assert {chunk for drop in merged.state.drops for chunk in drop.chunks} == {2, 4}
    assert merged.state.records[-1].note == {"queries": ["a question", "a question"], "places": 1}


# ── through the real search ─────────────────────────────────────────────────────────────────────

TEXTS = {
    "timer": "The backoff timer of the random access procedure lasts twenty milliseconds.",
    "antenna": "The antenna of the base station has four ports.",
    "power": "The power amplifier of the terminal needs three volts.",
}
QUESTION, OTHER = "How long is the backoff timer?", "How many ports does the antenna have?"


def searched(user, **request):
    return retrieve(scope=scope_of(user), request=RetrievalRequest(query=QUESTION, top_k=3, **request))


def by_name(result, stage):
    return {c.passage.external_id: c.scores[stage] for c in result.state.candidates}


@pytest.mark.django_db
def test_a_search_takes_the_question_or_the_mean_of_forms_and_the_maximum_of_parts(owner, common):
    ingest(owner, common, **TEXTS)
    alone, other = searched(owner), retrieve(scope=scope_of(owner), request=RetrievalRequest(query=OTHER, top_k=3))

    forms, parts = searched(owner, forms=(OTHER,)), searched(owner, parts=(OTHER, OTHER, QUESTION))

    first, second = by_name(alone, "rerank"), by_name(other, "rerank")
    assert first.keys() == second.keys() == TEXTS.keys()
    means = {name: (first[name] + second[name]) / 2 for name in TEXTS}
    assert any(means[name] > first[name] for name in TEXTS)
    assert any(means[name] < first[name] for name in TEXTS)
    assert by_name(forms, STAGE) == pytest.approx({name: max(first[name], means[name]) for name in TEXTS})
    assert by_name(parts, STAGE) == pytest.approx({name: max(first[name], second[name]) for name in TEXTS})
    assert parts.state.records[-1].note["queries"] == [QUESTION, OTHER], "each is asked once"


@pytest.mark.django_db
def test_a_search_for_possible_answers_is_merged_by_ranks_and_ordered_by_the_score_shown(owner, common):
    ingest(owner, common, **TEXTS)

    result = searched(owner, hypothetical=("The backoff timer lasts twenty milliseconds.",))

    scores = list(by_name(result, STAGE).values())
    assert scores == sorted(scores, reverse=True)
    assert next(iter(by_name(result, STAGE))) == "timer"
    assert scores[0] == pytest.approx(1.0)


@pytest.mark.django_db
def test_what_the_conversation_was_about_makes_nothing_near(owner, common):
    ingest(owner, common, **TEXTS)
    elsewhere = RetrievalRequest(query="Who painted the Mona Lisa?", top_k=3)

    alone, in_context = (
        retrieve(scope=scope_of(owner), request=replace(elsewhere, context=context)) for context in ("", QUESTION)
    )

    assert not alone.relevant
    assert not in_context.relevant
    assert in_context.state.records[-1].note["queries"] == [elsewhere.query, QUESTION]
    assert searched(owner, context=OTHER).relevant
    elliptical = RetrievalRequest(query="Really? Why?", top_k=3, context=QUESTION)
    assert retrieve(scope=scope_of(owner), request=elliptical).relevant


# ── repetitions ─────────────────────────────────────────────────────────────────────────────


def with_texts(result, texts, similarity):
    passages = {
        chunk: Passage(chunk=chunk, document=chunk, version=1, ordinal=0, text=text, title="")
        for chunk, text in texts.items()
    }
    candidates = tuple(replace(one, passage=passages.get(one.chunk)) for one in result.state.candidates)
    return replace(result, state=replace(result.state, candidates=candidates), duplicate_similarity=similarity)


MAST = "The mast on the roof carries three antennas and a lamp that burns at night. "
REPEATING = {
    1: MAST * 4,
    2: MAST * 4 + "It",
    3: "Water flows into the tank below the stairs.",
    4: "Trains leave at noon.",
}


def test_a_repetition_that_another_form_found_goes_and_the_next_passage_takes_its_place():
    every = [found({1: 0.95, 3: 0.4}), found({2: 0.8, 4: 0.3})]

    merged = merge_results([with_texts(one, REPEATING, 0.9) for one in every], top_k=3)

    assert (order(merged)[0], set(order(merged))) == (1, {1, 3, 4})
    assert [drop.chunks for drop in merged.state.drops if drop.reason == "repeats passage 1"] == [(2,)]
    assert order(merge_results([with_texts(one, REPEATING, None) for one in every], top_k=3))[:2] == [1, 2]
