"""Versions of all kinds: brought into use and taken out of it, each in one transaction.

A kind is one class in one file of the folder `versions` of an app. A version that was never in use passes its gate
first (`version_gate`), which may have it measured; one that was in use comes back at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from ragcore.errors import PermanentError
from work.models import Job, Version
from work.models import State as JobState
from work.registry import KindRegistry

VersionT = TypeVar("VersionT", bound=Version)
Gate = Callable[[Any, User], None]  # of a version and who brings it into use; raises where it is measured first
State, Reason = Version.State, Version.Reason
ENDED: Mapping[str, str] = {JobState.FAILED: Reason.FAILED, JobState.CANCELLED: Reason.CANCELLED}

VERSION_KINDS: KindRegistry[VersionKind[Any]] = KindRegistry("versions", what="versions")
version_kind, version_kind_get, version_kinds = VERSION_KINDS.register, VERSION_KINDS.get, VERSION_KINDS.all

_GATES: dict[str, Gate] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStep:
    """What people may do with a version that is in one of these states."""

    states: tuple[str, ...]
    label: Any  # of the button
    message: Any  # what is said then
    act: Callable[[str, Scope, User, Version], object]  # of the kind of this name; raises RagError


class VersionKind(ABC, Generic[VersionT]):
    """One kind of versions. `subject` of a version: the columns that say what it is a version of."""

    name: ClassVar[str]
    label: ClassVar[Any]  # for people, translated
    model: ClassVar[type[Version]]
    of: ClassVar[tuple[str, ...]]  # names of the columns of a subject
    acts: ClassVar[str]  # first part of the names of its acts in the audit log
    steps: ClassVar[Mapping[str, VersionStep] | None] = None  # of people, by name; None: STEPS
    error: ClassVar[type[PermanentError]]  # with the reasons "in_use", "not_in_use" and "unusable"

    @abstractmethod
    def managed(self, *, scope: Scope) -> QuerySet[VersionT]:
        """Versions that the asker may see and switch, the latest first. Raises NotAllowedError."""

    @abstractmethod
    def get(self, *, scope: Scope, version_id: int) -> VersionT:
        """One of them. Raises NotFoundError, NotAllowedError."""

    @abstractmethod
    def lock(self, *, scope: Scope, subject: Mapping[str, Any]) -> None:
        """Nobody else switches versions of the subject until the end of the transaction. Raises NotAllowedError."""

    @abstractmethod
    def changed(self, version: VersionT) -> None:
        """Called in the transaction in which a version comes into use or leaves it: what was made before is stale."""

    def subject_words(self, version: VersionT) -> str:
        """What it is a version of; "" where a tenant has one."""
        return ""

    def target(self, version: VersionT) -> str:
        """How the audit log names it."""
        return str(version.number)

    def check(self, version: VersionT, *, scope: Scope) -> None:
        """Raises where it cannot be used as things are now."""
        return

    def panel(self, version: VersionT) -> list[tuple[Any, Any]]:
        """Further (label, value) rows of the page of a version."""
        return []

    def subject(self, version: VersionT) -> dict[str, Any]:
        """Column → value."""
        return {name: getattr(version, name) for name in self.of}


def version_gate(name: str) -> Callable[[Gate], Gate]:
    """Registers what guards a kind; an app above does."""

    def registered(gate: Gate) -> Gate:
        _GATES[name] = gate
        return gate

    return registered


def version_activate(
    *, kind: str, scope: Scope, actor: User, version_id: int, reason: str = "", is_measured: bool = False
) -> Any:
    """Bring a version into use; the one that was in use is kept, and comes back the same way.

    `reason`: why, for the audit log. `is_measured`: it has passed the gate. Call it outside of a transaction, unless it
    is measured. Raises NotFoundError, NotAllowedError, errors of the kind, and what its gate raises.
    """
    of_kind = version_kind_get(kind)
    version = of_kind.get(scope=scope, version_id=version_id)
    if version.state == State.READY and not is_measured and kind in _GATES:
        _GATES[kind](version, actor)
    with transaction.atomic():
        subject = of_kind.subject(version)
        of_kind.lock(scope=scope, subject=subject)
        version = of_kind.get(scope=scope, version_id=version_id)  # as it is now
        if version.state == State.LIVE:
            raise of_kind.error("in_use")
        if version.state not in version.USABLE:
            raise of_kind.error("unusable")
        of_kind.check(version, scope=scope)
        version_use(of_kind, version)
        _audit(of_kind, version, actor, "switch_on", reason=reason)
    return of_kind.get(scope=scope, version_id=version_id)


@transaction.atomic
def version_roll_back(*, kind: str, scope: Scope, actor: User, subject: Mapping[str, Any]) -> Any:
    """Take what is in use out of it: what the software has built in holds again. The version is kept.

    Raises NotFoundError, NotAllowedError, and the kind's error where nothing is in use.
    """
    of_kind = version_kind_get(kind)
    rows = of_kind.managed(scope=scope)
    of_kind.lock(scope=scope, subject=subject)
    version = rows.filter(**subject, state=State.LIVE).first()
    if version is None:
        raise of_kind.error("not_in_use")
    _retire(of_kind, subject)
    of_kind.changed(version)
    _audit(of_kind, version, actor, "switch_off")
    return of_kind.get(scope=scope, version_id=version.pk)


def version_use(kind: VersionKind[Any], version: Version) -> None:
    """The switch itself, in a transaction that has locked the subject."""
    _retire(kind, kind.subject(version))
    kind.model._default_manager.filter(pk=version.pk).update(state=State.LIVE, live_since=timezone.now())
    kind.changed(version)


def version_follow(rows: QuerySet[Any], job: Job, **emptied: object) -> None:
    """A version ends with its job, and is built again where somebody tries the job again. `emptied`: columns that do
    not outlive the job. `rows`: the version.
    """
    if (why := ENDED.get(job.state)) is not None:
        rows.filter(state=State.BUILDING).update(state=State.DROPPED, reason=why, **emptied)
    else:
        rows.filter(state=State.DROPPED, reason__in=ENDED.values()).update(state=State.BUILDING, reason="")


def version_words(kind: str, version: Version) -> str:
    """What it is a version of, and its number."""
    return f"{version_kind_get(kind).subject_words(version)} {version.number}".strip()


def _retire(kind: VersionKind[Any], subject: Mapping[str, Any]) -> None:
    kind.model._default_manager.filter(**subject, state=State.LIVE).update(state=State.RETIRED)


def _audit(kind: VersionKind[Any], version: Version, actor: User, act: str, **more: str) -> None:
    action = f"{kind.acts}.{act}"
    audit_record(actor=actor, action=action, target=kind.target(version), version=version.number, **more)


def _activate(kind: str, scope: Scope, actor: User, version: Version) -> object:
    return version_activate(kind=kind, scope=scope, actor=actor, version_id=version.pk)


def _roll_back(kind: str, scope: Scope, actor: User, version: Version) -> object:
    subject = version_kind_get(kind).subject(version)
    return version_roll_back(kind=kind, scope=scope, actor=actor, subject=subject)


STEPS: Final[Mapping[str, VersionStep]] = MappingProxyType(
    {
        "activate": VersionStep(
            states=(State.READY, State.RETIRED),
            label=_("Switch on"),
            message=_("This version is in use now."),
            act=_activate,
        ),
        "roll_back": VersionStep(
            states=(State.LIVE,),
            label=_("Switch off"),
            message=_("This version is not in use any more."),
            act=_roll_back,
        ),
    }
)
