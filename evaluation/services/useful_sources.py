"""Questions that people asked, with the sources that helped them: voted for, or opened."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from chat.models import Message, MessageCitation
from feedback.features import standalone_question
from feedback.models import Signal, Vote
from knowledge.models import Document

GOOD_RATING = 4  # of 5, of a vote without a thumb
MOST_ANSWERS = 1000  # of votes and of opened sources, each; the latest
MOST_OF_PERSON = 100  # answers of one person, of each kind: nobody alone teaches an organisation
_READ = ("question", "metadata", "request", "created", "conversation__user")
READ_AT_ONCE = 100  # answers with their traces, which are long


@dataclass(frozen=True, slots=True, kw_only=True)
class UsefulAnswer:
    """A question in words that stand alone, the sources of its answer that helped, and the sets that were asked."""

    question: str
    citations: tuple[MessageCitation, ...]
    sets: tuple[int, ...]  # none: all that the person could ask
    message: UUID
    is_whole: bool  # all sources that it points to are of the documents asked for


def answers_voted_for(*, tenant_id: int, documents: QuerySet[Document]) -> Iterator[UsefulAnswer]:
    """Answers that people found helpful, with the sources among `documents` that they point to."""
    rows = Vote.objects.filter(vote=Vote.Direction.UP) | Vote.objects.filter(rating__gte=GOOD_RATING)
    rows = rows.filter(message__conversation__tenant_id=tenant_id).exclude(vote=Vote.Direction.DOWN)
    yield from _useful(Q(pk__in=rows.order_by().values("message")), tenant_id, documents, None)


def answers_opened(*, tenant_id: int, documents: QuerySet[Document]) -> Iterator[UsefulAnswer]:
    """Answers of which people opened sources among `documents`, with these sources."""
    rows = Signal.objects.filter(kind=Signal.Kind.CITATION_CLICK, message__conversation__tenant_id=tenant_id)
    mine = rows.filter(message__citations__document__in=documents.order_by().values("pk")).order_by("-pk").distinct()
    opened: dict[Any, set[int]] = defaultdict(set)
    for message, number in mine.values_list("message", "value")[: 4 * MOST_ANSWERS]:
        if isinstance(number, int):
            opened[message].add(number)
    yield from _useful(Q(pk__in=list(opened)), tenant_id, documents, opened)


def _useful(
    chosen: Q, tenant_id: int, documents: QuerySet[Document], opened: Mapping[Any, set[int]] | None
) -> Iterator[UsefulAnswer]:
    wanted = documents.order_by().values("pk")
    held = set(wanted.values_list("pk", flat=True))
    cites = MessageCitation.objects.filter(message=OuterRef("pk"), document__in=wanted)
    rows = Message.objects.filter(chosen, Exists(cites), conversation__tenant_id=tenant_id).order_by("-created")
    of_person: Counter[Any] = Counter()
    found = 0
    for message in rows.select_related("conversation").only(*_READ).prefetch_related("citations")[: 4 * MOST_ANSWERS]:
        numbers = opened.get(message.pk, set()) if opened is not None else None
        citations = tuple(
            one
            for one in message.citations.all()
            if one.document_id in held and (one.cited if numbers is None else one.number in numbers)
        )
        person = message.conversation.user_id
        if not citations or of_person[person] >= MOST_OF_PERSON:
            continue
        of_person[person] += 1
        found += 1
        yield UsefulAnswer(
            question=standalone_question(message),
            citations=citations,
            sets=tuple(message.request.get("sets") or ()),
            message=message.pk,
            is_whole=all(one.document_id in held for one in message.citations.all() if one.cited),
        )
        if found == MOST_ANSWERS:
            return


def answer_texts(messages: Sequence[UUID]) -> Iterator[tuple[UUID, str, tuple[str, ...]]]:
    """(message, answer, other forms of its question): as it was typed, and what was searched for in its place.

    Callers have checked whose answers these are.
    """
    for start in range(0, len(messages), READ_AT_ONCE):
        rows = Message.objects.filter(pk__in=messages[start : start + READ_AT_ONCE])
        for pk, answer, question, steps in rows.values_list(
            "pk", "answer", "question", "trace__reasoning__agentic_steps"
        ):
            rewrites = (step for step in steps or () if isinstance(step, dict) and step.get("name") == "rewrite")
            searched = (form for step in rewrites for form in (step.get("detail") or {}).get("queries") or ())
            forms = (" ".join(form.split()) for form in (question, *searched) if isinstance(form, str))
            yield pk, answer, tuple(dict.fromkeys(forms))
