"""Fitting a set's query vectors: started by an owner, trained by a worker, judged on held-out documents.

The row is the truth. One worker at a time holds a training by a lease that it renews; after each few seconds it stores
a checkpoint: of the pairs that it has collected, of those that it has searched, and then of the rounds. So a worker
that is killed loses seconds, and the next one ends with the same numbers. Where documents changed meanwhile the rounds
begin anew, and another embedding model of the site ends the training. Nothing that people
search with changes here: what was fitted is switched on by `knowledge.services.query_adapters`, after it was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import AdapterTrainingError
from evaluation.queue import TRAIN_ADAPTER
from evaluation.services.adapter_general import general_recall
from evaluation.services.adapter_measuring import AdapterJudge, Judged
from evaluation.services.adapter_negatives import NegativesSearch
from evaluation.services.adapter_pairs import ORIGINS, PairCollection
from evaluation.services.adapter_passages import SetPassages
from evaluation.services.trainings import (
    TrainingWork,
    training_create,
    training_end,
    training_work,
    trainings_lost,
    worker_call,
)
from knowledge.model_setup import setup_refresh
from knowledge.models import QueryAdapter
from knowledge.selectors import set_owned
from knowledge.selectors.query_adapters import adapter_get
from knowledge.selectors.training_vectors import space_name
from ragcore.embedding.adapter_training import AdapterSettings, AdapterTraining

State = QueryAdapter.State
LEAST_PAIRS = 20
MOST_ANEW = 2  # beginnings of the rounds after the first, because documents changed
PATIENCE = 10  # rounds in a row without a better one, after which the training ends
SETTINGS = AdapterSettings()
COLLECTING, SEARCHING = b"c", b"s"  # beginnings of checkpoints, until the row has its pairs


@transaction.atomic
def training_start(
    *, scope: Scope, actor: User, set_id: int, origins: Sequence[str] = ORIGINS, calls_worker: bool = True
) -> QueryAdapter:
    """Queue a training of a set's query vectors with pairs of these origins.

    Raises NotFoundError, NotAllowedError, and AdapterTrainingError: one is under way, or no origin is chosen.
    """
    setup_refresh(now=True)
    home = set_owned(scope=scope, set_id=set_id)
    chosen = [name for name in ORIGINS if name in origins]
    if not chosen or set(origins) - set(ORIGINS):
        raise AdapterTrainingError("origins")
    row = training_create(
        QueryAdapter.objects.filter(knowledge_set=home),
        error=AdapterTrainingError("running"),
        tenant_id=home.tenant_id,
        knowledge_set=home,
        model=space_name(scope=scope),
        origins=chosen,
        rounds=SETTINGS.rounds,
        author=actor,
    )
    audit_record(actor=actor, action="adapter.train", target=home.code, adapter=row.pk, origins=chosen)
    if calls_worker:
        worker_call(TRAIN_ADAPTER, adapter_id=row.pk)
    return row


@transaction.atomic
def training_cancel(*, scope: Scope, actor: User, adapter_id: int) -> QueryAdapter:
    """End a training; what it has learned is thrown away. Raises NotFoundError, AdapterTrainingError if it is over."""
    row = adapter_get(scope=scope, adapter_id=adapter_id)
    if not training_end(row):
        raise AdapterTrainingError("over")
    audit_record(actor=actor, action="adapter.cancel", target=row.knowledge_set.code, adapter=row.pk)
    return adapter_get(scope=scope, adapter_id=adapter_id)


def trainings_resume() -> int:
    """Call a worker to every training that nobody holds; how many. Safe to run twice."""
    lost = trainings_lost(QueryAdapter.objects.all())
    for pk in lost:
        worker_call(TRAIN_ADAPTER, adapter_id=pk)
    return len(lost)


def training_advance(*, adapter_id: int, on_round: Callable[[int], None] | None = None) -> bool:
    """Train to the end, from the last checkpoint on; False where another worker has it, or it is over.

    `on_round` hears the number of rounds that are done and stored.
    """
    rows = QueryAdapter.objects.select_related("knowledge_set")
    work = partial(_Work, on_round=on_round)
    return training_work(rows, pk=adapter_id, work=work, error=AdapterTrainingError)


class _Work(TrainingWork[QueryAdapter]):
    error = AdapterTrainingError

    def __init__(self, row: QueryAdapter, on_round: Callable[[int], None] | None) -> None:
        super().__init__(row)
        self.home, self.on_round = row.knowledge_set, on_round

    def run(self) -> None:
        """Pairs, then rounds, then the judgement."""
        self._check_model()
        set_owned(scope=self.scope, set_id=self.home.pk)  # who lost the set since then teaches it nothing
        if not self.row.pairs:
            self._collect()
        judge = AdapterJudge.of_training(scope=self.scope, home=self.home, stored=self.row.pairs, alive=self.alive)
        self._check_model()  # each search reads the registry again
        judge, training, best = self._begun(judge)
        while not training.is_over and not best.is_stale(training.round, PATIENCE):
            loss = training.advance()
            found = judge.judge(training, loss=loss)
            self.row.curve = [*self.row.curve, found.point]
            best = best.better_of(found)
            self._store(judge, training, best)
            if self.on_round is not None:
                self.on_round(training.round)
        self._finish(judge, best)

    def _check_model(self) -> None:
        """Raises AdapterTrainingError where questions are not compared in the space that this training began in."""
        setup_refresh(now=True)  # a new process knows nothing of the registry yet
        if space_name(scope=self.scope) != self.row.model:
            raise AdapterTrainingError("model")

    def _collect(self) -> None:
        """Pairs, then what a search confuses with each of them. Raises AdapterTrainingError where they are too few."""
        passages = SetPassages(scope=self.scope, set_id=self.home.pk)
        if not passages.rows().exists():
            raise AdapterTrainingError("empty")
        search = self._searching()
        while not search.is_over:
            search.advance(passages)
            if self.is_due():
                shown = {"searched": search.place, "to_search": len(search.pairs)}
                self.alive(checkpoint=SEARCHING + search.packed(), figures=shown)
        if len(search.stored) < LEAST_PAIRS:
            raise AdapterTrainingError("few", found=len(search.stored), least=LEAST_PAIRS)
        self.row.pairs, self.row.checkpoint = search.stored, None
        self.row.figures = {"pairs": _counted(search.stored), "dropped": dict(search.dropped)}
        self.alive(pairs=search.stored, figures=self.row.figures, checkpoint=None)

    def _searching(self) -> NegativesSearch:
        """The search for confused passages at its checkpoint, or at its beginning, with the pairs collected before."""
        kept = bytes(self.row.checkpoint) if self.row.checkpoint is not None else b""
        if kept.startswith(SEARCHING):
            return NegativesSearch.unpacked(kept.removeprefix(SEARCHING))
        collection = PairCollection(
            scope=self.scope,
            home=self.home,
            origins=self.row.origins,
            alive=self.alive,
            stored=kept.removeprefix(COLLECTING) or None,
        )
        while not collection.is_over:
            collection.advance()
            if self.is_due():
                self.alive(checkpoint=COLLECTING + collection.packed(), figures={"found": collection.found})
        self.alive()
        found = collection.result()
        search = NegativesSearch(found.pairs, found.dropped)
        shown = {"searched": 0, "to_search": len(search.pairs)}
        self.alive(checkpoint=SEARCHING + search.packed(), figures=shown)
        return search

    def _begun(self, judge: AdapterJudge) -> tuple[AdapterJudge, AdapterTraining, Judged]:
        """The training at its checkpoint, or at its beginning, with the judge of its rounds."""
        if (kept := self._kept(judge)) is not None:
            return kept
        training = AdapterTraining(judge.pairs, SETTINGS)
        first = judge.judge(training, loss=None)
        self.row.curve = [first.point]
        return judge, training, first

    def _kept(self, judge: AdapterJudge) -> tuple[AdapterJudge, AdapterTraining, Judged] | None:
        """The training at its checkpoint; None where the rounds must begin, for the first time or anew.

        Raises AdapterTrainingError where documents changed too often.
        """
        if self.row.checkpoint is None:
            return None
        try:
            best, state, grounds = Judged.unpacked(bytes(self.row.checkpoint))
            training = AdapterTraining.resumed(judge.pairs, SETTINGS, state)
        except KeyError:  # of an earlier version
            return None
        if (same := judge.on(grounds)) is not None:
            return same, training, best
        anew = self.row.figures.get("begun_anew", 0) + 1
        if anew > MOST_ANEW:
            raise AdapterTrainingError("changed")
        self.row.figures = {**self.row.figures, "begun_anew": anew}
        self.alive(figures=self.row.figures, round=0, best_round=0, curve=[], checkpoint=None)
        return None

    def _store(self, judge: AdapterJudge, training: AdapterTraining, best: Judged) -> None:
        """A checkpoint with the progress until then, every few seconds; after each round where somebody listens."""
        if not self.is_due() and self.on_round is None:
            return
        self.alive(
            round=training.round,
            curve=self.row.curve,
            best_round=best.round,
            checkpoint=best.packed(training.checkpoint(), judge.grounds),
        )

    def _finish(self, judge: AdapterJudge, best: Judged) -> None:
        result = judge.result(best)
        general = general_recall(best.adapter, scope=self.scope, alive=self.alive)
        self._check_model()
        self.finish(
            state=State.READY if result.is_gain else State.NO_GAIN,
            curve=self.row.curve,
            round=self.row.curve[-1]["round"],
            best_round=best.round,
            weights=best.adapter.pack() if result.is_gain else None,
            figures={**self.row.figures, **result.figures, "general": general},
        )


def _counted(stored: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {name: count for name in ORIGINS if (count := sum(one["origin"] == name for one in stored))}
