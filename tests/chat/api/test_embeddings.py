"""`/v1/embeddings`, asked by OpenAI's own client over real HTTP."""

from __future__ import annotations

import base64

import numpy as np
import openai
import pytest

from knowledge import model_registry
from tests.chat.api.test_openai import client  # noqa: F401 (a fixture)

TEXTS = ["The mast is inspected twice a year.", "天线每年检查两次。"]


async def vectors_of(openai_client, **values):
    answer = await openai_client.embeddings.create(**{"model": "ragsite-embedding", "input": TEXTS, **values})
    return np.array([row.embedding for row in answer.data], dtype=np.float32)


async def test_they_are_those_of_the_site(client):  # noqa: F811
    embedder = model_registry.embedder()
    async with client() as openai_client:
        documents = await vectors_of(openai_client)  # the client asks for base64 by itself
        questions = await vectors_of(openai_client, model="ragsite-embedding:query")
        one = await vectors_of(openai_client, input=TEXTS[0], encoding_format="float")

    assert np.allclose(documents, embedder.embed_documents(TEXTS), atol=1e-6)
    assert np.allclose(questions, embedder.embed_queries(TEXTS), atol=1e-6)
    assert np.allclose(one, documents[:1], atol=1e-6)


async def test_a_shorter_vector_is_its_beginning_with_length_one(client):  # noqa: F811
    async with client() as openai_client:
        whole, short = await vectors_of(openai_client), await vectors_of(openai_client, dimensions=384)

    assert short.shape == (2, 384)
    assert np.allclose(np.linalg.norm(short, axis=1), 1, atol=1e-5)
    assert np.allclose(short, whole[:, :384] / np.linalg.norm(whole[:, :384], axis=1, keepdims=True), atol=1e-5)


async def test_numbers_and_base64_say_the_same(api):
    sent = {"model": "ragsite-embedding", "input": TEXTS}
    as_numbers = (await api.post("/v1/embeddings", sent)).json()
    as_text = (await api.post("/v1/embeddings", {**sent, "encoding_format": "base64"})).json()

    read = [np.frombuffer(base64.b64decode(row["embedding"]), dtype="<f4") for row in as_text["data"]]
    assert np.allclose(read, [row["embedding"] for row in as_numbers["data"]])
    assert [row["index"] for row in as_numbers["data"]] == [0, 1]
    assert as_numbers["usage"]["prompt_tokens"] == as_numbers["usage"]["total_tokens"] > 0


FAULTS = {
    "tokens": ({"input": [1, 2, 3]}, "check_embedding_ctx_length"),
    "tokens of several": ({"input": [[1, 2], [3]]}, "check_embedding_ctx_length"),
    "nothing": ({"input": []}, "input"),
    "blank": ({"input": ["x", " "]}, "input"),
    "too many": ({"input": ["x"] * 257}, "256"),
    "too long": ({"input": "x" * 8_001}, "8000"),
    "another size": ({"dimensions": 100}, "384, 768"),
    "what nobody knows": ({"extra_body": {"truncate": "END"}}, "truncate"),
}


async def test_what_it_cannot_do_is_refused_in_words(client):  # noqa: F811
    async with client() as openai_client:
        for values, words in FAULTS.values():
            with pytest.raises(openai.UnprocessableEntityError) as error:
                await vectors_of(openai_client, **values)

            assert words in error.value.body["message"]
        with pytest.raises(openai.NotFoundError) as error:
            await vectors_of(openai_client, model="text-embedding-3-small")

    assert "ragsite-embedding" in error.value.body["message"]


@pytest.mark.usefixtures("redis_client")
async def test_every_text_counts_as_a_question(api, settings):
    settings.QUESTIONS_PER_MINUTE = 3

    answers = [await api.post("/v1/embeddings", {"input": TEXTS}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 429]
