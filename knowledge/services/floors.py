"""Minimum clearance of documents of a source, from the source and its folder."""

from __future__ import annotations

from pathlib import Path

from accounts.audit.events import event_add
from accounts.models import User
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, Source, SourcePlace
from knowledge.types import SourceOptions, strictly


def source_floor(source: Source) -> int:
    """The least clearance of the documents of a source, 0 to 4: its own floor or that of its folder."""
    floor = strictly(SourceOptions, source.options).clearance_floor if source.options else 0
    return max(floor, _folder_floor(source)) if source.kind == Source.Kind.FOLDER else floor


def _folder_floor(source: Source) -> int:
    """The strictest floor of the tenant's folders in which the folder of the source lies, or which lie in it."""
    folder = Path(source.location).resolve()
    rows = SourcePlace.objects.filter(tenant=source.tenant_id, kind=SourcePlace.Kind.FOLDER, clearance_floor__gt=0)
    floors = (
        floor
        for location, floor in rows.values_list("location", "clearance_floor")
        if folder.is_relative_to(place := Path(location)) or place.is_relative_to(folder)
    )
    return max(floors, default=0)


def source_floor_apply(*, actor: User | None, source: Source) -> int:
    """Raise the documents that are below the floor of their source; returns how many. Within the caller's transaction.

    Nothing is lowered where the floor is: keepers, or the source itself, do that document by document.
    """
    floor = source_floor(source)
    below = Document.objects.filter(source=source, clearance__lt=floor)
    ids = list(below.filter(deleted=None).order_by("pk").values_list("pk", flat=True))
    if not below.update(clearance=floor):
        return 0
    epoch_advance(tenant_id=source.tenant_id, documents=ids)
    event_add(
        actor=actor,
        tenant_id=source.tenant_id,
        action="source.floor",
        target=source.name,
        data={"source": source.pk, "floor": floor, "documents": len(ids)},
    )
    return len(ids)
