"""Files in which sets travel: which the asker may see."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import SetFile


def set_files_visible(*, scope: Scope) -> QuerySet[SetFile]:
    """Those that the asker has started; administrators see those of all. Newest first."""
    rows = SetFile.objects.select_related("knowledge_set", "actor")
    if scope.administers == "everything":
        return rows
    rows = rows.filter(tenant_id=scope.tenant_id)
    return rows if scope.administers == "tenant" else rows.filter(actor=scope.user_id)


def set_file_get(*, scope: Scope, file_id: int) -> SetFile:
    """A file that the asker may see. Raises NotFoundError."""
    row = set_files_visible(scope=scope).filter(pk=file_id).first()
    if row is None:
        raise NotFoundError("set_file", file=file_id)
    return row
