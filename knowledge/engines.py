"""Models of this process: made once, loaded on first use, never on the event loop."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from django.conf import settings

from ragcore.ports import ChatModel, Embedder, LLMGenerator, Reranker, TextRecogniser, TokenCounter, Tokenizer


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
    from ragcore.providers.linear_reranker import LinearReranker

    return LinearReranker.shipped()


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
    reranker()
    generator()
