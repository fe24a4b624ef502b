"""Changes of the site's embedding model whose vectors may be searched (decision 031)."""

from __future__ import annotations

from knowledge.model_setup import hosts_allowed
from knowledge.models import EmbedderSwitch
from knowledge.search_model_setup import SearchModelSpec, spec_of

State = EmbedderSwitch.State
COMPLETE = (State.READY, State.LIVE, State.KEPT)


def switch_spec(*, switch_id: int) -> SearchModelSpec | None:
    """The model of a change all of whose vectors are there; None where there is none: the model in use is asked."""
    row = EmbedderSwitch.objects.filter(pk=switch_id, state__in=COMPLETE).select_related("target").first()
    return None if row is None else spec_of(row.target, hosts_allowed())
