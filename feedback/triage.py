"""What reviewers do with a case besides moving it: mark, assign, link the fix, tell the asker."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import Permission
from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.roles import REVIEW_PERMISSION
from accounts.selectors import scope_for
from accounts.services import audit_record
from chat.models import MessageCitation
from feedback.errors import MarkHiddenError
from feedback.models import BadCase, CaseMove
from feedback.selectors import case_get, cases_reviewable, mark_hidden
from feedback.services import is_reviewing
from knowledge.models import KnowledgeSet
from knowledge.selectors import documents_readable
from notifications.kinds import notification_kind
from notifications.services import notification_send

CASE_ANSWERED = notification_kind(
    "case_answered", gettext_noop("A reviewer has looked at your question “%(question)s”: %(answer)s")
)
CASE_LOOKED_AT = notification_kind(
    "case_looked_at", gettext_noop("A reviewer has looked at your question “%(question)s”.")
)
CASE_MENDED = notification_kind(
    "case_mended",
    gettext_noop("A reviewer has looked at your question “%(question)s” and changed how it is answered. Ask it again."),
)
CASE_ASSIGNED = notification_kind(
    "case_assigned", gettext_noop("The feedback case “%(question)s” was assigned to you.")
)
MOST_TOLD = 1000  # characters of the right answer
MOST_ACCEPTED = 50  # strings that are added beside a hidden mark, with its own


@transaction.atomic
def case_mark(
    *,
    actor: User,
    case: BadCase,
    document_id: int | None,
    ordinal: int | None,
    right_answer: str,
    accepted: Sequence[str],
) -> BadCase:
    """Keep where the right answer stands, and what it is; what was there is replaced.

    A mark on a document that the actor may not open stays where they name none, with its answers; accepted ones are
    added to it. Raises NotFoundError without the right to review the case, and for a document that the actor may not
    open, MarkHiddenError for a right answer beside a hidden one: its author could not see it again.
    """
    case = _locked(actor, case)
    scope, right_answer = scope_for(actor), right_answer.strip()
    if document_id is not None and not documents_readable(scope=scope).filter(pk=document_id).exists():
        raise NotFoundError("any_document")
    if document_id is None and mark_hidden(scope=scope, case=case):
        if right_answer:
            raise MarkHiddenError
        case.accepted = list(dict.fromkeys([*case.accepted, *accepted]))[:MOST_ACCEPTED]
    else:
        case.marked_document_id, case.marked_ordinal = document_id, ordinal
        case.right_answer, case.accepted = right_answer, list(dict.fromkeys(accepted))
        case.was_marked = document_id is not None
    case.save(update_fields=["marked_document", "marked_ordinal", "was_marked", "right_answer", "accepted"])
    audit_record(actor=actor, action="case.mark", target=f"#{case.pk}", case=case.pk, document=document_id)
    return case


@transaction.atomic
def case_assign(*, actor: User, case: BadCase, assignee: User | None) -> BadCase:
    """Give a case to somebody who may review it, or to nobody; who gets it from somebody else is told.

    Raises NotFoundError without the right to review the case, for the actor or the assignee.
    """
    case = _locked(actor, case)
    if assignee is not None and not _may_review(assignee, case):
        raise NotFoundError("person")
    if case.assignee == assignee:
        return case
    case.assignee = assignee
    case.save(update_fields=["assignee"])
    audit_record(
        actor=actor,
        action="case.assign",
        target=f"#{case.pk}",
        case=case.pk,
        assignee=assignee.username if assignee else "",
    )
    if assignee is not None and assignee.pk != actor.pk:
        link = reverse("admin:feedback_badcase_change", args=[case.pk])
        data = {"question": str(case.message)}
        notification_send(recipients=[assignee], kind=CASE_ASSIGNED, data=data, link=link)
    return case


@transaction.atomic
def case_fix(*, actor: User, case: BadCase, fix: str) -> BadCase:
    """Say what was changed because of a case: words or an address. Raises NotFoundError."""
    case = _locked(actor, case)
    case.fix = " ".join(fix.split())[:500]
    case.save(update_fields=["fix"])
    CaseMove.objects.create(case=case, actor=actor, before=case.state, after=case.state, note=case.fix)
    audit_record(actor=actor, action="case.fix", target=f"#{case.pk}", case=case.pk)
    return case


def asker_message(*, case: BadCase, is_mended: bool) -> tuple[str, dict[str, str]]:
    """Kind and data of what the asker is told: the right answer where they may read its source.

    `is_mended`: something was changed that may answer the question; otherwise asking again would change nothing.
    """
    source = case.marked_document_id
    readable = documents_readable(scope=scope_for(case.message.conversation.user))
    may_read = readable.filter(pk=source).exists() if source is not None else not case.was_marked
    answer = case.right_answer[:MOST_TOLD] if may_read else ""
    without_answer = CASE_MENDED if is_mended else CASE_LOOKED_AT
    return CASE_ANSWERED if answer else without_answer, {"question": str(case.message), "answer": answer}


@transaction.atomic
def asker_tell(*, actor: User, case: BadCase, is_mended: bool) -> bool:
    """Tell the asker that somebody has looked at the question (`asker_message`).

    Whether the answer was told. Raises NotFoundError without the right to review the case.
    """
    case = _locked(actor, case)
    message = case.message
    kind, data = asker_message(case=case, is_mended=is_mended)
    notification_send(
        recipients=[message.conversation.user],
        kind=kind,
        data=data,
        link=f"{reverse('chat:conversation', args=[message.conversation_id])}#turn-{message.pk}",
    )
    case.told = timezone.now()
    case.save(update_fields=["told"])
    audit_record(actor=actor, action="case.tell", target=f"#{case.pk}", case=case.pk, with_answer=bool(data["answer"]))
    return bool(data["answer"])


def reviewers_of(*, case: BadCase) -> list[User]:
    """People to whom a case can be given, by name: those of the tenant for whom `cases_reviewable` has it.

    What it cites is looked up once for all. Asked one by one are only owners of the sets that it is about and, where
    it cites a document that names its readers, reviewers.
    """
    cited = MessageCitation.objects.filter(message_id=case.message_id).order_by()
    has_readers = Q(document__readers__isnull=False) | Q(document__source_readers__isnull=False)
    cites = cited.aggregate(
        clearance=Max("document__clearance"), with_readers=Count("pk", filter=has_readers), number=Count("pk")
    )
    people = _staff(case=case)
    if case.message.document_sources > cites["number"]:  # nobody knows who may read what is gone
        people = people.filter(is_superuser=True, tenant__is_default=True)
    return [
        user
        for user in people
        if _is_among(user, case, clearance=cites["clearance"] or 0, with_readers=cites["with_readers"])
    ]


def _is_among(user: User, case: BadCase, *, clearance: int, with_readers: int) -> bool:
    """`clearance`: of the highest document that the answer cites; `with_readers`: how many name their readers."""
    if user.is_superuser and user.tenant.is_default:
        return True
    is_cleared = user.tenant_id == case.message.conversation.tenant_id and clearance <= user.clearance
    if user.is_superuser or (user.reviews and not with_readers):  # type: ignore[attr-defined]
        return is_cleared
    return is_cleared and (user.reviews or user.keeps) and _may_review(user, case)  # type: ignore[attr-defined]


def _staff(*, case: BadCase) -> QuerySet[User]:
    """Staff by name; `reviews`: has the permission, `keeps`: owns a set that was asked or holds a cited document."""
    app, codename = REVIEW_PERMISSION.split(".")
    permission = Permission.objects.filter(content_type__app_label=app, codename=codename)
    of_person = permission.filter(user=OuterRef("pk"))
    of_group = permission.filter(group__user=OuterRef("pk"))
    is_asked = Q(pk__in=case.message.conversation.sets.order_by().values("pk"))
    cited = Q(documents__in=MessageCitation.objects.filter(message_id=case.message_id).order_by().values("document"))
    about = KnowledgeSet.objects.filter(is_asked | cited, owners=OuterRef("pk")).order_by()
    people = User.objects.filter(
        tenant_id=case.message.conversation.tenant_id, is_staff=True, is_active=True, is_service=False
    )
    people = people.annotate(reviews=Exists(of_person) | Exists(of_group), keeps=Exists(about))
    return people.select_related("tenant").order_by("username")


def _locked(actor: User, case: BadCase) -> BadCase:
    case_get(scope=scope_for(actor), case_id=case.pk, is_reviewer=is_reviewing(actor))
    rows = BadCase.objects.select_for_update(of=("self",)).select_related("message__conversation__user", "assignee")
    return rows.get(pk=case.pk)


def _may_review(user: User, case: BadCase) -> bool:
    cases = cases_reviewable(scope=scope_for(user), is_reviewer=is_reviewing(user))
    return user.is_staff and user.is_active and cases.filter(pk=case.pk).exists()
