"""Documents that a file may be a new version of: those of its name, or nearly so, that the asker keeps."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import OuterRef, Q, QuerySet, Subquery

from accounts.scope import Scope
from knowledge.models import Document, DocumentVersion, Source
from knowledge.selectors.documents import documents_in_any
from knowledge.selectors.keeping import documents_kept
from ragcore.text.file_names import loose_key, name_key
from ragcore.text.names import key_of, name_words

MOST_SHOWN = 5  # of one name
MOST_COMPARED = 200  # documents whose names have the same words

Match = Literal["same", "elsewhere", "near"]
ORDER: tuple[Match, ...] = ("same", "elsewhere", "near")


@dataclass(frozen=True, slots=True)
class KnownName:
    """A document with the version that is compared, its newest, and how its name matches."""

    document: Document
    version_number: int
    file_name: str
    match: Match  # same: the name, in one of the sets; elsewhere: the name, in other sets; near: a name like it


def documents_named(*, scope: Scope, name: str, sets: Collection[int] = ()) -> list[KnownName]:
    """Documents that a file of this name may be a new version of, the likeliest first; MOST_SHOWN at most.

    Only those that the asker keeps, and that people send: what a source brings comes again from there. Names are
    compared without regard to capitals and forms of characters.
    """
    rows = _named_like(_sent_by_people(scope), name)
    here = set(rows.filter(documents_in_any(list(sets))).values_list("pk", flat=True)) if sets else set()
    compared = [_known(row, name, is_here=row.pk in here) for row in rows.order_by("-pk")[:MOST_COMPARED]]
    matching = [name_found for name_found in compared if name_found is not None]
    return sorted(matching, key=lambda name_found: ORDER.index(name_found.match))[:MOST_SHOWN]


# ── one name ──────────────────────────────────────────────────────────────────────────────────────


def _sent_by_people(scope: Scope) -> QuerySet[Document]:
    newest = DocumentVersion.objects.filter(document=OuterRef("pk")).order_by("-number")
    rows = documents_kept(scope=scope).filter(
        tenant=scope.tenant_id,
        deleted=None,
        source__owner=None,
        source__kind__in=(Source.Kind.UPLOAD, Source.Kind.API),
    )
    return rows.annotate(
        newest_name=Subquery(newest.values("file_name")[:1]), newest_number=Subquery(newest.values("number")[:1])
    )


def _named_like(rows: QuerySet[Document], name: str) -> QuerySet[Document]:
    """Rows whose stored names have the words of this one, by the index of names."""
    condition = Q(names__terms__contains=[f"/{key_of(name_key(name))}"])
    if words := name_words(loose_key(name)):
        condition |= Q(names__terms__contains=sorted(words))
    return rows.filter(condition)


def _known(row: Any, name: str, *, is_here: bool) -> KnownName | None:
    """The row where its newest file is called so or nearly so."""
    if row.newest_name is None:
        return None
    if name_key(row.newest_name) == name_key(name):
        return KnownName(row, row.newest_number, row.newest_name, "same" if is_here else "elsewhere")
    loose = loose_key(name)
    return (
        KnownName(row, row.newest_number, row.newest_name, "near")
        if loose == loose_key(row.newest_name) != ""
        else None
    )
