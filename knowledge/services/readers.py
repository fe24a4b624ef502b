"""Who alone may read a document, as its keepers say.

The source may have a list of its own (`knowledge.services.handlers`). Both hold: neither the keepers nor the source
widen what the other allows.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, ReaderList
from knowledge.selectors.readers import readers_of
from knowledge.services.documents import document_managed
from knowledge.services.reader_lists import keepers_readers_ensure


@transaction.atomic
def document_readers_set(
    *, scope: Scope, actor: User, document_id: int, users: Sequence[str], groups: Sequence[str]
) -> Document:
    """Only these people and groups, by name, may read a document that the asker keeps; in force with the commit.

    Its keepers still open it on their pages, but their questions are answered from it only if they are named. No names
    at all: nobody else. Raises NotFoundError, NotAllowedError, UnknownPeopleError.
    """
    document = document_managed(scope=scope, document_id=document_id)
    row = keepers_readers_ensure(tenant_id=document.tenant_id, users=users, groups=groups)
    return _write(scope=scope, actor=actor, document=document, row=row)


@transaction.atomic
def document_readers_clear(*, scope: Scope, actor: User, document_id: int) -> Document:
    """Take back what keepers said about the readers of a document; what its source says stays in force.

    Raises NotFoundError, NotAllowedError.
    """
    document = document_managed(scope=scope, document_id=document_id)
    return _write(scope=scope, actor=actor, document=document, row=None)


def _write(*, scope: Scope, actor: User, document: Document, row: ReaderList | None) -> Document:
    document = Document.objects.select_for_update(of=("self",)).get(pk=document.pk)
    new = row.pk if row else None
    if document.readers_id == new:
        return document
    before = readers_of(scope=scope, document=document)[0]
    document.readers_id = new
    document.save(update_fields=["readers", "updated"])
    after = readers_of(scope=scope, document=document)[0]
    epoch_advance(tenant_id=document.tenant_id, documents=[document.pk])
    audit_record(
        actor=actor,
        action="document.readers",
        target=document.title,
        document=document.pk,
        before=before and before.json(),
        after=after and after.json(),
    )
    return document
