"""People of two tenants with sets and documents, and clients that speak for them."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import Any

from rest_framework.test import APIClient

from accounts.key_scopes import ALL_SCOPES
from accounts.models import Tenant, User, UserGroup
from accounts.services import api_key_create
from chat.models import Conversation, Message
from knowledge.models import Chunk, Document, DocumentVersion, KnowledgeSet, Source

numbers = itertools.count(1)
OPENAI_FIELDS = ("type", "param")  # of errors below /v1/, besides ours
DIFY_FIELDS = {"error_code", "error_msg"}  # of errors below /api/v1/dify/, besides ours


@dataclass(frozen=True)
class World:
    """Default tenant: root administers everything, alice makes sets, bob only reads. Other tenant: eve administers."""

    home: Tenant
    abroad: Tenant
    root: User
    alice: User
    bob: User
    eve: User


def world_make() -> World:
    home = Tenant.objects.get_or_create(is_default=True, defaults={"name": "default"})[0]
    abroad = Tenant.objects.create(name="abroad")
    return World(
        home=home,
        abroad=abroad,
        root=person("root", home, clearance=4, is_staff=True, is_superuser=True),
        alice=person("alice", home, clearance=2, can_create_sets=True),
        bob=person("bob", home, clearance=0),
        eve=person("eve", abroad, clearance=4, is_staff=True, is_superuser=True),
    )


def person(username: str, tenant: Tenant, **values: Any) -> User:
    return User.objects.create(username=username, tenant=tenant, **values)


def client_of(user: User) -> APIClient:
    """Requests with a fresh API key of the user with all scopes; errors of views are answers, as in production."""
    client = APIClient(raise_request_exception=False)
    key = api_key_create(user=user, name="tests", scopes=ALL_SCOPES)[1]
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return client


def set_make(owner: User, **values: Any) -> KnowledgeSet:
    number = next(numbers)
    made = KnowledgeSet.objects.create(
        **{"tenant": owner.tenant, "name": f"Set {number}", "code": f"set-{number}", **values}
    )
    made.owners.add(owner)
    return made


def document_make(*sets: KnowledgeSet, chunks: int = 1, **values: Any) -> Document:
    """A live document with one version and some chunks."""
    number = next(numbers)
    tenant = sets[0].tenant
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    document = Document.objects.create(
        **{
            "tenant": tenant,
            "source": Source.objects.get_or_create(tenant=tenant, name="uploads")[0],
            "title": f"Document {number}",
            "external_id": f"doc-{number}",
            "sha256": digest,
            "state": Document.State.LIVE,
            **values,
        }
    )
    document.sets.set(sets)
    version = DocumentVersion.objects.create(
        document=document, number=1, sha256=digest, file_name="a.txt", size_bytes=5, markdown=f"# Heading {number}\n"
    )
    Chunk.objects.bulk_create(
        [Chunk(version=version, ordinal=n, text=f"passage {n} of {number}", tokens=4) for n in range(chunks)]
    )
    document.live_version = version
    document.save(update_fields=["live_version"])
    return document


def message_make(user: User, *, sets: tuple[KnowledgeSet, ...] = (), **values: Any) -> Message:
    """An answered question of a user."""
    conversation = Conversation.objects.create(tenant=user.tenant, user=user)
    conversation.sets.set(sets)
    return Message.objects.create(**{"conversation": conversation, "question": "Why?", "answer": "So.", **values})


def group_make(tenant: Tenant, name: str, *members: User) -> UserGroup:
    group = UserGroup.objects.create(tenant=tenant, name=name)
    group.members.set(members)
    return group


def error_of(response: Any) -> dict[str, Any]:
    """The error of an answer; fails unless it has exactly the promised shape."""
    assert response.headers["Content-Type"].startswith("application/json"), response.content
    body: dict[str, dict[str, Any]] = response.json()
    assert set(body) - DIFY_FIELDS == {"error"}
    assert {"code", "message", "details"} <= set(body["error"]) <= {"code", "message", "details", *OPENAI_FIELDS}
    assert isinstance(body["error"]["details"], list)
    return body["error"]


def fields_of(response: Any) -> set[str]:
    """The fields that a 422 complains about."""
    return {detail["field"] for detail in error_of(response)["details"]}
