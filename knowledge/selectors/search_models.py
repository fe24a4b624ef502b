"""Models of the site that a search may use in the place of those in use: to measure them, or for a set."""

from __future__ import annotations

from knowledge.model_setup import hosts_allowed
from knowledge.models import EmbedderSwitch, SearchModel
from knowledge.search_model_setup import SearchModelSpec, environment_reranker, spec_of

State = EmbedderSwitch.State
COMPLETE = (State.READY, State.LIVE, State.KEPT)
IN_USE, OF_ENVIRONMENT = 0, -1  # as the option `reranker_model` names rerankers that are no rows


def switch_spec(*, switch_id: int) -> SearchModelSpec | None:
    """The model of a change all of whose vectors are there; None where there is none: the model in use is asked."""
    row = EmbedderSwitch.objects.filter(pk=switch_id, state__in=COMPLETE).select_related("target").first()
    return None if row is None else spec_of(row.target, hosts_allowed())


def reranker_spec(*, model_id: int) -> SearchModelSpec | None:
    """The reranker that `reranker_model` names; None where there is no such one: the one in use orders.

    Where the environment says which one is used, no other one is.
    """
    if model_id == IN_USE or environment_reranker().is_locked:
        return None
    if model_id == OF_ENVIRONMENT:
        return environment_reranker()
    row = SearchModel.objects.filter(pk=model_id, task=SearchModel.Task.RERANK).first()
    return None if row is None else spec_of(row, hosts_allowed())
