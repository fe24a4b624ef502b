"""Only the latest of a series stays (D10): which version is newer, and what becomes of the others."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from django.db import transaction
from django.db.models import QuerySet

from knowledge.errors import SupersededError
from knowledge.models import Document
from knowledge.services.soft_delete import documents_withdraw

Key = tuple[tuple[int, int, str], ...]


def version_key(version: str) -> Key:
    """Natural order: numbers by value, text by letters, a leading v ignored: 9.2 < 10.0 < 10.0a."""
    parts = re.findall(r"\d+|[^\d\W_]+", version.casefold().removeprefix("v"))
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)


def newer_in_series(*, document: Document, series: str, version: str) -> Document | None:
    """Another document of the same series and source with a higher version that is there or on its way."""
    others = _series(document.source_id, [series]).exclude(pk=document.pk).exclude(state=Document.State.FAILED)
    newer = [other for other in others if version_key(version_of(other)) > version_key(version)]
    return max(newer, key=lambda other: version_key(version_of(other)), default=None)


def version_of(document: Document) -> str:
    """The version within the series that the handler wrote."""
    return str(document.handled.get("series_version", ""))


@transaction.atomic
def series_settle(*, document_ids: Iterable[int]) -> int:
    """Delete (softly) what newer live documents of the same series replace; returns how many.

    Called once documents have gone live, never before: a new version that cannot be read replaces nothing.
    Idempotent; documents without a series are ignored.
    """
    arrived = Document.objects.filter(pk__in=document_ids, deleted=None).exclude(series="")
    wanted: dict[int, set[str]] = defaultdict(set)
    for source_id, series in arrived.values_list("source_id", "series"):
        wanted[source_id].add(series)
    return sum(_settle(source_id, sorted(names)) for source_id, names in sorted(wanted.items()))


def _settle(source_id: int, names: list[str]) -> int:
    by_series: dict[str, list[Document]] = defaultdict(list)
    for document in _series(source_id, names).filter(live_version__isnull=False):
        by_series[document.series].append(document)
    gone = 0
    for rows in by_series.values():
        newest = max(rows, key=lambda row: version_key(version_of(row)))
        old = [row.pk for row in rows if version_key(version_of(row)) < version_key(version_of(newest))]
        reason = SupersededError("replaced", title=newest.title)
        gone += documents_withdraw(tenant_id=newest.tenant_id, document_ids=old, reason=reason)
    return gone


def _series(source_id: int, names: list[str]) -> QuerySet[Document]:
    return Document.objects.filter(source_id=source_id, series__in=names, deleted=None).exclude(series="")
