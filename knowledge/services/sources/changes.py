"""Create, change and delete sources."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.errors import MissingRightError, NameTakenError, NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.connectors import connector_kinds, settings_checked
from knowledge.errors import SourceInUseError, SourceSettingsError, UnknownPeopleError
from knowledge.models import Document, SetSource, Source, SourceHandler
from knowledge.selectors import set_owned, sets_managed
from knowledge.selectors.sets import handlers_listed, source_managed
from knowledge.services.composition import sources_settle_soon
from knowledge.services.deletion import documents_withdraw
from knowledge.services.floors import source_floor_apply
from knowledge.services.reader_lists import item_readers_renew
from knowledge.services.reader_mapping import table_faults
from knowledge.services.registration import clearance_check, source_ensure
from knowledge.services.sources.credentials import credentials_check, credentials_encrypt, credentials_normalise
from knowledge.services.sources.ownership import owner_check
from knowledge.services.sources.permission import permission_check
from knowledge.services.sources.sync_runs import LISTED_KINDS, next_run_after
from knowledge.services.sources.web import hosts_of
from knowledge.types import SourceOptions, strictly

CHANGEABLE = ("name", "location", "settings", "schedule", "enabled", "options", "handler", "owner")
Kind, Schedule = Source.Kind, Source.Schedule


@transaction.atomic
def source_create(*, scope: Scope, actor: User, values: Mapping[str, Any]) -> Source:
    """Make a source of the asker's tenant, owned by the asker unless an administrator names somebody else.

    `values`: kind, the fields of CHANGEABLE (handler by code, owner by user name, options as a JSON object) and
    credentials. For owners of sets and administrators.
    Raises NotAllowedError, NameTakenError, SourceSettingsError, InvalidOptionsError, FolderNotAllowedError,
    UrlNotAllowedError, ClearanceTooHighError, UnknownPeopleError, SourceUnownedError.
    """
    if scope.administers == "nothing" and not sets_managed(scope=scope).exists():
        raise MissingRightError("make_sources")
    source = Source(tenant_id=actor.tenant_id, kind=values["kind"], owner=actor)
    _fill(source, scope=scope, values=values)
    source.next_run = timezone.now() if source.schedule != Schedule.MANUAL else None
    if values.get("credentials"):
        credentials = credentials_normalise(kind=source.kind, credentials=values["credentials"])
        credentials_check(kind=source.kind, credentials=credentials)
        source.credentials = credentials_encrypt(credentials)
    _save(source)
    audit_record(actor=actor, action="source.create", target=source.name, source=source.pk, kind=source.kind)
    return source


@transaction.atomic
def source_update(*, scope: Scope, actor: User, source_id: int, values: Mapping[str, Any]) -> Source:
    """Change fields of CHANGEABLE and credentials; what is left out stays. Raises as source_create."""
    source = source_managed(scope=scope, source_id=source_id)
    was = {name: getattr(source, name) for name in CHANGEABLE}
    _fill(source, scope=scope, values=values)
    changed = [name for name in CHANGEABLE if getattr(source, name) != was[name]]
    if "schedule" in changed:
        source.next_run = next_run_after(source.schedule, timezone.now())
    if values.get("credentials") is not None:
        credentials_set(scope=scope, actor=actor, source_id=source_id, credentials=values["credentials"])
    if changed:
        _save(source, fields=[*changed, "cursor", *(["next_run"] if "schedule" in changed else [])])
        audit_record(actor=actor, action="source.change", target=source.name, source=source.pk, fields=changed)
    if {"options", "location"} & set(changed):
        source_floor_apply(actor=actor, source=source)
    if source.options.get("people") != was["options"].get("people"):
        item_readers_renew(source=source)
    return source


def source_check(*, scope: Scope, source: Source, values: Mapping[str, Any]) -> None:
    """What source_create and source_update would refuse, apart from the name; nothing is stored.

    `source`: a new one with its tenant and kind, or one that is there. Raises as source_create.
    """
    trial = copy(source)
    _fill(trial, scope=scope, values=values)
    if values.get("credentials"):
        credentials_check(
            kind=trial.kind, credentials=credentials_normalise(kind=trial.kind, credentials=values["credentials"])
        )


@transaction.atomic
def credentials_set(*, scope: Scope, actor: User, source_id: int, credentials: Mapping[str, str]) -> None:
    """Replace the credentials; an empty object removes them. They are encrypted at once and never shown.

    Raises NotFoundError, NotAllowedError, SourceSettingsError.
    """
    source = source_managed(scope=scope, source_id=source_id)
    credentials = credentials_normalise(kind=source.kind, credentials=credentials)
    if credentials:
        credentials_check(kind=source.kind, credentials=credentials)
    Source.objects.filter(pk=source.pk).update(credentials=credentials_encrypt(credentials))
    audit_record(actor=actor, action="source.credentials", target=source.name, source=source.pk)


def source_delete(*, scope: Scope, actor: User, source_id: int, with_documents: bool = False) -> None:
    """Remove a source. Raises NotFoundError, NotAllowedError, SourceInUseError where it has documents left.

    `with_documents` deletes them first (softly: citations keep what they need), some hundred at a time: people go on
    working meanwhile, and where this is interrupted it can be repeated. What is deleted already passes to the tenant's
    default source.
    """
    source = source_managed(scope=scope, source_id=source_id)
    home = source_ensure(tenant_id=source.tenant_id, name="")
    if source.pk == home.pk:
        raise SourceInUseError("uploads")
    here = list(Document.objects.filter(source=source, deleted=None).values_list("pk", flat=True))
    if with_documents:
        documents_withdraw(tenant_id=source.tenant_id, document_ids=here)
    with transaction.atomic():
        Source.objects.select_for_update().get(pk=source.pk)  # nothing more arrives
        if remaining := Document.objects.filter(source=source, deleted=None).count():
            raise SourceInUseError(documents=remaining)
        Document.objects.filter(source=source).update(source=home)
        audit_record(actor=actor, action="source.delete", target=source.name, source=source.pk, documents=len(here))
        source.delete()


def _fill(source: Source, *, scope: Scope, values: Mapping[str, Any]) -> None:
    """Take over the values, then check them together.

    Private addresses were allowed for the hosts that a platform administrator has seen; with other ones the
    permission ends. Nothing is enabled for which nobody answers.
    """
    was_enabled, was_of = source.pk is not None and source.enabled, source.owner_id
    hosts, was_at, was_private = hosts_of(source), source.location, _is_private(source)
    was_set = source.settings
    for name in ("name", "location", "schedule", "enabled"):
        if name in values:
            setattr(source, name, values[name])
    if "settings" in values:
        source.settings = _settings(source, values["settings"])
    was_options = source.options
    if "options" in values:
        source.options = _options(source, scope=scope, given=values["options"])
    if (source.location, source.settings) != (was_at, was_set) or _lists_others(was_options, source.options):
        source.cursor = {}  # another place, other texts of the same one, or more of it: the next list is a whole one
    if "handler" in values:
        source.handler = _handler(scope, values["handler"])
    if "owner" in values:
        source.owner = _owner(source, scope=scope, username=values["owner"])
    if scope.administers != "everything" and not hosts_of(source) <= hosts:
        source.options = {name: value for name, value in source.options.items() if name != "allow_private"}
    _settings_check(source)
    if source.enabled and (not was_enabled or source.owner_id != was_of):
        owner_check(source)
    # what stays as it is was permitted once, and each run asks again: a place that was withdrawn blocks no other change
    if (
        source.pk is None
        or source.location != was_at
        or source.settings != was_set
        or _is_private(source) != was_private
    ):
        is_of_owner = scope.administers == "nothing" and source.location != was_at
        permission_check(source, for_owner=is_of_owner)


def addresses_check(*, scope: Scope, addresses: str) -> None:
    """Whether the asker may make a source of these web pages, one a line. Raises UrlNotAllowedError."""
    draft = Source(tenant_id=scope.tenant_id, kind=Source.Kind.URL, location=addresses)
    permission_check(draft, for_owner=scope.administers == "nothing")


def _lists_others(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether other items are taken than before, or what is gone is deleted from now on."""
    return any(
        before.get(name) != after.get(name) for name in ("include", "exclude", "max_documents", "delete_missing")
    )


def _is_private(source: Source) -> bool:
    return bool(source.options.get("allow_private"))


def _settings_check(source: Source) -> None:
    """Whether kind, schedule and location go together."""
    if source.schedule != Schedule.MANUAL and source.kind not in LISTED_KINDS:
        raise SourceSettingsError("no_schedule")
    if source.kind not in LISTED_KINDS:
        if source.location:
            raise SourceSettingsError("no_location")
    elif not source.location.strip():
        raise SourceSettingsError("location_missing")


def _options(source: Source, *, scope: Scope, given: Mapping[str, Any]) -> dict[str, Any]:
    """Checked, and stored without what is as by default. Private addresses are for platform administrators."""
    private = _is_private(source)
    options = strictly(SourceOptions, {"allow_private": private, **given})
    if options.allow_private != private and scope.administers != "everything":
        raise NotAllowedError("private_addresses")
    clearance_check(scope=scope, clearance=max(options.clearance, options.clearance_floor))
    if options.people != source.options.get("people", {}) and (
        unknown := table_faults(tenant_id=source.tenant_id, table=options.people)
    ):
        raise UnknownPeopleError("names", field="options", unknown=unknown)
    usual = asdict(SourceOptions())
    stored = {name: value for name, value in asdict(options).items() if value != usual[name]}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in stored.items()}


def _settings(source: Source, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of its kind of connector, checked. Raises SourceSettingsError, InvalidOptionsError."""
    kind = connector_kinds().get(source.kind)
    if kind is None:
        if settings:
            raise SourceSettingsError("no_settings")
        return {}
    return settings_checked(kind, settings)


def _handler(scope: Scope, code: str | None) -> SourceHandler | None:
    if not code:
        return None
    handler = handlers_listed(scope=scope).filter(code=code).first()
    if handler is None:
        raise SourceSettingsError("handler", code=code)
    return handler


def _owner(source: Source, *, scope: Scope, username: str | None) -> User | None:
    """Administrators hand a source to anybody of its tenant, owners their own source too."""
    if not username:
        if scope.administers == "nothing":
            raise SourceSettingsError("owner_missing")
        return None
    owner = User.objects.filter(username=username, tenant_id=source.tenant_id, is_active=True).first()
    if owner is None:
        raise UnknownPeopleError("owner", field="owner", unknown=[username])
    return owner


def _save(source: Source, fields: list[str] | None = None) -> None:
    """Within a savepoint: the unique constraint decides about the name, also between two requests."""
    try:
        with transaction.atomic():
            source.save(update_fields=fields)
    except IntegrityError as error:
        raise NameTakenError("source_name", name=source.name) from error


# ── folders named on the command line ─────────────────────────────────────────────────────────────


@transaction.atomic
def folder_source_ensure(
    *, scope: Scope, actor: User, name: str, folder: Path, set_id: int, delete_missing: bool
) -> Source:
    """The folder source of this name, made if it is new, and the set composed of it, whole unless it has a filter.

    Nobody asks whether the tenant has the folder: who runs commands here can read it anyway. Runs from elsewhere ask.
    Raises NotFoundError, NotAllowedError for the set, NameTakenError where the name is another source's.
    """
    chosen = set_owned(scope=scope, set_id=set_id)
    location = str(folder.resolve())
    values = {"kind": Source.Kind.FOLDER, "location": location, "owner": actor}
    source, is_new = Source.objects.get_or_create(tenant_id=chosen.tenant_id, name=name[:128], defaults=values)
    if (source.kind, source.location) != (Source.Kind.FOLDER, location):
        raise NameTakenError("source_name", name=name)
    if bool(source.options.get("delete_missing")) != delete_missing:
        source.options = {**source.options, "delete_missing": delete_missing}
        source.save(update_fields=["options"])
    _, composed = SetSource.objects.get_or_create(knowledge_set=chosen, source=source)
    if composed and not is_new:
        sources_settle_soon(source_ids=[source.pk])
    return source
