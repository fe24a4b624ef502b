"""Who may read an item where it comes from is who may read its document here."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge.models import Document
from knowledge.services.handlers.changes import item_readers_apply


def item_readers_write(*, document_id: int, readers: Sequence[str], with_content: bool = False) -> bool:
    """Write the readers of an item on its document; whether they are others than before.

    `with_content`: as in item_readers_apply. Call it in a transaction, whose last lock is the epoch: the caller
    advances it.
    """
    rows = Document.objects.select_for_update(of=("self",)).select_related("source__handler", "source__owner")
    return item_readers_apply(rows.get(pk=document_id), readers=readers, with_content=with_content)
