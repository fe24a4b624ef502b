"""The durable copy of questions, answers and citations, and of turns whose process has died."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import redis
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import tenant_check
from chat.attachments.files import attachments_bind, attachments_check
from chat.branches import Branches, branches_of, parent_of_new
from chat.concurrency.redis_client import alive_key
from chat.conversations.shown_branch import leaf_move
from chat.models import AttachmentCitation, AttachmentPassage, Conversation, FactCitation, Message, MessageCitation
from chat.selectors import conversation_keys, conversations_of
from chat.turns.strategy_statistics import strategy_count
from chat.turns.stream_reader import interrupted_message
from chat.types import AnswerRecord, AnswerRequest, CitationRecord, to_plain
from knowledge.models import Chunk, Triple
from knowledge.selectors import sets_listed
from knowledge.selectors.filters import filters_check
from knowledge.selectors.relations import is_replaced, successors
from ragcore.errors import RagError
from ragcore.text.normalise import visible

TITLE_CHARACTERS = 80
CLIENT_KEY_VERSION = 5  # of the UUID of a conversation whose id the client has chosen (selectors.conversation_keys)
RESULT = (
    *("answer", "answer_html", "state", "status", "confidence", "sentences", "metadata", "trace", "finished"),
    *("document_sources", "file_sources"),
)
FAILURE = ("state", "finished", "error_code", "error_message", "error_data")

GRACE_SECONDS = 30  # a turn that has just begun may not have its heartbeat yet


def message_prepare(
    *, scope: Scope, user: User, request: AnswerRequest, channel: str, message_id: uuid.UUID | None = None
) -> Message:
    """A message that is not stored yet, in its conversation, which may be new too.

    `message_id`: its primary key; None: a new one. Raises NotFoundError for a set that does not exist, for another
    tenant than the asker's own, and for a turn of another conversation to take the place of; UnknownFilterError.
    """
    tenant_check(user=user, tenant_id=request.tenant_id)
    sets = sets_listed(scope=scope).filter(pk__in=request.sets).order_by()
    if missing := set(request.sets) - set(sets.values_list("pk", flat=True)):
        raise NotFoundError("set", sets=sorted(missing), set=min(missing))
    filters_check(scope=scope, filters=request.filters)
    message = Message(
        pk=message_id or uuid.uuid4(),  # given before it is stored, because events refer to it
        conversation=_conversation(scope=scope, request=request, channel=channel),
        question=request.query,
        request=request.to_json(),
    )
    message_place(message)
    if scope.embed is None:
        message.conversation.goes_on_in_embed = False  # asked on the site, where all sets of the person answer
    attachments_check(scope=scope, keys=request.attachments, conversation=message.conversation)
    return message


def message_place(message: Message) -> Branches:
    """Find the turn that a new message follows, as its request says and as its conversation is at this moment.

    Returns the turns before it. Raises NotFoundError.
    """
    conversation = message.conversation
    branches = Branches(parents={}) if _is_unheard_of(conversation) else branches_of(conversation)
    instead_of, after = (_turn_named(message.request.get(name)) for name in ("instead_of", "after"))
    message.parent_id = parent_of_new(branches, instead_of=instead_of, after=after)
    return branches


def _bind(message: Message) -> None:
    keys = message.request.get("attachments") or ()
    attachments_bind(user_id=message.conversation.user_id, keys=keys, conversation=message.conversation)


def _is_unheard_of(conversation: Conversation) -> bool:
    """Whether it is new under an id that nobody else can have stored."""
    return conversation._state.adding and conversation.pk.version != CLIENT_KEY_VERSION


def _turn_named(text: str | None) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        raise NotFoundError("message", message=text) from None


def message_open(
    *, scope: Scope, user: User, request: AnswerRequest, channel: str, message_id: uuid.UUID | None = None
) -> Message:
    """`message_prepare`, stored as running. The same errors, and IntegrityError where the key is taken."""
    message = message_prepare(scope=scope, user=user, request=request, channel=channel, message_id=message_id)
    is_new = message.conversation._state.adding
    with transaction.atomic():
        if not _save(message, ()):
            raise NotFoundError("conversation")
        asked_in = message.conversation.sets
        if is_new and message.conversation.pk.version != CLIENT_KEY_VERSION:
            asked_in.add(*request.sets)  # without a look at what it has
        else:
            asked_in.set(request.sets)
    return message


@transaction.atomic
def message_finish(*, message: Message, record: AnswerRecord, scope: Scope | None = None) -> AnswerRecord:
    """Store an answer and bind its citations to the chunks of their versions; returns it with version numbers.

    With the scope of the asker also with the documents that replace cited ones.
    A chunk that has been purged meanwhile cannot be cited any more and is left out. Nothing is stored where the asker
    has deleted the conversation meanwhile.
    """
    message.file_sources = sum(bool(citation.attachment) for citation in record.citations)
    facts = [citation for citation in record.citations if citation.fact]
    message.document_sources = len(record.citations) - message.file_sources - len(facts)
    record = _with_version_numbers(record, scope)
    message.answer, message.answer_html = record.text, record.html
    message.state = Message.State.STOPPED if record.metadata.stopped else Message.State.DONE
    message.status, message.confidence = record.status, record.confidence
    message.sentences = [to_plain(sentence) for sentence in record.sentences]
    message.metadata = record.metadata.to_json()
    message.trace = {**record.trace, "reasoning": dict(record.reasoning)}
    message.finished = timezone.now()
    if not _save(message, RESULT):
        return record
    MessageCitation.objects.bulk_create(
        MessageCitation(
            message=message,
            chunk_id=citation.chunk_id,
            document_id=citation.document_id,
            version_id=citation.version_id,
            **_citation_values(citation),
        )
        for citation in record.citations
        if not citation.attachment and not citation.fact
    )
    if facts:
        _store_facts(message, [citation for citation in record.citations if citation.fact])
    if any(citation.attachment for citation in record.citations):
        AttachmentCitation.objects.bulk_create(
            AttachmentCitation(message=message, passage_id=-citation.chunk_id, **_citation_values(citation))
            for citation in record.citations
            if citation.attachment
        )
    count = partial(strategy_count, tenant_id=message.conversation.tenant_id, record=record)
    transaction.on_commit(count, robust=True)  # an answer that is not stored does not count, and none waits for it
    return record


def _store_facts(message: Message, facts: Sequence[CitationRecord]) -> None:
    ids = [citation.fact for citation in facts]
    sets = dict(Triple.objects.filter(pk__in=ids).order_by().values_list("pk", "knowledge_set_id"))
    FactCitation.objects.bulk_create(
        FactCitation(
            message=message,
            triple_id=citation.fact,
            knowledge_set_id=sets[citation.fact],
            file=citation.external_id,
            **_citation_values(citation),
        )
        for citation in facts
        if citation.fact in sets
    )


def _citation_values(citation: CitationRecord) -> dict[str, Any]:
    return {
        "number": citation.number,
        "excerpt": citation.content,
        "segment": citation.segment,
        "position": citation.position,
        "score": citation.score,
        "confidence": citation.confidence,
        "weak": citation.weak,
        "cited": citation.cited,
        "relevance": citation.relevance,
    }


def message_fail(*, message: Message, error: RagError) -> None:
    """Store that a question ended with an error; the error never becomes its answer."""
    message.state, message.finished = Message.State.FAILED, timezone.now()
    message.error_code, message.error_message = error.code[:64], error.message[:512]
    message.error_data = error.message_data()
    with transaction.atomic():
        _save(message, FAILURE)


def _save(message: Message, changed: Sequence[str]) -> bool:
    """Store a new message, or what has changed of a stored one; False if its conversation has been deleted.

    A conversation counts as updated with each of its turns. No other field of it is written: it may have been renamed
    or pinned while the answer was made. Needs a transaction, in which the conversation stays locked.
    """
    conversation = message.conversation
    if _is_unheard_of(conversation):
        conversation.leaf_id = message.pk  # checked at the end of the transaction
        conversation.save(force_insert=True)  # nobody else can have stored it, nor deleted
        message.save(force_insert=True)
        _bind(message)
        return True
    if conversation._state.adding:
        new = {name: getattr(conversation, name) for name in ("tenant_id", "user_id", "channel", "title")}
        message.conversation, _ = Conversation.objects.get_or_create(pk=conversation.pk, defaults=new)
    stays = {} if conversation.goes_on_in_embed else {"goes_on_in_embed": False}
    if not Conversation.objects.filter(pk=conversation.pk).update(updated=timezone.now(), **stays):
        return False
    if message._state.adding:
        message.conversation.refresh_from_db(fields=["leaf", "summary", "summarised_until"])
        branches = message_place(message)
        message.save(force_insert=True)
        _retitle(message)
        leaf_move(message.conversation, branches.with_turn(message.pk, message.parent_id), message.pk)
        _bind(message)
        return True
    values = {name: getattr(message, name) for name in changed}
    return Message.objects.filter(pk=message.pk).update(**values) > 0


def _retitle(message: Message) -> None:
    """An edited first question names its conversation, as long as that has the name of the question before."""
    replaced = _turn_named(message.request.get("instead_of"))
    if replaced is None or message.parent_id is not None:
        return
    before = Message.objects.filter(pk=replaced).values_list("question", flat=True).first()
    if before is not None:
        unchanged = Conversation.objects.filter(pk=message.conversation_id, title=_title(before))
        unchanged.update(title=_title(message.question))


def _title(question: str) -> str:
    return " ".join(visible(question).split())[:TITLE_CHARACTERS]


def _with_version_numbers(record: AnswerRecord, scope: Scope | None) -> AnswerRecord:
    chunks = [citation.chunk_id for citation in record.citations if citation.chunk_id > 0]
    columns = ("pk", "version__number", "edited", "version__document_id", is_replaced("version__document_id"))
    rows = list(Chunk.objects.filter(pk__in=chunks).order_by().values_list(*columns))
    numbers = {row[0]: row[1] for row in rows}
    edited = {row[0]: row[2].isoformat() for row in rows if row[2] is not None}
    older = {row[3] for row in rows if row[4]}
    newer = successors(scope=scope, document_ids=older) if scope is not None else {}
    if passages := [-citation.chunk_id for citation in record.citations if citation.attachment]:
        stored_passages = AttachmentPassage.objects.filter(pk__in=passages).values_list("pk", flat=True)
        numbers |= {-pk: 1 for pk in stored_passages}  # one that was removed meanwhile is no source any more
    if facts := [citation.fact for citation in record.citations if citation.fact]:
        stored_facts = set(Triple.objects.filter(pk__in=facts).order_by().values_list("pk", flat=True))
        numbers |= {c.chunk_id: 1 for c in record.citations if c.fact in stored_facts}
    bound = (
        replace(
            c,
            version=numbers[c.chunk_id],
            edited=edited.get(c.chunk_id, ""),
            replaced_by=newer[c.document_id].named if c.document_id in newer else None,
        )
        for c in record.citations
        if c.chunk_id in numbers
    )
    return replace(record, citations=tuple(bound))


def _conversation(*, scope: Scope, request: AnswerRequest, channel: str) -> Conversation:
    """The asker's conversation of this id, or a new one with the first question as its title."""
    new = Conversation(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        channel=channel,
        title=_title(request.query),
        embed_id=scope.embed,
        goes_on_in_embed=scope.embed is not None,
    )
    if request.conversation_id is None:
        return new
    keys = conversation_keys(scope=scope, client_id=request.conversation_id)
    new.pk = keys[-1]
    return conversations_of(scope=scope).filter(pk__in=keys).first() or new


def turns_sweep() -> int:
    """Mark running messages without a heartbeat as failed (code "interrupted"); how many. Safe to run twice."""
    before = timezone.now() - timedelta(seconds=GRACE_SECONDS)
    running = list(Message.objects.filter(state=Message.State.RUNNING, created__lt=before).values_list("pk", flat=True))
    if not running:
        return 0
    with redis.Redis.from_url(settings.REDIS_URL) as store:
        alive = store.mget([alive_key(pk) for pk in running])
    dead = [pk for pk, beat in zip(running, alive, strict=True) if beat is None]
    return Message.objects.filter(pk__in=dead, state=Message.State.RUNNING).update(
        state=Message.State.FAILED,
        error_code="interrupted",
        error_message=interrupted_message(),
        finished=timezone.now(),
    )
