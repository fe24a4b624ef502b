"""Golden cases made from documents, for people to accept, change or reject.

A search takes passages of the golden set's knowledge sets, as far as who asks for it may ask them, spread over
documents; rules or a language model make questions of each (`evaluation/jobs/propose_cases.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet, TextField, Window
from django.db.models.functions import MD5, Cast, RowNumber

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import CaseProposalError, InvalidGoldenCaseError
from evaluation.models import GoldenCase, GoldenSet, ProposedCase
from evaluation.queue import PROPOSE_CASES
from evaluation.services.golden_files import LIMITS
from knowledge.models import Chunk
from knowledge.selectors import documents_askable, documents_readable
from knowledge.services.model_slots import background_json_model
from work.models import Job
from work.services import job_cancel_now, work_start

MOST_WANTED = 300  # of one search
PASSAGES_PER_CASE = 8  # that are looked at, at most
PASSAGES_PER_DOCUMENT = 4
STYLES = (GoldenCase.Style.SUMMARISED, GoldenCase.Style.WITH_ERRORS)


@transaction.atomic
def proposals_start(
    *, scope: Scope, actor: User, golden_set: GoldenSet, wanted: int, with_model: bool, styles: Sequence[str]
) -> Job:
    """Begin to look for cases. The caller has checked that the actor keeps the golden set.

    Raises CaseProposalError: "running", "nothing" to look at, "no_model", "wanted" out of range.
    """
    if not 1 <= wanted <= MOST_WANTED:
        raise CaseProposalError("wanted", most=MOST_WANTED)
    if with_model and background_json_model() is None:
        raise CaseProposalError("no_model")
    chunks = _chosen(scope, golden_set, wanted * PASSAGES_PER_CASE)
    if not chunks:
        raise CaseProposalError("nothing")
    started = work_start(
        kind=PROPOSE_CASES,
        tenant_id=golden_set.tenant_id,
        author=actor,
        subject=_subject(golden_set),
        arguments={
            "golden_set_id": golden_set.pk,
            "with_model": with_model,
            "styles": [str(style) for style in STYLES if style in styles],  # further phrasings of each question
            "chunks": chunks,  # passages in the order in which they are taken
        },
        total=wanted,
    )
    if not started.is_new:
        raise CaseProposalError("running")
    audit_record(actor=actor, action="golden_set.propose", target=golden_set.name, wanted=wanted)
    return started.job


def _subject(golden_set: GoldenSet) -> str:
    return f"golden_set:{golden_set.pk}"


def _chosen(scope: Scope, golden_set: GoldenSet, most: int) -> list[int]:
    """Passages of as many documents as there are, in an order that is always the same and favours none."""
    sets = list(golden_set.sets.order_by().values_list("pk", flat=True))
    versions = documents_askable(scope=scope, sets=sets).filter(tenant_id=golden_set.tenant_id)
    live = list(versions.order_by().values_list("live_version_id", flat=True))
    spread = sorted((pk for pk in live if pk is not None), key=_spread)[:most]
    rows = Chunk.objects.filter(version_id__in=spread, retired=None, kind__in=(Chunk.Kind.BODY, Chunk.Kind.WHOLE))
    place = Window(RowNumber(), partition_by=F("version_id"), order_by=MD5(Cast("pk", TextField())))
    few = rows.annotate(place=place).filter(place__lte=PASSAGES_PER_DOCUMENT).order_by("place")
    of_version: dict[int, list[int]] = {}
    for version, chunk in few.values_list("version_id", "pk"):
        of_version.setdefault(version, []).append(chunk)
    rounds = [of_version.get(version, []) for version in spread]
    return [chunks[at] for at in range(PASSAGES_PER_DOCUMENT) for chunks in rounds if at < len(chunks)][:most]


def _spread(pk: int) -> bytes:
    return sha256(str(pk).encode()).digest()


def proposals_latest(*, golden_set: GoldenSet) -> Job | None:
    """The latest search for cases of a golden set. The caller has checked that the asker keeps it."""
    rows = Job.objects.filter(kind=PROPOSE_CASES, tenant_id=golden_set.tenant_id, subject=_subject(golden_set))
    return rows.first()


def proposals_cancel(*, actor: User, golden_set: GoldenSet) -> None:
    """End the search; what it has made stays. Harmless when it is over."""
    job = proposals_latest(golden_set=golden_set)
    if job is not None and job_cancel_now(job):
        audit_record(actor=actor, action="golden_set.propose_cancel", target=golden_set.name)


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────


def proposals_shown(*, scope: Scope, golden_set: GoldenSet) -> QuerySet[ProposedCase]:
    """Open ones on documents that the person may open."""
    readable = documents_readable(scope=scope).order_by().values("pk")
    rows = ProposedCase.objects.filter(golden_set=golden_set, state=ProposedCase.State.OPEN, document__in=readable)
    return rows.select_related("document")


@transaction.atomic
def proposal_decide(
    *, scope: Scope, actor: User, golden_set: GoldenSet, proposal_id: int, values: Mapping[str, Any] | None
) -> list[GoldenCase]:
    """Accept a proposal with its question, answers and key points as the actor has left them, in all its phrasings;
    None: reject it. Deciding twice changes nothing. The caller has checked that the actor keeps the golden set.

    Raises NotFoundError where there is no such open proposal, InvalidGoldenCaseError.
    """
    rows = proposals_shown(scope=scope, golden_set=golden_set).select_for_update(of=("self",))
    proposal = rows.filter(pk=proposal_id).first()
    if proposal is None:
        raise NotFoundError("proposed_case")
    cases = _cases(proposal, values) if values is not None else []
    proposal.state = ProposedCase.State.ACCEPTED if values is not None else ProposedCase.State.REJECTED
    proposal.decided_by = actor
    proposal.save(update_fields=["state", "decided_by"])
    action = "golden_case.accept" if values is not None else "golden_case.reject"
    audit_record(actor=actor, action=action, target=golden_set.name, proposal=proposal.pk)
    return cases


def _cases(proposal: ProposedCase, values: Mapping[str, Any]) -> list[GoldenCase]:
    question = " ".join(str(values["question"]).split())
    answers, points = _lines(values["answers"]), _lines(values["key_points"])
    if not question:
        raise InvalidGoldenCaseError("question")
    texts = {"question": [question], "answers": answers, "key_points": points}
    if any(len(text) > LIMITS[name] for name, lines in texts.items() for text in lines):
        raise InvalidGoldenCaseError("length")
    styles = proposal.styles if question == proposal.question else {}  # phrasings of other words mean something else
    phrased = {str(GoldenCase.Style.ORIGINAL): question, **styles}
    document = proposal.document
    stored = set(proposal.golden_set.cases.filter(question__in=phrased.values()).values_list("question", flat=True))
    rows = [
        GoldenCase(
            golden_set=proposal.golden_set,
            question=text,
            answers=answers,
            key_points=points,
            relevant=[document.external_id or f"#{document.pk}"],
            passages=[proposal.quotation],
            style=style,
            tags=["proposed"],
        )
        for style, text in phrased.items()
        if text not in stored
    ]
    return GoldenCase.objects.bulk_create(rows)


def _lines(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in texts if text.strip()))
