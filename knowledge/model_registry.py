"""Models of this process: made once, loaded on first use, never on the event loop; reranker scores in Redis (D5)."""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from redis import Redis, RedisError

from ragcore.client_registry import ClientSettings
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

logger = logging.getLogger(__name__)

TTL_SECONDS = 6 * 3600
TIMEOUT_SECONDS = 0.5
_NUMBER = struct.Struct("<d")


class RedisScoreCache:
    """Implements ScoreCache of ragcore.reranking.pairs: a hash for each question, which expires as a whole.

    Without Redis nothing is known, and nothing fails.
    """

    def __init__(self, url: str, *, ttl_seconds: int = TTL_SECONDS) -> None:
        self._redis: Redis = Redis.from_url(url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS)
        self._ttl_seconds = ttl_seconds

    def get(self, question: str, texts: Sequence[str]) -> list[float | None]:
        """Known scores in the order of the digests."""
        try:
            return [_number(value) for value in self._redis.hmget(_key(question), list(texts))]
        except RedisError as error:
            logger.warning("scores of the reranker cannot be read: %s", error)
            return [None] * len(texts)

    def put(self, question: str, scores: Mapping[str, float]) -> None:
        """Keep scores by digest."""
        if not scores:
            return
        key = _key(question)
        try:
            with self._redis.pipeline() as pipeline:
                pipeline.hset(key, mapping={text: _NUMBER.pack(score) for text, score in scores.items()})
                pipeline.expire(key, self._ttl_seconds)
                pipeline.execute()
        except RedisError as error:
            logger.warning("scores of the reranker cannot be kept: %s", error)


def _key(question: str) -> str:
    return f"rerank:{question}"


def _number(value: bytes | str | None) -> float | None:
    """None for what is missing or was not written by us."""
    if not isinstance(value, bytes) or len(value) != _NUMBER.size:
        return None
    number = float(_NUMBER.unpack(value)[0])
    return number if math.isfinite(number) else None


if TYPE_CHECKING:
    from ragcore.llm.tiers import RoutingDecision, Tier
    from ragcore.stage_ports import Lexicon

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
    """Counts model tokens: exactly with the vocabulary of TOKENIZER_FILE, otherwise by an estimate.

    Raises ValueError when the file cannot be used, which the check of `knowledge.checks` reports before that.
    """
    from ragcore.text.token_count import counter as make
    from ragcore.text.token_count import load_counter

    if settings.TOKENIZER_FILE:
        return load_counter(Path(settings.TOKENIZER_FILE))
    return make(cache_dir=_models_dir() / "tiktoken")


@cache
def embedder() -> Embedder:
    """The configured embedder (EMBEDDER)."""
    from ragcore.embedding import EMBEDDERS

    configured = ClientSettings(
        base_url=settings.EMBEDDING_BASE_URL or "",
        api_key=settings.EMBEDDING_API_KEY or "",
        models_dir=_models_dir(),
        threads=settings.EMBEDDER_THREADS,
    )
    return EMBEDDERS.create(settings.EMBEDDER, configured)


@cache
def reranker() -> Reranker | None:
    """The configured reranker (RERANKER), or None."""
    if settings.RERANKER == "none":
        return None
    from ragcore.reranking import RERANKERS
    from ragcore.reranking.pairs import PairReranker, PairScorer

    configured = ClientSettings(
        base_url=settings.RERANKER_URL or "",
        api_key=settings.RERANKER_API_KEY or "",
        backend=settings.RERANKER_BACKEND,
        batch=settings.RERANKER_BATCH,
        budget_seconds=settings.RERANKER_SECONDS,
        trust_remote_code=settings.RERANKER_TRUST_REMOTE_CODE,
    )
    client = RERANKERS.create(settings.RERANKER, configured)
    if isinstance(client, PairScorer):
        return PairReranker(client, RedisScoreCache(settings.REDIS_URL))
    return client


def second_reranker() -> Reranker | None:
    """Who orders where the configured one fails: the linear one, which needs no model and no server."""
    return None if settings.RERANKER in ("none", "linear") else _linear_reranker()


@cache
def _linear_reranker() -> Reranker:
    from ragcore.reranking.linear import LinearReranker

    return LinearReranker.shipped()


@cache
def recogniser() -> TextRecogniser:
    """Reads text from pictures in a process of its own, which starts with the first picture and ends with us."""
    from ragcore.ocr.client import RapidOcrRecogniser

    return RapidOcrRecogniser()


def chat_model() -> ChatModel | None:
    """The model for everything that needs one: the standard tier, else another one; None: answers are extractive."""
    ladder = _ladder("standard")
    return _model_of(ladder[0]) if ladder else None


def judge_model() -> ChatModel | None:
    """The model that grades passages and answers, where one of its own is configured (V10)."""
    return _server_model("JUDGE") if settings.LLM_JUDGE_MODEL else None


@cache
def tiers() -> tuple[Tier, ...]:
    """The configured models by tier, weakest first, the local one before others of its tier (U10)."""
    from ragcore.llm.tiers import build_tier, parse_prices

    prices = parse_prices(settings.LLM_PRICES) if settings.LLM_PRICES else {}
    found: list[Tier] = []
    if settings.LLM_LOCAL_MODEL:
        found.append(build_tier("fast", settings.LLM_LOCAL_MODEL, is_local=True))
    if settings.LLM_FAST_MODEL:
        found.append(build_tier("fast", settings.LLM_FAST_MODEL, prices.get(settings.LLM_FAST_MODEL)))
    if settings.LLM_BASE_URL:
        model = settings.LLM_MODEL or "default"
        found.append(build_tier("standard", model, prices.get(model)))
    if settings.LLM_ADVANCED_MODEL:
        found.append(build_tier("advanced", settings.LLM_ADVANCED_MODEL, prices.get(settings.LLM_ADVANCED_MODEL)))
    return tuple(found)


def _ladder(name: str) -> list[Tier]:
    """Tiers in the order in which they are asked: the named one, others behind an API, stronger first, local ones."""
    stronger_first = reversed(tiers())
    return sorted(stronger_first, key=lambda tier: (tier.is_local, tier.name != name))


def _model_of(tier: Tier) -> ChatModel:
    if tier.is_local:
        return _local_model()
    return _server_model({"fast": "FAST", "advanced": "ADVANCED"}.get(tier.name, ""))


@cache
def _local_model() -> ChatModel:
    from ragcore.llm import create_local_model

    return create_local_model(settings.LLM_LOCAL_MODEL or "")


@cache
def _server_model(kind: str) -> ChatModel:
    """LLM_…, or LLM_KIND_…; where that has no server of its own, the model is at the server of LLM_BASE_URL."""
    from ragcore.llm import create_server_model

    prefix = f"LLM_{kind}_" if kind else "LLM_"
    url, key = getattr(settings, f"{prefix}BASE_URL"), getattr(settings, f"{prefix}API_KEY")
    if not url:  # the key of one server is never sent to another
        url, key = settings.LLM_BASE_URL, key or settings.LLM_API_KEY
    name = getattr(settings, f"{prefix}MODEL") or ""
    return create_server_model(name, ClientSettings(base_url=url or "", api_key=key or ""))


@cache
def extractive_generator() -> LLMGenerator:
    """Answers made of sentences of the sources."""
    from ragcore.extractive.generator import ExtractiveGenerator

    return ExtractiveGenerator(tokenizer())


@cache
def generator() -> LLMGenerator:
    """The standard model with the others behind it, where any is configured, otherwise the extractive answerer."""
    ladder = _ladder("standard")
    return _fallback(tuple(ladder), is_limited=False) if ladder else extractive_generator()


def generator_for(choice: RoutingDecision) -> LLMGenerator:
    """The model of the chosen tier within the tier's limits, the others behind it; extractive where none was chosen."""
    return extractive_generator() if choice.tier is None else _generator_of(choice.tier)


@cache
def _generator_of(tier: Tier) -> LLMGenerator:
    others = [other for other in _ladder(tier.name) if other != tier]
    return _fallback((tier, *others), is_limited=True)


def _fallback(ladder: Sequence[Tier], *, is_limited: bool) -> LLMGenerator:
    from ragcore.llm.fallback import FallbackGenerator, TieredGenerator
    from ragcore.llm.generators import LLMAnswerGenerator

    rungs = [TieredGenerator(tier=tier, generator=LLMAnswerGenerator(_model_of(tier))) for tier in ladder]
    return FallbackGenerator(rungs, is_limited=is_limited)


@cache
def lexicon() -> Lexicon:
    """Synonyms and abbreviations of general technical language."""
    from ragcore.understanding.lexicon import DataLexicon

    return DataLexicon()


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
