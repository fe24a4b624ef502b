"""Documents that were replaced or deleted long ago."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from knowledge.models import Document, DocumentVersion
from knowledge.services import document_delete
from tests.factories import ingest, scope_of


@pytest.fixture(autouse=True)
def files(settings, tmp_path):
    """A folder for files of this test alone."""
    settings.MEDIA_ROOT = tmp_path / "files"
    return tmp_path / "files"


@pytest.fixture
def replaced(owner, common) -> Callable[..., Document]:
    """A document whose first version was replaced so many days ago."""

    def make(*, days: int, key: str = "a") -> Document:
        ingest(owner, common, **{key: f"the first text about {key} heterodyne"})
        document = ingest(owner, common, **{key: f"the second text about {key} superheterodyne"})[key]
        DocumentVersion.objects.filter(document=document, number=1).update(retired=ago(days))
        return document

    return make


@pytest.fixture
def deleted(owner, common) -> Callable[..., Document]:
    """A document that was deleted so many days ago."""

    def make(*, days: int, key: str = "gone") -> Document:
        document = ingest(owner, common, **{key: f"a text about {key} regenerative"})[key]
        document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)
        Document.objects.filter(pk=document.pk).update(deleted=ago(days))
        return document

    return make


def ago(days: float):
    return timezone.now() - timedelta(days=days)
