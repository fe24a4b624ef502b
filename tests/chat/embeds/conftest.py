"""A chat on a portal: of one set that everybody reads and one that the reader may not read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from chat.models import Embed
from knowledge.models import Document, KnowledgeSet
from tests.chat.embeds.signing import HOST, make_embed, token_for
from tests.factories import ingest, make_admin, make_set, make_user


@dataclass
class Portal:
    """The chat and its people; `other` is a set of the reader's that is not part of the chat."""

    embed: Embed
    secret: str
    admin: User
    reader: User
    colleague: User
    radio: KnowledgeSet
    closed: KnowledgeSet
    other: KnowledgeSet
    documents: dict[str, Document]

    def token(self, subject: str = "", **changes: Any) -> str:
        return token_for(self.embed, self.secret, subject or self.reader.username, **changes)

    def enter(self, token: str | None = None, origin: str = HOST, bearer: str = "", **headers: str) -> Any:
        """The response to the frame, which shows a token."""
        body = json.dumps({"token": self.token() if token is None else token, "origin": origin})
        if bearer:
            headers["authorization"] = f"Bearer {bearer}"
        address = f"/embed/{self.embed.code}/session"
        return Client().post(address, body, content_type="application/json", headers=headers)

    def bearer(self, subject: str = "") -> str:
        response = self.enter(self.token(subject))
        assert response.status_code == 201, response.content
        return str(response.json()["session"])

    def get(self, path: str, bearer: str, **headers: str) -> Any:
        headers["authorization"] = f"Bearer {bearer}"
        return Client().get(f"/embed/{self.embed.code}/{path}", headers=headers)


def portal_make() -> Portal:
    admin, reader, colleague = make_admin(), make_user(email="reader@example.com"), make_user()
    radio = make_set("radio", owners=[admin])
    closed = make_set("closed", visibility="members", owners=[admin])
    other = make_set("other", owners=[admin])
    documents = {
        **ingest(admin, radio, ra="The random access procedure has four steps. The preamble is sent on PRACH."),
        **ingest(admin, closed, pay="The salary of the director is nine tons of gold."),
        **ingest(admin, other, ho="A handover moves a terminal from one cell to another. It has seven phases."),
    }
    embed, secret = make_embed(admin, radio, closed)
    return Portal(embed, secret, admin, reader, colleague, radio, closed, other, documents)


@pytest.fixture
def portal(shared_rows: Any, redis_client: Any) -> Portal:
    return shared_rows(portal_make)
