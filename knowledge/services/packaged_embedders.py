"""The packaged embedding models as rows of the registry, one of which a new site begins with.

The row is what decides from then on: a release with another default, or a machine that cannot have the default, changes
no site that has begun (decision 049).
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from knowledge.model_registry import embedder_of
from knowledge.model_setup import registry_changed
from knowledge.models import EmbedderSwitch, SearchModel
from knowledge.packaged_models import packaged_available
from knowledge.search_model_setup import SearchModelSpec, first_packaged, is_embedder_locked

Task, Provider, State = SearchModel.Task, SearchModel.Provider, EmbedderSwitch.State


@transaction.atomic
def packaged_embedders_register() -> None:
    """Offer the packaged models that this machine can run; a site that uses none yet begins with one of them.

    Nothing while the environment names another model. Safe to run at every start, by several processes.
    """
    if is_embedder_locked():
        return
    first = first_packaged()
    rows = {client: _registered(client) for client in {*packaged_available(), first}}
    row, _is_new = rows[first]
    values = {"target": row, "model": row.vectors, "live_since": timezone.now()}
    _live, begins = EmbedderSwitch.objects.get_or_create(state=State.LIVE, defaults=values)
    if begins or any(is_new for _row, is_new in rows.values()):
        registry_changed()


def _registered(client: str) -> tuple[SearchModel, bool]:
    vectors = embedder_of(SearchModelSpec(client=client)).model
    values = {"provider": Provider.PACKAGED, "name": client}
    return SearchModel.objects.get_or_create(task=Task.EMBED, vectors=vectors, defaults=values)
