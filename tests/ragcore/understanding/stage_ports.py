"""Tools of an answer for these tests: no search, an embedder by words, and a model behind real HTTP where asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from zlib import crc32

import numpy as np

from ragcore.llm.client import LlmClient
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.model_limits import ModelLimits
from ragcore.ports import FloatArray
from ragcore.stage_ports import StagePorts
from ragcore.text.token_count import EstimateCounter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.understanding.lexicon import DataLexicon


@cache
def tokenizer() -> JiebaTokenizer:
    return JiebaTokenizer()


class WordEmbedder:
    """Texts are as alike as the words that they share."""

    model, dimensions = "words", 768

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in tokenizer().words(text):
                row[crc32(word.encode()) % self.dimensions] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    embed_queries = embed_documents

    def trust(self, cjk_share: float) -> float:
        return 1.0


async def _unused(*_: object, **__: object) -> None:
    raise AssertionError("nothing here searches or writes")


def ports(url: str = "", **values) -> StagePorts:
    """With a model behind `url`, without one where it is ""; requests are not repeated."""
    client = LlmClient(model=_model(url), seconds=values.pop("seconds", 30.0)) if url else None
    return StagePorts(
        search=_unused,
        write=_unused,
        tokenizer=tokenizer(),
        embedder=WordEmbedder(),
        counter=EstimateCounter(),
        llm=client,
        **{"lexicon": DataLexicon(), **values},
    )


def _model(url: str) -> OpenAIChatModel:
    async def at_once(seconds: float) -> None:
        return None

    return OpenAIChatModel(
        url,
        "key",
        "scripted",
        sleep=at_once,
        limits=ModelLimits(first_token_seconds=30.0),
        connect_timeout_seconds=30.0,
    )
