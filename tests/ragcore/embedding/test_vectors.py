import numpy as np

from ragcore.embedding.vectors import CachingEmbedder
from ragcore.text.request_cache import request_cache


class Counting:
    """An embedder that counts how often it is asked."""

    model = "counting"
    dimensions = 2

    def __init__(self):
        self.asked = []

    def embed_documents(self, texts):
        self.asked.append(list(texts))
        return np.array([[len(text), 1] for text in texts], np.float32)

    embed_queries = embed_documents

    def trust(self, cjk_share):
        return 0.5 - cjk_share / 5


def test_a_question_is_embedded_once_an_answer_even_by_two_of_them():
    embedder = Counting()
    with request_cache():
        first = CachingEmbedder(embedder).embed_queries(["why"])
        again = CachingEmbedder(embedder).embed_queries(["why"])
    CachingEmbedder(embedder).embed_queries(["why"])

    assert embedder.asked == [["why"], ["why"]]
    assert np.array_equal(first, again)


def test_who_changes_a_vector_changes_nobody_elses():
    remembering = CachingEmbedder(Counting())
    with request_cache():
        remembering.embed_queries(["why"])[0, 0] = 9
        assert remembering.embed_queries(["why"])[0, 0] == 3


def test_two_embedders_have_vectors_of_their_own():
    one, other = Counting(), Counting()
    with request_cache():
        CachingEmbedder(one).embed_queries(["why"])
        CachingEmbedder(other).embed_queries(["why"])

    assert one.asked == other.asked == [["why"]]


def test_several_questions_and_documents_go_to_the_embedder_as_they_are():
    embedder = Counting()
    remembering = CachingEmbedder(embedder)
    with request_cache():
        remembering.embed_queries(["a", "b"])
        remembering.embed_documents(["a"])
        remembering.embed_documents(["a"])

    assert embedder.asked == [["a", "b"], ["a"], ["a"]]
    assert (remembering.model, remembering.dimensions, remembering.trust(1.0)) == ("counting", 2, 0.3)
