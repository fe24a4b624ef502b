"""Trainings of whole embedding models: who may see and start them.

A model of the site is the business of those who manage models, and pairs of a set that of its owners; it takes both.
"""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.errors import MissingRightError, NotFoundError
from accounts.roles import administers
from accounts.scope import Scope
from knowledge.models import ModelTraining
from knowledge.rights import MODELS_MANAGE
from knowledge.selectors.sets import sets_managed


def model_trainings_managed(*, scope: Scope) -> QuerySet[ModelTraining]:
    """Trainings of all sets of the asker, the latest first. Raises MissingRightError."""
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError
    rows = ModelTraining.objects.filter(knowledge_set__in=sets_managed(scope=scope).order_by().values("pk"))
    return rows.select_related("knowledge_set", "author", "search_model").defer("pairs", "checkpoint")


def model_training_get(*, scope: Scope, training_id: int) -> ModelTraining:
    """One of them. Raises MissingRightError, NotFoundError."""
    row = model_trainings_managed(scope=scope).filter(pk=training_id).first()
    if row is None:
        raise NotFoundError("model_training", training=training_id)
    return row
