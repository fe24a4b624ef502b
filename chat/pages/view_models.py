"""What the chat page shows, as plain values for its templates."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, prefetch_related_objects
from django.utils.translation import gettext as _

from accounts.scope import Scope
from chat import selectors
from chat.answering.progress import step_event
from chat.answers.clarification import MeantSet, documents_that_answer, sets_meant
from chat.answers.fact_sources import chain_shown, facts_cited, facts_shown
from chat.answers.figures import FigureLine, figures_of
from chat.answers.source_lines import (
    KnownDocument,
    SourceLine,
    known_documents,
    level_of,
    source_line,
    with_facts,
    with_files,
)
from chat.answers.summary import AnswerSummary, summary_of
from chat.attachments.panels import attached_citations, attached_names
from chat.error_messages import failure_message
from chat.models import Conversation, Message, MessageCitation
from chat.pages.filter_summary import FilterSummary, filter_summaries, sets_asked_in
from chat.rendering import claim_at
from chat.rendering.terms import ExplainedTerm, explained_terms
from knowledge.models import Document, KnowledgeSet, name_in_language
from knowledge.selectors import documents_askable, sets_curated, sets_listed, sets_readable
from knowledge.selectors.entity_cards import EntityCard, passage_cards
from knowledge.selectors.lexicon import lexicon_of_person
from knowledge.view_models import SourceView, source_view
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.styles import quoted, shortened
from ragcore.text.scripts import cjk_share
from ragcore.types.answering import Step

MOSTLY = 0.75  # share of the sentences
LONG_QUESTION = 140  # characters from which the question is set smaller
STEPS = (
    ("rewrite_time", "rewrite"),
    ("retrieve_time", "retrieve"),
    ("rerank_time", "rerank"),
    ("generate_time", "write"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetChoice:
    """A knowledge set in the chooser. `documents` is None where the asker may not read it."""

    id: int
    name: str
    description: str
    documents: int | None
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisChoices:
    """The sets of one axis."""

    axis: str
    name: str
    sets: Sequence[SetChoice]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """One step on the way to an answer."""

    name: str
    seconds: float
    share: float  # of the whole time, 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A question with its answer."""

    message: Message
    lang: str
    is_long: bool
    sources: Sequence[SourceLine]
    steps: Sequence[StepLine]
    seconds: float | None
    notice: str  # key of templates/chat/notice.html
    filters: FilterSummary | None = None
    understood: str = ""  # the question without its conversation, where that is another one
    forms: Sequence[str] = ()  # in which it was looked for, too
    figures: Sequence[FigureLine] = ()  # of the cited passages
    rounds: Sequence[str] = ()  # what was done in the rounds of a loop, in words
    sets_to_choose: Sequence[MeantSet] = ()  # knowledge sets of which one may have been meant
    asked_in: Sequence[str] = ()  # names of the sets to which the search was narrowed
    attached: Sequence[str] = ()  # names of the files that came with the question
    terms: Sequence[ExplainedTerm] = ()  # of the lexicon, in the answer
    versions: Sequence[uuid.UUID] = ()  # ids of this turn and of those asked in its place; () where it is the only one

    @property
    def is_narrowed(self) -> bool:
        """Whether some sets or filtered documents were asked."""
        return bool(self.asked_in) or self.filters is not None

    @property
    def explained(self) -> bool:
        """Whether there is something to say about the way to the answer; one from memory has no steps of its own."""
        return bool(self.steps) or self.is_cached

    @property
    def is_cached(self) -> bool:
        """Whether the answer was kept from an earlier question."""
        return self.message.metadata.get("cache", "none") != "none"

    @property
    def failure(self) -> str:
        """Why there is no answer, in the reader's language; "" where nothing is known of it."""
        return failure_message(self.message.error_code, self.message.error_message, self.message.error_data)

    @property
    def is_quoted(self) -> bool:
        """Whether the text was compiled from the sources, without a language model."""
        return self.message.metadata.get("model") == ExtractiveGenerator.name

    @property
    def same_ways(self) -> str:
        """Ways to answer again that would bring the same text: quotations that cannot be shorter or closer."""
        text, style = self.message.answer, self.message.request.get("style")
        if self.notice in ("search_results", "refused") and not self.message.metadata.get("model"):
            return "simple precise"
        if not self.is_quoted:
            return ""
        same = {"simple": style == "simple" or shortened(text) == text}
        same["precise"] = style == "precise" or quoted(text) == text
        return " ".join(name for name, is_same in same.items() if is_same)

    @property
    def relevance(self) -> str:
        """How well the best cited source answers the question: high, medium, low, or "" where nobody has judged."""
        judged = [source.relevance for source in self.cited if source.relevance is not None]
        return level_of(max(judged)) if judged else ""

    @property
    def in_sources(self) -> str:
        """How much of the text stands in its sources: all, most, little, or "" where no sentence was judged."""
        states = [sentence["support"] for sentence in self.message.sentences]
        if not states:
            return ""
        share = sum(state == "supported" for state in states) / len(states)
        return "all" if share == 1 else "most" if share >= MOSTLY else "little"

    @property
    def version_number(self) -> int:
        """1 for the first one."""
        return self.versions.index(self.message.pk) + 1

    @property
    def previous_version(self) -> uuid.UUID | None:
        return self.versions[self.version_number - 2] if self.version_number > 1 else None

    @property
    def next_version(self) -> uuid.UUID | None:
        return self.versions[self.version_number] if self.version_number < len(self.versions) else None

    @property
    def summary(self) -> AnswerSummary:
        """What stands beside the answer."""
        return summary_of(self.message, self.sources)

    @property
    def cited(self) -> list[SourceLine]:
        return [source for source in self.sources if source.cited]

    @property
    def shown_sources(self) -> Sequence[SourceLine]:
        """The sources that a shared answer rests on."""
        return self.sources if self.notice == "search_results" else self.cited

    @property
    def file_sources(self) -> int:
        """How many of them are files that the asker attached, which colleagues never see."""
        return sum(source.is_file for source in self.shown_sources)

    @property
    def uncited(self) -> list[SourceLine]:
        return [source for source in self.sources if not source.cited]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePanel:
    """A citation's source with the way to its neighbours."""

    message_id: uuid.UUID
    number: int
    position: int  # 1-based, among the message's sources
    total: int
    previous: int | None
    next: int | None
    relevance: float | None
    weak: bool
    is_located: bool  # the words of the claim were found in the passage
    source: SourceView
    entities: Sequence[EntityCard] = ()  # of the passage, as far as the asker may know of them
    chain: Sequence[Mapping[str, Any]] = ()  # of facts that the answer used, where it has one from this passage


def set_choices(*, scope: Scope, conversation: Conversation | None, set_ids: Sequence[int] = ()) -> list[AxisChoices]:
    """The sets of the asker's tenant by axis; counts are of documents that a search may touch.

    `set_ids`: sets that are chosen in a new conversation.
    """
    readable = set(sets_readable(scope=scope).values_list("pk", flat=True))
    live = documents_askable(scope=scope).filter(state=Document.State.LIVE).order_by()
    counts = dict(live.values_list("sets").annotate(number=Count("pk")))
    chosen = set(conversation.sets.values_list("pk", flat=True)) if conversation else set(set_ids)
    if chosen >= readable:  # all of them is no choice
        chosen = set()
    listed = list(sets_listed(scope=scope).filter(tenant_id=scope.tenant_id))
    return [
        AxisChoices(
            axis=axis.value,
            name=str(axis.label),
            sets=[
                SetChoice(
                    id=row.pk,
                    name=row.shown_name,
                    description=row.description,
                    documents=counts.get(row.pk, 0) if row.pk in readable else None,
                    chosen=row.pk in chosen and row.pk in readable,
                )
                for row in listed
                if row.axis == axis
            ],
        )
        for axis in KnowledgeSet.Axis
        if any(row.axis == axis for row in listed)
    ]


def corpus_size(*, scope: Scope) -> tuple[int, int]:
    """Live documents that a search may touch, and readable sets."""
    live = documents_askable(scope=scope).filter(state=Document.State.LIVE)
    return live.count(), sets_readable(scope=scope).count()


def processing_documents(*, scope: Scope) -> int:
    """Documents that are on their way: a search will touch them when they have been read."""
    return documents_askable(scope=scope).filter(state=Document.State.PROCESSING).count()


def may_upload(*, scope: Scope) -> bool:
    """Whether the asker owns or administers a set."""
    return scope.administers != "nothing" or sets_curated(scope=scope).exists()


def turn_views(*, scope: Scope, messages: Iterable[Message]) -> list[TurnView]:
    """Messages ready to be shown; sources are shown under the rights of this moment."""
    rows = list(messages)
    prefetch_related_objects(rows, "citations__chunk")
    by_message = {row.pk: list(row.citations.all()) for row in rows}
    document_ids = {citation.document_id for citations in by_message.values() for citation in citations}
    documents = known_documents(scope=scope, ids=document_ids)
    filters = filter_summaries(scope=scope, messages=rows)
    figures = figures_of(scope=scope, messages=rows, by_message=by_message)
    views = (_turn_view(row, by_message[row.pk], documents, filters.get(row.pk)) for row in rows)
    versions = selectors.versions_of(messages=rows)
    files, names = attached_citations(scope=scope, messages=rows), attached_names(scope=scope, messages=rows)
    facts = facts_cited(messages=rows)
    visible_facts = facts_shown(scope=scope, citations=[row for some in facts.values() for row in some])
    names_of_sets = dict(sets_readable(scope=scope).values_list("pk", name_in_language())) if facts else {}
    lexicon, asked_in = lexicon_of_person(scope=scope), sets_asked_in(scope=scope, messages=rows)
    views_shown = [
        replace(
            view,
            terms=explained_terms(lexicon, view.message.answer),
            sources=with_facts(
                with_files(view.sources, files.get(view.message.pk, ())),
                facts.get(view.message.pk, ()),
                readable=visible_facts,
                sets=names_of_sets,
            ),
            figures=figures.get(view.message.pk, ()),
            versions=versions.get(view.message.pk, ()),
            attached=names.get(view.message.pk, ()),
            asked_in=asked_in.get(view.message.pk, ()),
        )
        for view in views
    ]
    if views_shown:  # only the last one is still open to be asked again
        last = documents_that_answer(message=rows[-1], citations=by_message[rows[-1].pk])
        views_shown[-1] = replace(
            views_shown[-1], sets_to_choose=sets_meant(scope=scope, message=rows[-1], document_ids=last)
        )
    return views_shown


def turn_view(*, scope: Scope, message_id: uuid.UUID) -> TurnView:
    """One turn. Raises NotFoundError."""
    return turn_views(scope=scope, messages=[selectors.message_get(scope=scope, message_id=message_id)])[0]


def source_panel(*, scope: Scope, message_id: uuid.UUID, number: int, place: int | None = None) -> SourcePanel:
    """A source of an answer under the rights of this moment. Raises NotFoundError.

    `place`: which marker of the text was followed; the words of its claim are marked. None: those of the first one.
    """
    citation = selectors.citation_get(scope=scope, message_id=message_id, number=number)
    numbers = selectors.source_numbers(citation.message)
    at = numbers.index(number)
    claim = (claim_at(citation.message.answer, place) if place is not None else "") or citation.segment
    source = source_view(scope=scope, chunk_id=citation.chunk_id, claim=claim, is_cited=True)
    return SourcePanel(
        message_id=message_id,
        number=number,
        position=at + 1,
        total=len(numbers),
        previous=numbers[at - 1] if at else None,
        next=numbers[at + 1] if at + 1 < len(numbers) else None,
        relevance=citation.relevance,
        weak=citation.weak,
        is_located=bool(source.marks) or not citation.cited,
        source=source,
        entities=passage_cards(scope=scope, chunk_id=citation.chunk_id),
        chain=chain_shown(scope=scope, message=citation.message, number=number),
    )


def text_lang(text: str) -> str:
    """The `lang` of a text, for fonts, line height and measure."""
    return "zh-Hans" if cjk_share(text) > 0.2 else "en"


def _turn_view(
    message: Message,
    citations: list[MessageCitation],
    documents: dict[int, KnownDocument],
    filters: FilterSummary | None,
) -> TurnView:
    seconds, understood = message.metadata.get("total_time"), message.metadata.get("understood") or ""
    steps = message.trace.get("reasoning", {}).get("agentic_steps", ())
    if seconds is None and message.finished:
        seconds = (message.finished - message.created).total_seconds()
    return TurnView(
        message=message,
        lang=text_lang(message.question),
        is_long=len(message.question) > LONG_QUESTION,
        sources=[source_line(citation, documents.get(citation.document_id)) for citation in citations],
        steps=_steps(message),
        seconds=seconds,
        notice=message.state if message.state in ("failed", "stopped") else message.status,
        filters=filters,
        understood=understood,
        forms=_forms(message, understood),
        rounds=[step_event(Step(**step))["detail"] for step in steps],
    )


def _forms(message: Message, understood: str) -> list[str]:
    """Other forms of the question that were looked for; one that repeats its words for their weight says them once."""
    forms = (_without_repetition(form) for form in message.metadata.get("rewritten_queries", ()))
    return [form for form in dict.fromkeys(forms) if form and form not in (understood, message.question)]


def _without_repetition(form: str) -> str:
    words = form.split()
    for size in range(1, len(words) // 2 + 1):
        begin = words[:size]
        while words[size : 2 * size] == begin:
            del words[:size]
    return " ".join(words)


def _steps(message: Message) -> list[StepLine]:
    names = {
        "rewrite": _("Analyse question"),
        "retrieve": _("Search"),
        "rerank": _("Rank passages"),
        "write": _("Write answer"),
    }
    thinking = float(message.metadata.get("thinking_time") or 0)  # a part of the time of writing, or of the rounds
    times = [(names[name], float(message.metadata.get(field) or 0)) for field, name in STEPS]
    writing = times[-1][1]
    times[-1:] = [(_("Think"), thinking), (names["write"], max(0.0, writing - thinking))]
    stages = message.metadata.get("stage_times") or {}
    looped = sum(float(seconds) for stage, seconds in stages.items() if stage.startswith("loop."))
    if looped:  # but for searching, which has a line of its own
        in_rounds = float(message.metadata.get("retrieve_time") or 0) + max(0.0, thinking - writing)
        times.append((_("Iterate: grade and rewrite"), max(0.0, looped - in_rounds)))
    whole = max(sum(seconds for _name, seconds in times), 1e-9)
    return [StepLine(name=name, seconds=seconds, share=seconds / whole) for name, seconds in times if seconds > 0]
