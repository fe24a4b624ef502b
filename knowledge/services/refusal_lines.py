"""Computes a set's refusal threshold from questions made of its passages, in the background (decision 037).

Questions are made of the set's sentences by rules, asked as an owner would ask them, and scored by the model that
decides on refusals. How low these scores are says how far below the shipped line the set's own one must lie.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from accounts.scope import Scope
from accounts.selectors import scope_for
from knowledge import model_registry
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.model_setup import setup_refresh
from knowledge.models import Chunk, Document, KnowledgeSet, RefusalLine
from knowledge.services.retrieval import retrieve
from knowledge.services.upkeep import FITTED_WITHIN, put_off
from knowledge.types import RetrievalRequest
from ragcore.answerability import score_answerability, threshold_for
from ragcore.answerability.made_questions import question_of_passage
from ragcore.answerability.own_line import LEAST_QUESTIONS, lowered_by
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.errors import RagError
from ragcore.grounding.context import build_context
from ragcore.options import AnswerOptions
from ragcore.text.scripts import language_of
from ragcore.text.token_count import counter
from ragcore.types import Language

logger = logging.getLogger(__name__)

LEAST_PASSAGES = 200  # the shipped lines for smaller sets depend on their size, and questions there on single words
QUESTIONS = 150
SAMPLED = 50_000  # passages among which those of the questions are drawn
CHANGED = 0.2  # share of the documents
DAYS = 90  # until it is drawn anew, whatever has changed
RUN_SECONDS = 120.0  # of one run; the next one goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A made question that found its passage."""

    score: float
    language: Language


def refusal_lines_draw(*, seconds: float = RUN_SECONDS) -> int:
    """Draw the lines of sets that have none, or whose documents have changed since; returns how many were drawn.

    Begins no further set after `seconds`. Waits for running ingestion, for FITTED_WITHIN at most. Nothing to
    do with a language model, which refuses by itself.
    """
    setup_refresh()
    if model_registry.chat_model() is not None:
        return 0
    until, drawn = time.monotonic() + seconds, 0
    for knowledge_set, documents in _due():
        if time.monotonic() > until or put_off("refusal_lines", at_most=FITTED_WITHIN):
            break
        try:
            refusal_line_draw(knowledge_set=knowledge_set, documents=documents)
        except RagError as error:
            logger.warning("the refusal line of set %s could not be drawn: %s", knowledge_set.pk, error)
            continue
        drawn += 1
    return drawn


def _due() -> Iterator[tuple[KnowledgeSet, int]]:
    """Sets, with their live documents."""
    live = Count("documents", filter=Q(documents__state=Document.State.LIVE, documents__deleted=None), distinct=True)
    sets = KnowledgeSet.objects.annotate(live=live).filter(live__gt=0).select_related("refusal_line").order_by("pk")
    old, model = timezone.now() - timedelta(days=DAYS), model_registry.live_model()
    for row in sets:
        line: RefusalLine | None = getattr(row, "refusal_line", None)
        changed = line is None or abs(row.live - line.documents) > CHANGED * line.documents
        if line is None or changed or line.drawn < old or line.embedder != model:
            yield row, row.live


def refusal_line_draw(*, knowledge_set: KnowledgeSet, documents: int) -> RefusalLine:
    """Draw the line of one set and bring it into use; a set of few passages keeps the shipped one.

    Raises what `knowledge.services.retrieve` raises.
    """
    owner = knowledge_set.owners.filter(is_active=True).order_by("pk").first()
    passages = _passages(knowledge_set)
    answers: list[_Asked] = []
    if owner is not None and len(passages) >= LEAST_PASSAGES:
        answers = list(_answered(knowledge_set, passages, scope_for(owner)))
    values = {
        "lowered": _lowered(answers, len(passages)),
        "questions": len(answers) if len(answers) >= LEAST_QUESTIONS else 0,
        "passages": len(passages),
        "documents": documents,
        "embedder": model_registry.live_model(),
        "drawn": timezone.now(),
    }
    with transaction.atomic():
        line, _ = RefusalLine.objects.update_or_create(knowledge_set=knowledge_set, defaults=values)
        if line.questions:
            epoch_advance(tenant_id=knowledge_set.tenant_id, sets=[knowledge_set.pk])
    return line


def _lowered(answers: list[_Asked], passages: int) -> float:
    if not answers:
        return 0.0
    languages = [answer.language for answer in answers]
    shipped = threshold_for(max(set(languages), key=languages.count), passages, AnswerOptions().false_refusals)
    return round(lowered_by([answer.score for answer in answers], shipped), 3)


def _passages(knowledge_set: KnowledgeSet) -> list[int]:
    """Ids of the set's searchable passages."""
    live = Document.objects.filter(sets=knowledge_set, state=Document.State.LIVE, deleted=None)
    rows = Chunk.objects.filter(version__live_for__in=live.order_by(), retired=None, kind=Chunk.Kind.BODY)
    return list(rows.order_by("pk").values_list("pk", flat=True)[:SAMPLED])


def _answered(knowledge_set: KnowledgeSet, passages: list[int], scope: Scope) -> Iterator[_Asked]:
    """The scores of made questions that find the document that they were made of."""
    chance = random.Random(knowledge_set.pk)  # noqa: S311 (the same questions for the same passages)
    drawn = chance.sample(passages, min(len(passages), 2 * QUESTIONS))
    texts = Chunk.objects.filter(pk__in=drawn).order_by("pk").values_list("text", "version__document_id")
    count = 0
    for text, document in texts:
        question = question_of_passage(text, model_registry.tokenizer(), chance)
        if question is None:
            continue
        count += 1
        if (score := _score(question, knowledge_set, document, scope)) is not None:
            yield _Asked(score=score, language=language_of(question))
        if count == QUESTIONS:
            break


def _score(question: str, knowledge_set: KnowledgeSet, document: int, scope: Scope) -> float | None:
    """How likely the sources answer, as in an answer; None where the document is not among them."""
    defaults = {"cliff": True, "deduplicate": True}
    request = RetrievalRequest(query=question, sets=(knowledge_set.pk,), defaults=defaults)
    state, options = retrieve(scope=scope, request=request).state, AnswerOptions()
    hits = [(c.passage, list(c.scores.values())[-1]) for c in state.candidates if c.passage is not None and c.scores]
    sources = build_context(hits[: options.max_chunks], budget_tokens=options.context_tokens, counter=counter())
    if not any(source.passage.document == document for source in sources):
        return None
    return score_answerability(
        question,
        sources,
        tokenizer=model_registry.tokenizer(),
        embedder=CachingEmbedder(model_registry.embedder()),
        idf=state.query.weights,
    ).score
