"""Imported facts among the sources of stored answers, under the rights of the moment."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.errors import NotFoundError
from accounts.scope import Scope
from chat import selectors
from chat.answers.source_lines import fact_title
from chat.models import FactCitation, Message
from knowledge.models import KnowledgeSet, Triple
from knowledge.selectors.triples import triples_named


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPanel:
    """A cited fact with the chain that it is part of, and the way to the answer's other sources."""

    message_id: uuid.UUID
    number: int
    position: int  # 1-based, among the message's sources
    total: int
    previous: int | None
    next: int | None
    title: str  # where it is from
    fact: Triple
    text: str
    knowledge_set: KnowledgeSet
    chain: Sequence[Mapping[str, Any]]  # steps with `title` and `text`; () where a fact of it may not be seen now


def facts_shown(*, scope: Scope, citations: Iterable[FactCitation]) -> set[int]:
    """Ids of those of the cited facts that the person may see now, in other people's answers too."""
    ids = {citation.triple_id for citation in citations}
    return set(triples_named(scope=scope, ids=list(ids)).order_by().values_list("pk", flat=True)) if ids else set()


def facts_cited(*, messages: Iterable[Message]) -> dict[uuid.UUID, list[FactCitation]]:
    """Message → its citations of facts in order."""
    by_message: dict[uuid.UUID, list[FactCitation]] = {}
    for row in FactCitation.objects.filter(message__in=[message.pk for message in messages]).order_by("number"):
        by_message.setdefault(row.message_id, []).append(row)
    return by_message


def fact_panel(*, scope: Scope, message_id: uuid.UUID, number: int) -> FactPanel | None:
    """The fact behind a number of the asker's answer; None where the number is not one of a fact.

    Raises NotFoundError, also for a fact that the asker may not see any more.
    """
    message = selectors.message_get(scope=scope, message_id=message_id)
    row = message.fact_citations.filter(number=number).first()
    if row is None:
        return None
    fact = triples_named(scope=scope, ids=[row.triple_id]).select_related("knowledge_set").first()
    if fact is None:
        raise NotFoundError("triple", triple=row.triple_id)
    numbers = selectors.source_numbers(message)
    at = numbers.index(number)
    return FactPanel(
        message_id=message.pk,
        number=number,
        position=at + 1,
        total=len(numbers),
        previous=numbers[at - 1] if at else None,
        next=numbers[at + 1] if at + 1 < len(numbers) else None,
        title=fact_title(row.file),
        fact=fact,
        text=row.excerpt,
        knowledge_set=fact.knowledge_set,
        chain=chain_shown(scope=scope, message=message, number=number),
    )


def chain_shown(*, scope: Scope, message: Message, number: int) -> Sequence[Mapping[str, Any]]:
    """The chain of facts that an answer used, where one of them is its source of this number.

    () without one, and where the person may not see all of its facts now.
    """
    used = (message.trace.get("reasoning") or {}).get("fact_chain") or {}
    if number not in {fact["citation_num"] for fact in used.get("facts", ())}:
        return ()
    ids = {fact["id"] for fact in used.get("facts", ())}
    if not ids or triples_named(scope=scope, ids=list(ids)).count() < len(ids):
        return ()
    steps: Sequence[Mapping[str, Any]] = used["chain"]
    return steps
