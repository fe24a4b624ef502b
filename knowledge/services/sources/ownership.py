"""Checks that a source has an active owner; without one it takes in nothing."""

from __future__ import annotations

from django.db.models import Q

from knowledge.errors import SourceUnownedError
from knowledge.models import Source

SENT_BY_PEOPLE = frozenset({Source.Kind.UPLOAD, Source.Kind.API})  # each sender's own rights decide there
OWNER_ACTIVE = Q(owner__is_active=True) & (
    Q(owner__service_owner=None) | Q(owner__service_owner__is_active=True)  # nobody answers for it otherwise
)


def owner_check(source: Source) -> None:
    """Raise SourceUnownedError unless a source that works by itself has an owner who can act."""
    if source.kind in SENT_BY_PEOPLE:
        return
    owner = source.owner
    if owner is None:
        raise SourceUnownedError
    if not owner.is_active or (owner.service_owner is not None and not owner.service_owner.is_active):
        raise SourceUnownedError("inactive")


def owner_check_now(source_id: int) -> None:
    """The same by the rows as they are now; a source that was removed is not checked."""
    found = Source.objects.select_related("owner__service_owner").filter(pk=source_id).first()
    if found is not None:
        owner_check(found)
