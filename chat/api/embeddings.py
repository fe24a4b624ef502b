"""`POST /v1/embeddings`: vectors of the site's embedding model, in OpenAI's form."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

import numpy as np
from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from accounts.models import User
from chat.api.schemas import Text
from chat.concurrency.admission import take_place
from chat.concurrency.executors import run_cpu
from chat.concurrency.limits import count_questions_or_raise
from chat.errors import UnknownModelError
from knowledge import model_registry
from ragcore.ports import FloatArray

MODEL, OF_QUESTIONS = "ragsite-embedding", "ragsite-embedding:query"
MAX_TEXTS = 256
MAX_CHARACTERS = 8_000  # of one text
SIZES = (384, 768)  # numbers of a vector


def _texts(value: Any) -> Any:
    """A text is a list of one. Raises ValueError for numbers of tokens, which other models have."""
    values = [value] if isinstance(value, str) else value
    if isinstance(values, list) and any(isinstance(each, int | list) for each in values):
        raise ValueError(
            "must be text: numbers of tokens mean nothing to this model (LangChain: check_embedding_ctx_length=False)"
        )
    return values


def _has_texts(texts: list[str]) -> list[str]:
    if not all(text.strip() for text in texts):
        raise ValueError("must not be blank")
    return texts


def _is_size(size: int | None) -> int | None:
    if size not in (None, *SIZES):
        raise ValueError(f"must be one of {', '.join(map(str, SIZES))}")
    return size


class EmbeddingsIn(Schema):
    """Fields of OpenAI's embeddings."""

    model_config = ConfigDict(extra="forbid")

    input: Annotated[
        list[Annotated[Text, Field(max_length=MAX_CHARACTERS)]],
        BeforeValidator(_texts),
        Field(min_length=1, max_length=MAX_TEXTS),
        AfterValidator(_has_texts),
    ] = Field(description="A text, or up to 256 of them.")
    model: Annotated[str, Field(max_length=128)] = Field(
        default=MODEL, description="ragsite-embedding for passages, ragsite-embedding:query for questions."
    )
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int | None, AfterValidator(_is_size)] = Field(default=None, description="384 or 768.")
    user: Any = Field(default=None, description="No effect: the owner of the key asks.")


async def embeddings_of(user: User, body: EmbeddingsIn, *, key: str) -> dict[str, Any]:
    """The vectors, normalised, in the order of the texts; each text counts as a question.

    Raises UnknownModelError, RateLimitedError, BusyError, and what the model raises.
    """
    if body.model not in (MODEL, OF_QUESTIONS):
        raise UnknownModelError("embedding", model=body.model, usual=MODEL, question=OF_QUESTIONS)
    await count_questions_or_raise(user, key=key, questions=len(body.input))
    async with await take_place(user, key=key):
        rows, tokens = await run_cpu(_embedded, body)
    return {
        "object": "list",
        "model": body.model,
        "data": [
            {"object": "embedding", "index": index, "embedding": _encoded(row, body.encoding_format)}
            for index, row in enumerate(rows)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _embedded(body: EmbeddingsIn) -> tuple[FloatArray, int]:
    embedder, counter = model_registry.embedder(), model_registry.counter()
    embed = embedder.embed_queries if body.model == OF_QUESTIONS else embedder.embed_documents
    rows = embed(body.input)
    if body.dimensions is not None and body.dimensions < rows.shape[1]:
        rows = rows[:, : body.dimensions]
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return rows, sum(map(counter.count, body.input))


def _encoded(row: FloatArray, form: Literal["float", "base64"]) -> list[float] | str:
    """As numbers, or as the base64 of their 32-bit floats, little-endian."""
    if form == "float":
        return [float(number) for number in row]
    return base64.b64encode(row.astype("<f4").tobytes()).decode("ascii")
