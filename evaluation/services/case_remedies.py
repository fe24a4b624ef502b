"""Remedies of a case: what is offered, applied, tested and undone, each kept with its person and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import transaction
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import RemedyNotOfferedError
from evaluation.models import GoldenCase, OptionsDraft, RemedyApplication
from evaluation.selectors import golden_sets_kept
from evaluation.services import remedies as _all_of_them  # noqa: F401  # each registers itself
from evaluation.services.options_drafts import draft_publish
from evaluation.services.remedies.base import REMEDIES, About, Offer, Remedy, chosen
from feedback.models import BadCase
from feedback.selectors import case_get
from feedback.services import is_reviewing
from knowledge.models import IngestItem
from knowledge.services.one_at_a_time import one_at_a_time


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedRemedy:
    """A remedy with its form, for one case."""

    remedy: Remedy
    offer: Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRemedy:
    """A remedy that was applied to a case. `is_pending`: its document is still being processed."""

    application: RemedyApplication
    label: Any
    draft: OptionsDraft | None
    is_pending: bool


def remedies_offered(*, scope: Scope, actor: User, case: BadCase) -> list[OfferedRemedy]:
    """What the person can apply to a case that they review; what the diagnosis asks for comes first."""
    about = About(scope=scope, actor=actor, case=case)
    found = [
        OfferedRemedy(remedy=one, offer=offer) for one in REMEDIES.values() if (offer := one.offer(about)) is not None
    ]
    return sorted(found, key=lambda row: not row.offer.is_advised)


def golden_missing(
    *, scope: Scope, actor: User, case: BadCase, offered: Sequence[OfferedRemedy]
) -> Literal["", "set", "answer"]:
    """What is missing to make an advised golden case: a golden set, or the right answer; "" where nothing."""
    about = About(scope=scope, actor=actor, case=case)
    if about.wanted_remedy != "golden_case" or any(row.remedy.code == "golden_case" for row in offered):
        return ""
    sets = golden_sets_kept(scope=scope, actor=actor).filter(tenant=scope.tenant_id)
    if not sets.exists():
        return "set"
    return "" if GoldenCase.objects.filter(golden_set__in=sets, question=about.question).exists() else "answer"


def remedies_applied(*, case: BadCase) -> list[AppliedRemedy]:
    """What was applied to a case that the caller has got from `case_get`, the latest first."""
    rows = list(RemedyApplication.objects.filter(case=case).select_related("applied_by", "undone_by", "draft"))
    busy = IngestItem.objects.filter(version__document__in=[r.document_id for r in rows], finished=None)
    pending = set(busy.values_list("version__document_id", flat=True))
    return [
        AppliedRemedy(
            application=row,
            label=REMEDIES[row.kind].label if row.kind in REMEDIES else row.kind,
            draft=getattr(row, "draft", None),
            is_pending=row.document_id in pending,
        )
        for row in rows
    ]


def case_is_mended(*, case: BadCase) -> bool:
    """Whether something is in force that may answer the question, so that asking again is worth it."""
    in_force = (row for row in remedies_applied(case=case) if row.application.undone is None and not row.is_pending)
    codes = (row.application.kind for row in in_force)
    return bool(case.fix) or any(code in REMEDIES and REMEDIES[code].changes_search for code in codes)


def remedy_apply(
    *, scope: Scope, actor: User, case: BadCase, kind: str, values: Mapping[str, str]
) -> RemedyApplication:
    """Apply a remedy to a case with the rights of the person, and record it.

    Raises NotFoundError without the right to review the case, RemedyNotOfferedError, and what the change itself raises.
    """
    about = _about(scope, actor, case)
    remedy = REMEDIES.get(kind)
    with one_at_a_time(f"remedy.{case.pk}"):  # a second click waits, and is offered what is left
        offer = remedy.offer(about) if remedy is not None else None
        if remedy is None or offer is None:
            raise RemedyNotOfferedError
        fields = chosen(offer.fields, values)
        outcome = remedy.apply(about, fields)
        with transaction.atomic():
            application = RemedyApplication.objects.create(
                case=case,
                kind=kind,
                values=fields,
                before=outcome.before,
                document_id=outcome.document,
                applied_by=actor,
            )
            audit_record(actor=actor, action="remedy.apply", target=f"#{case.pk}", case=case.pk, kind=kind)
        remedy.applied(about, application)
    return application


def remedy_undo(*, scope: Scope, actor: User, case: BadCase, application_id: int) -> RemedyApplication:
    """Take back what a remedy did; twice changes nothing more. Raises NotFoundError and what the change raises."""
    about = _about(scope, actor, case)
    application = RemedyApplication.objects.filter(case=case, pk=application_id).first()
    if application is None or application.kind not in REMEDIES:
        raise NotFoundError
    if application.undone is not None:
        return application
    REMEDIES[application.kind].undo(about, application)
    with transaction.atomic():
        application.undone, application.undone_by = timezone.now(), actor
        application.save(update_fields=["undone", "undone_by"])
        audit_record(actor=actor, action="remedy.undo", target=f"#{case.pk}", case=case.pk, kind=application.kind)
    return application


def remedy_test_note(*, case: BadCase, is_answered: bool) -> None:
    """Keep what a test after a remedy has shown, with every remedy of the case that is in force."""
    rows = RemedyApplication.objects.filter(case=case, undone=None)
    rows.update(is_answered=is_answered, tested=timezone.now())


def case_draft_publish(*, scope: Scope, actor: User, case: BadCase, draft_id: int) -> OptionsDraft:
    """Publish a draft of the case. Raises what `draft_publish` raises."""
    return draft_publish(scope=scope, actor=actor, draft=_draft(scope, actor, case, draft_id))


def _about(scope: Scope, actor: User, case: BadCase) -> About:
    row = case_get(scope=scope, case_id=case.pk, is_reviewer=is_reviewing(actor))
    return About(scope=scope, actor=actor, case=row)


def _draft(scope: Scope, actor: User, case: BadCase, draft_id: int) -> OptionsDraft:
    about = _about(scope, actor, case)
    rows = OptionsDraft.objects.filter(application__case=about.case, state=OptionsDraft.State.OPEN)
    draft = rows.select_related("knowledge_set").filter(pk=draft_id).first()
    if draft is None:
        raise NotFoundError
    return draft
