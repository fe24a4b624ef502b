"""The click on the remedy that a diagnosis advises, and the question asked again with what is broken still broken."""

from __future__ import annotations

from accounts.models import User
from accounts.selectors import scope_for
from bench.retrieval import work_off
from chat.models import Message
from evaluation.services.bearing import Wanted
from evaluation.services.case_desk import case_test_again
from evaluation.services.case_remedies import remedies_offered, remedy_apply
from evaluation.services.diagnosis import DiagnosedAnswer, diagnosis_store
from feedback.models import BadCase
from knowledge.models import IngestItem
from knowledge.services import indexes_refresh

# offered only where it helps, and never advised: it is an owner's word against a source
DIRECT = ("withdraw_version",)


def mended(actor: User, message: Message, wanted: Wanted, found: DiagnosedAnswer) -> tuple[str, bool] | None:
    """The remedy and whether the question is answered after it; None where no remedy changes what is found.

    The first one that the page would offer is clicked, with the values that it proposes.
    """
    stored = diagnosis_store(actor=None, diagnosed=found, wanted=wanted)
    case = BadCase.objects.create(
        message=message, accepted=list(wanted.answers), marked_document=stored.document, marked_ordinal=stored.ordinal
    )
    scope = scope_for(actor)
    offered = remedies_offered(scope=scope, actor=actor, case=case)
    advised = [
        row for row in offered if row.remedy.changes_search and (row.offer.is_advised or row.remedy.code in DIRECT)
    ]
    if not advised:
        return None
    kind = advised[0].remedy.code
    remedy_apply(scope=scope, actor=actor, case=case, kind=kind, values={})
    for job in set(IngestItem.objects.filter(finished=None).values_list("job", flat=True)):
        work_off(job)
    indexes_refresh()
    replay = case_test_again(scope=scope, viewer=actor, case=case, is_reviewer=True)
    return kind, replay.is_answered
