"""Which suggested questions have an answer: found by a search with the rights of whoever would ask them.

A verdict holds for a question, the rights and the corpus as they are; it is kept in the cache under all three.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from django.core.cache import cache

from accounts.scope import Scope
from chat.answering.answerability import verdict_by_sources
from chat.answering.retrieval import SearchOutcome
from knowledge import model_registry
from knowledge.search_profile import Retrieved
from knowledge.selectors.answer_space import answer_space
from knowledge.services import retrieve
from knowledge.types import AnswerSpace, RetrievalRequest
from ragcore.options import AnswerOptions
from ragcore.text.scripts import language_of
from ragcore.types import Source

KEPT_SECONDS = 24 * 3600
PASSAGES = 5  # of which one has to answer


def known_verdicts(*, scope: Scope, questions: Sequence[str]) -> dict[str, bool]:
    """The verdicts that are kept: question → whether it has an answer."""
    return _kept(_keys(scope, questions))


def questions_check(*, scope: Scope, questions: Sequence[str]) -> dict[str, bool]:
    """Search for what has no verdict yet, and keep the verdicts. Raises what `knowledge.services.retrieve` raises."""
    keys = _keys(scope, questions)
    verdicts = _kept(keys)
    fresh = {
        question: search_with_answer(scope=scope, question=question) is not None
        for question in questions
        if question not in verdicts
    }
    cache.set_many({keys[question]: verdict for question, verdict in fresh.items()}, KEPT_SECONDS)
    return verdicts | fresh


def _kept(keys: Mapping[str, str]) -> dict[str, bool]:
    verdicts = cache.get_many(keys.values())
    return {question: verdicts[key] for question, key in keys.items() if key in verdicts}


def _keys(scope: Scope, questions: Sequence[str]) -> dict[str, str]:
    """Question → name in the cache."""
    circumstances = search_circumstances(scope=scope)
    return {question: f"example:{circumstances_digest(circumstances, question)}" for question in questions}


def search_circumstances(*, scope: Scope, sets: Sequence[int] = ()) -> str:
    """What a search depends on besides its question: the rights, the sets, and the corpus as of this moment."""
    space = answer_space(scope=scope, sets=sets)
    return f"{_rights(scope, space)}:{space.epoch}"


def search_rights(*, scope: Scope) -> str:
    """The same without the corpus: whose searches these are."""
    return _rights(scope, answer_space(scope=scope))


def _rights(scope: Scope, space: AnswerSpace) -> str:
    return f"{scope.tenant_id}:{scope.clearance}:{space.asked}:{space.lists}"


def circumstances_digest(circumstances: str, text: str) -> str:
    """For the name under which something that was found with a text is kept."""
    return hashlib.sha256(f"{circumstances}:{text}".encode()).hexdigest()


def search_with_answer(*, scope: Scope, question: str, sets: Sequence[int] = ()) -> Retrieved | None:
    """What a search finds for a question that would be answered from it; None where it would be refused.

    Raises what `knowledge.services.retrieve` raises.
    """
    retrieved = retrieve(scope=scope, request=RetrievalRequest(query=question, sets=tuple(sets), top_k=PASSAGES))
    hits = SearchOutcome(retrieved=retrieved, seconds=0.0).hits
    if not retrieved.relevant or not hits:
        return None
    if model_registry.chat_model() is not None:
        return retrieved  # it refuses by itself, as in an answer
    sources = [
        Source(number=number, passage=passage, text=passage.text, score=candidate.last_score)
        for number, (passage, candidate) in enumerate(hits, start=1)
    ]
    verdict = verdict_by_sources(
        question,
        sources,
        retrieved=retrieved,
        language=language_of(question),
        rate=AnswerOptions().false_refusals,
        lowered=retrieved.refusal_lowered,
    )
    return retrieved if verdict.is_answerable else None
