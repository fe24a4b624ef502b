"""Folders that whoever operates the machine names on its command line."""

from __future__ import annotations

from pathlib import Path

from django.db import transaction

from accounts.errors import NameTakenError
from accounts.models import User
from accounts.scope import Scope
from knowledge.models import SetSource, Source
from knowledge.selectors import set_owned
from knowledge.services.composition import sources_settle_soon


@transaction.atomic
def folder_source_ensure(
    *, scope: Scope, actor: User, name: str, folder: Path, set_id: int, delete_missing: bool
) -> Source:
    """The folder source of this name, made if it is new, and the set composed of it, whole unless it has a filter.

    SOURCE_FOLDERS is not asked: who runs commands here can read the folder anyway. Runs from elsewhere do ask.
    Raises NotFoundError, NotAllowedError for the set, NameTakenError where the name is another source's.
    """
    chosen = set_owned(scope=scope, set_id=set_id)
    location = str(folder.resolve())
    values = {"kind": Source.Kind.FOLDER, "location": location, "owner": actor}
    source, is_new = Source.objects.get_or_create(tenant_id=chosen.tenant_id, name=name[:128], defaults=values)
    if (source.kind, source.location) != (Source.Kind.FOLDER, location):
        raise NameTakenError(f"There is already a source with the name {name!r}.", name=name)
    if bool(source.options.get("delete_missing")) != delete_missing:
        source.options = {**source.options, "delete_missing": delete_missing}
        source.save(update_fields=["options"])
    _, composed = SetSource.objects.get_or_create(knowledge_set=chosen, source=source)
    if composed and not is_new:
        sources_settle_soon(source_ids=[source.pk])
    return source
