"""Checks that the tenant still has the folder or hosts of a source."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db import transaction

from accounts.error_messages import error_message
from accounts.models import AuditEvent, User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.connectors import connector_kinds
from knowledge.errors import FolderNotAllowedError, SourcePausedError, SourceUnownedError
from knowledge.models import IngestJob, Source, SourcePlace
from knowledge.selectors.sets import source_managed
from knowledge.services.places import folder_allowed
from knowledge.services.sources.connectors import connector_of
from knowledge.services.sources.ownership import owner_check
from knowledge.services.sources.sync_runs import CHANGES, LISTED_KINDS, run_open, runs_open
from knowledge.services.sources.web import hosts_of, location_check
from ragcore.errors import RagError, UrlNotAllowedError
from ragcore.fetching import AddressPolicy

EVENTS_READ = 200  # of the latest places that were withdrawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Why a source is not read: its place is not allowed (any more), or nobody answers for it."""

    error: RagError
    location: str = ""  # that was withdrawn; "": not known
    time: datetime | None = None
    actor: str = ""  # user name of who has withdrawn it
    is_of_place: bool = True

    @property
    def words(self) -> str:
        """Why, and what to do, in the language of the reader."""
        return error_message(self.error)


def permission_check(source: Source, *, for_owner: bool = False) -> None:
    """`for_owner`: an owner has chosen the location, who may use fewer folders than administrators.

    Raises FolderNotAllowedError, UrlNotAllowedError, SourceSettingsError.
    """
    if source.kind == Source.Kind.FOLDER:
        folder_allowed(source.location, tenant_id=source.tenant_id, for_owner=for_owner)
    elif source.kind in connector_kinds():
        connector_of(source, for_owner=for_owner).allowed()
    elif source.kind in LISTED_KINDS:
        location_check(source)


def source_pause(source: Source) -> Pause | None:
    """Why a source is not read now, with who has withdrawn its place as far as that is known; None: it is read."""
    try:
        owner_check(source)
        permission_check(source)
    except SourceUnownedError as error:
        return Pause(error=error, is_of_place=False)
    except (FolderNotAllowedError, UrlNotAllowedError) as error:
        event = _withdrawal(source)
        if event is None:
            return Pause(error=error)
        return Pause(error=error, location=event.target, time=event.at, actor=event.actor_name)
    return None


@transaction.atomic
def source_run_start(*, scope: Scope, actor: User, source_id: int, mode: str = CHANGES) -> IngestJob:
    """Run a source now; returns the waiting or running job instead of starting a second one. `mode`: see run_open.

    Raises NotFoundError, NotAllowedError, SourcePausedError where a run could read nothing.
    """
    source = source_managed(scope=scope, source_id=source_id)
    if (pause := source_pause(source)) is not None:
        raise SourcePausedError("because", problem=pause.error)
    Source.objects.select_for_update().get(pk=source.pk)
    if (run := runs_open().filter(job__source=source).first()) is not None:
        return run.job
    audit_record(actor=actor, action="source.run", target=source.name, source=source.pk, mode=mode)
    return run_open(sources=[source], actor=actor, trigger="person", mode=mode)


def _withdrawal(source: Source) -> AuditEvent | None:
    """The latest act by which a place of the source was withdrawn from its tenant."""
    kind = SourcePlace.Kind.FOLDER if source.kind == Source.Kind.FOLDER else SourcePlace.Kind.HOST
    events = AuditEvent.objects.filter(action="place.take", data__kind=kind, data__tenant=source.tenant.name).order_by(
        "-at"
    )[:EVENTS_READ]
    return next((event for event in events if _covers(event.target, source)), None)


def _covers(location: str, source: Source) -> bool:
    """Whether a folder, host or network is where the source is."""
    if source.kind == Source.Kind.FOLDER:
        return Path(source.location).resolve().is_relative_to(Path(location))
    policy = AddressPolicy.of([location])
    return any(policy.covers(host) for host in hosts_of(source))
