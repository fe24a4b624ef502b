"""Answers are what the description of the API says."""

import pytest

from chat.api.responses import (
    BatchOut,
    CompletionOut,
    FilterCountOut,
    FiltersOut,
    GenerateOut,
    HealthOut,
    ModelsOut,
    QueryOut,
    RetrieveOut,
    response_schema,
)
from ragsite.openapi import merged_schema
from tests.chat.conftest import TEXTS

QUESTION = "How many steps does the random access procedure have?"


@pytest.mark.parametrize(
    ("path", "body", "model"),
    [
        ("/api/v1/rag/retrieve", {"query": QUESTION, "trace": True}, RetrieveOut),
        ("/api/v1/rag/retrieve", {"query": QUESTION, "rewrite_method": "multi"}, RetrieveOut),
        ("/api/v1/rag/generate", {"query": QUESTION}, GenerateOut),
        ("/api/v1/rag/generate", {"query": QUESTION, "mode": "agentic"}, GenerateOut),
        ("/api/v1/rag/generate", {"query": QUESTION, "strategy": "self_rag"}, GenerateOut),
        ("/api/v1/rag/generate", {"query": "Hello"}, GenerateOut),
        ("/api/v1/rag/batch", {"queries": [QUESTION, TEXTS["ho"][:40]]}, BatchOut),
        ("/api/v1/rag/query", {"query": QUESTION}, QueryOut),
        ("/api/v1/rag/filters/count", {}, FilterCountOut),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]}, CompletionOut),
    ],
)
async def test_an_answer_has_the_described_fields_with_their_types(api, path, body, model):
    response = await api.post(path, body)

    assert response.status_code == 200, response.content
    model.model_validate_json(response.content, strict=True)


@pytest.mark.parametrize(
    ("path", "model"),
    [("/v1/models", ModelsOut), ("/api/v1/rag/health", HealthOut), ("/api/v1/rag/filters", FiltersOut)],
)
async def test_what_is_read_has_the_described_fields(api, path, model):
    model.model_validate_json((await api.get(path)).content, strict=True)


def test_every_operation_of_the_chat_says_what_it_answers():
    paths = merged_schema()["paths"]

    for path, operations in paths.items():
        if path.startswith(("/api/v1/rag/", "/v1/")):
            for method, operation in operations.items():
                answers = {str(status): answer for status, answer in operation["responses"].items()}
                said = [answers.get(status, {}).get("content") for status in ("200", "201", "202")]
                assert any(said) or "204" in answers, f"{method} {path}"


def test_a_description_needs_nothing_from_elsewhere():
    assert "$ref" not in str(response_schema(BatchOut))
