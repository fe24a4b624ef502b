"""What a language model is told, and which sentences are refusals (D19, D21, V5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import get_args

from django.conf import settings

from accounts.scope import Scope
from chat.services.sessions import history_window
from chat.types import AnswerRequest, Exchange, Style
from knowledge import engines
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_readable
from ragcore.grounding.context import render_context
from ragcore.options import AnswerOptions, options_sha256, resolve
from ragcore.ports import ChatMessage
from ragcore.prompts import load
from ragcore.prompts.refusals import refusal
from ragcore.text.scripts import language_of
from ragcore.types import Language, Source

PERSONA = "You are an expert on the documents of this organisation."  # of sets that name no other
LANGUAGE_NAMES = {"zh": "Chinese", "en": "English"}
OTHER_LANGUAGE = "the same language as the question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How this question is to be answered: options in layers, and what the set says that is asked alone."""

    options: AnswerOptions = field(default_factory=AnswerOptions)
    persona: str = ""
    retrieval: Mapping[str, object] = field(default_factory=dict)  # the set's own options of the search

    def sha256(self) -> str:
        """Fingerprint of everything but the question that shapes an answer, stored with it and part of cache keys."""
        model = engines.chat_model()
        prompts = [load(name).sha256 for name in ("answer_system", "answer_user", f"style_{self.options.style}")]
        used = Used(
            model=model.name if model else "",
            embedder=settings.EMBEDDER,
            reranker=settings.RERANKER,
            prompts=tuple(prompts),
            persona=self.persona,
            retrieval=self.retrieval,
        )
        return options_sha256(self.options, used)


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What else than options has a part in an answer."""

    model: str
    embedder: str
    reranker: str
    prompts: tuple[str, ...]  # fingerprints
    persona: str
    retrieval: Mapping[str, object]


def manner_of(*, scope: Scope, request: AnswerRequest) -> Manner:
    """Default options, then those of the set that is asked alone (D14), then what the client sent. Uses the ORM."""
    layers: list[tuple[str, dict[str, object]]] = []
    alone: KnowledgeSet | None = None
    if len(request.sets) == 1:
        alone = sets_readable(scope=scope).filter(pk=request.sets[0]).first()
    if alone is not None:
        layers.append((f"set {alone.code}", alone.options.get("answer", {})))
    sent = {f.name: getattr(request, f.name) for f in fields(AnswerOptions) if f.name in request.given}
    options = resolve(AnswerOptions, *layers, ("request", sent)).value
    if alone is None:
        return Manner(options=options)
    return Manner(options=options, persona=alone.persona, retrieval=alone.options.get("retrieval", {}))


def prompt_messages(
    *, query: str, manner: Manner, sources: Sequence[Source], history: Sequence[Exchange]
) -> tuple[ChatMessage, ...]:
    """The system prompt, the earlier turns that fit, and the sources with the question."""
    language = language_of(query)
    system = load("answer_system").render(
        persona=manner.persona or PERSONA,
        refusal=refusal(manner.options.style, language),
        style=load(f"style_{manner.options.style}").text,
        language=LANGUAGE_NAMES.get(language, OTHER_LANGUAGE),
    )
    turns = history_window(history, fixed=system + query, counter=engines.counter())
    earlier = [
        ChatMessage(role=role, content=content)
        for turn in turns
        for role, content in (("user", turn.question), ("assistant", turn.answer))
    ]
    question = load("answer_user").render(context=render_context(sources), question=query)
    return (
        ChatMessage(role="system", content=system),
        *earlier,
        ChatMessage(role="user", content=question),
    )


def refusal_for(query: str, style: str) -> str:
    """The refusal sentence of the style, in the language of the question (D21)."""
    return refusal(style, language_of(query))


def refusal_sentences() -> frozenset[str]:
    """All of them: they claim nothing, so their support is not judged."""
    return frozenset(refusal(style, language) for style in get_args(Style) for language in get_args(Language))
