"""How much what is said in the other language loses beside sources in the question's own."""

import re

import numpy as np

from ragcore.extractive.own_language import BESIDE_OWN, handicap_across
from ragcore.extractive.sentence_cosines import BELOW_QUESTION, sentence_cosines
from ragcore.extractive.sentences import read_statements
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
QUESTION = "who paints the tower"


class Meanings:
    """Embeds every question alike, and each text at the cosine that it names, "the tower is at 0.31", else at 0."""

    model, dimensions, sentence_space = "plain-1", 384, "plain"

    def embed_queries(self, texts):
        return np.eye(384, dtype=np.float32)[[0] * len(texts)]

    def embed_documents(self, texts):
        found = [re.search(r"0\.\d+", text) for text in texts]
        cosines = np.array([float(one[0]) if one else 0.0 for one in found], np.float32)
        vectors = np.zeros((len(texts), 384), np.float32)
        vectors[:, 0], vectors[:, 1] = cosines, np.sqrt(1 - cosines**2)
        return vectors

    def embed_sentences(self, sentences):
        return self.embed_documents([one.text for one in sentences])

    def trust(self, cjk_share):
        return 1.0


def statements(*texts):
    return read_statements([source(number, text) for number, text in enumerate(texts, start=1)], TOKENIZER)


def handicap(*texts):
    return handicap_across(QUESTION, statements(*texts), embedder=Meanings(), tokenizer=TOKENIZER)


def test_beside_a_nearer_sentence_in_the_questions_own_language_the_handicap_is_nearly_whole():
    assert handicap("the tower is blue at 0.5.", "塔是蓝色的，相似度为 0.3。") > 0.9 * BESIDE_OWN


def test_it_falls_as_the_sentence_in_the_other_language_is_nearer():
    steps = [handicap("the weather is fine at 0.2.", f"塔是蓝色的，相似度为 {near}。") for near in (0.1, 0.2, 0.3, 0.4)]

    assert steps == sorted(steps, reverse=True)
    assert steps[-1] < 0.5 * BESIDE_OWN < steps[0]


def test_without_a_source_in_the_questions_own_language_there_is_none():
    assert handicap("塔是蓝色的，相似度为 0.1。") == 0.0


def test_what_stands_below_a_question_is_as_near_as_the_question():
    found = statements("## Is this at 0.80?\n\nPainters from Kiel at 0.10.\n\n## Other matters\n\nThe sea at 0.20.")

    near = dict(zip([one.text for one in found], sentence_cosines(QUESTION, found, Meanings()), strict=True))

    assert round(float(near["Painters from Kiel at 0.10."]), 2) == round(0.8 - BELOW_QUESTION, 2)
    assert round(float(near["The sea at 0.20."]), 2) == 0.2
