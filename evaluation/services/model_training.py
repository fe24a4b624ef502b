"""Trainings of whole embedding models: prepared, started, ended, and what came of them among the search models.

`evaluation.jobs.train_model` does the work. What is trained changes nothing that people search with: it becomes a
search model, which passes the gate and is switched to, by a set or by the site, like every other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.errors import MissingRightError
from accounts.models import User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.queue import TRAIN_MODEL
from evaluation.services.adapter_pairs import ORIGINS
from evaluation.services.trainings import State, training_create, training_end, training_subject
from evaluation.services.tuning_process import torch_check, work_folder_remove
from evaluation.training_errors import ModelTrainingError
from knowledge.models import ModelTraining, SearchModel
from knowledge.packaged_models import MULTILINGUAL, packaged_default
from knowledge.rights import MODELS_MANAGE
from knowledge.selectors import set_owned
from knowledge.selectors.model_trainings import model_training_get
from knowledge.services.search_models import search_model_save
from ragcore.embedding.e5 import PASSAGE, QUERY
from ragcore.training.whole_model.plan import PACKAGED, TunePlan, TuneSettings
from work.services import work_start

PACKAGED_BASE = 0  # in the place of the id of a search model
LIMITS: Mapping[str, tuple[float, float]] = {
    "epochs": (1, 20),
    "batch": (2, 128),
    "rate": (1e-7, 1e-3),
    "warm_up": (0.0, 0.5),
    "tokens": (32, 512),
    "examples": (16, 5000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A model that a training can begin with."""

    model_id: int
    name: str
    plan: TunePlan


def bases() -> list[Base]:
    """The packaged model of both languages, where this machine has it, and models of folders that were tested."""
    offered = []
    if packaged_default() == MULTILINGUAL:
        plan = TunePlan(folder=PACKAGED, query_prefix=QUERY, document_prefix=PASSAGE)
        offered.append(Base(model_id=PACKAGED_BASE, name=str(SearchModel.PACKAGED_TITLES[MULTILINGUAL]), plan=plan))
    rows = SearchModel.objects.filter(task=SearchModel.Task.EMBED, provider=SearchModel.Provider.FOLDER, test_code="ok")
    for row in rows.filter(trust_remote_code=False).order_by("name"):
        plan = TunePlan(
            folder=row.name,
            query_prefix=row.query_prefix,
            document_prefix=row.document_prefix,
            pooling=row.pooling,
        )
        offered.append(Base(model_id=row.pk, name=row.name, plan=plan))
    return offered


@transaction.atomic
def model_training_prepare(
    *,
    scope: Scope,
    actor: User,
    set_id: int,
    base: int = PACKAGED_BASE,
    origins: Sequence[str] = ORIGINS,
    settings: TuneSettings | None = None,
) -> ModelTraining:
    """Queue the collection of pairs of a set and an estimate of how long a training with them takes.

    `base`: the id of a search model of a folder. Raises NotFoundError, NotAllowedError, MissingRightError, and
    ModelTrainingError: PyTorch is missing, one is under way, or something cannot be used.
    """
    _check_right(scope)
    home = set_owned(scope=scope, set_id=set_id)
    torch_check()
    chosen = [name for name in ORIGINS if name in origins]
    if not chosen or set(origins) - set(ORIGINS):
        raise ModelTrainingError("origins")
    settings = settings or TuneSettings()
    _check_settings(settings)
    begin = next((offer for offer in bases() if offer.model_id == base), None)
    if begin is None:
        is_code = SearchModel.objects.filter(pk=base, trust_remote_code=True).exists()
        raise ModelTrainingError("code" if is_code else "base")
    plan = {**asdict(begin.plan), "settings": asdict(settings)}
    row = training_create(
        ModelTraining.objects.filter(knowledge_set=home),
        kind=TRAIN_MODEL,
        error=ModelTrainingError("running"),
        tenant_id=home.tenant_id,
        knowledge_set=home,
        model=begin.plan.folder,
        plan=plan,
        origins=chosen,
        author=actor,
    )
    audit_record(
        actor=actor, action="model_training.prepare", target=home.code, training=row.pk, model=row.model, origins=chosen
    )
    return row


@transaction.atomic
def model_training_start(*, scope: Scope, actor: User, training_id: int) -> ModelTraining:
    """Train with what was prepared. Raises MissingRightError, NotFoundError, ModelTrainingError."""
    row = _locked(scope, training_id)
    torch_check()
    if row.confirmed is not None:
        raise ModelTrainingError("started")
    if "estimate" not in row.figures:
        raise ModelTrainingError("not_prepared")
    row.confirmed = timezone.now()
    row.save(update_fields=["confirmed"])
    work_start(
        kind=TRAIN_MODEL,
        tenant_id=row.tenant_id,
        author=actor,
        subject=training_subject(row),
        arguments={"version_id": row.pk},
    )
    audit_record(actor=actor, action="model_training.start", target=row.knowledge_set.code, training=row.pk)
    return row


@transaction.atomic
def model_training_cancel(*, scope: Scope, actor: User, training_id: int) -> ModelTraining:
    """End a training, or give up what was prepared; what it has learnt is thrown away.

    Raises MissingRightError, NotFoundError, ModelTrainingError if it is over.
    """
    row = _locked(scope, training_id)
    if not training_end(row, kind=TRAIN_MODEL):
        values: dict[str, Any] = {"state": State.DROPPED, "reason": ModelTraining.Reason.CANCELLED}
        ModelTraining.objects.filter(pk=row.pk).update(**values, **ModelTraining.EMPTIED)
        transaction.on_commit(lambda: work_folder_remove(row.pk))
    audit_record(actor=actor, action="model_training.cancel", target=row.knowledge_set.code, training=row.pk)
    return model_training_get(scope=scope, training_id=training_id)


@transaction.atomic
def model_offer(*, scope: Scope, actor: User, training_id: int) -> SearchModel:
    """Put what was trained among the search models, again where somebody has removed it there.

    Raises MissingRightError, NotFoundError, ModelTrainingError, and what `search_model_save` raises.
    """
    row = model_training_get(scope=scope, training_id=training_id)
    if row.state != State.READY or row.weights is None:
        raise ModelTrainingError("not_better")
    if row.search_model is not None:
        return row.search_model
    if not Path(row.weights).is_dir():
        raise ModelTrainingError("gone")
    return trained_model_add(scope=scope, actor=actor, row=row, folder=Path(row.weights))


def trained_model_add(*, scope: Scope, actor: User, row: ModelTraining, folder: Path) -> SearchModel:
    """The search model of a folder that was trained. Raises what `search_model_save` raises."""
    values = {
        "task": SearchModel.Task.EMBED,
        "provider": SearchModel.Provider.FOLDER,
        "name": str(folder),
        "query_prefix": row.plan["query_prefix"],
        "document_prefix": row.plan["document_prefix"],
    }
    model = search_model_save(scope=scope, actor=actor, model=SearchModel(), values=values)
    ModelTraining.objects.filter(pk=row.pk).update(search_model=model)
    return model


def _locked(scope: Scope, training_id: int) -> ModelTraining:
    """An open training, which nobody else changes. Raises ModelTrainingError where it is over."""
    row = model_training_get(scope=scope, training_id=training_id)
    ModelTraining.objects.select_for_update(of=("self",), no_key=True).get(pk=row.pk)
    row = model_training_get(scope=scope, training_id=training_id)
    if row.state != State.BUILDING:
        raise ModelTrainingError("over")
    return row


def _check_settings(settings: TuneSettings) -> None:
    for name, (low, high) in LIMITS.items():
        if not low <= getattr(settings, name) <= high:
            raise ModelTrainingError("settings", name=name, low=low, high=high)


def _check_right(scope: Scope) -> None:
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError
