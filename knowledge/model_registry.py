"""Models of this process: made once, loaded on first use, never on the event loop; reranker scores in Redis."""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from redis import Redis, RedisError

from knowledge.model_servers import Endpoint, client_settings, permitted_at
from knowledge.model_setup import ModelSpec, Purpose, circuit, environment_prices, setup_now, setup_refresh
from knowledge.model_tokenizers import counter_named
from knowledge.search_model_setup import SearchModelSpec
from ragcore.client_registry import ClientSettings
from ragcore.embedding.rotation import packaged_number, packaged_projection
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

KEPT_EMBEDDERS = 8  # the one in use, the next, the former one, and those of sets: each takes its memory
OPTIONAL_SECONDS = 5.0  # for which a question waits for a model that it can do without
KEPT_CLIENTS = 32  # chat models with their connections; more are used in no site at a time
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
    from ragcore.llm.tiers import Price, RoutingDecision, Tier
    from ragcore.stage_ports import Lexicon


def _models_dir() -> Path:
    return Path(settings.DATA_DIR) / "models"


@cache
def tokenizer() -> Tokenizer:
    """The tokenizer of the lexical index and of every word count."""
    from ragcore.text.glossary import CedictGlossary
    from ragcore.text.tokenise import JiebaTokenizer

    return JiebaTokenizer(cache_dir=_models_dir() / "jieba", glossary=CedictGlossary(_models_dir()))


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


def embedder() -> Embedder:
    """The embedding model in use: of the environment (EMBEDDER), else of the registry.

    How its vectors are shortened is looked up with the first ones.
    """
    return embedder_of(setup_now().embedder)


@lru_cache(KEPT_EMBEDDERS)
def embedder_of(spec: SearchModelSpec) -> Embedder:
    """The same client for equal models; loads or connects on first use."""
    return _embedder_made(spec, _search_client(spec))


@lru_cache(KEPT_EMBEDDERS)
def optional_embedder_of(spec: SearchModelSpec) -> Embedder:
    """The same for a part of a search that may be left out: a server is asked once, for a few seconds."""
    if not spec.is_remote:
        return embedder_of(spec)
    return _embedder_made(spec, replace(_search_client(spec), is_patient=False, budget_seconds=OPTIONAL_SECONDS))


def _embedder_made(spec: SearchModelSpec, client: ClientSettings) -> Embedder:
    from knowledge.embedder_fit import StoredShortening, WholeVectors
    from ragcore.embedding import EMBEDDERS

    shorten = StoredShortening()
    created = EMBEDDERS.create(spec.client, replace(client, shorten=shorten))
    if isinstance(created, WholeVectors):
        shorten.embedder = created
    return created


def live_model() -> str:
    """The name of the vectors that questions are compared with."""
    return embedder().model


def _search_client(spec: SearchModelSpec) -> ClientSettings:
    """What the client of an embedder or reranker is made with."""
    return ClientSettings(
        base_url=spec.url,
        api_key=spec.key,
        models_dir=_models_dir(),
        model_socket=settings.MODEL_SOCKET,
        threads=settings.EMBEDDER_THREADS,
        backend=settings.RERANKER_BACKEND,
        batch=settings.RERANKER_BATCH,
        budget_seconds=settings.RERANKER_SECONDS,
        trust_remote_code=spec.trust_remote_code,
        query_prefix=spec.query_prefix,
        document_prefix=spec.document_prefix,
        pooling=spec.pooling,
        max_tokens=spec.max_tokens,
        permitted=permitted_at(Endpoint(url=spec.url, hosts=spec.hosts)),
    )


def cosine_floor(*, tenant_id: int) -> float | None:
    """The default of `min_cosine` for the embedding model in use; None: that of the packaged one holds. Uses the ORM.

    Calibrated on the tenant's passages when the site was switched to the model, else as the model was measured.
    """
    return setup_now().floor(tenant_id=tenant_id) or floor_of_model(embedder())


def floor_of_model(model: Embedder) -> float | None:
    """The same for a model wherever it is used: what comes with it, or what was measured for it. Uses the ORM."""
    from knowledge.embedder_fit import WholeVectors, default_floor
    from ragcore.embedding.packaged import PackagedEmbedder

    if isinstance(model, PackagedEmbedder):
        return model.floor
    return default_floor(model.model) if isinstance(model, WholeVectors) else None


def reranker(spec: SearchModelSpec | None = None, *, embedding_model: str = "") -> Reranker | None:
    """The reranker in use, or another one; None: there is to be none.

    `embedding_model`: whose cosines it gets, because fitted weights go with a model; "": the one in use.
    """
    spec = spec or setup_now().reranker
    if spec.client == "none":
        return None
    return reranker_of(spec, (embedding_model or live_model()) if spec.is_linear else "")


@lru_cache(KEPT_EMBEDDERS)
def reranker_of(spec: SearchModelSpec, embedding_model: str = "") -> Reranker:
    """The same client for equal models. `embedding_model`: whose cosines a linear one gets."""
    from ragcore.reranking import RERANKERS
    from ragcore.reranking.pairs import PairReranker, PairScorer

    client = RERANKERS.create(spec.client, replace(_search_client(spec), embedding_model=embedding_model))
    if isinstance(client, PairScorer):
        return PairReranker(client, RedisScoreCache(settings.REDIS_URL))
    return client


def second_reranker(spec: SearchModelSpec | None = None, *, embedding_model: str = "") -> Reranker | None:
    """Who orders where the first one fails: the linear one, which needs no model and no server. See `reranker`."""
    spec = spec or setup_now().reranker
    return None if spec.client in ("none", "linear") else _linear_reranker(embedding_model or live_model())


@lru_cache(KEPT_EMBEDDERS)
def _linear_reranker(embedding_model: str) -> Reranker:
    from ragcore.reranking.linear import LinearReranker

    return LinearReranker.shipped(embedding_model)


@cache
def recogniser() -> TextRecogniser:
    """Reads text from pictures in a process of its own, which starts with the first picture and ends with us."""
    from ragcore.ocr.client import RapidOcrRecogniser

    return RapidOcrRecogniser()


def chat_model() -> ChatModel | None:
    """The model for everything that needs one: the standard tier, else another one; None: answers are extractive."""
    ladder = _ladder("standard")
    return _client_of(ladder[0][1]) if ladder else None


def light_model() -> ChatModel | None:
    """The model that rewrites, analyses and sums up: one of its own where there is one, else `chat_model`."""
    spec = setup_now().models.get(Purpose.LIGHT)
    return _client_of(spec) if spec else chat_model()


def judge_model() -> ChatModel | None:
    """The model that grades passages and answers, where one of its own is configured."""
    spec = setup_now().models.get(Purpose.JUDGE)
    return _client_of(spec) if spec else None


def tiers() -> tuple[Tier, ...]:
    """The models that write, by tier, weakest first, the local one before others of its tier.

    It is one of every tier, unless its exam found that it writes no answers.
    """
    return tuple(tier for tier, _spec in _writers())


def _writers() -> list[tuple[Tier, ModelSpec]]:
    """The same with their models, all as of one moment."""
    from ragcore.llm.tiers import TIER_NAMES, build_tier

    setup = setup_now()
    writers: list[tuple[Tier, ModelSpec]] = []
    for name in TIER_NAMES:
        if setup.local and (name == "fast" or setup.local.profile.way != "quote"):
            writers.append((build_tier(name, setup.local.name, is_local=True), setup.local))
        if spec := setup.models.get(name):
            writers.append((build_tier(name, spec.name, spec.price), spec))
    return writers


def model_price(name: str) -> Price | None:
    """The price of a model that is in use, or that the environment's table names; None where it is not known."""
    prices = {spec.name: spec.price for spec in setup_now().models.values() if spec.price is not None}
    return prices.get(name) or environment_prices(settings.LLM_PRICES or "").get(name)


def least_context_tokens() -> int | None:
    """The shortest context of the models that may write an answer; None where none is known.

    A model that only chooses among quoted sentences reads no sources: they may be as many as without it.
    """
    writers = (spec for _tier, spec in _writers() if not spec.profile.is_quoting)
    return min((spec.context_tokens for spec in writers if spec.context_tokens), default=None)


def models_fingerprint() -> str:
    """Changes with every change of the registry; "" where nothing is registered. Part of the keys of answers."""
    version = setup_now().version
    return str(version) if version else ""


def _ladder(name: str) -> list[tuple[Tier, ModelSpec]]:
    """Models in the order in which they are asked: of the named tier, others by an API, stronger first, then local."""
    stronger_first = [rung for rung in reversed(_writers()) if not rung[0].is_local or rung[0].name == name]
    return sorted(stronger_first, key=lambda rung: (rung[0].is_local, rung[0].name != name))


@lru_cache(KEPT_CLIENTS)
def _client_of(spec: ModelSpec) -> ChatModel:
    """A client with its connections, the same one for equal models."""
    from ragcore.llm import create_local_model, create_server_model
    from ragcore.llm.balanced import BalancedChatModel, ServerModel
    from ragcore.llm.guarded import GuardedChatModel

    if spec.is_local:
        return create_local_model(spec.name, spec.limits)
    tokens = counter_named(spec.tokenizer)
    reached = [client_settings(each, spec.limits, spec.profile, tokens) for each in spec.endpoints]
    clients = [create_server_model(spec.name, each) for each in reached]
    servers = [client for client in clients if isinstance(client, ServerModel)]
    model = BalancedChatModel(servers) if len(servers) > 1 else clients[0]
    return GuardedChatModel(model, circuit(spec), spec.profile)


def extractive_generator() -> LLMGenerator:
    """Answers made of sentences of the sources; the embedder in use tells those in the other language."""
    return _extractive_generator(setup_now().embedder)


@lru_cache(KEPT_EMBEDDERS)
def _extractive_generator(spec: SearchModelSpec) -> LLMGenerator:
    from ragcore.extractive.generator import ExtractiveGenerator

    return ExtractiveGenerator(tokenizer(), embedder_of(spec))


def generator() -> LLMGenerator:
    """The standard model with the others behind it, where any is configured, otherwise the extractive answerer."""
    ladder = _ladder("standard")
    return _fallback(tuple(ladder), is_limited=False) if ladder else extractive_generator()


def generator_for(choice: RoutingDecision) -> LLMGenerator:
    """The model of the chosen tier within the tier's limits, the others behind it; extractive where none was chosen."""
    if choice.tier is None:
        return extractive_generator()
    ladder = sorted(_ladder(choice.tier.name), key=lambda rung: rung[0] != choice.tier)
    return _fallback(tuple(ladder), is_limited=True) if ladder else extractive_generator()


@lru_cache(KEPT_CLIENTS)
def _fallback(ladder: tuple[tuple[Tier, ModelSpec], ...], *, is_limited: bool) -> LLMGenerator:
    """The same generator for equal models: it remembers which of them did not answer a moment ago."""
    from ragcore.llm.fallback import FallbackGenerator, TieredGenerator
    from ragcore.llm.generators import LLMAnswerGenerator

    rungs = [
        TieredGenerator(tier=tier, generator=LLMAnswerGenerator(_client_of(spec), spec.profile))
        for tier, spec in ladder
    ]
    return FallbackGenerator(rungs, is_limited=is_limited)


@cache
def lexicon() -> Lexicon:
    """Synonyms and abbreviations of general technical language."""
    from ragcore.understanding.lexicon import DataLexicon

    return DataLexicon()


def warm() -> None:
    """Load everything that the first question would wait for. Uses the ORM."""
    from knowledge.embedder_fit import Loadable

    setup_refresh(now=True)  # a process that has just started knows nothing of the registry
    tokenizer().terms("预热 warm-up")
    embedding_model = embedder()
    if isinstance(embedding_model, Loadable):
        embedding_model.warm()  # a model may take longer to load than a question waits
    embedding_model.embed_queries(["预热 warm-up"])
    model = live_model()
    if number := -packaged_number(model):
        packaged_projection(model, number)
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
