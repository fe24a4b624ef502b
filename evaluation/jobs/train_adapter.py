"""Fits a set's query vectors to pairs of questions and passages, and judges them on held-out documents.

Every few seconds there is a checkpoint: of the pairs that are collected, of those that are searched, and then of the
rounds. Each worker ends with the same numbers. Where documents changed meanwhile the rounds begin anew, and another
embedding model of the site ends the training. Nothing that people search with changes here: what was fitted is
brought into use by `work.versions`, after it was measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.errors import AdapterTrainingError
from evaluation.queue import TRAIN_ADAPTER
from evaluation.services.adapter_general import general_recall
from evaluation.services.adapter_measuring import AdapterJudge, Judged
from evaluation.services.pair_work import PairWork
from evaluation.services.trainings import TrainingKind
from knowledge.model_setup import setup_refresh
from knowledge.models import QueryAdapter
from knowledge.selectors import set_owned
from knowledge.selectors.training_vectors import space_name
from knowledge.versions.query_adapters import QueryAdapters
from ragcore.embedding.adapter_training import AdapterSettings, AdapterTraining
from work.kinds import Checkpoint, job_kind

MOST_ANEW = 2  # beginnings of the rounds after the first, because documents changed
PATIENCE = 10  # rounds in a row without a better one, after which the training ends
SETTINGS = AdapterSettings()


class AdapterWork(PairWork[QueryAdapter]):
    """One slice's part of a training of query vectors."""

    error = AdapterTrainingError

    def checkpoints(self) -> Iterator[Checkpoint]:
        """Pairs, then rounds, then the judgement."""
        self._check_model()
        set_owned(scope=self.scope, set_id=self.home.pk)  # who lost the set since then teaches it nothing
        if not self.row.pairs:
            yield from self.pairs()
        judge = AdapterJudge.of_training(scope=self.scope, home=self.home, stored=self.row.pairs)
        self._check_model()  # each search reads the registry again
        stored = self._stored(judge)
        if stored is None and self.row.checkpoint is not None:
            self.row.curve, self.row.checkpoint = [], None
            yield self._rounds(0, curve=[], best_round=0, figures=self.row.figures, checkpoint=None)
        judge, training, best = stored or self._begun(judge)
        while not training.is_over and not best.is_stale(training.round, PATIENCE):
            judged = judge.judge(training, loss=training.advance())
            self.row.curve = [*self.row.curve, judged.point]
            best = best.better_of(judged)
            if self.is_due():
                state = best.packed(training.checkpoint(), judge.grounds)
                values = {"curve": self.row.curve, "best_round": best.round, "checkpoint": state}
                yield self._rounds(training.round, **values)
        yield self._result(judge, best)

    def _rounds(self, number: int, **values: Any) -> Checkpoint:
        return self.checkpoint({"round": number}, done=number, total=SETTINGS.rounds, values=values)

    def _check_model(self) -> None:
        """Raises AdapterTrainingError where questions are not compared in the space that this training began in."""
        setup_refresh(now=True)  # a new process knows nothing of the registry yet
        if space_name(scope=self.scope) != self.row.model:
            raise AdapterTrainingError("model")

    # ── rounds ──────────────────────────────────────────────────────────────────────────────────

    def _begun(self, judge: AdapterJudge) -> tuple[AdapterJudge, AdapterTraining, Judged]:
        """The training at its beginning, with the judge of its rounds."""
        training = AdapterTraining(judge.pairs, SETTINGS)
        first = judge.judge(training, loss=None)
        self.row.curve = [first.point]
        return judge, training, first

    def _stored(self, judge: AdapterJudge) -> tuple[AdapterJudge, AdapterTraining, Judged] | None:
        """The training as it was stored; None where the rounds must begin, for the first time or anew.

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
        return None

    def _result(self, judge: AdapterJudge, best: Judged) -> Checkpoint:
        result = judge.result(best)
        general = general_recall(best.adapter, scope=self.scope)
        self._check_model()
        return self.finished(
            is_gain=result.is_gain,
            place=self.row.curve[-1]["round"],
            curve=self.row.curve,
            best_round=best.round,
            weights=best.adapter.pack() if result.is_gain else None,
            figures={**self.row.figures, **result.figures, "general": general},
        )


@job_kind
class TrainAdapter(TrainingKind[QueryAdapter]):
    """One version of a set's query adapter."""

    name = TRAIN_ADAPTER
    label = _("Training of query vectors")
    model = QueryAdapter
    version_kind = QueryAdapters.name
    work = AdapterWork
