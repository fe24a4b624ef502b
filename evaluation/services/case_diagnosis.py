"""Diagnosis of all cases that have none: every night, and when somebody asks for it.

A run takes the cases of a tenant by their number, a few at a time, and remembers the last one together with its
diagnosis, so that a worker that is killed loses no case and does none twice. One worker at a time holds a run, with a
lease that ends soon after its process has died. A run of the night works a quarter of the time, so that it slows
nobody who asks meanwhile; one that somebody has asked for works all the time.

The search has the rights of the asker, and so has what the language model for judging is shown. Where these find no
passage that bears the answer, the owners of the sets that were asked are tried, by words alone: what only they may open
is a matter of rights, and shown only to those who may open it, too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from evaluation.models import Diagnosis, DiagnosisRun, GoldenCase
from evaluation.queue import ADVANCE_DIAGNOSIS
from evaluation.services.bearing import Wanted
from evaluation.services.diagnosis import DiagnosedAnswer, answer_diagnose, diagnosis_store
from evaluation.services.worker_calls import is_free, is_lost, worker_call
from feedback.features import standalone_question
from feedback.models import BadCase
from knowledge import model_registry
from knowledge.services.fencing import claim, fenced
from ragcore.errors import RagError

logger = logging.getLogger(__name__)
pause, clock = time.sleep, time.monotonic

AT_ONCE = 3  # cases of one task; scans that wait on the same worker come between two tasks
NIGHT_SHARE = 0.25  # of the time, that a run which nobody waits for works: people who ask meanwhile have the rest
LONGEST_PAUSE = 5.0  # seconds after a case
LEASE = timedelta(minutes=5)  # more than any single case takes, with the judge
OWNERS = 3  # who are tried after the asker


def cases_without_diagnosis(*, tenant_id: int) -> QuerySet[BadCase]:
    """Cases that are not closed and whose answer was not diagnosed, or not since they were opened again; by number."""
    known = Diagnosis.objects.filter(message=OuterRef("message_id"))
    since = known.filter(created__gte=OuterRef("reopened"))
    mine = BadCase.objects.filter(message__conversation__tenant_id=tenant_id).exclude(state=BadCase.State.CLOSED)
    return mine.filter(~Exists(known) | Q(reopened__isnull=False) & ~Exists(since)).order_by("pk")


@transaction.atomic
def diagnosis_run_start(*, scope: Scope, actor: User | None) -> DiagnosisRun:
    """Begin a run over the tenant; the one that is running, if there is one."""
    Tenant.objects.select_for_update().get(pk=scope.tenant_id)  # two starts at once make one run
    running = DiagnosisRun.objects.filter(tenant_id=scope.tenant_id, finished=None).first()
    if running is not None:
        return _hurried(running, actor)
    total = cases_without_diagnosis(tenant_id=scope.tenant_id).count()
    run = DiagnosisRun.objects.create(
        tenant_id=scope.tenant_id, requested_by=actor, total=total, finished=None if total else timezone.now()
    )
    if actor is not None:
        audit_record(actor=actor, action="cases.diagnose", target=str(total), cases=total)
    if total:
        worker_call(run, ADVANCE_DIAGNOSIS)
    return run


def _hurried(run: DiagnosisRun, actor: User | None) -> DiagnosisRun:
    """A run of the night that somebody asks for belongs to them, and has no pauses from its next task on."""
    if run.requested_by_id is None and actor is not None:
        run.requested_by = actor
        run.save(update_fields=["requested_by"])
        audit_record(actor=actor, action="cases.diagnose", target=str(run.total), cases=run.total)
    return run


def diagnosis_runs_at_night() -> int:
    """A run in every tenant with cases to diagnose; how many."""
    tenants = [
        pk for pk in Tenant.objects.values_list("pk", flat=True) if cases_without_diagnosis(tenant_id=pk).exists()
    ]
    for pk in tenants:
        diagnosis_run_start(scope=Scope(tenant_id=pk, user_id=0, clearance=0), actor=None)
    return len(tenants)


def diagnosis_runs_resume() -> int:
    """Call a worker to every run that nobody holds; how many. Safe to run twice."""
    lost = DiagnosisRun.objects.filter(is_lost(), finished=None)
    for run in lost:
        worker_call(run, ADVANCE_DIAGNOSIS)
    return len(lost)


def diagnosis_run_advance(*, run_id: int) -> bool:
    """Diagnose the next cases of a run and call a worker to the rest; False where another holds it or it is over."""
    free = DiagnosisRun.objects.filter(is_free(), finished=None)
    run = claim(free, pk=run_id, leased_until=timezone.now() + LEASE, called=None)
    if run is None:
        return False
    at_once = AT_ONCE if model_registry.judge_model() is None else 1  # a judge takes its time
    for case in list(_next(run)[:at_once]):
        started = clock()
        if not _diagnose(run, case):
            return True
        if run.requested_by_id is None:
            pause(_pause_seconds(clock() - started))
    _give_back(run)
    return True


def _pause_seconds(worked: float) -> float:
    """After a case of a run at night."""
    return min(worked * (1 / NIGHT_SHARE - 1), LONGEST_PAUSE)


# ── a run ─────────────────────────────────────────────────────────────────────────────────────────


def _next(run: DiagnosisRun) -> QuerySet[BadCase]:
    found = cases_without_diagnosis(tenant_id=run.tenant_id).filter(pk__gt=run.last_case)
    return found.select_related("message__conversation__user__tenant")


@transaction.atomic
def _give_back(held: DiagnosisRun) -> None:
    run = fenced(held).select_for_update().first()
    if run is None:
        return  # another worker holds it
    run.leased_until = None
    run.finished = None if _next(run).exists() else timezone.now()
    run.save(update_fields=["leased_until", "finished"])
    if run.finished is None:
        worker_call(run, ADVANCE_DIAGNOSIS)


def _diagnose(run: DiagnosisRun, case: BadCase) -> bool:
    """One case; what goes wrong with it is logged and counted, and the next night tries it again.

    False, and nothing is stored, where another worker has taken the run meanwhile.
    """
    found = []
    try:
        found = list(_by_rights(case, known_answer(case)))
    except RagError as error:
        logger.warning("case %s was not diagnosed: %s", case.pk, error.code)
    except Exception:
        logger.exception("case %s was not diagnosed", case.pk)
    with transaction.atomic():
        is_held = fenced(run).update(
            last_case=case.pk,
            done=F("done") + int(bool(found)),
            failed=F("failed") + int(not found),
            leased_until=timezone.now() + LEASE,
        )
        for diagnosed, wanted in found if is_held else ():
            diagnosis_store(actor=None, diagnosed=diagnosed, wanted=wanted)
    return is_held > 0


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
    asked = (case.message.question, standalone_question(case.message))
    golden = GoldenCase.objects.filter(golden_set__tenant_id=tenant_id, question__in=asked).order_by("pk").first()
    if golden is None:
        return Wanted()
    first, *others = golden.relevant or [""]
    return Wanted(
        passage=first,
        also=tuple(others),
        expects_refusal=golden.expects_refusal,
        answers=tuple(golden.answers),
        points=tuple(golden.key_points),
    )


def marked_passage(case: BadCase) -> str:
    """The reviewer's mark as the lab names passages; "" without one."""
    if case.marked_document_id is None:
        return ""
    return f"#{case.marked_document_id}" + ("" if case.marked_ordinal is None else f":{case.marked_ordinal + 1}")


def _by_rights(case: BadCase, wanted: Wanted) -> Iterator[tuple[DiagnosedAnswer, Wanted]]:
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
