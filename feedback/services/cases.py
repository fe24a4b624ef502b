"""Bad cases: opened by a vote down, moved by reviewers."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from accounts.selectors import scope_for
from accounts.services import audit_record
from chat.models import Message
from feedback.models import BadCase
from feedback.selectors import case_get


def case_open(*, message: Message, actor: User) -> BadCase:
    """The case of an answer, open; one in work stays so, a closed one is opened again. Needs a transaction."""
    BadCase.objects.get_or_create(message=message)
    case = BadCase.objects.select_for_update().get(message=message)
    if case.state == BadCase.State.CLOSED:
        case.state, case.closed = BadCase.State.OPEN, None
        case.save(update_fields=["state", "closed"])
        audit_record(actor=actor, action="case.reopen", target=str(message.pk), case=case.pk)
    return case


@transaction.atomic
def case_move(*, actor: User, case: BadCase, state: str, note: str = "") -> BadCase:
    """Give a case another state: who takes it into work becomes its reviewer, opening it again frees it.

    An empty note keeps the old one. Moving twice changes nothing more. Raises NotFoundError without the right to
    review the case.
    """
    target = BadCase.State(state)
    case_get(scope=scope_for(actor), case_id=case.pk, is_reviewer=_is_reviewer(actor))
    case = BadCase.objects.select_for_update().get(pk=case.pk)
    before = case.state
    case.state = target
    case.note = note or case.note
    case.closed = (case.closed or timezone.now()) if target == BadCase.State.CLOSED else None
    if target == BadCase.State.IN_WORK:
        case.assignee = actor
    elif target == BadCase.State.OPEN:
        case.assignee = None
    case.save(update_fields=["state", "note", "closed", "assignee"])
    audit_record(
        actor=actor, action="case.move", target=str(case.message_id), case=case.pk, before=before, after=target
    )
    return case


def _is_reviewer(actor: User) -> bool:
    return actor.is_staff and actor.has_perm("feedback.change_badcase")
