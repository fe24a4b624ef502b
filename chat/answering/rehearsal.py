"""Warms up a web process by answering made-up questions over made-up passages (decision 033).

Word lists, tables, expressions and models are read where they are first used, and each connection of PostgreSQL reads
its catalogue with its first search. Together that takes several seconds of processor time, for which the first readers
of a process would wait, many of them at once. Nothing is stored or sent: the passages stand here, and the searches are
those of somebody who may see nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from accounts.errors import NotAuthenticatedError
from accounts.scope import Scope
from accounts.selectors import api_key_get
from chat.answering.answerability import LEAST_RATE
from chat.answering.grounding import check_answer
from chat.concurrency.executors import run_in_every_thread
from chat.rendering import render_markdown
from knowledge import model_registry
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from knowledge.wiring import query_of
from ragcore.answerability import RelevanceJudge, score_answerability, threshold_for
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.graph.mentions import question_names
from ragcore.options import AnswerOptions
from ragcore.ports import GenerationRequest, RerankInput
from ragcore.retrieval.stages.selection import find_repetitions
from ragcore.text.request_cache import request_cache
from ragcore.text.scripts import language_of
from ragcore.types import Candidate, Passage, Source
from ragcore.types.answering import Question
from ragcore.understanding.analysis import analyse_by_rules
from ragcore.understanding.standalone import standalone_by_rules

NOBODY = Scope(tenant_id=0, user_id=0, clearance=0)  # there is no such tenant
SIMILARITY = 0.9
ARMS = {"lexical": 4.0, "dense": 0.6, "coarse": 0.6, "fuse.rsf": 0.7}


@dataclass(frozen=True, slots=True)
class _Sample:
    question: str
    title: str
    texts: tuple[str, ...]


SAMPLES = (
    _Sample(
        "How long does the timer T1 of a cell run, and what starts it?",
        "Timers",
        (
            "Timer T1 runs for 10 seconds. It starts when a cell is switched on, which was changed on 3 May 2024.",
            "| Timer | Seconds |\n|---|---|\n| T1 | 10 |\n| T2 | 30 |\n\n1. Switch it on.\n2. Do not wait.",
        ),
    ),
    _Sample(
        "小区的定时器 T1 有多长时间，由什么启动？",
        "定时器",
        (
            "定时器 T1 的时长是 10 秒。小区开启时启动，2024年5月3日有过修改。",
            "| 定时器 | 秒 |\n|---|---|\n| T1 | 10 |\n| T2 | 30 |\n\n1. 开启小区。\n2. 不要等待更久。",
        ),
    ),
)


def rehearse() -> None:
    """Answer every sample. Raises what the models raise."""
    for sample in SAMPLES:
        with request_cache():
            _answer(sample)


def rehearse_searches() -> None:
    """Search for every sample on every connection that questions use. Raises what a search raises."""
    run_in_every_thread(_search_as_nobody)


def _search_as_nobody() -> None:
    with suppress(NotAuthenticatedError):
        api_key_get("")
    for sample in SAMPLES:
        with request_cache():
            retrieve(scope=NOBODY, request=RetrievalRequest(query=sample.question, rerank=True))


def _answer(sample: _Sample) -> None:
    language, options = language_of(sample.question), AnswerOptions()
    tokenizer, embedder = model_registry.tokenizer(), CachingEmbedder(model_registry.embedder())
    standalone = standalone_by_rules(Question(text=sample.question, language=language), tokenizer)
    analyse_by_rules(standalone.text, history=(), tokenizer=tokenizer)
    question_names(standalone.text)
    query = query_of(standalone.text)
    weights = dict.fromkeys(query.terms, 1.0)
    vector = embedder.embed_queries([query.embedded_text])[0]
    query = replace(query, weights=weights, vector=vector)
    passages = [
        Passage(chunk=number, document=number, version=number, text=text, title=sample.title, ordinal=number)
        for number, text in enumerate(sample.texts, start=1)
    ]
    if (reranker := model_registry.reranker()) is not None:
        reranker.score(query, [RerankInput(passage=passage, arms=ARMS) for passage in passages])
    candidates = [Candidate(chunk=passage.chunk, document=passage.document, passage=passage) for passage in passages]
    find_repetitions(candidates, similarity=SIMILARITY, keep=len(candidates))
    sources = [
        Source(number=n, passage=passage, text=passage.text, score=1.0) for n, passage in enumerate(passages, start=1)
    ]
    score_answerability(standalone.text, sources, tokenizer=tokenizer, embedder=embedder, idf=weights)
    threshold_for(language, len(passages), LEAST_RATE)
    request = GenerationRequest(question=standalone.text, sources=tuple(sources), language=language)
    text = "".join(ExtractiveGenerator(tokenizer, embedder).blocks(request))
    judge = RelevanceJudge(question=standalone.text, tokenizer=tokenizer, idf=weights)
    check_answer(text, sources, options=options, status="answered", judge=judge, is_quoted=True)
    render_markdown(text, citations=[source.number for source in sources], with_languages=True)
