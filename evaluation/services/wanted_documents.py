"""Documents that are missing: owners of a knowledge set are asked for them, and say what became of it."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import person_name
from accounts.services import audit_record
from evaluation.models import WantedDocument
from feedback.models import BadCase
from feedback.selectors import cases_reviewable
from feedback.services import is_reviewing
from knowledge.selectors import sets_managed, sets_readable
from knowledge.services.access_requests import deciders_of
from notifications.kinds import notification_kind
from notifications.services import notification_send

State = WantedDocument.State
WANTED = notification_kind(
    "document_wanted", gettext_noop("%(person)s asks for a document in the knowledge set “%(set)s”: %(text)s")
)
WANTED_ADDED = notification_kind(
    "document_added", gettext_noop("The document that you asked for in “%(set)s” was added.")
)
WANTED_DECLINED = notification_kind(
    "document_declined", gettext_noop("The document that you asked for in “%(set)s” will not be added.")
)
MOST_TOLD = 300  # characters


def wanted_documents_shown(*, scope: Scope) -> QuerySet[WantedDocument]:
    """Requests that the person made, and those to the sets that they own."""
    mine = sets_managed(scope=scope).order_by().values("pk")
    rows = WantedDocument.objects.filter(Q(asked_by=scope.user_id) | Q(knowledge_set__in=mine))
    if scope.administers != "everything":
        rows = rows.filter(knowledge_set__tenant_id=scope.tenant_id)
    return rows.select_related("knowledge_set", "asked_by", "closed_by")


@transaction.atomic
def wanted_document_ask(*, scope: Scope, actor: User, case: BadCase | None, set_id: int, text: str) -> WantedDocument:
    """Ask the owners of a set, or the administrators where it has none. Raises NotFoundError for a hidden set."""
    row = sets_readable(scope=scope).filter(pk=set_id, tenant_id=scope.tenant_id).first()
    if row is None:
        raise NotFoundError("set", set=set_id)
    wanted = WantedDocument.objects.create(knowledge_set=row, case=case, text=text[:1000], asked_by=actor)
    data = {"person": person_name(actor), **row.told_names, "text": wanted.text[:MOST_TOLD]}
    notification_send(recipients=deciders_of(row), kind=WANTED, data=data, link=_link())
    return wanted


@transaction.atomic
def wanted_document_withdraw(*, scope: Scope, actor: User, wanted_id: int) -> None:
    """Take an open request of one's own back, or one of a case that one reviews. Raises NotFoundError."""
    wanted = WantedDocument.objects.select_for_update().filter(pk=wanted_id).first()
    if wanted is None or (wanted.asked_by_id != actor.pk and not _reviews(scope, actor, wanted)):
        raise NotFoundError
    _close(wanted, actor=actor, state=State.WITHDRAWN)


def _reviews(scope: Scope, actor: User, wanted: WantedDocument) -> bool:
    found = cases_reviewable(scope=scope, is_reviewer=is_reviewing(actor))
    return wanted.case_id is not None and found.filter(pk=wanted.case_id).exists()


@transaction.atomic
def wanted_document_close(*, scope: Scope, actor: User, wanted_id: int, state: str) -> WantedDocument:
    """An owner says that the document was added, or will not be; who asked is told. Raises NotFoundError."""
    wanted = _locked(scope, wanted_id)
    if not sets_managed(scope=scope).filter(pk=wanted.knowledge_set_id).exists():
        raise NotFoundError
    if _close(wanted, actor=actor, state=State.ADDED if state == State.ADDED else State.DECLINED):
        audit_record(actor=actor, action="wanted_document.close", target=wanted.knowledge_set.code, state=wanted.state)
        people = [wanted.asked_by] if wanted.asked_by is not None and wanted.asked_by.pk != actor.pk else []
        kind = WANTED_ADDED if wanted.state == State.ADDED else WANTED_DECLINED
        notification_send(recipients=people, kind=kind, data=wanted.knowledge_set.told_names, link=_link())
    return wanted


def _locked(scope: Scope, wanted_id: int) -> WantedDocument:
    rows = wanted_documents_shown(scope=scope).filter(pk=wanted_id).select_for_update(of=("self",))
    found = rows.first()
    if found is None:
        raise NotFoundError
    return found


def _close(wanted: WantedDocument, *, actor: User, state: str) -> bool:
    if wanted.state != State.OPEN:
        return False
    wanted.state, wanted.closed, wanted.closed_by = state, timezone.now(), actor
    wanted.save(update_fields=["state", "closed", "closed_by"])
    return True


def _link() -> str:
    return reverse("admin:evaluation_wanteddocument_changelist")
