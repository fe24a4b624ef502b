"""Who may say that one document takes the place of another."""

from __future__ import annotations

from knowledge.models import Document, Source


def may_replace(*, old: Document, new: Document) -> bool:
    """Whether the keepers of `new` keep `old`, too: always within a source that somebody owns.

    Where everybody sends to a source, `new` must stand in every set of `old`, and not be open to more people.
    """
    source = new.source
    if source.owner_id is not None or source.kind not in (Source.Kind.UPLOAD, Source.Kind.API):
        return True
    set_ids = set(new.sets.values_list("pk", flat=True))
    same_sets = old.pk is not None and set(old.sets.values_list("pk", flat=True)) <= set_ids
    same_readers = all(
        before in (None, after)
        for before, after in ((old.readers_id, new.readers_id), (old.source_readers_id, new.source_readers_id))
    )
    return same_sets and same_readers and old.clearance <= new.clearance
