"""The evidence that the linear reranker weighs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.ports import RerankInput
from ragcore.reranking.linear import FEATURES, LinearReranker, rerank_features
from ragcore.text.scripts import cjk_share, language_of
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Query
from tests.ragcore.states import passage

TOKENIZER = JiebaTokenizer()


def query(text, **weights):
    terms = tuple(TOKENIZER.terms(text))
    return Query(
        text=text,
        terms=terms,
        words=terms,
        language=language_of(text),
        cjk_share=cjk_share(text),
        weights=weights or dict.fromkeys(terms, 1.0),
    )


def evidence(question, *texts, title="", **arms):
    inputs = [RerankInput(passage=passage(n, text, title), arms=arms) for n, text in enumerate(texts)]
    return [dict(zip(FEATURES, row, strict=True)) for row in rerank_features(question, inputs)]


def test_english_words_are_found_by_their_stems_at_word_beginnings():
    found, missed = evidence(query("studying beams"), "Studies of a beam.", "Understudy; sunbeams.")

    assert found["coverage"] == pytest.approx(1.0)
    assert missed["coverage"] == 0.0


def test_identifiers_match_as_a_whole():
    exact, other = evidence(query("23501-g50"), "see 23501-g50 here", "see 23501-h10 here")

    assert exact["coverage"] == pytest.approx(1.0)
    assert other["coverage"] < 1.0


def test_chinese_terms_are_found_anywhere():
    found, missed = evidence(query("随机接入"), "终端的随机接入过程", "终端的寻呼过程")

    assert found["coverage"] == pytest.approx(1.0)
    assert found["longest_run"] == pytest.approx(1.0)
    assert missed["coverage"] == 0.0


def test_a_passage_of_the_other_language_is_told_apart():
    question = query("AMF 的超时是多少")
    own, across, numbers = evidence(question, "AMF 的超时是 5 秒", "The AMF timeout", "5 | 7", dense=0.5)

    assert (own["across"], own["across_dense"], own["across_coverage"]) == (0.0, 0.0, 0.0)
    assert (across["across"], across["across_dense"], across["across_relative"]) == (1.0, 0.5, 1.0)
    assert 0 < across["across_coverage"] < own["coverage"]
    assert numbers["across"] == 0.0


def test_a_passage_without_vectors_of_sentences_is_judged_by_its_own_cosine():
    arms = [{"dense": 0.5, "sentence": 0.6}, {"dense": 0.3, "sentence": 0.5}, {"dense": 0.4}]
    inputs = [RerankInput(passage=passage(n, "text", ""), arms=one) for n, one in enumerate(arms)]
    rows = rerank_features(query("question"), inputs)
    column = FEATURES.index("sentence")

    assert rows[:, column].tolist() == pytest.approx([0.6, 0.5, 0.55])
    assert rows[:, FEATURES.index("sentence_relative")].max() == 1.0
    without = [replace(one, arms={"dense": 0.5}) for one in inputs]
    assert not rerank_features(query("question"), without)[:, column].any()


def test_rare_terms_count_for_more():
    rare, common = evidence(query("alpha beta", alpha=5.0, beta=1.0), "alpha", "beta")

    assert rare["coverage"] == pytest.approx(5 / 6)
    assert rare["rare_coverage"] > rare["coverage"] > common["coverage"] > common["rare_coverage"]


def test_terms_that_stand_together_beat_scattered_ones():
    together, scattered = evidence(query("alpha beta"), "alpha beta " + "x " * 400, "alpha " + "x " * 400 + "beta")

    assert together["narrow_window"] > scattered["narrow_window"]
    assert together["adjacency"] > scattered["adjacency"]
    assert together["longest_run"] > scattered["longest_run"]


def test_the_title_counts_apart():
    (one,) = evidence(query("alpha beta"), "beta", title="Alpha")

    assert one["title_coverage"] == pytest.approx(0.5)
    assert one["coverage"] == pytest.approx(1.0)


def test_a_heading_is_no_title():
    """Weights of titles come from sets in which a title names its document; a section's heading does not."""
    headed = replace(passage(1, "beta", "Manual"), heading_path=("Alpha",))

    (row,) = rerank_features(query("alpha beta"), [RerankInput(passage=headed, arms={})])
    features = dict(zip(FEATURES, row.tolist(), strict=True))

    assert features["title_coverage"] == 0
    assert features["coverage"] == pytest.approx(1.0)


@given(st.text(max_size=60), st.lists(st.text(max_size=200), min_size=1, max_size=5))
def test_any_question_and_text_give_finite_numbers(question, texts):
    inputs = [
        RerankInput(passage=passage(n, text), arms={"lexical": 2.0, "dense": 0.3}) for n, text in enumerate(texts)
    ]

    matrix = rerank_features(query(question), inputs)

    assert matrix.shape == (len(texts), len(FEATURES))
    assert np.isfinite(matrix).all()


def test_the_shipped_weights_fit_the_features_and_prefer_the_answer():
    question = query("How long is the backoff timer?")
    inputs = [
        RerankInput(passage=passage(1, "Colours of the logo."), arms={"lexical": 0.4, "dense": 0.1}),
        RerankInput(passage=passage(2, "The backoff timer is 20 ms long."), arms={"lexical": 9.0, "dense": 0.6}),
    ]

    wrong, right = LinearReranker.shipped().score(question, inputs)

    assert right.score > wrong.score
    assert set(right.detail) == set(FEATURES)


def test_no_candidates_give_no_scores():
    assert LinearReranker.shipped().score(query("x"), []) == []
