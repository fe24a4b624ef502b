"""Fitting a set's query vectors: started by an owner, trained by a worker, judged on held-out documents (D6, D7, U12).

The row is the truth. One worker at a time holds a training by a lease that it renews; after each few seconds it stores
a checkpoint. So a worker that is killed loses seconds, and the next one ends with the same numbers. Nothing that people
search with changes here: what was fitted is switched on by `knowledge.services.query_adapters`, after it was measured.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from evaluation.errors import AdapterTrainingError
from evaluation.queue import QUEUES, TRAIN_ADAPTER
from evaluation.services.adapter_measuring import AdapterJudge, Judged
from evaluation.services.adapter_pairs import ORIGINS, pair_confused, pairs_collect
from knowledge.models import QueryAdapter
from knowledge.queue import enqueue_on_commit
from knowledge.selectors import set_owned
from knowledge.selectors.query_adapters import adapter_get
from knowledge.selectors.training_vectors import space_name
from ragcore.embedding.adapter_training import AdapterSettings, AdapterTraining
from ragcore.errors import RagError, TransientError
from ragcore.text.question_pairs import MADE, QuestionPair

logger = logging.getLogger(__name__)

State = QueryAdapter.State
LEASE = timedelta(minutes=3)
CHECKPOINT_SECONDS = 10.0
LEAST_PAIRS = 20
MOST_STARTS = 6  # without an end
PATIENCE = 10  # rounds in a row without a better one, after which the training ends
SETTINGS = AdapterSettings()


class _StoppedError(Exception):
    """The training was cancelled, or another worker has it."""


@transaction.atomic
def training_start(
    *, scope: Scope, actor: User, set_id: int, origins: Sequence[str] = ORIGINS, calls_worker: bool = True
) -> QueryAdapter:
    """Queue a training of a set's query vectors with pairs of these origins.

    Raises NotFoundError, NotAllowedError, and AdapterTrainingError: one is under way, or no origin is chosen.
    """
    home = set_owned(scope=scope, set_id=set_id)
    chosen = [name for name in ORIGINS if name in origins]
    if not chosen or set(origins) - set(ORIGINS):
        raise AdapterTrainingError("origins")
    mine = QueryAdapter.objects.filter(knowledge_set=home)
    number = (mine.order_by().aggregate(last=Max("number"))["last"] or 0) + 1
    try:
        with transaction.atomic():
            row = QueryAdapter.objects.create(
                tenant_id=home.tenant_id,
                knowledge_set=home,
                number=number,
                model=space_name(scope=scope),
                origins=chosen,
                rounds=SETTINGS.rounds,
                author=actor,
            )
    except IntegrityError as error:  # of two at the same moment one gets here
        raise AdapterTrainingError("running") from error
    audit_record(actor=actor, action="adapter.train", target=home.code, adapter=row.pk, origins=chosen)
    if calls_worker:
        _call_worker(row.pk)
    return row


@transaction.atomic
def training_cancel(*, scope: Scope, actor: User, adapter_id: int) -> QueryAdapter:
    """End a training; what it has learned is thrown away. Raises NotFoundError, AdapterTrainingError if it is over."""
    row = adapter_get(scope=scope, adapter_id=adapter_id)
    open_one = QueryAdapter.objects.filter(pk=row.pk, state__in=QueryAdapter.OPEN)
    if not open_one.update(state=State.CANCELLED, finished=timezone.now(), **_EMPTIED):
        raise AdapterTrainingError("over")
    audit_record(actor=actor, action="adapter.cancel", target=row.knowledge_set.code, adapter=row.pk)
    return adapter_get(scope=scope, adapter_id=adapter_id)


def trainings_resume() -> int:
    """Call a worker to every training that nobody holds; how many. Safe to run twice."""
    lost = list(QueryAdapter.objects.filter(_is_free(), state__in=QueryAdapter.OPEN).values_list("pk", flat=True))
    for pk in lost:
        _call_worker(pk)
    return len(lost)


def training_advance(*, adapter_id: int, on_round: Callable[[int], None] | None = None) -> bool:
    """Train to the end, from the last checkpoint on; False where another worker has it, or it is over.

    `on_round` hears the number of rounds that are done and stored.
    """
    if not _take(adapter_id):
        return False
    row = QueryAdapter.objects.select_related("knowledge_set", "author__tenant").get(pk=adapter_id)
    try:
        _Work(row, on_round).run()
    except _StoppedError:
        return True
    except (DatabaseError, TransientError):
        logger.exception("a training of query vectors is broken off; it goes on from its checkpoint")
    except RagError as error:
        _fail(row, error)
    except Exception:
        logger.exception("a training of query vectors failed")
        _fail(row, AdapterTrainingError("internal"))
    return True


_EMPTIED: dict[str, Any] = {"pairs": [], "checkpoint": None, "leased_until": None}


def _fail(row: QueryAdapter, error: RagError) -> None:
    QueryAdapter.objects.filter(pk=row.pk, state__in=QueryAdapter.OPEN).update(
        state=State.FAILED,
        error_code=error.code,
        error_message=error.message[:512],
        error_data=error.message_data(),
        finished=timezone.now(),
        **_EMPTIED,
    )


class _Work:
    """One worker's part of a training."""

    def __init__(self, row: QueryAdapter, on_round: Callable[[int], None] | None) -> None:
        if row.author is None or not row.author.is_active:
            raise AdapterTrainingError("lost")
        self.row, self.home, self.on_round = row, row.knowledge_set, on_round
        self.scope = scope_for(row.author)
        self.begun = self.stored_at = time.monotonic()
        self.worked = row.seconds

    def run(self) -> None:
        """Pairs, then rounds, then the judgement."""
        if self.row.starts > MOST_STARTS:
            raise AdapterTrainingError("lost")
        set_owned(scope=self.scope, set_id=self.home.pk)  # who lost the set since then teaches it nothing
        if not self.row.pairs:
            self._collect()
        judge = AdapterJudge.of_training(scope=self.scope, home=self.home, stored=self.row.pairs, alive=self.alive)
        training, best = self._begun(judge)
        while not training.is_over and not best.is_stale(training.round, PATIENCE):
            loss = training.advance()
            found = judge.judge(training, loss=loss)
            self.row.curve = [*self.row.curve, found.point]
            best = best.better_of(found)
            self._store(training, best)
            if self.on_round is not None:
                self.on_round(training.round)
        self._finish(judge, best)

    def alive(self, **values: Any) -> None:
        """Renew the lease and write progress. Raises _StoppedError where the training was cancelled meanwhile."""
        held = QueryAdapter.objects.filter(pk=self.row.pk, state=State.TRAINING)
        seconds = self.worked + time.monotonic() - self.begun
        if not held.update(leased_until=timezone.now() + LEASE, seconds=seconds, **values):
            raise _StoppedError

    def _collect(self) -> None:
        found = pairs_collect(scope=self.scope, knowledge_set=self.home, origins=self.row.origins, alive=self.alive)
        if not found.passages:
            raise AdapterTrainingError("empty")
        stored, dropped = [], dict(found.dropped)
        for pair in found.pairs:
            confused = pair_confused(scope=self.scope, set_id=self.home.pk, pair=pair, passages=found.passages)
            if pair.origin in MADE and not confused.is_relevant:
                dropped["not_found"] = dropped.get("not_found", 0) + 1
                continue
            stored.append(pair_json(pair, hard=confused.hard, masked=confused.masked))
            if time.monotonic() - self.stored_at >= CHECKPOINT_SECONDS:
                self.stored_at = time.monotonic()
                self.alive()
        if len(stored) < LEAST_PAIRS:
            raise AdapterTrainingError("few", found=len(stored), least=LEAST_PAIRS)
        self.row.pairs = stored
        self.row.figures = {"pairs": _counted(stored), "dropped": dropped}
        self.alive(pairs=stored, figures=self.row.figures)

    def _begun(self, judge: AdapterJudge) -> tuple[AdapterTraining, Judged]:
        """The training at its checkpoint, or at its beginning."""
        if self.row.checkpoint is not None:
            best, state = Judged.unpacked(bytes(self.row.checkpoint))
            return AdapterTraining.resumed(judge.pairs, SETTINGS, state), best
        training = AdapterTraining(judge.pairs, SETTINGS)
        first = judge.judge(training, loss=None)
        self.row.curve = [first.point]
        return training, first

    def _store(self, training: AdapterTraining, best: Judged) -> None:
        """A checkpoint with the progress until then, every few seconds; after each round where somebody listens."""
        if time.monotonic() - self.stored_at < CHECKPOINT_SECONDS and self.on_round is None:
            return
        self.stored_at = time.monotonic()
        self.alive(
            round=training.round,
            curve=self.row.curve,
            best_round=best.round,
            checkpoint=best.packed(training.checkpoint()),
        )

    def _finish(self, judge: AdapterJudge, best: Judged) -> None:
        result = judge.result(best)
        state = State.READY if result.is_gain else State.NO_GAIN
        self.alive()
        QueryAdapter.objects.filter(pk=self.row.pk, state=State.TRAINING).update(
            state=state,
            curve=self.row.curve,
            round=self.row.curve[-1]["round"],
            best_round=best.round,
            weights=best.adapter.pack() if result.is_gain else None,
            figures={**self.row.figures, **result.figures},
            finished=timezone.now(),
            **_EMPTIED,
        )


def pair_json(pair: QuestionPair, *, hard: Sequence[int], masked: Sequence[int]) -> dict[str, Any]:
    """A pair as it is stored while it is needed."""
    return {
        "question": pair.question,
        "chunks": list(pair.chunks),
        "documents": list(pair.documents),
        "origin": pair.origin,
        "language": pair.language,
        "hard": list(hard),
        "masked": list(masked),
    }


def _counted(stored: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {name: count for name in ORIGINS if (count := sum(one["origin"] == name for one in stored))}


# ── the lease ─────────────────────────────────────────────────────────────────────────────────────


def _is_free() -> Q:
    return Q(leased_until=None) | Q(leased_until__lt=timezone.now())


def _take(adapter_id: int) -> bool:
    rows = QueryAdapter.objects.filter(_is_free(), pk=adapter_id, state__in=QueryAdapter.OPEN)
    return rows.update(state=State.TRAINING, leased_until=timezone.now() + LEASE, starts=F("starts") + 1) > 0


def _call_worker(pk: int) -> None:
    enqueue_on_commit(TRAIN_ADAPTER, queue=QUEUES[TRAIN_ADAPTER], adapter_id=pk)
