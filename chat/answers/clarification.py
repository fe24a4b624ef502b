"""Asking back: which knowledge set was meant, where the sources of an uncertain answer belong to different ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from accounts.scope import Scope
from chat.models import Message, MessageCitation
from knowledge.models import Document, KnowledgeSet
from knowledge.selectors import documents_askable, sets_readable

CERTAIN = 0.8  # confidence from which nothing is asked
MAY_ANSWER = 0.5  # relevance of a source
MOST = 4
ORDER = {KnowledgeSet.Axis.ORGANISATION: 0, KnowledgeSet.Axis.CAPABILITY: 1}  # products say most


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantSet:
    """A knowledge set that may have been meant."""

    id: int
    name: str


def documents_that_answer(*, message: Message, citations: Iterable[MessageCitation]) -> list[int]:
    """The documents that an answer would rest on if it were asked in one of their sets alone.

    Those that it cites, and others that probably answer. On a page of search results every passage is cited and none
    was judged to answer: only one that nearly does may answer in its set.
    """
    is_page = message.status == "search_results"
    return [
        citation.document_id
        for citation in citations
        if (citation.cited and not is_page) or (citation.relevance or 0.0) >= MAY_ANSWER
    ]


def sets_meant(*, scope: Scope, message: Message, document_ids: Sequence[int]) -> list[MeantSet]:
    """Readable sets of which each holds some of the documents and none holds all; [] where nothing needs asking.

    `document_ids`: of documents that would answer (`documents_that_answer`): any other set would answer nothing.
    """
    if not _is_uncertain(message) or len(set(document_ids)) < 2:
        return []
    readable = {row.pk: row for row in sets_readable(scope=scope).only("name", "name_zh", "axis")}
    askable = documents_askable(scope=scope).filter(pk__in=document_ids).order_by().values("pk")
    pairs = Document.sets.through.objects.filter(document__in=askable, knowledgeset__in=readable)
    documents_of_set: dict[int, set[int]] = {}
    for set_id, document in pairs.values_list("knowledgeset_id", "document_id"):
        documents_of_set.setdefault(set_id, set()).add(document)
    every = set().union(*documents_of_set.values()) if documents_of_set else set()
    if len(every) < 2 or every in documents_of_set.values():
        return []
    ranked = sorted(
        documents_of_set,
        key=lambda pk: (ORDER.get(KnowledgeSet.Axis(readable[pk].axis), 2), -len(documents_of_set[pk]), pk),
    )
    offered = [MeantSet(id=pk, name=readable[pk].shown_name) for pk in ranked[:MOST]]
    question = message.question.casefold()
    return [] if any(item.name.casefold() in question for item in offered) else offered


def _is_uncertain(message: Message) -> bool:
    """Asked in no single set, and not surely answered."""
    asked_in, filters = message.request.get("sets") or (), message.request.get("filters") or {}
    if len(asked_in) == 1 or any(filters.values()) or message.state != Message.State.DONE:
        return False
    if message.status == "search_results":
        return True
    return message.status in ("answered", "degraded") and (message.confidence or 0) < CERTAIN
