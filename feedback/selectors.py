"""Reading feedback: for reviewers, never past their own rights."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from chat.models import Conversation, FactCitation, MessageCitation
from chat.selectors import lost_documents
from feedback.models import BadCase, CaseMove, Signal, Vote
from knowledge.selectors import documents_readable, sets_managed, sets_readable
from knowledge.selectors.readers import reader_lists, readers_condition


def cases_reviewable(*, scope: Scope, is_reviewer: bool = False) -> QuerySet[BadCase]:
    """Cases that the asker may work on, newest first.

    Administrators and reviewers (staff with the permission) have the cases of their tenant, owners those whose answer
    was sought in, or cites from, a set of theirs. Nobody but platform administrators sees an answer that rests on
    documents above their clearance, or on purged ones; reviewers none on documents for other readers, and owners none
    that rests on what they may not open.
    """
    cases = BadCase.objects.select_related("message__conversation__user", "assignee").order_by("-created", "-pk")
    if scope.administers == "everything":
        return cases
    cases = cases.filter(message__conversation__tenant_id=scope.tenant_id)
    cited = MessageCitation.objects.filter(message=OuterRef("message_id"))
    if scope.administers == "tenant" or is_reviewer:
        above = Q(document__clearance__gt=scope.clearance)
        if scope.administers == "nothing" and (lists := reader_lists(scope=scope)) is not None:
            above |= ~readers_condition(lists, prefix="document__")
        return cases.exclude(Exists(cited.filter(above))).exclude(lost_documents(message="message_id"))
    return cases.filter(about_sets_of(scope=scope, message="message_id"))


def case_get(*, scope: Scope, case_id: int, is_reviewer: bool = False) -> BadCase:
    """A case that the asker may review. Raises NotFoundError."""
    case = cases_reviewable(scope=scope, is_reviewer=is_reviewer).filter(pk=case_id).first()
    if case is None:
        raise NotFoundError("case", case=case_id)
    return case


def mark_hidden(*, scope: Scope, case: BadCase) -> bool:
    """Whether a document was marked, perhaps one that is gone, which the asker may not open."""
    if case.marked_document_id is None:
        return case.was_marked
    return not documents_readable(scope=scope).filter(pk=case.marked_document_id).exists()


def case_counts(*, scope: Scope, is_reviewer: bool = False) -> dict[str, int]:
    """Reviewable cases by state; every state is there."""
    rows = (
        cases_reviewable(scope=scope, is_reviewer=is_reviewer).order_by().values("state").annotate(number=Count("pk"))
    )
    return {**dict.fromkeys(BadCase.State.values, 0), **{row["state"]: row["number"] for row in rows}}


def moves_of(*, case: BadCase) -> QuerySet[CaseMove]:
    """What was decided about a case that the caller has got from `case_get`, the latest first."""
    return CaseMove.objects.filter(case=case).select_related("actor")


def votes_of(*, case: BadCase) -> QuerySet[Vote]:
    """What readers said about the answer of a case that the caller has got from `case_get`."""
    return Vote.objects.filter(message_id=case.message_id).select_related("user").order_by("-updated")


def signals_of(*, case: BadCase) -> QuerySet[Signal]:
    """What readers did with the answer of a case that the caller has got from `case_get`."""
    return Signal.objects.filter(message_id=case.message_id).order_by("created")


def vote_of(*, scope: Scope, message_id: UUID) -> Vote | None:
    """The asker's own vote on an answer."""
    return Vote.objects.filter(message_id=message_id, user_id=scope.user_id).first()


def about_sets_of(*, scope: Scope, message: str) -> Q:
    """The question was asked in, or the answer cites from, a set that the asker owns; and the answer cites nothing that
    they may not open. `message`: the column of the rows that names the message.
    """
    conversation = f"{message.removesuffix('_id')}__conversation_id" if message != "pk" else "conversation_id"
    sets = sets_managed(scope=scope).order_by().values("pk")
    asked_in = Conversation.sets.through.objects.filter(
        conversation_id=OuterRef(conversation), knowledgeset_id__in=sets
    )
    cited = MessageCitation.objects.filter(message=OuterRef(message))
    hidden = cited.exclude(document__in=documents_readable(scope=scope).order_by().values("pk"))
    facts = FactCitation.objects.filter(message=OuterRef(message))
    closed_facts = facts.exclude(knowledge_set_id__in=sets_readable(scope=scope).order_by().values("pk"))
    is_open = ~Q(Exists(hidden)) & ~Q(Exists(closed_facts)) & ~Q(lost_documents(message=message))
    return (Q(Exists(asked_in)) | Q(Exists(cited.filter(document__sets__in=sets)))) & is_open
