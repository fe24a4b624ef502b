"""Publish and withdraw answers that reviewers have approved for a question and its paraphrases.

An approved answer is shown only to people who may find all its sources at that moment, and only as long as every source
is the passage that it was when the answer was approved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.compiled_queries import CompiledQuery
from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from chat.errors import FactsNotApprovableError, NotApprovableError
from chat.models import ApprovedAnswer, ApprovedSource, Message
from knowledge.models import Chunk
from knowledge.selectors import documents_readable, sets_managed
from notifications.kinds import notification_kind
from notifications.services import notification_send
from ragcore.grounding.source_texts import MARKER
from ragcore.text.normalise import normalise_query
from ragcore.understanding.same_question import question_form

APPROVED_WITHDRAWN = notification_kind(
    "approved_withdrawn",
    gettext_noop("Your approved answer to “%(question)s” is not shown any more: a source has changed or was deleted."),
)
APPROVED_REPLACED = notification_kind(
    "approved_replaced",
    gettext_noop("Your approved answer to “%(question)s” was replaced by another one."),
)
MOST_SOURCES = 10
MOST_PARAPHRASES = 20
LONGEST_ANSWER = 4000  # characters
LONGEST_DAYS, DEFAULT_DAYS = 730, 180
Withdrawal = ApprovedAnswer.Withdrawal


def question_key(text: str) -> str:
    """What a question asks, by the rules of the semantic cache: equal keys mean the same question.

    A question that those rules cannot compare has the key of its own words.
    """
    form = question_form(text)
    plain = " ".join(form) if form is not None else normalise_query(text).casefold()
    return hashlib.sha256(f"{'form' if form is not None else 'words'} {plain}".encode()).hexdigest()


def in_force() -> Q:
    """Condition on answers: neither withdrawn nor expired."""
    return Q(withdrawn=None, expires__gt=timezone.now())


def approved_in_force() -> QuerySet[ApprovedAnswer]:
    """Answers that are neither withdrawn nor expired."""
    return ApprovedAnswer.objects.filter(in_force())


def _of_tenant(*, tenant: int) -> QuerySet[ApprovedAnswer, int]:
    return ApprovedAnswer.objects.filter(tenant_id=tenant, withdrawn=None).order_by().values_list("pk", flat=True)[:1]


_ANY_OF_TENANT = CompiledQuery(_of_tenant, tenant=int)


def any_approved(*, tenant_id: int) -> bool:
    """Whether the tenant has answers that are not withdrawn: most have none, and every question asks for one."""
    return bool(_ANY_OF_TENANT(tenant=tenant_id))


def approved_listed(*, scope: Scope, is_reviewer: bool) -> QuerySet[ApprovedAnswer]:
    """Approved answers that the person may read whole: reviewers those of their tenant, owners those that rest on
    documents of their sets, and their own. One on a document that they may not open does not exist for them.
    """
    rows = ApprovedAnswer.objects.select_related("approved_by")
    if scope.administers != "everything":
        rows = rows.filter(tenant_id=scope.tenant_id)
    sources = ApprovedSource.objects.filter(answer=OuterRef("pk"))
    readable = documents_readable(scope=scope).order_by().values("pk")
    number = sources.order_by().values("answer").annotate(left=Count("pk")).values("left")
    rows = rows.filter(~Exists(sources.exclude(document__in=readable)), source_count=Coalesce(Subquery(number), 0))
    if is_reviewer or scope.administers != "nothing":
        return rows
    sets = sets_managed(scope=scope).order_by().values("pk")
    return rows.filter(Q(approved_by=scope.user_id) | Exists(sources.filter(document__sets__in=sets)))


@transaction.atomic
def answer_approve(
    *,
    scope: Scope,
    actor: User,
    question: str,
    answer: str,
    chunks: Sequence[Chunk],
    message: Message | None = None,
    paraphrases: Sequence[str] = (),
    days: int = DEFAULT_DAYS,
    is_reviewer: bool = False,
) -> ApprovedAnswer:
    """Publish an answer with its sources, in their order, in the tenant of `message`, else the actor's.

    Answers to the same question that the actor could withdraw are replaced, and their owners told; others stay.

    The caller has checked that the person reviews the question. Raises NotApprovableError without question, answer or
    sources, FactsNotApprovableError, and NotFoundError for a source that the person may not open or that is not live.
    """
    question, answer = " ".join(question.split()), answer.strip()[:LONGEST_ANSWER]
    _check_approvable(question, answer, chunks, message)
    sources = list(dict.fromkeys(chunks))[:MOST_SOURCES]
    readable = set(
        documents_readable(scope=scope)
        .filter(pk__in=[chunk.version.document_id for chunk in sources])
        .values_list("pk", flat=True)
    )
    for chunk in sources:
        if chunk.version.document_id not in readable or not _is_live(chunk):
            raise NotFoundError("any_document")
    phrasings = [line for raw in paraphrases if (line := " ".join(raw.split()))][:MOST_PARAPHRASES]
    keys = list(dict.fromkeys(question_key(text) for text in (question, *phrasings)))
    tenant_id = message.conversation.tenant_id if message is not None else scope.tenant_id
    answers = approved_listed(scope=scope, is_reviewer=is_reviewer).filter(tenant_id=tenant_id)
    for earlier in answers.filter(in_force(), keys__overlap=[keys[0]]):
        _replace(earlier, actor)
    approved = ApprovedAnswer.objects.create(
        tenant_id=tenant_id,
        question=question,
        paraphrases=phrasings,
        keys=keys,
        answer=_with_markers(answer, len(sources)),
        source_count=len(sources),
        message=message,
        approved_by=actor,
        expires=timezone.now() + timedelta(days=max(1, min(days, LONGEST_DAYS))),
    )
    ApprovedSource.objects.bulk_create(
        ApprovedSource(
            answer=approved,
            number=number,
            chunk=chunk,
            version_id=chunk.version_id,
            document_id=chunk.version.document_id,
        )
        for number, chunk in enumerate(sources, 1)
    )
    audit_record(actor=actor, action="answer.approve", target=f"#{approved.pk}", answer=approved.pk)
    return approved


def _check_approvable(question: str, answer: str, chunks: Sequence[Chunk], message: Message | None) -> None:
    if not question or not answer or not chunks:
        raise NotApprovableError
    if message is not None and message.fact_citations.filter(cited=True).exists():
        raise FactsNotApprovableError


def _replace(earlier: ApprovedAnswer, actor: User) -> None:
    """Withdraw an answer because the actor approves another one; its owner is told."""
    if _withdraw_by_hand(earlier, actor) and earlier.approved_by != actor:
        _tell(earlier, APPROVED_REPLACED)


def _withdraw_by_hand(row: ApprovedAnswer, actor: User) -> bool:
    """Withdraw and record it; whether it was in force."""
    if not _withdraw(row, Withdrawal.BY_HAND):
        return False
    audit_record(actor=actor, action="answer.unapprove", target=f"#{row.pk}", answer=row.pk)
    return True


@transaction.atomic
def approved_withdraw(*, scope: Scope, actor: User, answer_id: int, is_reviewer: bool) -> ApprovedAnswer:
    """Stop showing an approved answer; twice changes nothing more. Raises NotFoundError."""
    row = approved_listed(scope=scope, is_reviewer=is_reviewer).filter(pk=answer_id).first()
    if row is None:
        raise NotFoundError
    _withdraw_by_hand(row, actor)
    return row


def approved_check() -> int:
    """Withdraw answers whose sources have changed and those that have expired; how many. Their owners are told."""
    rows = ApprovedAnswer.objects.filter(withdrawn=None)
    live = Q(sources__version__live_for__isnull=False, sources__document__deleted=None, sources__chunk__retired=None)
    counted = rows.annotate(live=Count("sources", filter=live)).exclude(live=F("source_count"))
    outdated = [row for row in counted.select_related("approved_by") if source_gone(row)]
    expired = rows.filter(expires__lte=timezone.now()).update(withdrawn=timezone.now(), withdrawal=Withdrawal.EXPIRED)
    return len(outdated) + expired


@transaction.atomic
def source_gone(row: ApprovedAnswer) -> bool:
    """Withdraws an approved answer whose source has changed and notifies its owner; returns whether it was in force."""
    if not _withdraw(row, Withdrawal.SOURCE):
        return False
    _tell(row, APPROVED_WITHDRAWN)
    return True


def _tell(row: ApprovedAnswer, kind: str) -> None:
    """Tell the owner of an answer what became of it."""
    people = [row.approved_by] if row.approved_by is not None else []
    link = reverse("admin:chat_approvedanswer_changelist")
    notification_send(recipients=people, kind=kind, data={"question": row.question[:200]}, link=link)


def approved_count(*, answer_id: int) -> None:
    """Count one use."""
    ApprovedAnswer.objects.filter(pk=answer_id).update(used=F("used") + 1, last_used=timezone.now())


def is_live(source: ApprovedSource) -> bool:
    """Whether a source is the live passage that it was when the answer was approved."""
    return (
        source.document.deleted is None
        and source.document.live_version_id == source.version_id
        and not (source.chunk.retired)
    )


def _is_live(chunk: Chunk) -> bool:
    document = chunk.version.document
    return document.deleted is None and document.live_version_id == chunk.version_id and chunk.retired is None


def _withdraw(row: ApprovedAnswer, reason: str) -> bool:
    changed = ApprovedAnswer.objects.filter(pk=row.pk, withdrawn=None).update(
        withdrawn=timezone.now(), withdrawal=reason
    )
    return changed > 0


def _with_markers(answer: str, sources: int) -> str:
    """The answer with a marker for each source, where it has none."""
    if MARKER.search(answer):
        return answer
    return f"{answer} {''.join(f'[{number}]' for number in range(1, sources + 1))}"
