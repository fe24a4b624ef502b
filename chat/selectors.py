"""Reading conversations: everyone sees their own only."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.db.models import Count, Exists, F, OuterRef, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from chat.branches import branches_of
from chat.models import Conversation, FactCitation, Message, MessageCitation
from chat.types import AnswerRecord, AnswerRequest
from knowledge.selectors import chunk_get, documents_readable
from knowledge.selectors.answer_space import citations_askable
from knowledge.selectors.passages import chunks_readable
from knowledge.selectors.triples import facts_askable

NAMESPACE = uuid.UUID("5b0e2a5e-8d57-4f6b-9d0c-4a1c4c1f3f61")

TURNS_SHOWN = 30  # the last ones; earlier ones are fetched when the reader wants them
TURNS_MOST = 100  # from a turn that was looked for to the end
TURNS_AROUND = 2  # before that turn


def conversations_of(*, scope: Scope, channel: str | None = None) -> QuerySet[Conversation]:
    """The asker's conversations, the latest first; in the chat of another page only those that go on there."""
    rows = Conversation.objects.filter(user_id=scope.user_id, tenant_id=scope.tenant_id)
    if scope.embed is not None:
        rows = rows.filter(embed=scope.embed, goes_on_in_embed=True)
    return rows.filter(channel=channel) if channel else rows


def conversation_get(*, scope: Scope, conversation_id: uuid.UUID | str) -> Conversation:
    """One of the asker's conversations, by its id or the client's. Raises NotFoundError."""
    pks = conversation_keys(scope=scope, client_id=str(conversation_id))
    conversation = conversations_of(scope=scope).filter(pk__in=pks).first()
    if conversation is None:
        raise NotFoundError("conversation", conversation=str(conversation_id))
    return conversation


def conversation_keys(*, scope: Scope, client_id: str) -> list[uuid.UUID]:
    """Primary keys that a client's id may stand for, the one for a new conversation last.

    The last is made from tenant, user and id, so that the ids of different people never meet, nor those of one who
    moves to another tenant.
    """
    keys = [uuid.uuid5(NAMESPACE, f"{_embed_part(scope)}{scope.tenant_id}:{scope.user_id}:{client_id}")]
    with suppress(ValueError):
        keys.insert(0, uuid.UUID(client_id))
    return keys


def _of_asker(scope: Scope, path: str) -> dict[str, object]:
    """Conditions of `conversations_of` on rows from which `path` leads to the conversation."""
    person: dict[str, object] = {f"{path}user": scope.user_id, f"{path}tenant": scope.tenant_id}
    if scope.embed is None:
        return person
    return person | {f"{path}embed": scope.embed, f"{path}goes_on_in_embed": True}


def message_key(*, scope: Scope, client_id: uuid.UUID) -> uuid.UUID:
    """The primary key of a question that a page has given an id, so that sending it again begins nothing new.

    Made from tenant, person and id: those of different people never meet.
    """
    return uuid.uuid5(NAMESPACE, f"{_embed_part(scope)}message:{scope.tenant_id}:{scope.user_id}:{client_id}")


def _embed_part(scope: Scope) -> str:
    """Ids of embedded chats never meet others of the same person."""
    return "" if scope.embed is None else f"embed:{scope.embed}:"


def messages_of(
    *, scope: Scope, conversation_id: uuid.UUID | str, around: uuid.UUID | None = None
) -> QuerySet[Message]:
    """The turns of the branch that is shown, or of the one with the turn `around`, in order, with their citations.

    Raises NotFoundError.
    """
    conversation = conversation_get(scope=scope, conversation_id=conversation_id)
    branches = branches_of(conversation)
    path = branches.branch_with(around) if around in branches.parents else branches.shown
    rows = conversation.messages.filter(pk__in=path)
    return rows.select_related("conversation").prefetch_related("citations__document")


def versions_of(*, messages: Sequence[Message]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Message → it and those that were asked in its place, the oldest first; only where there are several.

    The messages belong to one conversation, and the caller has checked whose it is.
    """
    if not messages:
        return {}
    branches = branches_of(messages[0].conversation)
    versions_of_message = {message.pk: branches.versions_of(message.pk) for message in messages}
    return {pk: versions for pk, versions in versions_of_message.items() if len(versions) > 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsPage:
    """Some turns of a conversation in order."""

    messages: Sequence[Message]
    has_earlier: bool
    has_later: bool = False


def turns_page(
    *,
    scope: Scope,
    conversation_id: uuid.UUID,
    before: uuid.UUID | None = None,
    around: uuid.UUID | None = None,
) -> TurnsPage:
    """The last turns; those before a turn; or from shortly before a turn to the end. Raises NotFoundError."""
    turns = messages_of(scope=scope, conversation_id=conversation_id, around=around or before)
    if around is not None and (turn := turns.filter(pk=around).first()):
        last_before = list(turns.filter(created__lt=turn.created).order_by("-created")[: TURNS_AROUND + 1])
        from_turn = list(turns.filter(created__gte=turn.created).order_by("created")[: TURNS_MOST + 1])
        page = [*reversed(last_before[:TURNS_AROUND]), *from_turn[:TURNS_MOST]]
        return TurnsPage(
            messages=page, has_earlier=len(last_before) > TURNS_AROUND, has_later=len(from_turn) > TURNS_MOST
        )
    if before is not None:
        limit = turns.filter(pk=before).values_list("created", flat=True).first()
        if limit is None:
            raise NotFoundError("message", message=str(before))
        turns = turns.filter(created__lt=limit)
    last = list(turns.order_by("-created")[: TURNS_SHOWN + 1])
    return TurnsPage(messages=last[:TURNS_SHOWN][::-1], has_earlier=len(last) > TURNS_SHOWN)


def message_get(*, scope: Scope, message_id: uuid.UUID | str) -> Message:
    """One of the asker's messages, as far as `conversations_of` goes. Raises NotFoundError."""
    message = None
    with suppress(ValueError):
        message = (
            Message.objects.select_related("conversation")
            .filter(**_of_asker(scope, "conversation__"), pk=uuid.UUID(str(message_id)))
            .first()
        )
    if message is None:
        raise NotFoundError("message", message=str(message_id))
    return message


def source_numbers(message: Message) -> list[int]:
    """Numbers of all sources of an answer, documents, attached files and facts, in order."""
    kinds = (message.citations, message.attachment_citations, message.fact_citations)
    return sorted(number for rows in kinds for number in rows.values_list("number", flat=True))


def lost_documents(*, message: str) -> Exists:
    """Condition: an answer was made from documents of which nothing is left to say who may read it.

    `message`: the column of the rows that names the answer.
    """
    counted = Message.objects.filter(pk=OuterRef(message), document_sources__gt=0).annotate(left=Count("citations"))
    return Exists(counted.filter(document_sources__gt=F("left")))


def chunks_shown(*, scope: Scope, citations: Sequence[MessageCitation]) -> set[int]:
    """Ids of those of the cited passages that the person may read, in other people's answers too."""
    rows = chunks_readable(scope=scope).filter(pk__in={citation.chunk_id for citation in citations})
    return set(rows.order_by().values_list("pk", flat=True))


def sources_lost(*, message: Message, documents: int) -> int:
    """Number of an answer's sources whose rights can no longer be judged; `documents`: citations that are left.

    Files that were attached to its question count: they are one person's.
    """
    files = max(message.file_sources, len(message.attachment_citations.all()))
    return max(message.document_sources - documents, 0) + files


def citations_of(*, message: Message) -> QuerySet[MessageCitation]:
    """The citations of a message in order, with what is needed to show them."""
    return message.citations.select_related("document", "version", "chunk").order_by("number")


def chunks_cited_before(*, scope: Scope, message: Message) -> tuple[tuple[int, int], ...]:
    """Ids of document and chunk of the citations of the last answer before a turn of this person, in their order.

    A page of search results points to none, and the answer before it counts; nothing older does.
    """
    parents = Message.objects.filter(**_of_asker(scope, "conversation__"))
    earlier = message.parent_id
    for _turn in range(2):
        row = parents.filter(pk=earlier).values_list("status", "parent_id").first() if earlier else None
        if row is None:
            break
        if row[0] not in ("search_results", "refused"):
            cited = MessageCitation.objects.filter(message=earlier, cited=True).order_by("number")
            return tuple(cited.values_list("document_id", "chunk_id"))
        earlier = row[1]
    return ()


def citation_get(*, scope: Scope, message_id: uuid.UUID | str, number: int) -> MessageCitation:
    """A citation of the asker's message whose document the asker may see now. Raises NotFoundError."""
    message = message_get(scope=scope, message_id=message_id)
    citation = message.citations.select_related("chunk", "document", "version").filter(number=number).first()
    if citation is None:
        raise NotFoundError("citation", message=str(message_id), number=number)
    chunk_get(scope=scope, chunk_id=citation.chunk_id, is_cited=True)
    return citation


def is_cited_for(*, scope: Scope, chunk_id: int) -> bool:
    """Whether the passage is a source of one of the asker's answers."""
    of_asker = _of_asker(scope, "message__conversation__")
    return MessageCitation.objects.filter(chunk=chunk_id, **of_asker).exists()


def documents_openable(*, scope: Scope, document_ids: set[int]) -> set[int]:
    """Those of the documents that the asker may open at this moment."""
    return set(documents_readable(scope=scope).filter(pk__in=document_ids).values_list("pk", flat=True))


def citations_still_askable(*, scope: Scope, request: AnswerRequest, record: AnswerRecord) -> bool:
    """Whether a search of this asker could find every source of an answer at this moment."""
    facts = [citation.fact for citation in record.citations if citation.fact]
    cited = [(c.chunk_id, c.version_id, c.document_id) for c in record.citations if not c.fact]
    if not facts_askable(scope=scope, facts=facts, sets=request.sets, filters=request.filters):
        return False
    return citations_askable(scope=scope, cited=cited, sets=request.sets, filters=request.filters)


def sources_of(message_id: str) -> list[MessageCitation | FactCitation]:
    """The passages and facts that a message rests on, cited or not, in order; the caller has checked that the message
    is the reader's."""
    passages = MessageCitation.objects.filter(message_id=message_id).select_related("document", "chunk")
    facts = FactCitation.objects.filter(message_id=message_id)
    return sorted([*passages, *facts], key=lambda row: row.number)
