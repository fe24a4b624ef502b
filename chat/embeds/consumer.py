"""The WebSocket of an embedded chat.

A browser sets no header of a handshake but the names of subprotocols, so the bearer comes as one of them: it stands in
no address, and nobody is connected who has not shown it. Cookies, which a browser may send along, are not looked at.
"""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import parse_qs

from accounts.access_events import Access
from accounts.errors import NotAuthenticatedError
from accounts.models import User
from accounts.scope import Scope
from chat.api.schemas import FiltersIn
from chat.concurrency.executors import run_db
from chat.consumers import Ask, ChatConsumer
from chat.embeds.sessions import BEARER_PREFIX, session_access, session_visitor
from chat.selectors import conversation_get

PROTOCOL = "ragsite.embed"


class EmbedConsumer(ChatConsumer):
    """As the chat page's, for the session of the bearer and the sets of its chat only."""

    subprotocol: ClassVar[str | None] = PROTOCOL

    async def opened_by(self) -> Access | None:
        offers = self.scope.get("subprotocols", [])
        self.bearer = next((offer for offer in offers if offer.startswith(BEARER_PREFIX)), "")
        try:
            return session_access((await run_db(session_visitor, self.bearer)).session)
        except NotAuthenticatedError:
            return None

    def language(self) -> str:
        """That of the frame, which says it in the address."""
        text = parse_qs(self.scope.get("query_string", b"").decode("latin-1")).get("lang", [""])[0]
        return text if text in ("en", "zh-hans") else super().language()

    def asker(self) -> tuple[User, Scope]:
        """The session has to hold at this moment, and with it the rights."""
        visitor = session_visitor(self.bearer)
        return visitor.user, visitor.scope

    def allowed(self, message: Ask, scope: Scope) -> Ask:
        """In the sets of the chat; a conversation is one that goes on here. Raises NotFoundError."""
        if message.conversation_id is not None:
            conversation_get(scope=scope, conversation_id=message.conversation_id)
        sets = sorted(scope.only_sets or ())
        return message.model_copy(update={"sets": sets, "filters": FiltersIn()})
