"""Serves a reviewer-approved answer for the same question to askers who may find all its sources."""

from __future__ import annotations

import re
import time

from django.utils import timezone

from accounts.selectors import person_name
from chat.answering.cache_key import understand_by_rules
from chat.answering.context import AnswerContext
from chat.answering.generation import show_text
from chat.answering.grounding import EXCERPT_CHARACTERS
from chat.answering.stage_ports import report_context
from chat.answers.approval import approved_count, approved_in_force, is_live, question_key, source_gone
from chat.concurrency.executors import run_cpu, run_db
from chat.models import ApprovedAnswer, ApprovedSource
from chat.rendering import render_markdown
from chat.types import AnswerMetadata, AnswerRecord, CitationRecord
from knowledge.selectors.answer_space import citations_askable
from ragcore.text.sentences import split_sentences

_OWN_WORDS = ("system_prompt", "prompt_type")  # who sends these wants a text of their own


async def approved_record(context: AnswerContext, *, counts: bool = True) -> AnswerRecord | None:
    """The approved answer to this question; None where there is none that the asker may read whole.

    A question that depends on its conversation has none. `counts`: whether it is a use.
    """
    start = time.perf_counter()
    if not context.may_be_approved or context.attached is not None:
        return None
    if any(name in context.request.given for name in _OWN_WORDS):
        return None
    understood, depends_on_history = await run_cpu(understand_by_rules, context)
    if depends_on_history:
        return None
    record = await run_db(_found, context, understood.text, counts=counts)
    if record is None:
        return None
    if context.is_streaming:
        await report_context(context, len(record.citations))
        await show_text(context, record.text, [citation.number for citation in record.cited])
    metadata = AnswerMetadata(
        total_time=round(time.perf_counter() - start, 4),
        chunks_found=len(record.citations),
        usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        cost=0.0,
        strategy="approved",
        mode_used="approved",
        options_sha256=context.config.sha256(),
        understood=understood.text if understood.text != context.question.text else None,
        approved=record.metadata.approved,
    )
    html = await run_cpu(_html, record)
    return AnswerRecord(
        text=record.text,
        html=html,
        status="answered",
        confidence=1.0,
        citations=record.citations,
        retrieval_stats={"total_retrieved": 0, "after_dedup": 0, "final_count": len(record.citations)},
        metadata=metadata,
    )


def _html(record: AnswerRecord) -> str:
    citations = {citation.number for citation in record.citations}
    return render_markdown(record.text, citations=citations, with_places=True, with_languages=True)


def _found(context: AnswerContext, question: str, *, counts: bool) -> AnswerRecord | None:
    rows = approved_in_force().filter(tenant_id=context.scope.tenant_id, keys__contains=[question_key(question)])
    for row in rows.select_related("approved_by"):
        sources = list(row.sources.select_related("document", "chunk").order_by("number"))
        if len(sources) != row.source_count or not all(is_live(source) for source in sources):
            source_gone(row)
        elif _may_find(context, sources):
            if counts:
                approved_count(answer_id=row.pk)
            return _record(row, sources)
    return None


def _may_find(context: AnswerContext, sources: list[ApprovedSource]) -> bool:
    cited = [(source.chunk_id, source.version_id, source.document_id) for source in sources]
    sets, filters = context.request.sets, context.request.filters
    persons = context.scope.persons
    return all(citations_askable(scope=person, cited=cited, sets=sets, filters=filters) for person in persons)


def _record(row: ApprovedAnswer, sources: list[ApprovedSource]) -> AnswerRecord:
    who = person_name(row.approved_by) if row.approved_by is not None else ""
    approved = {"id": str(row.pk), "by": who, "at": timezone.localdate(row.created).isoformat()}
    return AnswerRecord(
        text=row.answer,
        html="",
        status="answered",
        confidence=1.0,
        citations=tuple(_citation(source, row.answer) for source in sources),
        metadata=AnswerMetadata(approved=approved),
    )


def _citation(source: ApprovedSource, answer: str) -> CitationRecord:
    marker = f"[{source.number}]"
    segment = next((sentence for sentence in split_sentences(answer) if marker in sentence), "")
    return CitationRecord(
        number=source.number,
        chunk_id=source.chunk_id,
        document_id=source.document_id,
        version_id=source.version_id,
        version=0,  # its number is read when the record is bound to the stored chunks
        external_id=source.document.external_id,
        title=source.document.title,
        page=source.chunk.page,
        content=source.chunk.text[:EXCERPT_CHARACTERS],
        score=1.0,
        confidence=1.0,
        position=max(answer.find(marker), 0),
        segment=re.sub(r"(?<!\s)\s*+\[\d{1,3}\]", "", segment).strip(),
        weak=False,
    )
