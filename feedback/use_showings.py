"""Sources of answers as people met them: what was shown where, opened, copied, reported and judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import MD5

from chat.models import Conversation, Message, MessageCitation
from feedback.features import standalone_question
from feedback.models import Signal, Vote
from knowledge.models import Chunk, Document, KnowledgeSet
from ragcore.metrics.use_evidence import Showing

ACTS = (Signal.Kind.CITATION_CLICK, Signal.Kind.COPY, Signal.Kind.WRONG_SOURCE)
COPIED_WITH_SOURCES = "answer_with_sources"
COPIED_WITHOUT_SOURCES = ("answer", "code", "selection")
_READ = ("question", "metadata", "conversation__channel", "conversation__user__record_use")
_CITED = ("message", "chunk", "document", "number", "cited")
# What a judgement says of the sources that an answer cites. Only a complaint about sources is one about each of them.
COPIED, UP, DOWN, BAD_SOURCE, WRONG_SOURCE = 0.5, 1.0, -0.5, -1.0, -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetShowings:
    """Showings of one set, with the questions that they name by number; `documents`: of each question's sources."""

    showings: Sequence[Showing]
    questions: Sequence[str]
    documents: Sequence[frozenset[int]]


def answers_with_acts(*, since: datetime) -> QuerySet[Message]:
    """Answers of people with whose sources somebody did something; not those of service accounts.

    Acts of who does not want them recorded are not there; their answers count where they judged them.
    """
    about_sources = ~Q(kind=Signal.Kind.COPY, value__in=COPIED_WITHOUT_SOURCES)
    acts = Signal.objects.filter(about_sources, message=OuterRef("pk"), kind__in=ACTS, created__gte=since)
    votes = Vote.objects.filter(message=OuterRef("pk"))
    rows = Message.objects.filter(created__gte=since, conversation__user__is_service=False)
    return rows.filter(Exists(acts) | Exists(votes))


def set_showings(*, home: KnowledgeSet, answers: QuerySet[Message], most: int) -> SetShowings:
    """Sources from a set of the latest `most` of these answers, as passages that are searched now."""
    cites = MessageCitation.objects.filter(message=OuterRef("pk"), document__sets=home, document__deleted=None)
    rows = answers.filter(Exists(cites), conversation__tenant_id=home.tenant_id).select_related("conversation__user")
    messages = list(rows.only(*_READ).order_by("-created", "-pk")[:most])
    messages.reverse()  # a kind of question begins with the first one that was asked
    collected = _Collected()
    for start in range(0, len(messages), 1000):
        collected.add(home, messages[start : start + 1000])
    return SetShowings(
        showings=collected.showings,
        questions=list(collected.questions),
        documents=[frozenset(document_ids) for document_ids in collected.documents],
    )


@dataclass(slots=True)
class _Collected:
    showings: list[Showing] = field(default_factory=list)
    questions: dict[str, int] = field(default_factory=dict)
    documents: list[set[int]] = field(default_factory=list)

    def add(self, home: KnowledgeSet, messages: Sequence[Message]) -> None:
        ids = [message.pk for message in messages]
        cited: dict[UUID, list[MessageCitation]] = defaultdict(list)
        citations = MessageCitation.objects.filter(message__in=ids).only(*_CITED)
        for citation in citations.order_by("message_id", "-cited", "number"):
            cited[citation.message_id].append(citation)
        passages = passages_now(
            home, {citation.chunk_id for citations_of_message in cited.values() for citation in citations_of_message}
        )
        acts = _acts(ids)
        for message in messages:
            question = " ".join(standalone_question(message).split())
            number = self.questions.setdefault(question, len(self.questions))
            if number == len(self.documents):
                self.documents.append(set())
            self.documents[number] |= {citation.document_id for citation in cited[message.pk]}
            self.showings += _showings(message, number, cited[message.pk], passages, acts[message.pk])


@dataclass(slots=True)
class _Acts:
    """What one person did with one answer."""

    opened: set[int] = field(default_factory=set)  # numbers of sources; copying from one is opening it
    wrong: set[int] = field(default_factory=set)
    has_copied: bool = False
    vote: Vote | None = None

    def judgement(self, citation: MessageCitation) -> float | None:
        """Of a source, -1 to 1; of a vote only what the answer cites is judged."""
        if citation.number in self.wrong:
            return WRONG_SOURCE
        if not citation.cited:
            return None
        if self.vote is None:
            return COPIED if self.has_copied else None
        if self.vote.rating is not None:
            return (self.vote.rating - 3) / 2
        if self.vote.vote == Vote.Direction.UP:
            return UP
        return BAD_SOURCE if Vote.Reason.BAD_SOURCE in self.vote.reasons else DOWN


def _acts(messages: Sequence[UUID]) -> Mapping[UUID, _Acts]:
    acts: dict[UUID, _Acts] = defaultdict(_Acts)
    signals = Signal.objects.filter(message__in=messages, kind__in=ACTS)
    for message, kind, value in signals.values_list("message", "kind", "value"):
        if kind == Signal.Kind.COPY and value == COPIED_WITH_SOURCES:
            acts[message].has_copied = True
        elif isinstance(value, int) and not isinstance(value, bool):
            (acts[message].wrong if kind == Signal.Kind.WRONG_SOURCE else acts[message].opened).add(value)
    for vote in Vote.objects.filter(message__in=messages):
        acts[vote.message_id].vote = vote
    return acts


def _showings(
    message: Message,
    question: int,
    cited: Sequence[MessageCitation],
    passages: Mapping[int, int],
    acts: _Acts,
) -> Iterator[Showing]:
    """Places are those of the list below the answer: what it cites by number, then what it does not cite.

    Where nobody opened a source, or what was opened is not recorded, there are none.
    """
    user = message.conversation.user
    has_looked = user.record_use and message.conversation.channel == Conversation.Channel.WEB and bool(acts.opened)
    for place, citation in enumerate(cited, 1):
        if citation.chunk_id not in passages:
            continue
        judgement = acts.judgement(citation)
        if has_looked or judgement is not None:
            yield Showing(
                person=user.pk,
                passage=passages[citation.chunk_id],
                question=question,
                place=place if has_looked else None,
                opened=has_looked and citation.number in acts.opened,
                judgement=judgement,
            )


def passages_now(home: KnowledgeSet, chunks: Iterable[int]) -> dict[int, int]:
    """Cited passage → the one of the set's live version with the same text; those without one are left out."""
    rows = Chunk.objects.filter(pk__in=chunks, version__document__sets=home).annotate(digest=MD5("text"))
    cited = list(rows.values_list("pk", "version__document_id", "digest"))
    documents = Document.objects.filter(pk__in={row[1] for row in cited}, deleted=None).exclude(live_version=None)
    live = Chunk.objects.filter(version__in=documents.order_by().values("live_version"), retired=None)
    by_text = {
        (document, digest): pk
        for pk, document, digest in live.annotate(digest=MD5("text"))
        .order_by("-pk")
        .values_list("pk", "version__document_id", "digest")
    }
    return {pk: by_text[document, digest] for pk, document, digest in cited if (document, digest) in by_text}
