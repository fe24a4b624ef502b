"""Diagnosis of all cases that have none: every night, and when somebody asks for it.

`evaluation/jobs/diagnose_cases.py` takes the cases of a tenant by their number, a few at a time.

The search has the rights of the asker, and so has what the language model for judging is shown. Where these find no
passage that bears the answer, the owners of the sets that were asked are tried, by words alone: what only they may open
is a matter of rights, and shown only to those who may open it, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.errors import NotFoundError
from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from evaluation.models import Diagnosis, GoldenCase
from evaluation.queue import DIAGNOSE_CASES
from evaluation.services.bearing import Wanted
from evaluation.services.diagnosis import DiagnosedAnswer, answer_diagnose
from feedback.features import standalone_question
from feedback.models import BadCase
from work.models import OPEN, Job
from work.services import work_record, work_start

OWNERS = 3  # who are tried after the asker


def cases_without_diagnosis(*, tenant_id: int) -> QuerySet[BadCase]:
    """Cases that are not closed and whose answer was not diagnosed, or not since they were opened again; by number."""
    diagnoses = Diagnosis.objects.filter(message=OuterRef("message_id"))
    since = diagnoses.filter(created__gte=OuterRef("reopened"))
    cases = BadCase.objects.filter(message__conversation__tenant_id=tenant_id).exclude(state=BadCase.State.CLOSED)
    return cases.filter(~Exists(diagnoses) | Q(reopened__isnull=False) & ~Exists(since)).order_by("pk")


@transaction.atomic
def diagnosis_run_start(*, scope: Scope, actor: User | None) -> Job:
    """Begin a run over the tenant; the one that is under way, if there is one."""
    total = cases_without_diagnosis(tenant_id=scope.tenant_id).count()
    of_tenant = Job.objects.filter(kind=DIAGNOSE_CASES, tenant_id=scope.tenant_id)
    if total or of_tenant.filter(state__in=OPEN).exists():
        started = work_start(kind=DIAGNOSE_CASES, tenant_id=scope.tenant_id, author=actor, total=total)
        if not started.is_new:
            return _hurried(started.job, actor)
        job = started.job
    else:
        job = work_record(kind=DIAGNOSE_CASES, tenant_id=scope.tenant_id, author=actor)
    if actor is not None:
        audit_record(actor=actor, action="cases.diagnose", target=str(total), cases=total)
    return job


def _hurried(job: Job, actor: User | None) -> Job:
    """A run of the night that somebody asks for belongs to them, and has no pauses from its next slice on."""
    if job.author_id is None and actor is not None:
        job.author = actor
        job.save(update_fields=["author"])
        audit_record(actor=actor, action="cases.diagnose", target=str(job.total), cases=job.total)
    return job


def diagnosis_runs_at_night() -> int:
    """A run in every tenant with cases to diagnose; how many."""
    tenants = [
        pk for pk in Tenant.objects.values_list("pk", flat=True) if cases_without_diagnosis(tenant_id=pk).exists()
    ]
    for pk in tenants:
        diagnosis_run_start(scope=Scope(tenant_id=pk, user_id=0, clearance=0), actor=None)
    return len(tenants)


# ── one case ──────────────────────────────────────────────────────────────────────────────────────


def known_answer(case: BadCase) -> Wanted:
    """What is known of the right answer: that there is none, as a reviewer found; the reviewer's mark and words; else
    those of a golden case of the question.
    """
    if case.expects_refusal:
        return Wanted(expects_refusal=True)
    if case.marked_document_id is not None or case.accepted:
        return Wanted(passage=marked_passage(case), answers=tuple(case.accepted))
    tenant_id = case.message.conversation.tenant_id
    questions = (case.message.question, standalone_question(case.message))
    golden = GoldenCase.objects.filter(golden_set__tenant_id=tenant_id, question__in=questions).order_by("pk").first()
    if golden is None:
        return Wanted()
    first, *also = golden.relevant or [""]
    return Wanted(
        passage=first,
        also=tuple(also),
        expects_refusal=golden.expects_refusal,
        answers=tuple(golden.answers),
        points=tuple(golden.key_points),
    )


def marked_passage(case: BadCase) -> str:
    """The reviewer's mark as the lab names passages; "" without one."""
    if case.marked_document_id is None:
        return ""
    return f"#{case.marked_document_id}" + ("" if case.marked_ordinal is None else f":{case.marked_ordinal + 1}")


def diagnoses_by_rights(case: BadCase, wanted: Wanted) -> Iterator[tuple[DiagnosedAnswer, Wanted]]:
    """The diagnosis with the rights of the asker, and where it finds nothing, the one of an owner who finds more; each
    with what was known of the right answer under these rights.
    """
    asker = case.message.conversation.user
    own, known = _as(asker, case, wanted), wanted
    if own is None:  # they may not open the document that is named, and know nothing of what it says
        own, known = _as(asker, case, Wanted()), Wanted()
    if own is not None:
        yield own, known
    if own is not None and (own.bearing is not None or wanted.expects_refusal) and known == wanted:
        return
    ruled_out = own.judge.ruled_out if own is not None else frozenset()
    for owner in _owners(case, asker):
        more = _as(owner, case, wanted, ruled_out=ruled_out)
        if more is not None and more.bearing is not None:
            yield more, wanted
            return


def _as(
    viewer: User, case: BadCase, wanted: Wanted, *, ruled_out: Collection[int] | None = None
) -> DiagnosedAnswer | None:
    """None where the passage is named and the viewer may not open it."""
    try:
        return answer_diagnose(
            scope=scope_for(viewer),
            viewer=viewer,
            message_id=str(case.message_id),
            wanted=wanted,
            is_reviewer=True,  # nobody is shown more by it: the diagnosis says nothing that its readers may not open
            ruled_out=ruled_out,
        )
    except NotFoundError:
        return None


def _owners(case: BadCase, asker: User) -> Sequence[User]:
    asked = case.message.conversation.sets.all()
    sets = Q(owned_sets__in=asked) if asked.exists() else Q(owned_sets__tenant_id=asker.tenant_id)
    people = User.objects.filter(sets, is_active=True).exclude(pk=asker.pk).select_related("tenant")
    return list(people.distinct().order_by("-clearance", "pk")[:OWNERS])
