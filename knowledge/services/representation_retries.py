"""Ask the language model again for summaries and questions that rules wrote while it was down.

Publishing records such passages (`RepresentationRetry`). A background job takes them up in small batches, those of one
version at a time, when no ingestion is at work. The first request without an answer ends it, and everything rests until
the pause of that batch is over; an owner's request does not wait for that. Answers that are of no use count: after
MAX_ATTEMPTS the passage stays as it is.

Asking and embedding are done before anything is locked. Then, passage by passage and each in one fenced transaction,
the entries are replaced and the record goes, so that a killed worker loses and doubles nothing. The passage stays, and
with it its citations; only the outline of a section, whose text begins with the summary, is superseded by a new one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import DatabaseError, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import PassageChangedError
from knowledge.models import Chunk, RepresentationRetry
from knowledge.queue import RETRY_REPRESENTATIONS
from knowledge.selectors import set_owned
from knowledge.selectors.dashboard import documents_rebuildable
from knowledge.selectors.options import pipeline_options
from knowledge.services.edits import (
    PreparedPassage,
    passage_embed,
    passage_is_edited,
    passage_lock,
    passage_reindex,
    passage_substitute,
    passage_successor,
)
from knowledge.services.model_slots import background_model, embedding_slot
from knowledge.services.open_items import ingestion_is_active
from knowledge.services.representations import DocumentRepresentations, document_represent, main_failure
from ragcore.errors import RagError
from ragcore.options import RepresentationOptions
from ragcore.ports import ChatModel
from ragcore.representations import Missed
from ragcore.types import ChunkDraft, ChunkKind, ParsedDocument
from work.fencing import job_writing
from work.models import Job
from work.services import work_start

logger = logging.getLogger(__name__)

BATCH = 8  # passages of one version that the model is asked about together
CONCURRENCY = 2  # of them at a time; ingestion asks about four
SILENCES = 1  # requests without an answer that end a run
MAX_ATTEMPTS = 3  # answers of no use, the first one included
ATTEMPT_PAUSE_SECONDS = 600.0  # after the first of them; doubled
BACKOFF_SECONDS = 60.0  # doubled with every try in a row without an answer
LONGEST_PAUSE_SECONDS = 3600.0
MAX_DELAY = timedelta(hours=1)  # how long a passage waits for running ingestion
Reason = RepresentationRetry.Reason


def retries_start() -> None:
    """Start a background job for each tenant with anything due, and forget passages that cannot be found any more."""
    RepresentationRetry.objects.filter(~Exists(retries_live().filter(pk=OuterRef("pk")))).delete()
    if background_model(is_patient=False) is None:
        return
    tenants = _due(timezone.now()).order_by().values_list("version__document__tenant_id", flat=True).distinct()
    for tenant_id in tenants:
        work_start(kind=RETRY_REPRESENTATIONS, tenant_id=tenant_id, author=None)


@transaction.atomic
def set_representations_retry(*, scope: Scope, actor: User, set_id: int) -> int:
    """Let the model be asked at once for all passages of a set that rules wrote for; returns how many.

    Those that were given up are tried anew. Documents that are also in sets of other owners are left out, as by
    `set_rebuild`. Raises NotFoundError, NotAllowedError.
    """
    knowledge_set = set_owned(scope=scope, set_id=set_id)
    documents = documents_rebuildable(scope=scope, set_id=knowledge_set.pk).order_by().values("pk")
    rows = retries_live().filter(version__document__in=documents)
    again = RepresentationRetry.objects.filter(given_up__isnull=False, pk__in=rows.values("pk"))
    again.update(given_up=None, attempts=0)
    count = RepresentationRetry.objects.filter(pk__in=rows.values("pk")).update(requested=timezone.now())
    audit_record(actor=actor, action="set.enrich", target=knowledge_set.code, set=knowledge_set.pk, passages=count)
    if count:
        work_start(kind=RETRY_REPRESENTATIONS, tenant_id=knowledge_set.tenant_id, author=actor)
    return count


def retries_live() -> QuerySet[RepresentationRetry]:
    """Records about passages that can be found now."""
    live = {"version__live_for__isnull": False, "version__live_for__deleted": None, "chunk__retired": None}
    return RepresentationRetry.objects.filter(**live)


def retries_counted() -> dict[tuple[str, str], int]:
    """Live passages of all tenants by (reason, "waiting" or "given_up"), also those of which there are none."""
    rows = retries_live().order_by().annotate(is_over=Q(given_up__isnull=False)).values_list("reason", "is_over")
    counts = {(reason, state): 0 for reason in Reason.values for state in ("waiting", "given_up")}
    return counts | {(reason, "given_up" if over else "waiting"): n for reason, over, n in rows.annotate(n=Count("pk"))}


# ── what is due ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryOutcome:
    """For how many passages the model wrote, and whether it stopped answering."""

    total: int = 0
    is_silent: bool = False


def retries_next(*, tenant_id: int) -> list[RepresentationRetry]:
    """Due records of one version: what owners have asked for first, then what has waited longest."""
    rows = _due(timezone.now()).filter(version__document__tenant_id=tenant_id)
    rows = rows.select_related("version__document", "chunk__edit").defer("version__markdown", "version__sketch")
    rows = rows.order_by(F("requested").asc(nulls_last=True), F("not_before").asc(nulls_first=True), "pk")
    first = rows.first()
    if first is None:
        return []
    batch = list(rows.filter(version_id=first.version_id)[:BATCH])
    for row in batch:  # one document, which passages are locked by
        row.chunk.version = first.version
    return batch


def _due(now: datetime) -> QuerySet[RepresentationRetry]:
    waiting = retries_live().filter(given_up=None)
    if waiting.filter(faults__gt=0, not_before__gt=now).exists():  # the model did not answer a moment ago
        return waiting.filter(requested__isnull=False)
    due = Q(not_before=None) | Q(not_before__lte=now)
    if ingestion_is_active():
        due &= Q(created__lt=now - MAX_DELAY)
    return waiting.filter(Q(requested__isnull=False) | due)


# ── asking ──────────────────────────────────────────────────────────────────────────────────────


def retries_ask(job: Job, batch: Sequence[RepresentationRetry], model: ChatModel) -> RetryOutcome:
    """Ask for a batch: every record of it is settled, put off or gone afterwards.

    What is written is fenced by the background job. Raises JobLostError, DatabaseError.
    """
    options = _options(batch[0])
    rows = [row for row in batch if _is_wanted(row, options) and not passage_is_edited(row.chunk)]
    _forget(job, [row for row in batch if row not in rows])
    if not rows:
        return RetryOutcome()
    try:
        represented = _represent(rows, options, model)
        better = {row.pk: _prepared(row, represented) for row in rows if _is_better(row, _missed(row, represented))}
    except DatabaseError:
        raise
    except RagError as error:  # the embedder
        logger.info("%s: %s", error.code, error.message)
        _put_off(job, rows)
        return RetryOutcome(is_silent=True)
    except Exception:  # noqa: BLE001 (whatever a passage provokes must not keep the others from the model)
        return _ask_one_by_one(job, rows, model)
    total = sum(_settle(job, row, better.get(row.pk), _missed(row, represented)) for row in rows)
    silent = [row for row in rows if "unavailable" in _missed(row, represented).values()]
    if silent:
        _put_off(job, silent)
    else:  # it answers: nobody rests any more
        with job_writing(job):
            RepresentationRetry.objects.filter(faults__gt=0).update(faults=0, not_before=None)
    return RetryOutcome(total=total, is_silent=bool(silent))


def _ask_one_by_one(job: Job, rows: Sequence[RepresentationRetry], model: ChatModel) -> RetryOutcome:
    """After an unexpected fault: a passage that provokes it counts as refused."""
    if len(rows) == 1:
        logger.exception("passage %s could not be enriched again", rows[0].pk)
        _settle(job, rows[0], None, {"summary": "refused"})
        return RetryOutcome()
    total = 0
    for row in rows:
        outcome = retries_ask(job, [row], model)
        total += outcome.total
        if outcome.is_silent:
            return RetryOutcome(total=total, is_silent=True)
    return RetryOutcome(total=total)


def _options(row: RepresentationRetry) -> RepresentationOptions:
    """The present ones of the document: a single passage is always made with these."""
    document = row.version.document
    options: RepresentationOptions = pipeline_options(documents=[document])[document.pk].representations
    return options


def _is_wanted(row: RepresentationRetry, options: RepresentationOptions) -> bool:
    """Whether the options still ask the model for anything that the passage lacks."""
    if not options.language_model:
        return False
    if row.chunk.kind == Chunk.Kind.SECTION:
        return True
    return (row.lacks_summary and options.summaries) or (row.lacks_questions and options.questions)


def _represent(
    rows: Sequence[RepresentationRetry], options: RepresentationOptions, model: ChatModel
) -> DocumentRepresentations:
    version = rows[0].version
    return document_represent(
        title=version.document.title,
        parsed=ParsedDocument(blocks=(), title=version.title),
        drafts=_drafts(version.pk),
        options=options,
        model=model,
        concurrency=CONCURRENCY,
        silences=SILENCES,
        ordinals={row.chunk.ordinal for row in rows},
        alive=lambda: None,
    )


def _drafts(version_id: int) -> list[ChunkDraft]:
    """The passages of a version as they were cut: a passage is described among the others."""
    chunks = list(Chunk.objects.filter(version=version_id, retired=None).order_by("ordinal"))
    ordinals = {chunk.pk: chunk.ordinal for chunk in chunks}
    kinds: dict[str, ChunkKind] = {Chunk.Kind.SECTION: "section", Chunk.Kind.WHOLE: "whole"}
    return [
        ChunkDraft(
            ordinal=chunk.ordinal,
            text=chunk.text,
            tokens=chunk.tokens,
            kind=kinds.get(chunk.kind, "body"),
            heading_path=tuple(chunk.heading_path),
            parent=ordinals.get(chunk.parent_id) if chunk.parent_id else None,
            is_continuation=chunk.is_continuation,
            page=chunk.page,
        )
        for chunk in chunks
    ]


def _missed(row: RepresentationRetry, represented: DocumentRepresentations) -> Missed:
    return represented.missed.get(row.chunk.ordinal, {})


def _is_better(row: RepresentationRetry, missed: Missed) -> bool:
    """Whether the model wrote something that the passage lacked, and nothing is worse than it was."""
    lacked = {"summary"} if row.lacks_summary else set()
    lacked |= {"question"} if row.lacks_questions else set()
    return set(missed) < lacked


def _prepared(row: RepresentationRetry, represented: DocumentRepresentations) -> PreparedPassage:
    """The passage with its new entries, embedded; for a section a new passage, whose text has the summary."""
    chunk, ordinal = row.chunk, row.chunk.ordinal
    if chunk.kind == Chunk.Kind.SECTION:
        text = next(draft.text for draft in represented.drafts if draft.ordinal == ordinal)
        chunk = passage_successor(chunk, text=text)
    with embedding_slot(alive=lambda: None):
        return passage_embed(chunk, [r for r in represented.representations if r.ordinal == ordinal])


# ── settling ────────────────────────────────────────────────────────────────────────────────────


def _settle(job: Job, row: RepresentationRetry, fresh: PreparedPassage | None, missed: Missed) -> bool:
    """Replace the entries of a passage, if there are better ones, in one transaction with its record.

    Whether they were replaced. Nothing happens where somebody else was quicker: an owner with an edit or with other
    options, a new version, a deletion.
    """
    chunk = row.chunk
    try:
        with job_writing(job):
            totals = passage_lock(chunk, fresh=fresh) if fresh is not None else {}
            if not RepresentationRetry.objects.select_for_update().filter(pk=row.pk).exists():
                return False
            if not _is_wanted(row, _options(row)):
                raise PassageChangedError
            _record(row, missed, is_better=fresh is not None)
            if fresh is None:
                return False
            if fresh.chunk is chunk:
                passage_reindex(fresh=fresh, totals=totals)
            else:
                passage_substitute(old=chunk, fresh=fresh, totals=totals)
            return True
    except PassageChangedError:
        _forget(job, [row])
        return False


def _record(row: RepresentationRetry, missed: Missed, *, is_better: bool) -> None:
    """What is known of the passage now; nothing is left to know where the model wrote everything."""
    if not missed:
        RepresentationRetry.objects.filter(pk=row.pk).delete()
        return
    now = timezone.now()
    row.reason = main_failure(missed)
    row.tried, row.requested = now, None
    if is_better:
        row.lacks_summary, row.lacks_questions = "summary" in missed, "question" in missed
    if row.reason != Reason.UNAVAILABLE:
        row.attempts, row.faults = row.attempts + 1, 0
        row.not_before = now + timedelta(seconds=ATTEMPT_PAUSE_SECONDS * 2 ** (row.attempts - 1))
        row.given_up = now if row.attempts >= MAX_ATTEMPTS else None
    row.save()


def _put_off(job: Job, rows: Sequence[RepresentationRetry]) -> None:
    """The model does not answer: everything rests until it is asked about these again, with growing pauses."""
    now, faults = timezone.now(), max(row.faults for row in rows) + 1
    pause = min(BACKOFF_SECONDS * 2 ** min(faults - 1, 16), LONGEST_PAUSE_SECONDS)
    values = {"tried": now, "faults": faults, "not_before": now + timedelta(seconds=pause)}
    with job_writing(job):
        retries = RepresentationRetry.objects.filter(pk__in=[row.pk for row in rows])
        retries.update(**values, reason=Reason.UNAVAILABLE)
        RepresentationRetry.objects.filter(requested__isnull=False).update(requested=None)


def _forget(job: Job, rows: Sequence[RepresentationRetry]) -> None:
    """Nothing is to be asked about the passages any more."""
    if rows:
        with job_writing(job):
            RepresentationRetry.objects.filter(pk__in=[row.pk for row in rows]).delete()
