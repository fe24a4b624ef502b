"""Suggests document titles for a partly typed text, within the asker's rights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from django.db.models import Q
from django.db.models.functions import Length

from accounts.scope import Scope
from knowledge.indexes.statements import statement_timeout
from knowledge.models import Document
from knowledge.selectors import documents_askable

STATEMENT_SECONDS = 0.06  # typing never waits


def typing_limit() -> AbstractContextManager[None]:
    """A transaction in which a statement that takes longer than typing may wait raises OperationalError."""
    return statement_timeout(seconds=STATEMENT_SECONDS)


def titles_suggested(*, scope: Scope, parts: Sequence[str], limit: int) -> list[str]:
    """Titles of searchable documents that contain one of the parts, shortest first, within the asker's rights.

    Raises OperationalError after STATEMENT_SECONDS.
    """
    contains = Q(pk__in=())
    for part in parts:
        contains |= Q(title__icontains=part)
    with typing_limit():
        documents = documents_askable(scope=scope).filter(contains, state=Document.State.LIVE)
        rows = documents.annotate(length=Length("title")).order_by("length", "title")
        return list(dict.fromkeys(rows.values_list("title", flat=True)[: 2 * limit]))[:limit]
