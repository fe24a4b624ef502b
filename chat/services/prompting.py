"""What a language model is told, and which sentences are refusals (D19, D21, V5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import cast, get_args

from django.conf import settings

from accounts.scope import Scope
from chat.services.sessions import history_window
from chat.types import AnswerRequest, Exchange, Style
from knowledge import engines
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_readable
from knowledge.selectors.options import site_options
from knowledge.types import RetrievalMode
from ragcore.answering.asking import fenced
from ragcore.grounding.context import render_context
from ragcore.options import AnswerOptions, options_sha256, resolve
from ragcore.ports import ChatMessage
from ragcore.presets import mode_layers, preset, preset_retrieval_mode
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
    origin: Mapping[str, str] = field(default_factory=dict)  # option -> the layer that it came from
    persona: str = ""
    system_prompt: str = ""  # instead of the product's, where the set permits it (V5)
    retrieval: Mapping[str, object] = field(default_factory=dict)  # the set's own options of the search
    mode_retrieval: Mapping[str, object] = field(default_factory=dict)  # below those of site and set
    preset_retrieval: Mapping[str, object] = field(default_factory=dict)  # above them
    retrieval_mode: RetrievalMode | None = None  # of the preset

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
            system_prompt=self.system_prompt,
            retrieval={**self.mode_retrieval, **self.retrieval, **self.preset_retrieval, "mode": self.retrieval_mode},
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
    system_prompt: str
    retrieval: Mapping[str, object]


def manner_of(*, scope: Scope, request: AnswerRequest) -> Manner:
    """Options in layers (V14): default, mode, site, the set that is asked alone (D14), preset, request. Uses the ORM.

    Mode and preset are options themselves and are found first.
    """
    alone: KnowledgeSet | None = None
    if len(request.sets) == 1:
        alone = sets_readable(scope=scope).filter(pk=request.sets[0]).first()
    site = ("site", site_options(tenant_id=scope.tenant_id).get("answer", {}))
    own = (f"set {alone.code}", alone.options.get("answer", {})) if alone else ("set", {})
    sent = ("request", answer_options_sent(request))
    named = resolve(AnswerOptions, site, own, sent).value
    chosen = preset(named.preset)
    mode = mode_layers(chosen.get("answer", {}).get("mode", named.mode))
    layers = (("mode", mode.get("answer", {})), site, own, (f"preset {named.preset}", chosen.get("answer", {})), sent)
    resolved = resolve(AnswerOptions, *layers)
    return Manner(
        options=resolved.value,
        origin=resolved.origin,
        persona=alone.persona if alone else "",
        system_prompt=(request.system_prompt or "") if resolved.value.own_prompts else "",
        retrieval=alone.options.get("retrieval", {}) if alone else {},
        mode_retrieval=mode.get("retrieval", {}),
        retrieval_mode=cast("RetrievalMode | None", preset_retrieval_mode(named.preset)),
        preset_retrieval=chosen.get("retrieval", {}),
    )


def answer_options_sent(request: AnswerRequest) -> dict[str, object]:
    """What the client said about options of the answer, by their names here; what it left out inherits."""
    sent = {f.name: getattr(request, f.name) for f in fields(AnswerOptions) if f.name in request.given}
    sent = {name: value for name, value in sent.items() if value is not None}
    if request.use_agentic_rag is not None and "mode" not in sent:
        sent["mode"] = "agentic" if request.use_agentic_rag else "basic"
    if request.use_tiered_generation is not None:
        sent["tiered"] = request.use_tiered_generation
    limits = {"max_cost": request.constraints.max_cost_per_query, "max_latency": request.constraints.max_latency}
    return sent | {name: float(value) for name, value in limits.items() if value is not None}


def prompt_messages(
    *, query: str, manner: Manner, sources: Sequence[Source], history: Sequence[Exchange], critique: str = ""
) -> tuple[ChatMessage, ...]:
    """The system prompt, the earlier turns that fit, and the sources with the question.

    A client's own prompt stands behind the rules, which it cannot lift; `critique`: of an answer before.
    """
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
    if manner.system_prompt:
        system = f"{system}\n\n{load('answer_own').render(instructions=manner.system_prompt)}"
    question = load("answer_user").render(context=render_context(sources), question=fenced(query))
    if critique:
        question = f"{question}\n\n{load('answer_critique').render(critique=fenced(critique))}"
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
