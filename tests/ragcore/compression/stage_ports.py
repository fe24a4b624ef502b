"""Tools of an answer for tests of compression: no search, no writing, words instead of vectors."""

from __future__ import annotations

from functools import cache

import numpy as np

from ragcore.stage_ports import StagePorts
from ragcore.text.token_count import EstimateCounter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage
from ragcore.types.answering import Ranked

COLUMNS = 64


@cache
def tokenizer() -> JiebaTokenizer:
    return JiebaTokenizer()


class CountingEmbedder:
    """Bags of letters as vectors; counts its calls."""

    model, dimensions = "letters", COLUMNS

    def __init__(self, trust: float = 0.0) -> None:
        self.calls: list[int] = []
        self._trust = trust

    def embed_documents(self, texts):
        self.calls.append(len(texts))
        rows = np.zeros((len(texts), COLUMNS), np.float32)
        for row, text in enumerate(texts):
            for char in text.lower():
                rows[row, ord(char) % COLUMNS] += 1
        return rows

    embed_queries = embed_documents

    def trust(self, cjk_share):
        return self._trust


async def _unused(*args, **kwargs):
    raise AssertionError("nobody searches or writes here")


def ports(*, llm=None, trust: float = 0.0, **extra) -> StagePorts:
    return StagePorts(
        search=_unused,
        write=_unused,
        tokenizer=tokenizer(),
        embedder=CountingEmbedder(trust),
        counter=EstimateCounter(),
        llm=llm,
        **extra,
    )


def ranked(text: str, *, chunk: int = 1, score: float = 0.5, **values) -> Ranked:
    values = {"version": 7, "title": "Handbook", "page": 3, **values}
    passage = Passage(chunk=chunk, document=chunk, text=text, **values)
    return Ranked(passage=passage, score=score)
