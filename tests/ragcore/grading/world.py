"""A small library of passages with a search over it, and the ports of a loop around a scripted language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from ragcore.llm.client import LlmClient
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.model_limits import ModelLimits
from ragcore.stage_ports import StagePorts
from ragcore.text.matching import overlap
from ragcore.text.scripts import language_of
from ragcore.text.token_count import EstimateCounter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Usage
from ragcore.types.answering import AnswerState, Question, Ranked, SearchResult, Step, WrittenText
from tests.scripted_llm import Reply, ScriptedLLM, serving

LIBRARY = (
    ("Random access", "The random access procedure has four steps. The UE sends a preamble on PRACH in step 1."),
    ("Random access", "The gNB answers the preamble with a random access response within a window of 10 ms."),
    ("Handover", "A handover moves a terminal from one cell to another. The source gNB sends the handover command."),
    ("Paging", "Paging wakes terminals in idle mode. The MME sends paging messages to all cells of a tracking area."),
    ("Lunch menu", "On Friday the canteen serves fish with potatoes."),
)
QUESTION = "How many steps has the random access procedure?"
ANSWER = "The random access procedure has four steps [1]."


@cache
def tokenizer() -> JiebaTokenizer:
    return JiebaTokenizer()


class NoMeaning:
    """An embedder that cannot be trusted with any text."""

    model, dimensions = "none", 768

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.zeros((len(texts), 768), dtype=np.float32)

    embed_queries = embed_documents

    def trust(self, cjk_share: float) -> float:
        return 0.0


def ranked(title: str, text: str, *, chunk: int = 1, document: int | None = None, score: float = 0.5) -> Ranked:
    passage = Passage(chunk=chunk, document=document or chunk, version=1, text=text, title=title, tokens=len(text) // 4)
    return Ranked(passage=passage, score=score)


@dataclass
class World:
    """What a loop asks for, recorded: `queries` with their forms, `critiques`. `texts` are written in order."""

    library: Sequence[tuple[str, str]] = LIBRARY
    texts: list[str | Exception] = field(default_factory=lambda: [ANSWER])
    failing_searches: set[int] = field(default_factory=set)  # 1-based
    relevant: bool = True
    queries: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    critiques: list[str] = field(default_factory=list)
    told: list[Step] = field(default_factory=list)  # what was done
    begun: list[Step] = field(default_factory=list)  # what the reader was told to wait for

    async def search(self, query: str, rewrites: Sequence[Any] = (), *, top_k: int | None = None) -> SearchResult:
        self.queries.append((query, tuple(rewrite.text for rewrite in rewrites)))
        if len(self.queries) in self.failing_searches:
            raise ConnectionError("the search is down")
        forms = (query, *self.queries[-1][1])
        scores = {
            n: max(overlap(form, " ".join(entry), tokenizer()) for form in forms)
            for n, entry in enumerate(self.library)
        }
        best = sorted((n for n in scores if scores[n] > 0), key=lambda n: -scores[n])[: top_k or 3]
        found = tuple(ranked(*self.library[n], chunk=n + 1, score=scores[n]) for n in best)
        return SearchResult(ranked=found, relevant=self.relevant, seconds=0.01)

    async def write(self, question: str, sources: Sequence[Any], *, critique: str = "") -> WrittenText:
        self.critiques.append(critique)
        text = self.texts[min(len(self.critiques), len(self.texts)) - 1]
        if isinstance(text, Exception):
            raise text
        return WrittenText(text=text, model="w", usage=Usage(prompt_tokens=90, completion_tokens=10))

    async def tell(self, step: Step, /) -> None:
        (self.begun if step.detail.get("begins") else self.told).append(step)

    def ports(self, **values: Any) -> StagePorts:
        defaults: dict[str, Any] = {
            "search": self.search,
            "write": self.write,
            "tokenizer": tokenizer(),
            "embedder": NoMeaning(),
            "counter": EstimateCounter(),
            "report": self.tell,
        }
        return StagePorts(**defaults | values)

    def named(self, name: str) -> list[Step]:
        return [step for step in self.told if step.name == name]


def state_of(text: str = QUESTION, **values: Any) -> AnswerState:
    return replace(AnswerState(question=Question(text=text, language=language_of(text))), **values)


@contextmanager
def model_server(*replies: Reply, default: Reply | None = None) -> Iterator[tuple[ScriptedLLM, LlmClient]]:
    """A scripted server and an client of it that does not wait between retries, and not long for one that hangs."""

    async def at_once(seconds: float) -> None:
        return None

    with serving() as server:
        server.default = default or Reply(status=500)
        server.script(*replies)
        limit = 0.5 if server.default.hold_before is not None else 20
        model = OpenAIChatModel(
            server.url,
            "key",
            "judge",
            limits=ModelLimits(total_seconds=limit),
            sleep=at_once,
        )
        yield server, LlmClient(model, seconds=limit)


def says(text: str) -> Reply:
    return Reply(texts=(text,))


# What a judge must never be able to do harm with: whatever of these it says, rules take its place.
USELESS = {
    "prose": says("I think that this is rather good, perhaps eight out of ten."),
    "truncated": says('{"relevance": 0.9, "completeness": 0.'),
    "cut": Reply(texts=('{"relevance"', ": 0.9}"), cut_after=1),
    "out of range": says('{"relevance": 99, "completeness": 99, "accuracy": 99, "coherence": 99, "grade": 99}'),
    "other keys": says('{"score": 1}'),
    "429": Reply(status=429),
    "500": Reply(status=500),
    "hanging": Reply(hold_before=0),
}
