"""A small table of lexical features, worked out by hand: the trained weights hold for these definitions only."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.answerability.features import FEATURES, compute_features
from ragcore.extractive.sentence_model import FEATURES as SENTENCE_FEATURES
from ragcore.extractive.sentence_model import compute_sentence_features
from ragcore.extractive.sentences import read_statements
from ragcore.grounding.source_texts import SourceTexts
from ragcore.grounding.support_model import FEATURES as SUPPORT_FEATURES
from ragcore.grounding.support_model import SupportFeatures
from ragcore.ports import RerankInput
from ragcore.reranking.linear import FEATURES as RERANK_FEATURES
from ragcore.reranking.linear import LinearReranker
from ragcore.text import lexical_features as lexical
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Query
from tests.contracts.generator import source
from tests.ragcore.states import passage

TERMS = lexical.TermWeights.of({"beam": 3.0, "width": 1.0, "azimuth": 4.0})
TEXT = "width of a beam: the beam is 65 degrees"  # width at 0, beam at 11 and 21
POSITIONS = {"beam": [11, 21], "width": [0]}
PAIRS = [("beam", "width"), ("width", "azimuth"), ("width", "beam")]
PRESENT = np.array([[True, True, False], [False, True, False], [False, False, True]])  # [sentences, terms]

TABLE = {
    "idf of a term that one of three texts has": (lexical.idf(3, 1), log(1 + 2.5 / 1.5)),
    "idf of a term that no text has": (lexical.idf(3, 0), log(1 + 3.5 / 0.5)),
    "smoothed idf of a term that one of three texts has": (lexical.smoothed_idf(3, 1), log(1 + 4 / 2)),
    "smoothed idf of a term that no text has": (lexical.smoothed_idf(3, 0), log(1 + 4 / 1)),
    "coverage": (TERMS.coverage({"beam", "width", "of"}), 4 / 8),
    "coverage without weights": (lexical.TermWeights.of({}).coverage({"beam"}), 0.0),
    "rare coverage": (TERMS.rare_coverage({"beam", "width"}), 10 / 26),
    "share of selected terms": (lexical.share_of_selected(TERMS.weights, ["beam", "width"], {"beam"}), 3 / 4),
    "squared": (lexical.share_of_selected(TERMS.weights, ["beam", "width"], {"beam"}, power=2), 9 / 10),
    "share of no terms": (lexical.share_of_selected(TERMS.weights, [], {"beam"}), 1.0),
    "heaviest missing": (lexical.heaviest_missing(TERMS.weights, {"azimuth"}), 3 / 4),
    "nothing is missing": (lexical.heaviest_missing(TERMS.weights, TERMS.weights.keys()), 0.0),
    "same beginning": (lexical.share_by_beginning({"invasion", "navy"}, {"invaded"}, letters=4), 1 / 2),
    "best window of 12 characters": (lexical.best_window_coverages(TERMS, POSITIONS, [12])[0], 4 / 8),
    "best window of 5 characters": (lexical.best_window_coverages(TERMS, POSITIONS, [5])[0], 3 / 8),
    "first position": (lexical.first_position_share(TERMS, POSITIONS, len(TEXT)), 1 - 11 / 39),
    "saturation at mean length": (lexical.bm25_saturation(2, 1.0, b=0.75), 2 / 3.2),
    "saturation at twice the mean": (lexical.bm25_saturation(1, 2.0, b=0.5), 1 / 2.8),
    "ordered proximity": (lexical.ordered_proximity(TERMS, PAIRS, POSITIONS, gap=6), 4 / 13),
    "ordered proximity, nearer": (lexical.ordered_proximity(TERMS, PAIRS, POSITIONS, gap=5), 0.0),
    "adjacent": (lexical.adjacent_share(PAIRS, ["a", "width", "beam", "x", "width"]), 1 / 3),
    "pair share": (lexical.pair_share(TERMS.weights, PAIRS, [("width", "azimuth")]), 5 / 13),
    "pair share without pairs": (lexical.pair_share(TERMS.weights, [], []), 1.0),
    "cooccurrence": (lexical.cooccurrence_share(PRESENT), 1 / 3),
    "literal run": (lexical.longest_literal_run(["beam", "is", "65", "wide"], TEXT, joiner=" "), 3 / 4),
    "common subsequence": (lexical.common_subsequence_length(list("abcd"), list("axcyd")), 3),
    "log length": (lexical.log_length(9, 10), log(10) / 10),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_feature_is_what_it_is_by_hand(name):
    value, expected = TABLE[name]

    assert value == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.text("ab c", max_size=12), max_size=5), st.lists(st.text("abc", min_size=1, max_size=3), max_size=4))
def test_terms_found_in_many_texts_stand_where_they_stand_in_each(texts, terms):
    sought = {term: (term, term[::-1]) for term in terms}

    expected = [
        {term: at for term, needles in sought.items() if (at := lexical.find_positions(needles, text))}
        for text in texts
    ]
    assert lexical.find_terms(sought, texts) == expected


def test_pairs_positions_and_windows():
    assert lexical.find_positions(("beam",), TEXT) == [11, 21]
    assert lexical.find_positions(("is", "a "), TEXT) == [9, 26]
    assert lexical.pairs_within(PAIRS, ["beam", "x", "width", "y", "z", "azimuth"], words=2) == {PAIRS[0], PAIRS[2]}
    assert lexical.sentence_windows(PRESENT, sentences=2).tolist() == [
        [True, True, False],
        [False, True, True],
        [False, False, True],
    ]
    weights = lexical.idf_in(["beam", "azimuth", "beam"], [{"beam"}, {"width"}])
    assert weights == pytest.approx({"beam": log(2), "azimuth": log(6)})


def test_every_model_reads_its_features_by_name():
    tokenizer = JiebaTokenizer()
    question, text = "What is the beam width?", "The beam width is 65 degrees. It cannot be changed."
    sources = [source(1, text)]
    terms = tuple(tokenizer.terms(question))
    query = Query(text=question, terms=terms, weights=dict.fromkeys(terms, 1.0))

    reranked = LinearReranker.shipped().score(query, [RerankInput(passage=passage(1, text), arms={"dense": 0.5})])
    sentences = compute_sentence_features(question, read_statements(sources, tokenizer), tokenizer)
    gate = compute_features(question, sources, tokenizer=tokenizer)
    support = SupportFeatures(SourceTexts(sources, tokenizer)).features("The beam width is 65 degrees [1].", (1,))

    assert tuple(reranked[0].detail) == RERANK_FEATURES
    assert (reranked[0].detail["coverage"], reranked[0].detail["dense"]) == pytest.approx((1.0, 0.5))
    assert sentences.column("coverage").tolist() == pytest.approx([1.0, 0.0])
    assert sentences.matrix.shape == (2, len(SENTENCE_FEATURES))
    assert tuple(gate) == FEATURES
    assert gate["sentence"] == pytest.approx(1.0)
    named = dict(zip(SUPPORT_FEATURES, support, strict=True))
    assert (named["sentence"], named["order"], named["missing_figures"]) == pytest.approx((1.0, 1.0, 0.0))


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=12)


@given(WORDS, WORDS)
def test_the_longest_common_subsequence_is_that_of_the_table(tokens, other):
    table = [[0] * (len(other) + 1) for _ in range(len(tokens) + 1)]
    for i, token in enumerate(tokens):
        for j, word in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if token == word else max(table[i][j + 1], table[i + 1][j])

    assert lexical.common_subsequence_length(tokens, other) == table[-1][-1]
