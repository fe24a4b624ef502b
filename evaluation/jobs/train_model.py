"""Trains all weights of an embedding model with pairs of a set, and judges it on held-out documents.

A version has two jobs of this kind. The first one collects its pairs, and has a few steps measured: people see how long
the training takes, and it is refused where that is too long or the memory too small. The second one, which a person
starts, trains. The steps are taken by a program (`ragcore.training.whole_model`) in a process of its own, which keeps
its state in a folder: any worker of the machine goes on from there with the same numbers. What finds more on held-out
documents, and forgets little of general texts, becomes a search model; nothing that people search with changes here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from evaluation.queue import TRAIN_MODEL
from evaluation.services.adapter_measuring import is_better
from evaluation.services.model_examples import tune_data
from evaluation.services.model_training import trained_model_add
from evaluation.services.pair_work import PairWork
from evaluation.services.trainings import Reason, State, TrainingKind, difference_shown
from evaluation.services.tuning_process import (
    models_folder,
    torch_check,
    tuning_process,
    work_folder,
    work_folder_remove,
)
from evaluation.training_errors import ModelTrainingError
from knowledge import model_registry
from knowledge.models import ModelTraining
from knowledge.selectors import set_owned
from knowledge.selectors.model_trainings import model_trainings_managed
from ragcore.metrics.comparison import paired_difference
from ragcore.model_file.memory import free_threads
from ragcore.training.whole_model.grading import ranked
from ragcore.training.whole_model.plan import (
    AFTER,
    BEFORE,
    MODEL,
    PLAN,
    TuneData,
    TunePlan,
    TuneSettings,
    json_read,
    plan_read,
    plan_write,
)
from work.errors import JobLostError
from work.fencing import job_held
from work.kinds import Checkpoint, job_kind
from work.models import Job

MOST_HOURS = 8.0  # of a training on a processor
MOST_FORGOTTEN = 0.01  # of recall@10 on general texts
EMBEDDED_AT_ONCE = 32
TRAINED = "trained"  # folder of models that were trained here


class ModelWork(PairWork[ModelTraining]):
    """One slice's part of a training of a model."""

    error = ModelTrainingError

    def checkpoints(self) -> Iterator[Checkpoint]:
        """Pairs and an estimate; after it was confirmed, steps and the judgement."""
        model_trainings_managed(scope=self.scope)  # who lost the right since then trains nothing
        set_owned(scope=self.scope, set_id=self.home.pk)
        torch_check()
        if not self.row.pairs:
            _leftovers_remove()
            yield from self.pairs()
        folder = work_folder(self.row.pk)
        if not (folder / PLAN).exists():
            yield self._written(folder)
        if self.row.confirmed is None:
            yield from self._estimated(folder)
        else:
            yield from self._trained(folder)

    def _written(self, folder: Path) -> Checkpoint:
        """The files that the program reads."""
        settings = TuneSettings(**self.row.plan["settings"])
        data, figures = tune_data(
            scope=self.scope,
            home=self.home,
            stored=self.row.pairs,
            origins=self.row.origins,
            most=settings.examples,
        )
        threads = free_threads(os.cpu_count() or 1)
        plan_write(folder, TunePlan(**{**self.row.plan, "settings": settings, "threads": threads}), data)
        self.row.figures = {**self.row.figures, **figures}
        return self.checkpoint({"written": True}, values={"figures": self.row.figures})

    # ── before ──────────────────────────────────────────────────────────────────────────────────

    def _estimated(self, folder: Path) -> Iterator[Checkpoint]:
        """A few steps; the job is over then, and the version waits for a person. Raises ModelTrainingError."""
        estimate: dict[str, Any] = {}
        with tuning_process(folder, "estimate") as lines:
            for words in lines:
                if "over" in words:
                    estimate = words["over"]
                else:
                    self._look()
        hours = estimate["seconds"] / 3600
        if estimate["device"] == "cpu" and hours > MOST_HOURS:
            raise ModelTrainingError("long", hours=f"{hours:.0f}", most=f"{MOST_HOURS:.0f}")
        figures = {**self.row.figures, "estimate": estimate}
        yield self.checkpoint({"estimated": True}, values={"figures": figures}, is_last=True)

    # ── the training ────────────────────────────────────────────────────────────────────────────

    def _trained(self, folder: Path) -> Iterator[Checkpoint]:
        with tuning_process(folder, "train") as lines:
            for words in lines:
                if "saved" in words and words["phase"] == "steps":
                    reached = {"step": words["saved"]}
                    curve = [{"round": at, "loss": loss} for at, loss in enumerate(words["losses"], start=1)]
                    values = {"curve": curve}
                    yield self.checkpoint(reached, done=words["saved"], total=words["total"], values=values)
                else:
                    self._look()
        yield self._result(folder)

    def _look(self) -> None:
        """No checkpoint, because the slice could end with it and what the program does would be lost.

        Raises JobLostError where somebody has paused or cancelled the job meanwhile.
        """
        if self.is_due() and not job_held(self.job).exists():
            raise JobLostError

    def _result(self, folder: Path) -> Checkpoint:
        """What came of it, with the search model where it is better."""
        plan, data = plan_read(folder)
        before, after = json_read(folder / BEFORE), json_read(folder / AFTER)
        figures = judged(before, after)
        figures["in_use"] = self._in_use(data)
        recall, ndcg = (_difference(before, after, name) for name in ("recall", "ndcg"))
        is_gain = is_better(recall, ndcg) and figures["general"]["difference"] >= -MOST_FORGOTTEN
        target = models_folder() / TRAINED / f"set-{self.home.pk}-{self.row.number}"
        curve = [{"round": at, "loss": round(loss, 5)} for at, loss in enumerate(after["losses"], start=1)]
        values = {"curve": curve, "figures": {**self.row.figures, **figures}}

        def write() -> None:
            ended: dict[str, Any] = {"state": State.DROPPED, "reason": Reason.NO_GAIN}
            if is_gain:
                _move(folder / MODEL, target)
                ended = {"state": State.READY, "weights": str(target)}
                trained_model_add(scope=self.scope, actor=self.author, row=self.row, folder=target)
            ModelTraining.objects.filter(pk=self.row.pk).update(**values, **ended, **ModelTraining.EMPTIED)
            transaction.on_commit(lambda: work_folder_remove(self.row.pk))

        return replace(self.checkpoint({}, values={}, done=self.job.total, is_last=True), write=write)

    def _in_use(self, data: TuneData) -> dict[str, float]:
        """Recall@10 and nDCG@10 of the site's embedding model on the same questions and passages."""
        embedder = model_registry.embedder()
        starts = range(0, len(data.passages), EMBEDDED_AT_ONCE)
        rows = [embedder.embed_documents(data.passages[start : start + EMBEDDED_AT_ONCE]) for start in starts]
        questions = [case.question for case in data.held_out]
        starts = range(0, len(questions), EMBEDDED_AT_ONCE)
        question_rows = [embedder.embed_queries(questions[start : start + EMBEDDED_AT_ONCE]) for start in starts]
        recall, ndcg = ranked(data, np.vstack(question_rows), np.vstack(rows))
        return {"recall10": round(float(np.mean(recall)), 4), "ndcg10": round(float(np.mean(ndcg)), 4)}


@job_kind
class TrainModel(TrainingKind[ModelTraining]):
    """One version of a model trained with a set; `done` counts steps."""

    name = TRAIN_MODEL
    label = _("Training of an embedding model")
    model = ModelTraining
    work = ModelWork
    slice_seconds = 300.0  # loading the program takes some of them
    at_once = 1  # of one machine's memory

    def state_changed(self, job: Job) -> None:
        super().state_changed(job)
        for training_id in self._rows(job).exclude(state=State.BUILDING).values_list("pk", flat=True):
            transaction.on_commit(lambda pk=training_id: work_folder_remove(pk))  # type: ignore[misc]

    def subject_words(self, job: Job) -> str:
        row = self._rows(job).select_related("knowledge_set").first()
        return f"{row.knowledge_set.shown_name} {row.number}" if row is not None else ""


def judged(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of a version of two judgements on the same texts."""
    narrow = {"recall@10 (384)": difference_shown(_difference(before, after, "narrow"))} if before["narrow"] else {}
    general = difference_shown(_difference(before, after, "general"))
    return {
        "overall": {
            "recall@10": difference_shown(_difference(before, after, "recall")),
            "ndcg@10": difference_shown(_difference(before, after, "ndcg")),
        },
        "dimensions": narrow,
        "general": {**general, "cases": len(before["general"])},
        "discrimination": {"before": before["discrimination"], "after": after["discrimination"]},
    }


def _difference(before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]], name: str) -> Any:
    return paired_difference(before[name], after[name])


def _move(source: Path, target: Path) -> None:
    """The folder appears complete or not at all."""
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)  # of a try whose transaction was rolled back
        source.rename(target)


def _leftovers_remove() -> None:
    """Folders of trainings that are over, or gone with their set."""
    folder = work_folder(0).parent
    training_ids = {int(path.name) for path in folder.glob("*") if path.name.isdecimal()} if folder.exists() else set()
    building = ModelTraining.objects.filter(pk__in=training_ids, state=State.BUILDING).values_list("pk", flat=True)
    for training_id in training_ids - set(building):
        work_folder_remove(training_id)
