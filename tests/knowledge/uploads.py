"""Uploading in tests of ingestion."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from knowledge.models import KnowledgeSet
from knowledge.services import UploadResult, document_upload
from tests.factories import scope_of

NOTE = b"# Title\n\nA note about beams."


def upload(owner: User, *sets: KnowledgeSet, name: str = "note.md", content: bytes = NOTE, **more: Any) -> UploadResult:
    """A small Markdown file, unless told otherwise."""
    return document_upload(
        scope=scope_of(owner), actor=owner, sets=[s.pk for s in sets], name=name, content=content, **more
    )
