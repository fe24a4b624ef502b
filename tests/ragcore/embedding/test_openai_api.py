import json

import pytest

from ragcore.embedding.openai_api import OpenAIEmbedder
from ragcore.errors import EmbedderRefusedError, ModelUnavailableError
from tests.contracts.embedder import EmbedderContract
from tests.scripted_llm import Reply


@pytest.fixture
def embedder(llm, waits):
    embedder = OpenAIEmbedder(llm.url, "key-2", "scripted", batch=3, sleep=waits.append)
    yield embedder
    embedder.close()


class TestOpenAIEmbedder(EmbedderContract):
    def test_texts_are_sent_in_batches_and_come_back_in_order(self, embedder, llm):
        texts = ["a" * length for length in range(1, 8)]

        vectors = embedder.embed_documents(texts)

        assert [len(request.body["input"]) for request in llm.requests] == [3, 3, 1]
        assert vectors.argmax(axis=1).tolist() == list(range(1, 8))
        assert llm.requests[0].authorization == "Bearer key-2"

    def test_longer_vectors_are_refused_where_nothing_says_how_to_shorten_them(self, embedder, llm):
        llm.dimensions = 1024

        with pytest.raises(EmbedderRefusedError, match="1024 dimensions"):
            embedder.embed_queries(["abc"])

    def test_shorter_vectors_are_refused_with_the_reason(self, embedder, llm):
        llm.dimensions = 32

        with pytest.raises(EmbedderRefusedError, match="32 dimensions"):
            embedder.warm()

    def test_a_busy_server_is_asked_again(self, embedder, llm, waits):
        llm.script(Reply(status=429), Reply(status=502))

        assert embedder.embed_queries(["abc"]).shape == (1, 768)
        assert [int(seconds) for seconds in waits] == [1, 2]

    def test_after_three_retries_it_gives_up(self, embedder, llm, waits):
        llm.default = Reply(status=500)

        with pytest.raises(ModelUnavailableError, match="status 500"):
            embedder.embed_queries(["abc"])

        assert [int(seconds) for seconds in waits] == [1, 2, 4]

    def test_a_slow_server_is_unavailable(self, llm, waits):
        embedder = OpenAIEmbedder("http://127.0.0.1:9/v1", "", "none", timeout_seconds=0.2, sleep=waits.append)

        with pytest.raises(ModelUnavailableError):
            embedder.embed_queries(["abc"])

    @pytest.mark.parametrize(
        "reply",
        [Reply(status=401), Reply(body=b"<html>"), Reply(body=b'{"data": [{"index": 0}]}'), Reply(vectors=())],
    )
    def test_wrong_answers_are_refused_at_once(self, embedder, llm, waits, reply):
        llm.script(reply)

        with pytest.raises(EmbedderRefusedError):
            embedder.embed_queries(["abc"])

        assert waits == []

    @pytest.mark.parametrize(
        "vectors",
        [["AACAPwAA", "AACAPwAA"], [["one", "two"], ["three", "four"]], [[0.1] * 70, [0.1] * 71], [1.0, 2.0]],
        ids=["base64", "text", "of two lengths", "no lists"],
    )
    def test_vectors_that_are_no_numbers_of_one_length_are_refused(self, embedder, llm, vectors):
        rows = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        llm.default = Reply(body=json.dumps({"data": rows}).encode())

        for ask in (embedder.embed_queries, embedder.whole_vectors):
            with pytest.raises(EmbedderRefusedError, match="not in the expected format") as refused:
                ask(["abc", "def"])
            assert refused.value.data["detail"] == ""  # JSON is no sentence

    def test_batches_of_several_lengths_are_refused(self, embedder, llm):
        llm.script(Reply(vectors=((1.0,) * 800,) * 3), Reply(vectors=((1.0,) * 900,)))

        with pytest.raises(EmbedderRefusedError, match="not in the expected format"):
            embedder.whole_vectors(["a", "b", "c", "d"])

    @pytest.mark.parametrize(("status", "error"), [(404, EmbedderRefusedError), (503, ModelUnavailableError)])
    def test_an_error_has_the_words_of_the_server_without_the_key(self, llm, waits, status, error):
        key = "sk-secret-" + "0" * 40
        embedder = OpenAIEmbedder(llm.url, key, "scripted", sleep=waits.append)
        llm.default = Reply(status=status, failure={"error": f"{' ' * 470}no\0 model for {key}"})

        with pytest.raises(error) as raised:
            embedder.embed_queries(["abc"])

        assert "for …" in raised.value.data["detail"]
        assert "sk-" not in raised.value.data["detail"]
