"""Cache keys of answers: question, rights, sets, options, prompts, models, corpus epoch.

A key holds the standalone question, the rights and sets with their epoch, the options, prompts and models. History and
profile are part of it only where they change the question or the ranking: colleagues with equal rights share answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from accounts.scope import Scope
from chat.answering.answer_language import wished_language
from chat.answering.context import AnswerContext
from chat.types import AnswerRecord, to_plain
from knowledge import model_registry
from knowledge.selectors.answer_space import answer_space, profile_values
from knowledge.types import AnswerSpace
from ragcore.retrieval.stages.fusion import profile_shift
from ragcore.text.normalise import normalise_query
from ragcore.text.request_cache import cached
from ragcore.types.answering import Question
from ragcore.understanding.standalone import Standalone, add_context, standalone_by_rules

# How an answer is shown or kept has no part in what it says; the question, rights and sets have parts of their own.
_NOT_OPTIONS = frozenset(
    {"query", "cache", "conversation_id", "tenant_id", "strict", "given", "history", "include_citations"}
    | {
        "include_inline",
        "citation_format",
        "sets",
        "filters",
        "personal",
        "instead_of",
        "after",
        "attachments",
        "draft",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """Where the answer to a question is kept. Equal groups differ in nothing but the question."""

    question: str  # standalone, case folded
    group: str  # hash of everything else that the answer may depend on
    has_history: bool = False  # of which nothing is part of the key: only some answers may be kept under it

    @property
    def name(self) -> str:
        return f"answer:{_sha256([self.group, self.question])}"

    @property
    def similar_name(self) -> str:
        """Where the questions of the group stand with their vectors."""
        return f"answers:{self.group}"

    def of_question(self, question: str) -> CacheKey:
        """The key of another question that is asked under the same circumstances."""
        return replace(self, question=_folded(question))

    def may_keep(self, record: AnswerRecord) -> bool:
        """Whether the conversation has taken no part in this answer: quoted, and searched for in its own words only.

        A model has read the conversation in its prompt, and may have used it.
        """
        by_itself = record.metadata.model in ("", "extractive") and not record.metadata.rewritten_queries
        return by_itself or not self.has_history


def understand_by_rules(context: AnswerContext) -> tuple[Standalone, bool]:
    """The question without its conversation, day and person; and whether its search depends on the conversation.

    Computes; uses no ORM. Once in an answer.
    """
    return cached(("understood", context.question), lambda: _understand(context.question))


def _understand(question: Question) -> tuple[Standalone, bool]:
    tokenizer = model_registry.tokenizer()
    standalone = standalone_by_rules(question, tokenizer)
    if not question.history:
        return standalone, False
    return standalone, "history" in standalone.depends_on or bool(add_context(standalone.text, question, tokenizer))


def _wished(context: AnswerContext) -> tuple[str, str] | None:
    """The language that the answer before is wished in, and that of the message; None for any other message."""
    language = wished_language(context) if context.history else None
    return None if language is None else (language, context.question.language)


def cache_key(context: AnswerContext, understood: Standalone, *, depends_on_history: bool) -> CacheKey:
    """The key of a question, of rights and sets as of this moment. Uses the ORM."""
    scope, request = context.scope, context.request
    space = answer_space(scope=scope, sets=request.sets, filters=request.filters)
    filters = {"filters": to_plain(request.filters), "sets": sorted(request.sets)} if request.filters else None
    values = to_plain(request)
    parts = {
        "options": {name: values[name] for name in values.keys() - _NOT_OPTIONS},
        "given": sorted(request.given - _NOT_OPTIONS),
        "tenant": scope.tenant_id,
        "clearance": scope.clearance,
        "sets": space.asked,
        "readers": space.lists,
        "epoch": space.epoch,
        "adapters": space.adapters,
        "set_embedders": space.set_embedders,
        "filters": filters,
        "profile": _profile_part(scope, space, context, understood),
        "history": [asdict(turn) for turn in context.history] if depends_on_history else [],
        "cited": context.cited_before if depends_on_history else (),
        "language": _wished(context),
        "configuration": context.config.sha256(),
        # where the question leaves something open a model is asked, and reads it as it was written, with the day
        "open": [context.question.text, str(context.question.today)]
        if understood.depends_on and _has_model()
        else None,
    }
    return CacheKey(
        question=_folded(understood.text),
        group=_sha256(parts),
        has_history=bool(context.history) and not depends_on_history,
    )


def _profile_part(
    scope: Scope, space: AnswerSpace, context: AnswerContext, understood: Standalone
) -> Mapping[str, Any] | None:
    """What of the profile can change the ranking or the question; None: nothing.

    Recent sets are sorted, because their order does not change the ranking.
    """
    profile = context.profile
    if profile is None:
        return None
    values = profile_values(scope=scope, space=space, profile=profile)
    recent = sorted(set(profile.recent_sets) & set(space.readable))
    shift = profile_shift(understood.text, profile)
    profile_fields = asdict(profile) if understood.depends_on and _has_model() else None  # a model is told of it
    if not (values or recent or shift or profile_fields):
        return None
    readable = space.readable if values or recent else ()  # names of sets are facts of their documents, too
    return {"values": values, "recent": recent, "shift": shift, "told": profile_fields, "readable": readable}


def _folded(question: str) -> str:
    return normalise_query(question).casefold()


def _has_model() -> bool:
    return model_registry.chat_model() is not None


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
