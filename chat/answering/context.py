"""AnswerContext: everything one answer needs, built once per question and passed whole."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from accounts.compiled_queries import CompiledQuery
from accounts.models import User
from accounts.scope import Scope
from chat.answering.answer_config import AnswerConfig, resolve_answer_config
from chat.answers.approval import any_approved
from chat.attachments.search import Attached, attached_load
from chat.concurrency.executors import run_db
from chat.models import Conversation, Message
from chat.selectors import chunks_cited_before
from chat.types import AnswerRequest, EventSink
from knowledge.search_profile import is_lexicon_on
from knowledge.selectors.lexicon import lexicon_of_person
from knowledge.selectors.relations import documents_beside, documents_with_relations
from knowledge.services.answer_facts import any_facts
from knowledge.types import RetrievalRequest
from ragcore.model_limits import limits_of
from ragcore.stage_ports import Lexicon
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.types import Profile
from ragcore.types.answering import Question, Turn
from ragcore.understanding.related_documents import related_wish

ANSWER_SECONDS = 55.0  # from the request to the first token of the text
WRITING_SECONDS = 45.0  # of them at most for a model to begin, unless its own limit says otherwise
RESERVE_SECONDS = 10.0  # of them for the last search and the text
SILENT_SECONDS = 10.0  # without a token; a model that takes longer is not waited for again
CONVERSATIONS = 10  # the last ones, whose knowledge sets count as recent
RECENT_SETS = 3
MOST_BASES = 3  # documents that "this design" or a name may mean
_KINDS: Mapping[str, tuple[str, ...]] = {  # role -> how such documents are related, as seen from the other one
    "test": ("tested_by",),
    "design": ("designed_in", "develops", "tests"),
    "development": ("developed_by", "tests"),
    "supplement": ("extended_by",),
    "older": ("replaces",),
}


@dataclass(slots=True, kw_only=True)
class Deadline:
    """The time limit of one answer, shared by everything that waits for a model.

    While a model writes, the time stands still: a text that flows is limited by the model's own limits alone.
    """

    seconds: float = ANSWER_SECONDS
    clock: Callable[[], float] = time.monotonic
    unreachable_models: set[str] = field(default_factory=set)  # names of models that failed while writing
    request_limit: asyncio.Timeout | None = None  # of the request around it, which stands still with it
    _until: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._until = self.clock() + self.seconds

    def remaining(self) -> float:
        """Seconds until the text must be there, never below 0."""
        return max(0.0, self._until - self.clock())

    def remaining_before_writing(self) -> float:
        """Seconds for everything before the text is written, never below 0."""
        return max(0.0, self.remaining() - RESERVE_SECONDS)

    def first_token_seconds(self, model: object) -> float:
        """Seconds for a model or generator to begin: what the question has left, or the model's own limit."""
        return limits_of(model).first_token_seconds or min(WRITING_SECONDS, self.remaining())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stops the clock of the deadline inside the block."""
        begun, loop, limit = self.clock(), asyncio.get_running_loop(), self.request_limit
        ends = limit.when() if limit is not None else None
        seconds = ends - loop.time() if ends is not None else None
        if limit is not None and seconds is not None:
            limit.reschedule(None)
        try:
            yield
        finally:
            self._until += self.clock() - begun
            if limit is not None and seconds is not None and not limit.expired():
                limit.reschedule(loop.time() + seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerContext:
    """Everything that belongs to one question.

    `events` gets what a reader is shown while the answer is made; `stop` is set when the reader wants no more of it.
    """

    scope: Scope
    request: AnswerRequest
    config: AnswerConfig  # options in layers, resolved for this request
    question: Question  # normalised, with its history, the date and the user's profile
    events: EventSink
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    deadline: Deadline = field(default_factory=Deadline)
    message_id: uuid.UUID | None = None  # None: nothing is stored, as for a search alone
    is_streaming: bool = False  # whether somebody reads along
    renders_blocks: bool = False  # whether the reader wants HTML block by block
    lexicon: Lexicon | None = None  # published terms that the asker may use
    attached: Attached | None = None  # passages of the files of this conversation
    summary: str = ""  # of turns that are too old for the history
    cited_before: tuple[int, ...] = ()  # documents of the answer before this turn, the first cited one first
    cited_chunks: tuple[int, ...] = ()  # the passages of that answer, in the order of its citations
    may_be_approved: bool = True  # False: the tenant has no approved answer at all
    has_facts: bool = False  # whether the tenant has any

    @property
    def history(self) -> tuple[Turn, ...]:
        """Earlier turns, oldest first."""
        return self.question.history

    @property
    def profile(self) -> Profile | None:
        """The user's work profile, where it takes part."""
        return self.question.profile


async def build_context(
    *,
    scope: Scope,
    user: User,
    request: AnswerRequest,
    message: Message,
    events: EventSink,
    history: Sequence[Turn] = (),
    stop: asyncio.Event | None = None,
    deadline: Deadline | None = None,
    is_streaming: bool = False,
) -> AnswerContext:
    """The context of a question. `deadline`: the time limit, where it runs already."""
    loaded = await run_db(_load, scope=scope, user=user, request=request, message=message)
    return AnswerContext(
        scope=scope,
        request=loaded.request,
        config=loaded.config,
        question=build_question(request.query, history=history, profile=loaded.profile, user=user),
        events=events,
        stop=stop or asyncio.Event(),
        deadline=deadline or Deadline(),
        message_id=message.pk,
        is_streaming=is_streaming,
        renders_blocks=message.conversation.channel == Conversation.Channel.WEB,
        attached=loaded.attached,
        lexicon=loaded.lexicon,
        summary=message.conversation.summary,
        cited_before=loaded.cited_before,
        cited_chunks=loaded.cited_chunks,
        may_be_approved=loaded.may_be_approved,
        has_facts=loaded.has_facts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """What a question needs of the database."""

    request: AnswerRequest  # limited to what it asks for
    profile: Profile | None
    config: AnswerConfig
    attached: Attached | None
    lexicon: Lexicon | None
    cited_before: tuple[int, ...]
    cited_chunks: tuple[int, ...]
    may_be_approved: bool
    has_facts: bool


def _load(*, scope: Scope, user: User, request: AnswerRequest, message: Message) -> _Loaded:
    """All of it on one connection."""
    attached, config = None, resolve_answer_config(scope=scope, request=request)
    citations: tuple[tuple[int, int], ...] = ()
    if request.conversation_id is not None and message.parent_id is not None:
        citations = chunks_cited_before(scope=scope, message=message)
    cited = tuple(dict.fromkeys(document for document, _chunk in citations))
    if request.attachments or request.conversation_id is not None:  # nothing is attached to a conversation that is new
        attached = attached_load(
            scope=scope, keys=request.attachments, conversation_id=message.conversation_id, after=message.parent_id
        )
    return _Loaded(
        request=narrowed_request(scope=scope, request=request, cited_before=cited),
        profile=profile_get(user, sets=request.sets) if request.personal else None,
        config=config,
        attached=attached,
        lexicon=_lexicon(scope, request, config),
        cited_before=cited,
        cited_chunks=tuple(chunk for _document, chunk in citations),
        may_be_approved=any_approved(tenant_id=scope.tenant_id),
        has_facts=any_facts(tenant_id=scope.tenant_id),
    )


def _lexicon(scope: Scope, request: AnswerRequest, config: AnswerConfig) -> Lexicon | None:
    """The terms that the question is read with: those that its searches use."""
    lexicon = lexicon_of_person(scope=scope, sets=request.sets, draft=request.draft)
    if lexicon is None:
        return None
    options = config.retrieval_above_set
    search = RetrievalRequest(
        query="", sets=request.sets, defaults=config.mode_retrieval, options=options, draft=request.draft
    )
    return lexicon if is_lexicon_on(scope=scope, request=search) else None


def build_question(query: str, *, history: Sequence[Turn], profile: Profile | None, user: User) -> Question:
    """The question with its conversation, today's date and, where it takes part, the user's profile."""
    text = normalise_query(query)
    return Question(
        text=text,
        language=language_of(text),
        history=tuple(history),
        today=timezone.localdate(),
        profile=profile,
        name=user.get_full_name() or user.get_username(),
    )


# ── the user's profile ─────────────────────────────────────────────────────────────────────


def profile_get(user: User, *, sets: Sequence[int] = ()) -> Profile | None:
    """The work profile with the RECENT_SETS knowledge sets that were asked last; None if it is empty or switched off.

    `sets`: those that the request names; with them recent sets are left out, because the user has said where to look.
    """
    if not user.use_profile:
        return None
    profile = Profile(
        department=user.department,
        product=user.product,
        role=user.role,
        interests=tuple(user.interests),
        recent_sets=() if sets else _recent_sets(user),
    )
    return profile if profile != Profile() else None


def _sets_of_last_conversations(person: int, tenant: int) -> QuerySet[Any, int]:
    last = Conversation.objects.filter(user_id=person, tenant_id=tenant).order_by("-updated", "-pk")
    rows = Conversation.sets.through.objects.filter(conversation__in=last.values("pk")[:CONVERSATIONS])
    return rows.order_by("-conversation__updated", "knowledgeset_id").values_list("knowledgeset_id", flat=True)


_SETS_ASKED = CompiledQuery(_sets_of_last_conversations, person=int, tenant=int)


def _recent_sets(user: User) -> tuple[int, ...]:
    """The sets of the last conversations, the latest first, each once."""
    return tuple(dict.fromkeys(_SETS_ASKED(person=user.pk, tenant=user.tenant_id)))[:RECENT_SETS]


def narrowed_request(*, scope: Scope, request: AnswerRequest, cited_before: tuple[int, ...]) -> AnswerRequest:
    """The request, limited to the documents that it asks for beside those of the answer before or a named one.

    As it is where it asks for none, or where the asker may open none of them.
    """
    wish = related_wish(request.query)
    if wish is None or request.filters.names_documents:
        return request
    kinds = _KINDS[wish.role]
    bases = documents_with_relations(scope=scope, name=wish.name) if wish.name else cited_before
    near = documents_beside(scope=scope, document_ids=bases[:MOST_BASES], kinds=kinds)
    if not near:
        return request
    return replace(request, filters=replace(request.filters, documents=near))
