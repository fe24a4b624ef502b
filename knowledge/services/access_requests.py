"""Ask for access to a knowledge set, and decide: request → an owner approves or declines, both are told."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import person_name
from accounts.services import audit_record
from knowledge.access_errors import AccessDecidedError, AccessNotNeededError, DeclineReasonError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import AccessRequest, KnowledgeSet
from knowledge.selectors import sets_listed, sets_readable
from knowledge.selectors.access_requests import request_get, requests_of, requests_to_decide
from notifications.kinds import notification_kind
from notifications.services import notification_send

State = AccessRequest.State

REQUESTED = notification_kind(
    "access.requested", gettext_noop("%(person)s requests access to the knowledge set “%(set)s”.")
)
APPROVED = notification_kind(
    "access.approved", gettext_noop("You now have access to the knowledge set “%(set)s”. %(answer)s")
)
DECLINED = notification_kind(
    "access.declined", gettext_noop("Your request for access to the knowledge set “%(set)s” was declined: %(answer)s")
)


@transaction.atomic
def access_request_create(*, scope: Scope, actor: User, set_id: int, reason: str = "") -> AccessRequest:
    """Ask to become a member of a set of one's own tenant; an open request is answered again instead of a second one.

    Its owners are told, or the administrators of a set without any. Raises NotFoundError, AccessNotNeededError.
    """
    knowledge_set = sets_listed(scope=scope).filter(pk=set_id, tenant_id=scope.tenant_id).first()
    if knowledge_set is None:
        raise NotFoundError("set", set=set_id)
    if sets_readable(scope=scope).filter(pk=set_id).exists():
        raise AccessNotNeededError
    try:
        with transaction.atomic():  # the constraint decides, also between two requests
            request = AccessRequest.objects.create(knowledge_set=knowledge_set, user=actor, reason=reason)
    except IntegrityError:
        return AccessRequest.objects.get(knowledge_set=knowledge_set, user=actor, state=State.OPEN)
    audit_record(
        actor=actor, action="access.request", target=knowledge_set.code, set=knowledge_set.pk, request=request.pk
    )
    data = {"person": person_name(actor), **knowledge_set.told_names}
    notification_send(recipients=deciders_of(knowledge_set), kind=REQUESTED, data=data, link=request_link(request))
    return request


def deciders_of(row: KnowledgeSet) -> list[User]:
    """People who decide a request: the set's owners, else tenant administrators, else platform administrators."""
    people = User.objects.filter(is_active=True, is_service=False)
    admins = people.filter(is_staff=True, is_superuser=True)
    for group in (people.filter(owned_sets=row), admins.filter(tenant_id=row.tenant_id)):
        if owners := list(group):
            return owners
    return list(admins.filter(tenant__is_default=True))


def access_request_approve(*, scope: Scope, actor: User, request_id: int, answer: str = "") -> AccessRequest:
    """Make the person a member. Raises NotFoundError, AccessDecidedError."""
    return _decide(scope=scope, actor=actor, request_id=request_id, state=State.APPROVED, answer=answer)


def access_request_decline(*, scope: Scope, actor: User, request_id: int, answer: str) -> AccessRequest:
    """Decline with a reason, which the person is told. Raises NotFoundError, AccessDecidedError, DeclineReasonError."""
    if not answer.strip():
        raise DeclineReasonError
    return _decide(scope=scope, actor=actor, request_id=request_id, state=State.DECLINED, answer=answer)


@transaction.atomic
def access_request_withdraw(*, scope: Scope, actor: User, request_id: int) -> AccessRequest:
    """Take back one's own request. Raises NotFoundError, AccessDecidedError."""
    if not requests_of(scope=scope).filter(pk=request_id).exists():
        raise NotFoundError("access_request")
    request = _open(request_id)
    request.state, request.decided = State.WITHDRAWN, timezone.now()
    request.save(update_fields=["state", "decided"])
    audit_record(actor=actor, action="access.withdraw", target=request.knowledge_set.code, request=request.pk)
    return request


@transaction.atomic
def _decide(*, scope: Scope, actor: User, request_id: int, state: AccessRequest.State, answer: str) -> AccessRequest:
    if not requests_to_decide(scope=scope).filter(pk=request_id).exists():
        raise NotFoundError("access_request")
    request = _open(request_id)
    if request.user.tenant_id != request.knowledge_set.tenant_id:  # they have moved since
        raise NotFoundError("access_request")
    request.state, request.answer, request.decided_by, request.decided = state, answer.strip(), actor, timezone.now()
    request.save(update_fields=["state", "answer", "decided_by", "decided"])
    knowledge_set = request.knowledge_set
    is_approved = state == State.APPROVED
    if is_approved:
        knowledge_set.members.add(request.user)
        epoch_advance(tenant_id=knowledge_set.tenant_id, sets=[knowledge_set.pk])
    action = "access.approve" if is_approved else "access.decline"
    details = {"set": knowledge_set.pk, "request": request.pk, "user": request.user.username}
    audit_record(actor=actor, action=action, target=knowledge_set.code, **details)
    kind, link = (APPROVED, reverse("chat:home")) if is_approved else (DECLINED, reverse("knowledge:sets"))
    data = {**knowledge_set.told_names, "answer": request.answer}
    notification_send(recipients=[request.user], kind=kind, data=data, link=link)
    return request_get(scope=scope, request_id=request.pk)


def _open(request_id: int) -> AccessRequest:
    """The request, locked. Raises AccessDecidedError."""
    rows = AccessRequest.objects.select_for_update(of=("self",)).select_related("knowledge_set", "user")
    request = rows.get(pk=request_id)
    if request.state != State.OPEN:
        raise AccessDecidedError
    return request


def request_link(row: AccessRequest) -> str:
    return reverse("knowledge:access-request", args=[row.pk])
