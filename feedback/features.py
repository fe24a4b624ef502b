"""What is kept with every judgement and signal: how the answer came to be, without any of its words."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from chat.models import Message
from knowledge import model_registry
from ragcore.errors import RagError
from ragcore.llm.tiers import technical_terms
from ragcore.text.matching import cosine, keywords
from ragcore.text.question_type import question_type
from ragcore.text.scripts import cjk_share, language_of

logger = logging.getLogger(__name__)

MOST_READ = 20_000  # characters that technical terms are looked for in
_MARKER = re.compile(r"\[(\d{1,4})\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_EXAMPLE = re.compile(r"例如|比如|譬如|举例|舉例|\bfor (?:example|instance)\b|\be\.g\.|\bsuch as\b", re.IGNORECASE)
_STRUCTURE = re.compile(r"^ {0,3}(?:#{1,6} |[-*+] |\d{1,3}[.)] |\|)", re.MULTILINE)


def answer_features(message: Message) -> dict[str, Any]:
    """Figures and codes of one answer as JSON; the same for one answer, so that events can be counted by them."""
    data, request = message.metadata, message.request
    analysis = (message.trace.get("reasoning") or {}).get("query_analysis") or {}
    return {
        "query_type": analysis.get("query_type") or question_type(message.question),
        "language": language_of(message.question),
        "length": len(message.question),
        "complexity": analysis.get("complexity"),
        "strategy": data.get("strategy", ""),
        "mode": data.get("mode_used", ""),
        "retrieval_mode": request.get("retrieval_mode", ""),
        "model": data.get("model", ""),
        "tier": data.get("tier"),
        "sets": list(request.get("sets") or ()),
        "status": message.status or message.state,
        "confidence": message.confidence,
        "support": dict(Counter(sentence.get("support", "") for sentence in message.sentences)),
        "cache": data.get("cache", ""),
        "seconds": data.get("total_time"),
        "stage_seconds": data.get("stage_times") or {},
        "scores": _best_scores(message.trace),
        "options": data.get("options_sha256", ""),
        "experiment": data.get("experiment", ""),
        **_text_figures(message),
    }


def _text_figures(message: Message) -> dict[str, Any]:
    """What the text is like: counts and yes or no; 0 for an answer without text."""
    text = message.answer
    plain = _MARKER.sub("", text)
    relevance = [sentence["relevance"] for sentence in message.sentences if sentence.get("relevance") is not None]
    reasoning = message.trace.get("reasoning") or {}
    tokenizer = model_registry.tokenizer()
    words = tokenizer.words(plain[:MOST_READ])
    aspects, answered = keywords(standalone_question(message), tokenizer), set(words)
    return {
        "words": len(words),
        "aspects_asked": len(aspects),
        "aspects_answered": sum(aspect in answered for aspect in aspects),
        "citations": len(set(_MARKER.findall(text))),
        "numbers": len(_NUMBER.findall(plain)),
        "terms": len(technical_terms(plain[:MOST_READ])),
        "examples": int(_EXAMPLE.search(plain) is not None),
        "structure": int(_STRUCTURE.search(plain) is not None),
        "relevance": max(relevance, default=None),
        "unmentioned": len(reasoning.get("unmentioned_words") or ()),
    }


def answer_cosine(message: Message) -> float | None:
    """The cosine of question and answer, -1 to 1; None where the embedder cannot be asked or trusted with them."""
    question, answer = standalone_question(message), _MARKER.sub("", message.answer).strip()
    if not answer:
        return None
    try:
        embedder = model_registry.embedder()
        if embedder.trust(cjk_share(question)) <= 0:
            return None
        vectors = embedder.embed_queries([question])[0], embedder.embed_documents([answer[:MOST_READ]])[0]
    except RagError as error:
        logger.warning("the relevance of an answer could not be measured: %s", error.code)
        return None
    return round(float(cosine(*vectors)), 4)


def standalone_question(message: Message) -> str:
    """The question with what its conversation adds, as the search understood it."""
    understood = message.metadata.get("understood") if isinstance(message.metadata, dict) else None
    return understood if isinstance(understood, str) and understood else message.question


def _best_scores(trace: Mapping[str, Any]) -> dict[str, float]:
    """The score of the best passage in every ranking that it stands in."""
    best: Mapping[str, Any] = next(iter(trace.get("candidates") or ()), {})
    return {name: round(float(score), 4) for name, score in (best.get("scores") or {}).items()}
