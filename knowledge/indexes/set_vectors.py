"""Searching the vectors that the entries of a knowledge set have by a model of its own (decision 041).

They stand in `knowledge_setvector`, which has the columns of `knowledge_wholevector`: the same statements search both,
with the asker's rights in each of them. What is searched is always a part of what the asker may see: one set's.
"""

from __future__ import annotations

from collections.abc import Sequence

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import EpochCache, epoch_of
from knowledge.indexes.rotations import RotationState, vector_text
from knowledge.indexes.search_space import STALE_SECONDS, SearchSpace, visible_key, visible_size
from knowledge.indexes.statements import fetch, ids_text
from knowledge.indexes.vectors import COSINE, OF_CHUNKS, VectorSearch
from knowledge.indexes.visibility import Visible, visible_in_order_sql
from ragcore.ports import FloatArray
from ragcore.types import Hit

# Processor time for which all vectors of the part are compared, as `search_space` estimates it: about 21,000 entries
# that are reached from their documents. With the lists of both models that is a seventh of a second (decision 041).
MOST_MILLISECONDS = 40.0
# The same where the set's model decides alone: there is one list, and the site's model may find nothing near at all.
MOST_ALONE = 120.0
PREFIX = 384

COUNT = "SELECT count(*) FROM knowledge_setvector WHERE tenant_id = %(tenant)s AND embedding_model = %(model)s"
PREFIXES = visible_in_order_sql(
    OF_CHUNKS.format(
        table="knowledge_setvector",
        distance=f"subvector(e.vector, 1, {PREFIX}) <=> %(vector)s::halfvec",
    ),
    score=COSINE,
)

LACKING = """
SELECT EXISTS (
    SELECT 1 FROM knowledge_document d JOIN knowledge_indexentry e ON e.version_id = d.live_version_id
    WHERE d.id IN ({visible})
    AND NOT EXISTS (SELECT 1 FROM knowledge_setvector v WHERE v.entry_id = e.id AND v.embedding_model = %(model)s)
)
"""

totals: EpochCache[int] = EpochCache()
complete: EpochCache[bool] = EpochCache()


def set_vector_search(*, scope: Scope, visible: Visible, model: str) -> VectorSearch:
    """What there is to search of a model's vectors in one part of what the asker may see."""
    epoch = epoch_of(scope=scope, visible=visible)
    params = {"tenant": scope.tenant_id, "model": model}
    total = totals.get(
        (scope.tenant_id, model), epoch=epoch, make=lambda: int(fetch(COUNT, params)[0][0]), stale=STALE_SECONDS
    )
    seen = visible_size(scope=scope, visible=visible, epoch=epoch)
    return VectorSearch(
        visible=visible,
        tenant=scope.tenant_id,
        model=model,
        space=SearchSpace(
            visible=seen.entries,
            passages=seen.passages,
            documents=seen.documents,
            total=max(total, seen.entries),
            is_indexed=False,
        ),
        state=RotationState(tenant_id=scope.tenant_id, model=model, rotation=0),
        is_clean=False,
        of_set=True,
    )


def is_within_reach(search: VectorSearch, *, is_alone: bool) -> bool:
    """Whether all vectors of the part may be compared with a question."""
    plan = search.plan()
    return plan.costs[plan.path] <= (MOST_ALONE if is_alone else MOST_MILLISECONDS)


def is_part_complete(*, scope: Scope, visible: Visible, model: str) -> bool:
    """Whether every entry of the part has a vector of the model; asked once for each corpus epoch.

    Who makes or deletes vectors of a model in use advances the epoch.
    """
    epoch = epoch_of(scope=scope, visible=visible)
    params = {**visible.params, "model": model}
    return complete.get(
        (scope.tenant_id, model, visible_key(visible)),
        epoch=epoch,
        make=lambda: not fetch(visible.applied(LACKING), params)[0][0],
    )


def set_prefix_search(
    *, scope: Scope, visible: Visible, vector: FloatArray, model: str, chunks: Sequence[int]
) -> list[Hit]:
    """These chunks by the cosine of the first 384 numbers of a set's model, best first; vector float32[768]."""
    del scope  # bound in `visible`; asked for so that no caller can forget it
    params = {
        **visible.params,
        "model": model,
        "vector": vector_text(vector[:PREFIX]),
        "chunks": ids_text(chunks),
        "limit": len(chunks),
    }
    return Hit.of_rows(fetch(visible.applied(PREFIXES), params))
