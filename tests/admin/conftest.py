"""People of every role, each with a signed-in browser."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from knowledge.models import Document, DocumentVersion, KnowledgeSet
from knowledge.services.registration import source_ensure
from tests.factories import make_admin, make_set, make_tenant, make_user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def make_document(title: str, *sets: KnowledgeSet, state: str = "live", **fields) -> Document:
    """A document row with one version and one passage, without running the pipeline."""
    tenant_id = sets[0].tenant_id
    document = Document.objects.create(
        tenant_id=tenant_id,
        source=source_ensure(tenant_id=tenant_id, name="uploads"),
        external_id=title,
        title=title,
        sha256="0" * 64,
        state=state,
        **fields,
    )
    document.sets.set(sets)
    version = DocumentVersion.objects.create(
        document=document, number=1, sha256="0" * 64, file_name=f"{title}.md", size_bytes=10, markdown=f"# {title}"
    )
    version.chunks.create(ordinal=0, text=f"passage of {title}", heading_path=[title], tokens=3)
    if state == Document.State.LIVE:
        document.live_version = version
        document.save()
    return document


@pytest.fixture
def administrator(db) -> User:
    return make_admin("root")


@pytest.fixture
def owner(db) -> User:
    return make_user("owner", is_staff=True)


@pytest.fixture
def reviewer(db) -> User:
    user = make_user("reviewer", is_staff=True, clearance=1)
    user.user_permissions.add(Permission.objects.get(codename="change_badcase"))
    return user


@pytest.fixture
def stranger(db) -> User:
    """An administrator, of another tenant."""
    return make_admin("stranger", tenant=make_tenant("elsewhere"))


@pytest.fixture
def own_set(owner) -> KnowledgeSet:
    return make_set("own", owners=[owner])


@pytest.fixture
def other_set(administrator) -> KnowledgeSet:
    return make_set("other", owners=[administrator])
