"""Plain rules of other evaluations, with the numbers that they name."""

from dataclasses import replace

import numpy as np
import pytest

from ragcore.metrics.registry import MeasuredCase, MeasuredSource, MetricTools, measure
from ragcore.text.tokenise import JiebaTokenizer


class Turned:
    """An embedder whose answers stand at an angle to their questions."""

    def __init__(self, cosine, trust=1.0):
        self.cosine, self._trust = cosine, trust

    def trust(self, cjk_share):
        return self._trust

    def embed_queries(self, texts):
        return np.array([[1.0, 0.0]] * len(texts), dtype=np.float32)

    def embed_documents(self, texts):
        return np.array([[self.cosine, (1 - self.cosine**2) ** 0.5]] * len(texts), dtype=np.float32)


TOOLS = MetricTools(tokenizer=JiebaTokenizer())
CASE = MeasuredCase(question="How many steps does random access have?", answer="Random access has four steps [1].")


def source(text):
    return MeasuredSource(number=1, document="ra", text=text, is_cited=True)


def test_an_answer_without_sources_is_half_faithful():
    assert measure(CASE, TOOLS)["faithfulness_overlap"] == 0.5


@pytest.mark.parametrize(("text", "share"), [("Four words.", 0.5), ("Potatoes.", 0.0), ("Access in steps.", 0.5)])
def test_a_sentence_with_thirty_per_cent_of_its_keywords_in_the_sources_is_supported(text, share):
    case = replace(CASE, answer="Four steps stand here. The moon is made of green cheese.", sources=[source(text)])

    assert measure(case, TOOLS)["faithfulness_overlap"] == share


@pytest.mark.parametrize(("cosine", "relevance"), [(1.0, 1.0), (0.0, 0.5), (-1.0, 0.0), (0.6, 0.8)])
def test_relevance_is_the_cosine_on_a_scale_of_one(cosine, relevance):
    figures = measure(CASE, replace(TOOLS, embedder=Turned(cosine)))

    assert figures["relevance_cosine"] == pytest.approx(relevance, abs=1e-5)


def test_an_embedder_that_cannot_read_the_script_says_nothing():
    assert "relevance_cosine" not in measure(CASE, replace(TOOLS, embedder=Turned(1.0, trust=0.0)))


def test_completeness_counts_sub_questions_else_keywords():
    two = replace(CASE, question="How many steps has random access, and what is a beam?")

    assert measure(two, TOOLS)["completeness_aspects"] == 0.5
    assert measure(CASE, TOOLS)["completeness_aspects"] == 1.0
    assert measure(replace(CASE, is_refused=True), TOOLS)["completeness_aspects"] == 0.0
    assert "completeness" not in measure(CASE, TOOLS)  # ours needs key points
