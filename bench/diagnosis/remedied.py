"""The click on the remedy that a diagnosis advises, and the question asked again with what is broken still broken.

Other questions are asked just before and just after the click: what a remedy mends must cost nobody else an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.models import User
from accounts.selectors import scope_for
from bench.diagnosis.figures import RestScore
from bench.retrieval import work_off
from chat.models import Message
from evaluation.services.bearing import Wanted
from evaluation.services.case_desk import case_test_again
from evaluation.services.case_remedies import remedies_offered, remedy_apply
from evaluation.services.diagnosis import DiagnosedAnswer, diagnosis_store
from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs.components import AskedCase, Component
from evaluation.services.runs.measuring import case_run
from feedback.models import BadCase
from knowledge.models import IngestItem
from knowledge.services import indexes_refresh

# offered only where it helps, and never advised: it is an owner's word against a source
DIRECT = ("withdraw_version",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicked:
    """A remedy, whether the question is answered after it, and other questions before and after it, in one order."""

    remedy: str
    is_answered: bool
    before: tuple[RestScore, ...]
    after: tuple[RestScore, ...]


def mended(
    actor: User, message: Message, wanted: Wanted, found: DiagnosedAnswer, rest: Sequence[GoldenRow]
) -> Clicked | None:
    """The first remedy that the page would offer, clicked with the values that it proposes.

    None where no remedy changes what is found. `rest`: other questions.
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
    before = _asked(actor, rest)
    remedy_apply(scope=scope, actor=actor, case=case, kind=kind, values={})
    for job in set(IngestItem.objects.filter(finished=None).values_list("job", flat=True)):
        work_off(job)
    indexes_refresh()
    replay = case_test_again(scope=scope, viewer=actor, case=case, is_reviewer=True)
    return Clicked(remedy=kind, is_answered=replay.is_answered, before=before, after=_asked(actor, rest))


def _asked(actor: User, rest: Sequence[GoldenRow]) -> tuple[RestScore, ...]:
    """The whole answer of each, as a run of a golden set asks it."""
    found = []
    for row in rest:
        asked = AskedCase(scope=scope_for(actor), user=actor, row=row, sets=())
        scores = case_run(asked, component=Component.ANSWER).scores
        found.append(RestScore(ndcg=scores.get("ndcg@10", 0.0), answered=scores.get("correctness", 0.0)))
    return tuple(found)
