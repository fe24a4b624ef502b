"""Golden cases made from documents, for people to accept, change or reject.

A run takes passages of the golden set's knowledge sets, as far as who asks for it may ask them, spread over documents;
rules or a language model make questions of each (`ragcore.representations.case_proposals`). What is of no use, known
already or nearly the same as another one is dropped. A worker takes a few passages, stores what came of them with
the place in one transaction, and calls the next one: one that is killed loses nothing and makes nothing twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet, TextField, Window
from django.db.models.functions import MD5, Cast, RowNumber
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from evaluation.errors import CaseProposalError, InvalidGoldenCaseError
from evaluation.models import GoldenCase, GoldenSet, ProposalRun, ProposedCase
from evaluation.queue import ADVANCE_PROPOSALS
from evaluation.services.golden_files import LIMITS
from evaluation.services.worker_calls import is_free, is_lost, worker_call
from knowledge import model_registry
from knowledge.models import Chunk
from knowledge.selectors import documents_askable, documents_readable
from knowledge.services.fencing import claim, fenced
from knowledge.services.model_slots import background_model
from ragcore.llm.client import LlmClient
from ragcore.representations.case_proposals import (
    ProposedQuestion,
    propose_by_model,
    propose_by_rules,
    short_intent,
    with_typo,
)
from ragcore.text.near_duplicates import similarity, sketch
from ragcore.text.question_pairs import SAME_QUESTION

logger = logging.getLogger(__name__)

MOST_WANTED = 300  # of one run
PASSAGES_PER_CASE = 8  # that are looked at, at most
PASSAGES_PER_DOCUMENT = 4
SLICE_SECONDS = 20.0  # of one task
LEASE = timedelta(minutes=3)
MODEL_SECONDS = 30.0  # of a request to its first token
REST = timedelta(minutes=1)  # for which a model that did not answer is left alone
STYLES = (GoldenCase.Style.SUMMARISED, GoldenCase.Style.WITH_ERRORS)
State = ProposalRun.State


@transaction.atomic
def proposals_start(
    *, scope: Scope, actor: User, golden_set: GoldenSet, wanted: int, with_model: bool, styles: Sequence[str]
) -> ProposalRun:
    """Begin to look for cases. The caller has checked that the actor keeps the golden set.

    Raises CaseProposalError: "running", "nothing" to look at, "no_model", "wanted" out of range.
    """
    if not 1 <= wanted <= MOST_WANTED:
        raise CaseProposalError("wanted", most=MOST_WANTED)
    if with_model and background_model() is None:
        raise CaseProposalError("no_model")
    chunks = _chosen(scope, golden_set, wanted * PASSAGES_PER_CASE)
    if not chunks:
        raise CaseProposalError("nothing")
    try:
        with transaction.atomic():
            run = ProposalRun.objects.create(
                golden_set=golden_set,
                requested_by=actor,
                wanted=wanted,
                with_model=with_model,
                styles=[style for style in STYLES if style in styles],
                chunks=chunks,
            )
    except IntegrityError as problem:
        raise CaseProposalError("running") from problem
    audit_record(actor=actor, action="golden_set.propose", target=golden_set.name, wanted=wanted)
    worker_call(run, ADVANCE_PROPOSALS)
    return run


def _chosen(scope: Scope, golden_set: GoldenSet, most: int) -> list[int]:
    """Passages of as many documents as there are, in an order that is always the same and favours none."""
    sets = list(golden_set.sets.order_by().values_list("pk", flat=True))
    versions = documents_askable(scope=scope, sets=sets).filter(tenant_id=golden_set.tenant_id)
    known = list(versions.order_by().values_list("live_version_id", flat=True))
    taken = sorted((pk for pk in known if pk is not None), key=_spread)[:most]
    rows = Chunk.objects.filter(version_id__in=taken, retired=None, kind__in=(Chunk.Kind.BODY, Chunk.Kind.WHOLE))
    place = Window(RowNumber(), partition_by=F("version_id"), order_by=MD5(Cast("pk", TextField())))
    few = rows.annotate(place=place).filter(place__lte=PASSAGES_PER_DOCUMENT).order_by("place")
    of_version: dict[int, list[int]] = {}
    for version, chunk in few.values_list("version_id", "pk"):
        of_version.setdefault(version, []).append(chunk)
    rounds = [of_version.get(version, []) for version in taken]
    return [chunks[at] for at in range(PASSAGES_PER_DOCUMENT) for chunks in rounds if at < len(chunks)][:most]


def _spread(pk: int) -> bytes:
    return sha256(str(pk).encode()).digest()


def proposals_cancel(*, actor: User, run: ProposalRun) -> None:
    """End a run; what it has made stays. Harmless when it is over."""
    rows = ProposalRun.objects.filter(pk=run.pk, state=State.RUNNING)
    if rows.update(state=State.CANCELLED, finished=timezone.now()):
        audit_record(actor=actor, action="golden_set.propose_cancel", target=run.golden_set.name)


def proposals_resume() -> int:
    """Call a worker to every run that nobody holds; how many. Safe to run twice."""
    lost = list(ProposalRun.objects.filter(is_lost(), state=State.RUNNING))
    for run in lost:
        worker_call(run, ADVANCE_PROPOSALS)
    return len(lost)


# ── a run ─────────────────────────────────────────────────────────────────────────────────────────


def proposals_advance(*, run_id: int, seconds: float = SLICE_SECONDS) -> bool:
    """Look at the next passages, and call a worker to the rest; False where another holds the run or it is over."""
    free = ProposalRun.objects.filter(is_free(), state=State.RUNNING)
    run = claim(free, pk=run_id, leased_until=timezone.now() + LEASE, called=None)
    if run is None:
        return False
    work, until = _Work(run), time.monotonic() + seconds
    while work.is_open() and time.monotonic() < until and work.step():
        continue
    with transaction.atomic():
        row = fenced(run).select_for_update().first()
        if row is None:
            return True  # another worker holds it
        row.leased_until = timezone.now() + REST if work.waits_for_model else None
        if row.state == State.RUNNING and not work.is_open():
            row.state, row.finished = State.DONE, timezone.now()
        row.save(update_fields=["leased_until", "state", "finished"])
        if row.state == State.RUNNING and not work.waits_for_model:  # else the next look for lost runs goes on
            worker_call(row, ADVANCE_PROPOSALS)
    return True


class _Work:
    """One task's part of a run."""

    def __init__(self, run: ProposalRun) -> None:
        self.run = run
        author = run.requested_by
        self.scope = scope_for(author) if author is not None and author.is_active else None
        model = background_model(is_patient=False) if run.with_model else None
        self.llm = None if model is None else LlmClient(model, seconds=MODEL_SECONDS, is_patient=True)
        self.waits_for_model = run.with_model and model is None
        known = [*run.golden_set.cases.values_list("question", flat=True)]
        known += run.golden_set.proposals.values_list("question", flat=True)
        self.sketches = [sketch(question) for question in known]

    def is_open(self) -> bool:
        """Whether there is more to do."""
        run = self.run
        return self.scope is not None and run.made < run.wanted and run.position < len(run.chunks)

    def step(self) -> bool:
        """One passage, stored with its place. False where the model did not answer: the passage is for another try."""
        run = self.run
        chunk, before = self._chunk(run.chunks[run.position]), self._unheard()
        found = self._made(chunk) if chunk is not None and not self.waits_for_model else []
        self.waits_for_model = self.waits_for_model or self._unheard() > before
        if self.waits_for_model:
            return False
        fresh = [one for one in found if self._is_new(one.question)][: run.wanted - run.made]
        is_failed = self.llm is not None and chunk is not None and not found
        with transaction.atomic():
            values = {
                "position": F("position") + 1,
                "made": F("made") + len(fresh),
                "dropped": F("dropped") + len(found) - len(fresh),
                "failed": F("failed") + int(is_failed),
            }
            is_held = fenced(run).filter(state=State.RUNNING).update(leased_until=timezone.now() + LEASE, **values)
            if is_held and chunk is not None:
                rows = [self._row(chunk, one) for one in fresh]
                ProposedCase.objects.bulk_create(rows, ignore_conflicts=True)
        run.refresh_from_db(fields=["position", "made", "state"])
        if not is_held:  # cancelled, or another worker has it
            self.scope = None
        return True

    def _unheard(self) -> int:
        """Requests to which the model gave no whole answer."""
        counts = self.llm.counts if self.llm is not None else {}
        return sum(counts.get(name, 0) for name in ("unavailable", "late", "interrupted"))

    def _chunk(self, pk: int) -> Chunk | None:
        """None where it is not in force any more, or out of reach of who asked for the run."""
        assert self.scope is not None
        askable = documents_askable(scope=self.scope).order_by().values("live_version_id")
        rows = Chunk.objects.filter(pk=pk, retired=None, version_id__in=askable)
        return rows.select_related("version__document").defer("version__markdown", "version__sketch").first()

    def _made(self, chunk: Chunk) -> list[ProposedQuestion]:
        tokenizer, path = model_registry.tokenizer(), tuple(chunk.heading_path)
        try:
            if self.llm is not None:
                return asyncio.run(propose_by_model(chunk.text, path, tokenizer, self.llm))
            return propose_by_rules(chunk.text, path, tokenizer)
        except Exception:  # of one passage
            logger.exception("no golden case could be made of passage %s", chunk.pk)
            return []

    def _is_new(self, question: str) -> bool:
        if len(question) > LIMITS["question"]:
            return False
        mine = sketch(question)
        if any(similarity(mine, other) >= SAME_QUESTION for other in self.sketches):
            return False
        self.sketches.append(mine)
        return True

    def _row(self, chunk: Chunk, one: ProposedQuestion) -> ProposedCase:
        tokenizer = model_registry.tokenizer()
        phrased = {
            str(GoldenCase.Style.SUMMARISED): short_intent(one.question, tokenizer),
            str(GoldenCase.Style.WITH_ERRORS): with_typo(one.question),
        }
        return ProposedCase(
            golden_set=self.run.golden_set,
            document=chunk.version.document,
            ordinal=chunk.ordinal,
            question=one.question,
            answers=list(one.answers),
            key_points=list(one.key_points),
            quotation=one.quotation,
            origin=one.origin,
            styles={style: phrased[style] for style in self.run.styles if phrased[style]},
        )


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
    made = _cases(proposal, values) if values is not None else []
    proposal.state = ProposedCase.State.ACCEPTED if values is not None else ProposedCase.State.REJECTED
    proposal.decided_by = actor
    proposal.save(update_fields=["state", "decided_by"])
    action = "golden_case.accept" if values is not None else "golden_case.reject"
    audit_record(actor=actor, action=action, target=golden_set.name, proposal=proposal.pk)
    return made


def _cases(proposal: ProposedCase, values: Mapping[str, Any]) -> list[GoldenCase]:
    question = " ".join(str(values["question"]).split())
    answers, points = _lines(values["answers"]), _lines(values["key_points"])
    if not question:
        raise InvalidGoldenCaseError("question")
    texts = {"question": [question], "answers": answers, "key_points": points}
    if any(len(text) > LIMITS[name] for name, given in texts.items() for text in given):
        raise InvalidGoldenCaseError("length")
    styles = proposal.styles if question == proposal.question else {}  # phrasings of other words mean something else
    phrased = {str(GoldenCase.Style.ORIGINAL): question, **styles}
    document = proposal.document
    known = set(proposal.golden_set.cases.filter(question__in=phrased.values()).values_list("question", flat=True))
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
        if text not in known
    ]
    return GoldenCase.objects.bulk_create(rows)


def _lines(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in texts if text.strip()))
