"""Who keeps a document, and what of it others may open: the one rule for writing, and originals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from django.db.models import Q, QuerySet

from accounts.errors import NotAllowedError, NotFoundError
from accounts.scope import Scope
from knowledge.models import Document, DocumentVersion, KnowledgeSet
from knowledge.selectors.documents import documents_in_any, documents_readable, named_in_opened
from knowledge.selectors.keepers import keeper_condition
from knowledge.selectors.readers import reader_lists
from knowledge.selectors.sets import sets_curated, sets_readable
from ragcore.errors import Sentence

# ── keepers ─────────────────────────────────────────────────────────────────────────────────────


def documents_kept(*, scope: Scope) -> QuerySet[Document]:
    """Documents that the asker may open and change: nobody else's acts change what others see or may do with them."""
    return documents_readable(scope=scope).filter(keeper_condition(scope=scope))


def is_kept(*, scope: Scope, document: Document) -> bool:
    """Whether the asker keeps a document; the caller has checked that it may be opened."""
    return Document.objects.filter(keeper_condition(scope=scope), pk=document.pk).exists()


def kept_among(*, scope: Scope, document_ids: Collection[int]) -> set[int]:
    """Ids of those of the documents that the asker keeps."""
    rows = documents_kept(scope=scope).filter(pk__in=document_ids)
    return set(rows.order_by().values_list("pk", flat=True))


def documents_restorable(*, scope: Scope) -> QuerySet[Document]:
    """Deleted documents that the asker could still change if they were there: kept, and up to the own clearance."""
    gone = Document.objects.exclude(deleted=None).filter(keeper_condition(scope=scope))
    if scope.administers == "everything":
        return gone
    gone = gone.filter(clearance__lte=scope.clearance)
    if scope.administers == "tenant":
        return gone
    return gone.filter(documents_in_any(list(sets_curated(scope=scope).order_by().values_list("pk", flat=True))))


# ── originals ─────────────────────────────────────────────────────────────────────────────────────


class OriginalsWithheldError(NotAllowedError):
    """The asker may ask about a document, but not open, page through or download it."""

    code = "originals_withheld"
    default_message = (
        "The owners of this knowledge set keep its documents to themselves. You can ask about them and read the "
        "passages that an answer cites."
    )
    reasons: ClassVar[Mapping[str, Sentence]] = {}


def documents_openable(*, scope: Scope) -> QuerySet[Document]:
    """Documents whose live version the asker may open, page through and download.

    Keepers, owners of any set that holds it, and readers of a set that does not withhold originals. The others may ask
    about it, and read the passages that an answer cites.
    """
    readable = documents_readable(scope=scope)
    if scope.administers != "nothing":
        return readable
    opening = sets_readable(scope=scope).filter(originals=KnowledgeSet.Originals.READERS)
    sets = sets_curated(scope=scope)
    ids = opening.order_by().values_list("pk", flat=True).union(sets.order_by().values_list("pk", flat=True))
    return readable.filter(documents_in_any(list(ids)) | Q(source__owner=scope.user_id) | _opened_by_source(scope))


def _opened_by_source(scope: Scope) -> Q:
    """Documents that only their source lets the asker read, of sets that do not withhold originals."""
    lists = reader_lists(scope=scope)
    if lists is None or not lists.by_source:
        return Q(pk=None)
    sets = KnowledgeSet.objects.filter(pk__in=lists.by_source, originals=KnowledgeSet.Originals.READERS)
    return named_in_opened(list(sets.order_by().values_list("pk", flat=True)), lists)


def document_openable(*, scope: Scope, document_id: int) -> Document:
    """A document whose live version the asker may open. Raises NotFoundError, OriginalsWithheldError."""
    document = documents_openable(scope=scope).select_related("live_version").filter(pk=document_id).first()
    if document is not None:
        return document
    if documents_readable(scope=scope).filter(pk=document_id).exists():
        raise OriginalsWithheldError
    raise NotFoundError("document", document=document_id)


def version_openable(*, scope: Scope, version: DocumentVersion) -> DocumentVersion:
    """The version, if the asker may open it: the live one as the document, every other one as its keeper.

    Raises NotFoundError, OriginalsWithheldError.
    """
    document = document_openable(scope=scope, document_id=version.document_id)
    if document.live_version_id != version.pk and not is_kept(scope=scope, document=document):
        raise NotFoundError("version", document=document.pk)
    return version


def versions_listed(*, scope: Scope, document: Document) -> QuerySet[DocumentVersion]:
    """Versions of a document that the asker may open, newest first: all for its keepers, the live one for others."""
    rows = document.versions.defer("markdown", "sketch")
    return rows if is_kept(scope=scope, document=document) else rows.filter(live_for=document)
