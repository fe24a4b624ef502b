"""Answers that reviewers have approved, and that rest on documents of the set alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from django.utils import timezone

from accounts.errors import NotFoundError
from chat.answers.approval import MOST_PARAPHRASES, MOST_SOURCES, answer_approve, approved_in_force, question_key
from chat.errors import NotApprovableError
from chat.models import ApprovedAnswer, ApprovedSource
from knowledge.models import Chunk
from knowledge.services.set_files.sections import Arriving, Leaving, Line, SetSection, set_section

MAX_QUESTION = 4000


@set_section
class ApprovedAnswerSection(SetSection):
    """Those in force. A question that has an approved answer here keeps that one."""

    name: ClassVar[str] = "approved_answers"
    order: ClassVar[int] = 40

    def lines(self, leaving: Leaving) -> Iterator[Line]:
        of_set = ApprovedSource.objects.filter(document__sets=leaving.knowledge_set).order_by().values("answer")
        rows = approved_in_force().filter(tenant_id=leaving.knowledge_set.tenant_id, pk__in=of_set).order_by("pk")
        for row in rows.prefetch_related("sources__chunk"):
            sources = list(row.sources.all())
            if len(sources) == row.source_count and all(item.document_id in leaving.documents for item in sources):
                yield _line(row, sources)

    def store(self, arriving: Arriving, lines: Sequence[Line]) -> Mapping[str, int]:
        counts = {"approved_answers": 0, "approved_answers_left_out": 0}
        for line in lines:
            name = "approved_answers" if _store(arriving, line) else "approved_answers_left_out"
            counts[name] += 1
        return counts


def _line(row: ApprovedAnswer, sources: Sequence[ApprovedSource]) -> Line:
    return {
        "question": row.question,
        "paraphrases": row.paraphrases,
        "answer": row.answer,
        "days": max(1, math.ceil((row.expires - timezone.now()).total_seconds() / 86400)),
        "sources": [[item.document_id, item.chunk.ordinal] for item in sources],
    }


def _store(arriving: Arriving, line: Line) -> bool:
    """Publish one; False where its sources are not all here, or the question has an approved answer."""
    question, answer, days = line.get("question"), line.get("answer"), line.get("days")
    paraphrases, places = line.get("paraphrases", []), line.get("sources", [])
    is_right = (
        isinstance(question, str)
        and len(question) <= MAX_QUESTION
        and isinstance(answer, str)
        and type(days) is int
        and isinstance(paraphrases, list)
        and all(isinstance(item, str) and len(item) <= MAX_QUESTION for item in paraphrases)
        and isinstance(places, list)
        and 0 < len(places) <= MOST_SOURCES
    )
    if not is_right or not isinstance(question, str) or not isinstance(answer, str) or type(days) is not int:
        return False
    chunks = [chunk for place in places if (chunk := _chunk(arriving, place)) is not None]
    in_force = approved_in_force().filter(tenant_id=arriving.scope.tenant_id)
    if len(chunks) != len(places) or in_force.filter(keys__overlap=[question_key(question)]).exists():
        return False
    try:
        answer_approve(
            scope=arriving.scope,
            actor=arriving.actor,
            question=question,
            answer=answer,
            chunks=chunks,
            paraphrases=paraphrases[:MOST_PARAPHRASES],
            days=days,
        )
    except (NotApprovableError, NotFoundError):
        return False
    return True


def _chunk(arriving: Arriving, place: object) -> Chunk | None:
    """The passage of [number of the document, ordinal]."""
    if not isinstance(place, list) or len(place) != 2 or not all(type(item) is int for item in place):
        return None
    rows = Chunk.objects.select_related("version__document").filter(retired=None, ordinal=place[1])
    return rows.filter(version__live_for=arriving.documents.get(place[0])).first()
