"""Votes, signals of use, bad cases, and ratings of cited documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Avg, Case, Count, Exists, F, FloatField, OuterRef, Value, When
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.models import User
from accounts.roles import REVIEW_PERMISSION
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from chat.models import Message, MessageCitation
from chat.selectors import message_get
from feedback.errors import NothingSaidError
from feedback.features import answer_cosine, answer_features
from feedback.models import BadCase, CaseMove, Signal, Vote
from feedback.queue import QUEUES, RATE_DOCUMENTS
from feedback.selectors import case_get, cases_reviewable
from knowledge.queue import enqueue_on_commit
from knowledge.services.document_weights import document_ratings_apply
from notifications.kinds import notification_kind
from notifications.services import notification_send
from ragcore.extractive.generator import ExtractiveGenerator

CASE_REOPENED = notification_kind(
    "case_reopened",
    gettext_noop("A user is still not satisfied: the closed feedback case “%(question)s” is open again."),
)

BEST, WORST = 5.0, 1.0
MOST_OF_COMPLAINTS = 2  # of 5
SIGNALS_OF_CASES = (Signal.Kind.STOP, Signal.Kind.REWORD)

GIVEN = Coalesce(
    F("rating"),
    Case(When(vote=Vote.Direction.UP, then=Value(BEST)), default=Value(WORST)),
    output_field=FloatField(),
)


def case_open(*, message: Message, actor: User) -> BadCase:
    """The case of an answer, open; one in work stays so. Needs a transaction.

    A closed one is opened again, and never silently: who closed it is told, and the case keeps when it happened.
    """
    case_ensure(message=message, origin=BadCase.Origin.VOTE)
    case = BadCase.objects.select_for_update().get(message=message)
    if case.state == BadCase.State.CLOSED:
        case.state, case.closed, case.reopened = BadCase.State.OPEN, None, timezone.now()
        case.resolution = ""
        case.save(update_fields=["state", "closed", "reopened", "resolution"])
        CaseMove.objects.create(case=case, actor=actor, before=BadCase.State.CLOSED, after=case.state)
        audit_record(actor=actor, action="case.reopen", target=f"#{case.pk}", case=case.pk)
        _tell_reviewers(case)
    return case


def case_ensure(*, message: Message, origin: str) -> bool:
    """Open a case unless the answer has one, open or closed; whether it is new. Needs a transaction."""
    values = {"origin": origin, "features": answer_features(message)}
    return BadCase.objects.get_or_create(message=message, defaults=values)[1]


def _tell_reviewers(case: BadCase) -> None:
    """Who worked on it or closed it, as long as they may still review it."""
    people = [case.assignee] if case.assignee is not None and _may_review(case.assignee, case) else []
    link = reverse("admin:feedback_badcase_change", args=[case.pk])
    notification_send(recipients=people, kind=CASE_REOPENED, data={"question": str(case.message)}, link=link)


def _may_review(user: User, case: BadCase) -> bool:
    cases = cases_reviewable(scope=scope_for(user), is_reviewer=is_reviewing(user))
    return cases.filter(pk=case.pk).exists()


@transaction.atomic
def case_move(*, actor: User, case: BadCase, state: str, note: str = "", resolution: str = "") -> BadCase:
    """Give a case another state: who takes it into work, or closes it, becomes its reviewer; opening it frees it.

    A reviewer that it has stays. An empty note keeps the old one; each move is kept with its person and note. Moving
    twice changes nothing more. An open case has no resolution; an empty one keeps that of another. Raises NotFoundError
    without the right to review the case.
    """
    target = BadCase.State(state)
    case_get(scope=scope_for(actor), case_id=case.pk, is_reviewer=is_reviewing(actor))
    case = BadCase.objects.select_for_update().get(pk=case.pk)
    before = case.state
    case.state = target
    case.note = note or case.note
    is_resolved = resolution not in ("", case.resolution)
    case.resolution = resolution or case.resolution
    case.closed = (case.closed or timezone.now()) if target == BadCase.State.CLOSED else None
    if target == BadCase.State.IN_WORK or (target == BadCase.State.CLOSED and case.assignee is None):
        case.assignee = actor
    elif target == BadCase.State.OPEN:
        case.assignee, case.resolution = None, ""
    case.save(update_fields=["state", "note", "closed", "assignee", "resolution"])
    if before != target or note or is_resolved:
        CaseMove.objects.create(
            case=case, actor=actor, before=before, after=target, note=note, resolution=case.resolution
        )
    audit_record(actor=actor, action="case.move", target=f"#{case.pk}", case=case.pk, before=before, after=target)
    return case


def is_reviewing(actor: User) -> bool:
    """Whether somebody is staff with the permission to change cases."""
    return actor.is_staff and actor.has_perm(REVIEW_PERMISSION)


@transaction.atomic
def vote_record(
    *,
    scope: Scope,
    user: User,
    message_id: UUID,
    vote: str | None = None,
    rating: int | None = None,
    reasons: Sequence[str] | None = None,
    comment: str | None = None,
) -> Vote:
    """Keep a user's judgement of an answer; a complaint opens a case, also a closed one again.

    A rating alone is a vote: up from 3 of 5. A rating of 1 or 2 opens a case whatever the vote is. What is None stays
    as it was given earlier: a change of the vote erases neither reasons nor comment. A rating goes with the direction
    that it was given for. The same vote down sent again opens nothing again, and a later vote up leaves the case to its
    reviewer. The documents that the answer cites are rated anew.
    Raises NotFoundError; NothingSaidError without vote and rating.
    """
    if vote is None and rating is None:
        raise NothingSaidError
    vote = vote or (Vote.Direction.UP if (rating or 0) > MOST_OF_COMPLAINTS else Vote.Direction.DOWN)
    message = message_get(scope=scope, message_id=message_id)
    earlier = Vote.objects.select_for_update().filter(message=message, user=user).first()
    earlier_values = _said(earlier) if earlier is not None else {}
    new_values = {"vote": vote, "rating": rating, "reasons": reasons, "comment": comment}
    values = {**earlier_values, **{name: value for name, value in new_values.items() if value is not None}}
    if rating is None and earlier_values.get("vote") != vote:
        values["rating"] = None
    if "reasons" in values:
        values["reasons"] = list(dict.fromkeys(values["reasons"]))
    columns = {**values, "features": answer_features(message)}
    recorded, _ = Vote.objects.update_or_create(message=message, user=user, defaults=columns)
    is_complaint = vote == Vote.Direction.DOWN or (recorded.rating or BEST) <= MOST_OF_COMPLAINTS
    if is_complaint and _said(recorded) != earlier_values:
        case_open(message=message, actor=user)
    enqueue_on_commit(RATE_DOCUMENTS, queue=QUEUES[RATE_DOCUMENTS], message_id=str(message.pk))
    return recorded


def _said(vote: Vote) -> dict[str, Any]:
    return {name: getattr(vote, name) for name in ("vote", "rating", "reasons", "comment")}


def is_stop_complaint(message: Message) -> bool:
    """Whether stopping an answer says that it was bad: a language model had written a part of it.

    Who stops before there is any text has changed their mind, and one who stops quotations has read enough.
    """
    is_quoted = message.metadata.get("model") in ("", None, ExtractiveGenerator.name)
    return bool(message.answer.strip()) and not is_quoted


@transaction.atomic
def signal_record(*, scope: Scope, user: User, message_id: UUID, kind: str, value: Any = None) -> Signal | None:
    """Add one signal; each is a row, so that repeated acts count. A reworded answer is a case, and one that was stopped
    while a language model wrote it.

    None, and nothing is kept, where the person does not want it; a reported source is a complaint and always kept.
    Raises NotFoundError.
    """
    message = message_get(scope=scope, message_id=message_id)
    if not user.record_use and kind != Signal.Kind.WRONG_SOURCE:
        return None
    if kind in SIGNALS_OF_CASES and (kind != Signal.Kind.STOP or is_stop_complaint(message)):
        case_ensure(message=message, origin=kind)
    features = answer_features(message)
    return Signal.objects.create(message=message, user=user, kind=kind, value=value, features=features)


def cited_documents_rate(*, message_id: UUID) -> None:
    """Rate every document that an answer cites by all votes on answers that cite it. Twice changes nothing.

    A vote counts with its rating (1 to 5), without one as 5 or 1; once for a document, however often it is cited.
    """
    message = Message.objects.select_related("conversation").filter(pk=message_id).first()
    if message is None:
        return  # deleted with its conversation
    documents = MessageCitation.objects.filter(message=message, cited=True, document__isnull=False)
    ratings = {
        document_id: _rating(document_id) for document_id in set(documents.values_list("document_id", flat=True))
    }
    document_ratings_apply(tenant_id=message.conversation.tenant_id, ratings=ratings)


def judged_answer_measure(*, message_id: UUID) -> None:
    """Keep with every vote on an answer how near it is to its question by meaning. Twice changes nothing.

    Not while somebody votes: the embedding model may be that of a server.
    """
    message = Message.objects.filter(pk=message_id).first()
    votes = Vote.objects.filter(message_id=message_id, features__cosine__isnull=True)
    if message is None or not votes.exists() or (value := answer_cosine(message)) is None:
        return
    with transaction.atomic():
        for vote in votes.select_for_update():
            vote.features["cosine"] = value
            vote.save(update_fields=["features"])


def _rating(document_id: int) -> tuple[float, int]:
    """Mean and number of the votes."""
    cites = MessageCitation.objects.filter(message=OuterRef("message_id"), document_id=document_id, cited=True)
    figures = Vote.objects.filter(Exists(cites)).aggregate(mean=Avg(GIVEN), number=Count("pk"))
    return figures["mean"] or 0.0, figures["number"]
