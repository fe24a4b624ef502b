"""Folders and private hosts of tenants: which they may use, and how a platform administrator gives them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.errors import MissingRightError, NameTakenError, NotAllowedError
from accounts.models import Tenant, User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.access_errors import PlaceInvalidError
from knowledge.errors import FolderNotAllowedError, UnknownTenantError
from knowledge.model_setup import registry_changed
from knowledge.models import Source, SourcePlace
from knowledge.rights import PLACES_MANAGE
from knowledge.services.floors import source_floor_apply

Kind = SourcePlace.Kind
FIELDS = ("tenant", "kind", "location", "clearance_floor", "for_owners")


def places_usable(*, scope: Scope, tenant_id: int, kind: str) -> list[str]:
    """Locations that the asker may use for sources of a tenant."""
    if scope.administers != "everything" and scope.tenant_id != tenant_id:
        return []
    return _locations(tenant_id, kind, for_owner=scope.administers == "nothing")


def hosts_allowed(*, tenant_id: int) -> list[str]:
    """Hosts and networks whose private addresses may be fetched for the tenant."""
    return _locations(tenant_id, Kind.HOST)


def folder_allowed(location: str, *, tenant_id: int, for_owner: bool = False) -> Path:
    """The real folder of a location below one that the tenant has; `for_owner`: that its owners may use.

    Raises FolderNotAllowedError.
    """
    folder = Path(location)
    if not folder.is_absolute():
        raise FolderNotAllowedError("relative")
    real = folder.resolve()
    allowed = _locations(tenant_id, Kind.FOLDER, for_owner=for_owner)
    if not any(real.is_relative_to(Path(folder).resolve()) for folder in allowed):
        raise FolderNotAllowedError
    if not real.is_dir():
        raise FolderNotAllowedError("missing")
    return real


def _locations(tenant_id: int, kind: str, *, for_owner: bool = False) -> list[str]:
    rows = SourcePlace.objects.filter(tenant_id=tenant_id, kind=kind)
    if for_owner:
        rows = rows.filter(for_owners=True)
    locations = list(rows.order_by("location").values_list("location", flat=True))
    if not Tenant.objects.filter(pk=tenant_id, is_default=True).exists():
        return locations
    by_operator = settings.SOURCE_FOLDERS if kind == Kind.FOLDER else settings.FETCH_ALLOWED_HOSTS
    return [*by_operator, *locations]


# ── giving ──────────────────────────────────────────────────────────────────────────────────────


def place_give(*, scope: Scope, actor: User, tenant: str | None, values: Mapping[str, Any]) -> SourcePlace:
    """Give a place to the tenant of this name, None: to the actor's own.

    Raises MissingRightError, UnknownTenantError, PlaceInvalidError, NameTakenError.
    """
    if not administers(scope=scope, doing=PLACES_MANAGE):
        raise MissingRightError("give_places")
    home = actor.tenant if tenant is None else Tenant.objects.filter(name=tenant).first()
    if home is None:
        raise UnknownTenantError("name", tenant=tenant)
    return place_save(scope=scope, actor=actor, place=SourcePlace(), values={**values, "tenant": home})


@transaction.atomic
def place_save(*, scope: Scope, actor: User, place: SourcePlace, values: Mapping[str, Any]) -> SourcePlace:
    """Give a tenant a new place, or change one: fields of FIELDS. A higher floor raises the documents that are there.

    Raises NotAllowedError, PlaceInvalidError, NameTakenError.
    """
    _manage_check(scope)
    is_new = place.pk is None
    changed = [name for name in FIELDS if name in values and (is_new or getattr(place, name) != values[name])]
    for name in changed:
        setattr(place, name, values[name])
    place.location = place_location_read(kind=place.kind, location=place.location)
    if is_new:
        place.created_by = actor
    try:
        with transaction.atomic():
            place.save()
    except IntegrityError as error:
        raise NameTakenError("place", name=place.location) from error
    _record(actor, "place.give" if is_new else "place.change", place, fields=changed)
    if place.kind == Kind.HOST:  # model servers may be there
        registry_changed()
    for source in Source.objects.filter(tenant=place.tenant_id, kind=Source.Kind.FOLDER).order_by("pk"):
        source_floor_apply(actor=actor, source=source)
    return place


@transaction.atomic
def place_take(*, scope: Scope, actor: User, place: SourcePlace) -> None:
    """Take a place back: sources do not read it any more; documents from it stay. Raises NotAllowedError."""
    _manage_check(scope)
    _record(actor, "place.take", place)
    place.delete()
    if place.kind == Kind.HOST:
        registry_changed()


def place_location_read(*, kind: str, location: str) -> str:
    """A location in its plain form. Raises PlaceInvalidError.

    Folders lie below those that the operator names: whoever administers the site does not read the whole machine.
    """
    text = location.strip()
    return _host_read(text) if kind == Kind.HOST else _folder_read(text)


def _host_read(text: str) -> str:
    from ragcore.fetching import AddressPolicy

    try:
        policy = AddressPolicy.of([text])
    except ValueError as error:
        raise PlaceInvalidError("host") from error
    if not (policy.hosts or policy.networks):
        raise PlaceInvalidError("host")
    return text.lower()


def _folder_read(text: str) -> str:
    if "\x00" in text or not Path(text).is_absolute():
        raise PlaceInvalidError("folder")
    real, data = Path(text).resolve(), Path(settings.DATA_DIR).resolve()
    if real.is_relative_to(data) or data.is_relative_to(real):
        raise PlaceInvalidError("data")
    roots = (Path(folder).resolve() for folder in (*settings.SOURCE_FOLDERS, *settings.GRANTABLE_FOLDERS))
    if not any(real.is_relative_to(root) for root in roots):
        raise PlaceInvalidError("outside")
    return str(real)


def _manage_check(scope: Scope) -> None:
    if not administers(scope=scope, doing=PLACES_MANAGE):
        raise NotAllowedError


def _record(actor: User, action: str, place: SourcePlace, **data: Any) -> None:
    audit_record(
        actor=actor,
        action=action,
        target=place.location,
        tenant=place.tenant.name,
        kind=place.kind,
        floor=place.clearance_floor,
        for_owners=place.for_owners,
        **data,
    )
