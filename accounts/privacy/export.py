"""Everything that refers to a person, as JSON files in a zip.

What there is comes from the models themselves: every relation that leads to people, and whatever goes with those rows
when they are deleted. A model that is added later is in the export without a change here.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.db.models import Model
from django.utils import timezone

from accounts.models import AuditEvent, User
from accounts.services import audit_record

# keys, and what is derived from other fields that are there
LEFT_OUT = frozenset({"password", "session_key", "session_data", "digest", "key", "token", "answer_html", "vector"})
AUDIT_MAX = 100_000
Rows = dict[str, list[dict[str, Any]]]


@transaction.atomic
def person_export(*, user: User, actor: User) -> bytes:
    """A zip with one JSON file for each kind of row; read in one transaction."""
    files: dict[str, Any] = {"profile": _plain(user), **person_rows(user)}
    files["audit"] = [
        _plain(event) for event in AuditEvent.objects.filter(actor_id=user.pk).order_by("-at")[:AUDIT_MAX]
    ]
    files["about"] = {"person": user.username, "exported": timezone.now(), "files": sorted(files)}
    audit_record(actor=actor, action="person.export", target=user.username)
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            text = json.dumps(content, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
            archive.writestr(f"{name}.json", text)
    return buffer.getvalue()


def person_rows(user: User) -> Rows:
    """Rows of the person by model: whole where they belong to the person, by name where they only refer to one."""
    rows: Rows = {}
    visited: set[tuple[type[Model], Any]] = set()
    for relation in _relations(User):
        for row in _related(relation, user):
            if _belongs(relation):
                _collect(row, user, rows, visited)
            else:
                rows.setdefault(f"refers.{_label(row)}", []).append({"id": row.pk, "name": str(row)[:200]})
    for name in ("user_groups", "groups"):
        rows[name] = [{"id": row.pk, "name": str(row)} for row in getattr(user, name).all()]
    return rows


def _collect(row: Model, user: User, rows: Rows, visited: set[tuple[type[Model], Any]]) -> None:
    """A row and what is deleted with it, except what belongs to somebody else."""
    if (type(row), row.pk) in visited:
        return
    visited.add((type(row), row.pk))
    rows.setdefault(_label(row), []).append(_plain(row))
    for relation in _relations(type(row)):
        if _belongs(relation):
            for below in _related(relation, row):
                if getattr(below, "user_id", user.pk) == user.pk:
                    _collect(below, user, rows, visited)


def _relations(model: type[Model]) -> Iterator[Any]:
    """Relations of other models to this one, hidden ones, too."""
    for relation in model._meta.get_fields(include_hidden=True):
        if relation.auto_created and not relation.concrete and (relation.one_to_many or relation.one_to_one):
            through = relation.related_model._meta.auto_created  # type: ignore[union-attr]
            if not through and relation.related_model is not AuditEvent:
                yield relation
        elif relation.auto_created and relation.many_to_many:
            yield relation


def _belongs(relation: Any) -> bool:
    return getattr(relation, "on_delete", None) is models.CASCADE


def _related(relation: Any, row: Model) -> models.QuerySet[Any]:
    rows: models.QuerySet[Any] = relation.related_model._base_manager.filter(**{relation.field.name: row.pk})
    return rows.order_by("pk")


def _label(row: Model) -> str:
    return f"{row._meta.app_label}.{row._meta.model_name}"


def _plain(row: Model) -> dict[str, Any]:
    fields = [field for field in row._meta.concrete_fields if field.name not in LEFT_OUT]
    return {field.attname: field.value_from_object(row) for field in fields}
