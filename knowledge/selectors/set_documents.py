"""Documents of a knowledge set as its readers may see them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import Document, KnowledgeSet
from knowledge.selectors.documents import documents_askable
from knowledge.selectors.keeping import documents_openable
from knowledge.selectors.sets import sets_readable


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDocuments:
    """A set with what the reader may open of it; of the rest only the number is told."""

    row: KnowledgeSet
    opened: QuerySet[Document]  # by title
    asked: int  # documents that a question to the set searches
    closed: int  # of them those that the reader may not open: answers quote them


def set_documents(*, scope: Scope, set_id: int, words: str = "") -> SetDocuments:
    """The documents of a readable set, as far as their titles contain `words`. Raises NotFoundError."""
    row = sets_readable(scope=scope).filter(pk=set_id).first()
    if row is None:
        raise NotFoundError("set", set=set_id)
    inside = documents_askable(scope=scope, sets=[set_id])
    opened = documents_openable(scope=scope).filter(pk__in=inside.order_by().values("pk"))
    live = inside.filter(state=Document.State.LIVE)
    closed = live.exclude(pk__in=documents_openable(scope=scope).order_by().values("pk"))
    listed = opened.filter(title__icontains=words) if words else opened
    return SetDocuments(
        row=row,
        opened=listed.select_related("live_version").defer("live_version__markdown").order_by("title", "pk"),
        asked=live.count(),
        closed=closed.count(),
    )
