"""Imports: a file is offered, its mapping shown, then confirmed; a job writes the set, which others see at its end."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from accounts.error_messages import error_message
from accounts.errors import MissingRightError, NameTakenError
from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import may_create_sets
from accounts.services import audit_record
from knowledge.access_errors import QuotaExceededError
from knowledge.disk_space import space_require
from knowledge.models import KnowledgeSet, SetFile
from knowledge.queue import IMPORT_SET
from knowledge.selectors.set_files import set_file_get
from knowledge.services.quotas import quota_check_sets, quota_hold
from knowledge.services.set_files.about_set import PEOPLE, AboutSet, set_read
from knowledge.services.set_files.container import PartsReader, list_path
from knowledge.services.set_files.exporting import FOLDER, State
from knowledge.services.set_files.identity import is_same_model, model_identity
from knowledge.services.set_files.people import names_in, people_here
from knowledge.services.set_files.sections import sections
from knowledge.set_file_errors import SetFileStateError
from work.models import OPEN, Job
from work.services import job_cancel_now, work_start

MAX_CODE = 64


# ── offering ────────────────────────────────────────────────────────────────────────────────────


def set_import_offer(*, scope: Scope, actor: User, name: str, content: IO[bytes]) -> SetFile:
    """Keep a file and show what importing it would do; nothing else is written.

    Raises MissingRightError, SetFileInvalidError, StorageFullError.
    """
    if not may_create_sets(user=actor, scope=scope):
        raise MissingRightError("create_sets")
    space_require()
    tenant_id = actor.tenant_id
    stored = default_storage.save(f"{FOLDER}/{tenant_id}/{uuid.uuid4().hex}.zip", File(content))
    try:
        with PartsReader(Path(default_storage.path(stored))) as reader, transaction.atomic():
            return SetFile.objects.create(
                tenant_id=tenant_id,
                kind=SetFile.Kind.IMPORT,
                state=State.OFFERED,
                actor=actor,
                name=name.replace("\x00", "")[-255:],
                file=stored,
                size_bytes=default_storage.size(stored),
                summary=mapping(reader, scope=scope, tenant_id=tenant_id),
            )
    except BaseException:
        default_storage.delete(stored)
        raise


def mapping(reader: PartsReader, *, scope: Scope, tenant_id: int) -> dict[str, Any]:
    """What importing a file would do here, before anything is written. Raises SetFileInvalidError."""
    about, names = set_read(reader), names_in(reader.document(PEOPLE))
    here = people_here(tenant_id=tenant_id, names=names, chosen={})
    model = model_identity()
    section_names = {section.name for section in sections()}
    code = str(about.values["code"]) or "imported"
    return {
        "set": {name: about.values[name] for name in ("name", "name_zh", "axis", "visibility", "originals")},
        "code": code,
        "free_code": _free_code(tenant_id, code),
        "created": str(reader.manifest.get("created", ""))[:40],
        "documents": about.documents,
        "passages": about.passages,
        "size_bytes": about.size_bytes,
        "above_clearance": about.above(scope.clearance),
        "not_searchable": about.not_searchable,
        "model": {
            "name": str(about.model.get("name", ""))[:128],
            "here": model["name"],
            "is_same": is_same_model(about.model, model),
            "of_set": about.own_model,
        },
        "people": [
            {
                "kind": kind,
                "name": name,
                "roles": roles,
                "is_here": bool(here.ids(kind, [name])),
            }
            for (kind, name), roles in sorted(names.items())
        ],
        "sections": {name: count for name, count in about.sections.items() if name in section_names},
        "sections_left_out": sorted(set(about.sections) - section_names),
        "options_left_out": list(about.options_left_out),
        "conflicts": _conflicts(tenant_id, about, scope=scope),
    }


def _free_code(tenant_id: int, code: str) -> str:
    """The code, or the next one like it that no set of the tenant has."""
    codes = set(
        KnowledgeSet.objects.filter(tenant_id=tenant_id, code__startswith=code[: MAX_CODE - 8]).values_list(
            "code", flat=True
        )
    )
    if code not in codes:
        return code
    stem = code[: MAX_CODE - 8]
    return next(free for number in range(2, 2 + len(codes) + 1) if (free := f"{stem}-{number}") not in codes)


def _conflicts(tenant_id: int, about: AboutSet, *, scope: Scope) -> list[dict[str, str]]:
    """Why the import would fail now: quotas that it exceeds."""
    faults: list[dict[str, str]] = []
    with transaction.atomic():
        tenant = Tenant.objects.get(pk=tenant_id)
        try:
            if tenant.max_sets is not None:
                quota_check_sets(tenant_id=tenant_id)
            coming = about.documents - about.above(scope.clearance)
            quota_hold(tenant_id=tenant_id).check(documents=coming, size_bytes=about.size_bytes)
        except QuotaExceededError as error:
            faults.append({"code": error.code, "message": error_message(error)})
    return faults


# ── confirming ──────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def set_import_start(
    *, scope: Scope, actor: User, file_id: int, code: str = "", name: str = "", people: Mapping[str, str] | None = None
) -> SetFile:
    """Confirm an offered file: queue its import under a code and name ("": as in the file).

    `people`: "user:NAME" or "group:NAME" of the file → name here, "" for nobody; who is not chosen is who has the same
    name here. Raises NotFoundError, MissingRightError, SetFileStateError, NameTakenError, QuotaExceededError,
    MappingInvalidError.
    """
    visible = set_file_get(scope=scope, file_id=file_id)
    row = SetFile.objects.select_for_update().get(pk=visible.pk)
    if row.kind != SetFile.Kind.IMPORT or row.state != State.OFFERED:
        raise SetFileStateError("started")
    if row.actor_id != actor.pk:
        raise SetFileStateError("person")
    if not may_create_sets(user=actor, scope=scope):
        raise MissingRightError("create_sets")
    chosen_code = code or str(row.summary["code"])
    if KnowledgeSet.objects.filter(tenant_id=row.tenant_id, code=chosen_code).exists():
        raise NameTakenError("set_code", code=chosen_code)
    listed = [(entry["kind"], entry["name"]) for entry in row.summary["people"]]
    people_here(tenant_id=row.tenant_id, names=listed, chosen=people or {})
    if row.summary["conflicts"]:
        with PartsReader(Path(default_storage.path(row.file))) as reader:
            _conflicts_again(row.tenant_id, set_read(reader), scope=scope)
    row.state, row.choices = State.WORKING, {"code": chosen_code, "name": name, "people": dict(people or {})}
    row.save(update_fields=["state", "choices"])
    work_start(
        kind=IMPORT_SET,
        tenant_id=row.tenant_id,
        author=actor,
        subject=row.subject,
        arguments={"file_id": row.pk},
        total=row.summary["documents"],
    )
    audit_record(actor=actor, action="set.import", target=chosen_code, documents=row.summary["documents"])
    return row


def _conflicts_again(tenant_id: int, about: AboutSet, *, scope: Scope) -> None:
    """Raise QuotaExceededError where the import still does not fit."""
    quota_check_sets(tenant_id=tenant_id)
    coming = about.documents - about.above(scope.clearance)
    quota_hold(tenant_id=tenant_id).check(documents=coming, size_bytes=about.size_bytes)


@transaction.atomic
def set_file_delete(*, scope: Scope, actor: User, file_id: int) -> None:
    """Remove a file with its row; its job ends. A set that was imported stays. Raises NotFoundError."""
    row = set_file_get(scope=scope, file_id=file_id)
    kinds = {SetFile.Kind.EXPORT: "knowledge.export_set", SetFile.Kind.IMPORT: IMPORT_SET}
    jobs = Job.objects.filter(kind=kinds[SetFile.Kind(row.kind)], subject=row.subject, tenant=row.tenant_id)
    for job in jobs.filter(state__in=OPEN):
        job_cancel_now(job)
    audit_record(actor=actor, action="set.file_delete", target=row.name, file=row.pk)
    files_forget(row)
    row.delete()


def files_forget(row: SetFile) -> None:
    """Delete what is stored of a file, after the commit."""
    name = row.file
    if name:
        transaction.on_commit(lambda: _delete(name))


def _delete(name: str) -> None:
    list_path(Path(default_storage.path(name))).unlink(missing_ok=True)
    default_storage.delete(name)


def set_files_expire(*, days: int) -> int:
    """Delete files that have been over, or offered, for so many days; their rows stay for a while as records.

    Safe to run twice.
    """
    before = timezone.now() - timedelta(days=days)
    rows = SetFile.objects.exclude(file="").exclude(state=State.WORKING).filter(created__lt=before)
    count = 0
    for row in rows:
        with transaction.atomic():
            files_forget(row)
            SetFile.objects.filter(pk=row.pk).update(file="")
        count += 1
    return count
