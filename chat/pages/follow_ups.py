"""Suggests follow-up questions about sections near the cited ones, checked by a search."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.db import DatabaseError

from accounts.scope import Scope
from chat import selectors
from chat.answering.example_check import circumstances_digest, search_circumstances, search_with_answer
from chat.models import Message
from knowledge import model_registry
from knowledge.models import Chunk
from knowledge.selectors.keeping import documents_openable
from ragcore.errors import RagError
from ragcore.text.markdown import plain_text
from ragcore.text.matching import keywords
from ragcore.text.scripts import language_of

SUGGESTED = 3
TRIED = 5  # searches at most
KEPT_SECONDS = 24 * 3600
CITED_DOCUMENTS = 2  # whose sections are looked at
CHUNKS = 40  # of one document, around the cited passage
BEST = 3  # hits among which the section must be
HEADING_CHARACTERS = (3, 60)
_HEADING = re.compile(r"^#{2,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_NUMBER = re.compile(
    r"^(?:\d+(?:\.\d+)*[.、)]?|第[一二三四五六七八九十百\d]+[章节条]|[一二三四五六七八九十]+、)[ \t\u3000]*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    question: str
    document: int


def follow_ups(*, scope: Scope, message_id: uuid.UUID) -> list[str]:
    """At most three questions about sections beside the cited ones; each finds its document among the first hits.

    None after a refusal. What a search cannot find within the asker's rights at this moment is not suggested. Raises
    NotFoundError.
    """
    message = selectors.message_get(scope=scope, message_id=message_id)
    if message.status not in ("answered", "degraded"):
        return []
    name = _cache_name(scope, message)
    stored: list[tuple[str, int]] | None = cache.get(name)
    if stored is None:
        candidates, is_whole = _searched(scope, message)
        stored = [(candidate.question, candidate.document) for candidate in candidates]
        if is_whole:
            cache.set(name, stored, KEPT_SECONDS)
    documents = {document for _question, document in stored}
    openable = (
        set(documents_openable(scope=scope).filter(pk__in=documents).values_list("pk", flat=True)) if stored else ()
    )
    return [question for question, document in stored if document in openable]


def _cache_name(scope: Scope, message: Message) -> str:
    """Suggestions hold for the rights and the corpus as they are, until the conversation goes on: a page that is opened
    again searches for nothing.
    """
    circumstances = search_circumstances(scope=scope, sets=tuple(message.request.get("sets", ())))
    state = f"{message.pk}:{message.conversation.messages.count()}"
    return f"follow-ups:{circumstances_digest(circumstances, state)}"


def _searched(scope: Scope, message: Message) -> tuple[list[_Candidate], bool]:
    """What is answered, and whether every search that was needed could be made."""
    answered: list[_Candidate] = []
    is_whole = True
    for candidate in list(_candidates(scope, message))[:TRIED]:
        try:
            if _is_answered(scope, message, candidate):
                answered.append(candidate)
        except (RagError, DatabaseError):
            is_whole = False
        if len(answered) == SUGGESTED:
            break
    return answered, is_whole


def _candidates(scope: Scope, message: Message) -> Iterator[_Candidate]:
    """Sections of the cited documents that nobody has asked about in this conversation, the nearest first.

    Only of documents that the asker may open: of the others not even headings are told.
    """
    openable = documents_openable(scope=scope).order_by().values("pk")
    cited = message.citations.filter(cited=True, document__in=openable).select_related("chunk", "document")
    questions = list(message.conversation.messages.values_list("question", flat=True))
    words_used = set[str]().union(*(_words(question) for question in questions))
    documents: set[int] = set()
    for citation in cited.order_by("-confidence"):
        if citation.document_id in documents or len(documents) == CITED_DOCUMENTS:
            continue
        documents.add(citation.document_id)
        title = citation.document.title
        for heading in _headings(citation.document.live_version_id, near=citation.chunk.ordinal):
            words = _words(heading)
            if words and not words <= words_used and heading.casefold() != title.casefold():
                words_used |= words
                if question := _question(heading, title, message.question):
                    yield _Candidate(question=question, document=citation.document_id)


def _headings(version_id: int | None, *, near: int) -> list[str]:
    """Headings of a version without their numbers, those nearest to a passage first."""
    rows = Chunk.objects.filter(
        version=version_id, kind__in=(Chunk.Kind.BODY, Chunk.Kind.WHOLE), retired=None, ordinal__gte=near - CHUNKS // 2
    ).order_by("ordinal")[:CHUNKS]
    placed = [(abs(row.ordinal - near), heading) for row in rows for heading in _headings_of(row)]
    return list(dict.fromkeys(heading for _distance, heading in sorted(placed, key=lambda item: item[0])))


def _headings_of(chunk: Chunk) -> Iterable[str]:
    headings = [*chunk.heading_path[1:][-1:], *_HEADING.findall(chunk.text)]
    clean = (_NUMBER.sub("", plain_text(heading)).strip() for heading in headings)
    low, high = HEADING_CHARACTERS
    return (heading for heading in clean if low <= len(heading) <= high)


def _question(heading: str, title: str, example: str) -> str:
    """The heading as it is where it asks something, else a question for it in the language of the conversation.

    "" where that language is neither Chinese nor written in Latin letters.
    """
    if heading.endswith(("?", "？")):
        return heading
    match language_of(example):
        case "zh":
            return f"《{title}》对“{heading}”是怎么说的？"
        case "en":
            is_plain = heading[1:2].islower()  # not an abbreviation
            return f"What does “{title}” say about {heading[0].lower() + heading[1:] if is_plain else heading}?"
        case _:
            return ""


def _words(text: str) -> set[str]:
    return set(keywords(text, model_registry.tokenizer()))


def _is_answered(scope: Scope, message: Message, candidate: _Candidate) -> bool:
    """Whether it would be answered in the same place, with the document at the top. Raises what the search raises."""
    sets: Sequence[int] = message.request.get("sets", ())
    retrieved = search_with_answer(scope=scope, question=candidate.question, sets=sets)
    return retrieved is not None and candidate.document in {hit.document for hit in retrieved.state.candidates[:BEST]}
