"""The chat page's WebSocket: questions go in, events of turns come out."""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import aclosing
from typing import Annotated, Any, ClassVar, Literal

from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation import gettext as _
from ninja import Schema
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from redis.exceptions import RedisError

from accounts.access_events import Access
from accounts.error_messages import error_message
from accounts.errors import NotAuthenticatedError, NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.sessions import session_reference
from accounts.value_faults import faults_text
from chat.api.schemas import FiltersIn, Identifier, QueryText, SetId
from chat.attachments.files import MOST_WAITING
from chat.concurrency.access_watch import access_watch
from chat.concurrency.executors import run_db
from chat.concurrency.limits import count_questions_or_raise
from chat.concurrency.open_sockets import TooManySocketsError, open_sockets
from chat.error_messages import failure_message
from chat.models import Conversation, Message
from chat.pages.depths import composer_fields
from chat.selectors import message_get, message_key
from chat.turns.lifecycle import turn_start, turn_stop
from chat.turns.stream_reader import read_events
from chat.types import AnswerForm, AnswerRequest, Depth
from ragcore.errors import RagError

logger = logging.getLogger(__name__)

NOT_SIGNED_IN = 4401  # close code: the page sends its reader to the sign-in
INTERNAL = 1011  # close code: the page comes back and asks for what it lacks
TOO_MANY_SOCKETS = 4429  # close code, after a `problem`: this person has SOCKETS_PER_PERSON open
MAX_FOLLOWED = 20  # turns that one page may follow at a time
API_ONLY = ("chunk",)  # the page shows blocks and the tail instead


class Ask(Schema):
    model_config = ConfigDict(extra="forbid")

    type: Literal["ask"]
    id: uuid.UUID | None = None  # that the page made: the same question sent again after a lost connection is one
    question: QueryText
    conversation_id: Identifier | None = None
    sets: Annotated[list[SetId], Field(max_length=1000)] = []
    filters: FiltersIn = FiltersIn()
    cache: bool = True  # False: a fresh answer is wanted
    instead_of: uuid.UUID | None = None  # the turn of which this is another version
    after: uuid.UUID | None = None  # the last turn that the page shows
    attachments: Annotated[list[uuid.UUID], Field(max_length=MOST_WAITING)] = []
    style: AnswerForm = ""
    depth: Depth = ""


class Resume(Schema):
    model_config = ConfigDict(extra="forbid")

    type: Literal["resume"]
    message_id: uuid.UUID
    after: Annotated[int, Field(ge=0)] = 0


class Stop(Schema):
    model_config = ConfigDict(extra="forbid")

    type: Literal["stop"]
    message_id: uuid.UUID


INCOMING: TypeAdapter[Ask | Resume | Stop] = TypeAdapter(Annotated[Ask | Resume | Stop, Field(discriminator="type")])


class ChatConsumer(AsyncJsonWebsocketConsumer):
    """In: `ask`, `resume`, `stop`. Out: `turn`, then `{id, type, message_id, data}` for each event; `problem` for
    what could not be done.
    """

    subprotocol: ClassVar[str | None] = None

    async def connect(self) -> None:
        self.followed: dict[uuid.UUID, asyncio.Task[None]] = {}
        self.token = ""  # nosec B105 - nothing yet
        self.watching: asyncio.Task[None] | None = None
        access = await self.opened_by()
        if access is None:
            await self.accept(self.subprotocol)  # a refused handshake would hide the code from the page
            await self.close(code=NOT_SIGNED_IN)
            return
        self.access, self.user_id = access, access.user_id
        translation.activate(self.language())  # of this connection's task and of those that it starts
        try:
            self.token = await open_sockets().enter(self.user_id)
        except TooManySocketsError as error:
            await self.accept(self.subprotocol)
            await self._problem(error.code, error_message(error))
            await self.close(code=TOO_MANY_SOCKETS)
        else:
            await self.accept(self.subprotocol)
            self.watching = asyncio.create_task(self._close_with_access())

    async def opened_by(self) -> Access | None:
        """The session of the browser that opens the connection; None: nobody is signed in there."""
        user, session = self.scope.get("user"), self.scope.get("session")
        if not (isinstance(user, User) and user.is_active):
            return None
        return Access(user_id=user.pk, session=session_reference(session.session_key) if session else "")

    def language(self) -> str:
        """As for the page itself: what the reader chose, or else what the browser asks for."""
        request = HttpRequest()
        request.COOKIES = self.scope.get("cookies", {})
        request.META["HTTP_ACCEPT_LANGUAGE"] = (
            dict(self.scope["headers"]).get(b"accept-language", b"").decode("latin-1")
        )
        return translation.get_language_from_request(request)

    async def _close_with_access(self) -> None:
        """After signing out, a change of the password or deactivation the page is sent to the sign-in."""
        with access_watch().watch(self.access) as watched:
            await watched.check()
            await watched.ended.wait()
        self._stop_listening()
        await self.close(code=NOT_SIGNED_IN)

    def _stop_listening(self) -> None:
        for task in self.followed.values():
            task.cancel()

    async def disconnect(self, code: int) -> None:
        """Turns go on; only this page stops listening."""
        if self.token:
            await open_sockets().leave(self.user_id, self.token)
        if self.watching is not None:
            self.watching.cancel()
        self._stop_listening()
        await asyncio.gather(*self.followed.values(), return_exceptions=True)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """One message of the page; a bad one is answered, it does not end the connection. One to go on with a turn that
        cannot be done now does: the page asks again.
        """
        if not self.token:
            return  # sent before the page heard that it was refused
        try:
            message = INCOMING.validate_json(text_data or "")
        except ValidationError as error:
            await self._problem("invalid", faults_text(error.errors(include_url=False))[0])
            return
        try:
            await self._handle(message)
        except RagError as error:
            await self._problem(error.code, error_message(error))
        except Exception as error:
            logger.exception("a WebSocket message failed")
            if isinstance(message, Resume):  # the page asks again over another connection
                await self.close(code=INTERNAL)
                return
            is_outage = isinstance(error, (OperationalError, InterfaceError, RedisError))
            await self._problem(
                "unavailable" if is_outage else "internal", _("Something went wrong. It has been logged.")
            )

    async def _handle(self, message: Ask | Resume | Stop) -> None:
        user, scope = await run_db(self.asker)
        if isinstance(message, Ask):
            await self._ask(await run_db(self.allowed, message, scope), user, scope)
        elif isinstance(message, Stop):
            await turn_stop(scope=scope, message_id=message.message_id)
        else:
            row = await run_db(message_get, scope=scope, message_id=message.message_id)
            await self._announce(row)
            await self._follow(row.pk, message.after, scope)

    def asker(self) -> tuple[User, Scope]:
        """The user as of now: rights may have changed, or been withdrawn, since the connection was made."""
        user = User.objects.select_related("tenant").filter(pk=self.user_id, is_active=True).first()
        if user is None:
            raise NotAuthenticatedError
        return user, scope_for(user)

    def allowed(self, message: Ask, scope: Scope) -> Ask:
        """The question as this connection may ask it."""
        return message

    async def _ask(self, message: Ask, user: User, scope: Scope) -> None:
        if message.id is not None and await self._go_on(message_key(scope=scope, client_id=message.id), scope):
            return
        chosen = composer_fields(style=message.style, depth=message.depth)
        request = AnswerRequest(
            query=message.question,
            conversation_id=message.conversation_id,
            sets=tuple(dict.fromkeys(message.sets)),
            filters=message.filters.value(),
            cache=message.cache,
            attachments=tuple(dict.fromkeys(map(str, message.attachments))),
            instead_of=str(message.instead_of) if message.instead_of else None,
            after=str(message.after) if message.after else None,
            given=frozenset({*chosen, *(("sets",) if message.sets else ())}),
            **chosen,
        )
        key = message_key(scope=scope, client_id=message.id) if message.id is not None else None
        await count_questions_or_raise(user)
        try:
            turn = await turn_start(
                scope=scope, user=user, request=request, channel=Conversation.Channel.WEB, message_id=key
            )
        except IntegrityError:  # the same question came over another connection at this moment
            if key is None or not await self._go_on(key, scope):
                raise
            return
        await self._announce(turn)
        await self._follow(turn.pk, 0, scope)

    async def _go_on(self, key: uuid.UUID, scope: Scope) -> bool:
        """Follow a question of the asker that is stored already; False where there is none."""
        try:
            row = await run_db(message_get, scope=scope, message_id=key)
        except NotFoundError:
            return False
        await self._announce(row)
        await self._follow(row.pk, 0, scope)
        return True

    async def _announce(self, turn: Message) -> None:
        await self.send_json(
            {
                "type": "turn",
                "message_id": str(turn.pk),
                "conversation_id": str(turn.conversation_id),
                "title": turn.conversation.title,
                "question": turn.question,
            }
        )

    async def _follow(self, message_id: uuid.UUID, after: int, scope: Scope) -> None:
        """Send the events of a turn as they come; following it again replaces the earlier listener."""
        if (earlier := self.followed.pop(message_id, None)) is not None:
            earlier.cancel()
        if len(self.followed) >= MAX_FOLLOWED:
            await self._problem("busy", _("Too many answers are streaming on this page."))
            return
        task = asyncio.create_task(self._forward(message_id, after, scope))
        self.followed[message_id] = task
        task.add_done_callback(lambda ended: self._forget(message_id, ended))

    def _forget(self, message_id: uuid.UUID, task: asyncio.Task[None]) -> None:
        if self.followed.get(message_id) is task:
            del self.followed[message_id]

    async def _forward(self, message_id: uuid.UUID, after: int, scope: Scope) -> None:
        """What goes wrong closes the connection: the page opens another one and goes on where it was."""
        try:
            await self._send_events(message_id, after, scope)
        except OSError:  # the page has left
            return
        except Exception:
            logger.exception("the events of %s cannot be read", message_id)
            await self.close(code=INTERNAL)

    async def _send_events(self, message_id: uuid.UUID, after: int, scope: Scope) -> None:
        async with aclosing(read_events(message_id, after, scope=scope)) as events:  # type: ignore[type-var]
            async for event in events:
                if event.type not in API_ONLY:
                    data = dict(event.data)
                    if event.type == "error":
                        details = data.pop("message_data", {})
                        data["message"] = failure_message(data.get("code", ""), data.get("message", ""), details)
                    await self.send_json(
                        {"id": event.sequence, "type": event.type, "message_id": str(message_id), "data": data}
                    )

    async def _problem(self, code: str, message: str) -> None:
        await self.send_json({"type": "problem", "code": code, "message": failure_message(code, message)})
