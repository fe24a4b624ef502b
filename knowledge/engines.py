"""Models of this process: made once, loaded on first use, never on the event loop."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from ragcore.errors import RagError
from ragcore.ports import (
    ChatModel,
    Embedder,
    LLMGenerator,
    Reranker,
    RerankInput,
    TextRecogniser,
    TokenCounter,
    Tokenizer,
)
from ragcore.types import Passage, Query

if TYPE_CHECKING:
    from ragcore.providers.pair_reranker import PairScorer

logger = logging.getLogger(__name__)


def _models_dir() -> Path:
    return Path(settings.DATA_DIR) / "models"


@cache
def tokenizer() -> Tokenizer:
    """The tokenizer of the lexical index and of every word count."""
    from ragcore.text.tokenise import JiebaTokenizer

    return JiebaTokenizer(cache_dir=_models_dir() / "jieba")


@cache
def counter() -> TokenCounter:
    """Counts model tokens."""
    from ragcore.text.token_count import counter as make

    return make(cache_dir=_models_dir() / "tiktoken")


@cache
def embedder() -> Embedder:
    """The configured embedder (EMBEDDER)."""
    kind, _, name = settings.EMBEDDER.partition(":")
    if kind == "sentence_transformers":
        from ragcore.providers.sentence_transformers import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(name)
    if kind == "openai":
        from ragcore.providers.openai_embeddings import OpenAIEmbedder

        return OpenAIEmbedder(
            base_url=settings.EMBEDDING_BASE_URL or "", api_key=settings.EMBEDDING_API_KEY or "", model=name
        )
    from ragcore.providers.embedded import EmbeddedEmbedder

    return EmbeddedEmbedder(cache_dir=_models_dir(), threads=settings.EMBEDDER_THREADS)


@cache
def reranker() -> Reranker | None:
    """The configured reranker (RERANKER), or None."""
    if settings.RERANKER == "none":
        return None
    if settings.RERANKER == "linear":
        return _linear_reranker()
    from knowledge.score_cache import RedisScoreCache
    from ragcore.providers.pair_reranker import PairReranker

    return PairReranker(_pair_scorer(), RedisScoreCache(settings.REDIS_URL))


def second_reranker() -> Reranker | None:
    """Who orders where the configured one fails: the linear one, which needs no model and no server."""
    return None if settings.RERANKER in ("none", "linear") else _linear_reranker()


@cache
def _linear_reranker() -> Reranker:
    from ragcore.providers.linear_reranker import LinearReranker

    return LinearReranker.shipped()


def _pair_scorer() -> PairScorer:
    """What RERANKER names; loaded on first use."""
    kind, _, name = settings.RERANKER.partition(":")
    if kind == "http":
        from ragcore.providers.http_reranker import HttpScorer

        return HttpScorer(
            settings.RERANKER_URL or "",
            settings.RERANKER_API_KEY or "",
            model=name,
            batch=settings.RERANKER_BATCH,
            budget_seconds=settings.RERANKER_SECONDS,
        )
    from ragcore.providers.cross_encoder import CrossEncoderScorer

    return CrossEncoderScorer(
        name,
        backend=settings.RERANKER_BACKEND,
        batch=settings.RERANKER_BATCH,
        budget_seconds=settings.RERANKER_SECONDS,
        trust_remote_code=settings.RERANKER_TRUST_REMOTE_CODE,
    )


@cache
def recogniser() -> TextRecogniser:
    """Reads text from pictures in a process of its own, which starts with the first picture and ends with us."""
    from ragcore.ocr.client import RapidOcrRecogniser

    return RapidOcrRecogniser()


@cache
def chat_model() -> ChatModel | None:
    """The configured language model, or None: answers are extractive then."""
    if not settings.LLM_BASE_URL:
        return None
    from ragcore.providers.chat_openai import OpenAIChatModel

    return OpenAIChatModel(
        base_url=settings.LLM_BASE_URL, api_key=settings.LLM_API_KEY or "", model=settings.LLM_MODEL or ""
    )


@cache
def extractive_generator() -> LLMGenerator:
    """Answers made of sentences of the sources."""
    from ragcore.providers.extractive import ExtractiveGenerator

    return ExtractiveGenerator(tokenizer())


@cache
def generator() -> LLMGenerator:
    """The language model where one is configured, otherwise the extractive answerer."""
    model = chat_model()
    if model is None:
        return extractive_generator()
    from ragcore.providers.generator_llm import LLMAnswerGenerator

    return LLMAnswerGenerator(model)


def warm() -> None:
    """Load everything that the first question would wait for."""
    tokenizer().terms("预热 warm-up")
    embedder().embed_queries(["预热 warm-up"])
    _warm_reranker()
    generator()


def _warm_reranker() -> None:
    """A reranker that cannot be had now is no reason not to start: the second one orders instead."""
    first = reranker()
    if first is None:
        return
    passage = Passage(chunk=0, document=0, version=0, text="预热 warm-up", title="")
    try:
        first.score(Query(text="warm-up", terms=()), [RerankInput(passage=passage, arms={})])
    except RagError as error:
        logger.warning("the reranker %s is not ready: %s", first.name, error)
