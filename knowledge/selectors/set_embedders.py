"""Embedding models of sets: which of them a search uses, and which somebody may see and switch."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import EpochCache, epoch_of
from knowledge.indexes.visibility import Visible
from knowledge.model_registry import live_model
from knowledge.model_setup import hosts_allowed, setup_now
from knowledge.models import SearchModel, SetEmbedder
from knowledge.search_model_setup import SearchModelSpec, spec_of
from knowledge.selectors.query_adapters import LIVE_ONE, NONE, sets_asked
from knowledge.selectors.sets import set_owned, sets_managed, sets_readable
from ragcore.embedding.cosine_scale import CosineScale
from ragcore.embedding.set_scale import OpenScale

State = SetEmbedder.State

Known = tuple[SetEmbedder, ...]
_live: EpochCache[Known] = EpochCache()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetModel:
    """An embedding model of a set, as a search uses it beside one model of the site."""

    row: int  # of SetEmbedder
    set_id: int
    model: str  # name of its vectors
    is_alone: bool  # False: both models decide
    spec: SearchModelSpec
    scale: CosineScale  # of its cosines to those of the site's model
    prefix_scale: CosineScale  # the same of cosines of the first 384 numbers

    def as_note(self) -> dict[str, Any]:
        """For the trace; `way` is added by who searches."""
        return {"set": self.set_id, "model": self.model, "mode": "alone" if self.is_alone else "fused"}


def set_models_of_search(
    *,
    scope: Scope,
    visible: Visible,
    site_model: str,
    sets: Sequence[int] = (),
    version: int = LIVE_ONE,
) -> tuple[SetModel, ...]:
    """Models that take part in a search beside the site's, by set.

    `version`: of the option `set_embedder`; a number holds where one set is asked alone. A model takes no part where
    the site uses the same one, or where no scale of the two is known yet.
    """
    if version == NONE:
        return ()
    if version > 0:
        rows = _version_of(scope, sets, version) if len(sets) == 1 else ()
    else:
        epoch = epoch_of(scope=scope, visible=visible)
        key: tuple[int, uuid.UUID | None] = (scope.tenant_id, setup_now().version)  # models change with the latter
        rows = _live.get(key, epoch=epoch, make=lambda: _live_ones(scope.tenant_id))
        if rows:
            asked = sets_asked(scope=scope, visible=visible, sets=sets)
            rows = tuple(row for row in rows if row.knowledge_set_id in asked)
    hosts = hosts_allowed() if rows else ()
    return tuple(used for row in rows if (used := _used(row, site_model, hosts)) is not None)


def _live_ones(tenant_id: int) -> Known:
    rows = SetEmbedder.objects.filter(tenant_id=tenant_id, state=State.LIVE).select_related("target")
    return tuple(rows.order_by("knowledge_set_id"))


def _version_of(scope: Scope, sets: Sequence[int], number: int) -> Known:
    readable = sets_readable(scope=scope).order_by().values("pk")
    rows = SetEmbedder.objects.filter(knowledge_set_id=sets[0], knowledge_set__in=readable, number=number)
    return tuple(rows.filter(state__in=SetEmbedder.COMPLETE).select_related("target"))


def _used(row: SetEmbedder, site_model: str, hosts: tuple[str, ...]) -> SetModel | None:
    scale: Mapping[str, float] | None = row.figures.get("scales", {}).get(site_model)
    if scale is None or row.model == site_model:
        return None
    return SetModel(
        row=row.pk,
        set_id=row.knowledge_set_id,
        model=row.model,
        is_alone=row.mode == SetEmbedder.Mode.ALONE,
        spec=spec_of(row.target, hosts),
        scale=OpenScale(scale["offset"], scale["slope"]),
        prefix_scale=OpenScale(scale["prefix_offset"], scale["prefix_slope"]),
    )


# ── to see and switch ───────────────────────────────────────────────────────────────────────────


def set_embedders_of_set(*, scope: Scope, set_id: int) -> QuerySet[SetEmbedder]:
    """What was chosen for a set, the latest first, for its owners. Raises NotFoundError, NotAllowedError."""
    home = set_owned(scope=scope, set_id=set_id)
    return SetEmbedder.objects.filter(knowledge_set=home).select_related("author", "target")


def set_embedder_get(*, scope: Scope, embedder_id: int) -> SetEmbedder:
    """One of a set that the asker owns. Raises NotFoundError."""
    owned = sets_managed(scope=scope).order_by().values("pk")
    rows = SetEmbedder.objects.filter(pk=embedder_id, knowledge_set__in=owned)
    found = rows.select_related("knowledge_set", "author", "target").first()
    if found is None:
        raise NotFoundError("set_embedder", embedder=embedder_id)
    return found


def set_targets(*, scope: Scope) -> QuerySet[SearchModel]:
    """Embedding models that owners may choose: registered and tested, and not the one that the site uses.

    They are of the whole site; an owner of no set sees none.
    """
    rows = SearchModel.objects.filter(task=SearchModel.Task.EMBED).exclude(vectors=live_model())
    tested = Q(provider=SearchModel.Provider.PACKAGED) | Q(test_code="ok")
    return rows.filter(tested) if sets_managed(scope=scope).exists() else rows.none()
