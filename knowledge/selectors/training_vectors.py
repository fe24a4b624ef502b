"""The space in which questions are compared with passages, for fitting query adapters in it.

Everything about it is asked here: its name, vectors of questions, and vectors of a set's passages within somebody's
rights. An adapter takes part in searches as long as the space has the name that it was fitted in.
"""

from __future__ import annotations

from collections.abc import Sequence

from accounts.scope import Scope
from knowledge import model_registry
from knowledge.indexes.training_vectors import PassageVectors, passage_vectors_load
from knowledge.models import EntryText, IndexEntry
from knowledge.selectors.documents import documents_askable
from knowledge.selectors.visibility import visible_to
from ragcore.ports import FloatArray

MOST_ENTRIES = 120_000  # 370 MB; of larger sets some documents are read, and the training says how many


def space_name(*, scope: Scope) -> str:
    """What vectors the tenant's questions and passages are compared by: the embedding model in use."""
    del scope  # all tenants have the same one
    return model_registry.embedder().model


def space_dimensions(*, scope: Scope) -> int:
    """Length of the vectors that are compared."""
    del scope
    return model_registry.embedder().dimensions


def question_vectors(texts: Sequence[str], *, scope: Scope) -> FloatArray:
    """float32[n, 768], as searches compare them with passages where no adapter takes part."""
    del scope
    return model_registry.embedder().embed_queries(texts)


def passage_vectors(*, scope: Scope, set_id: int) -> PassageVectors:
    """Entries of the set's passages that the asker may search, as they are compared with questions."""
    visible = visible_to(scope=scope, sets=[set_id])
    return passage_vectors_load(scope=scope, visible=visible, model=space_name(scope=scope), limit=MOST_ENTRIES)


def summaries_after(entry: int, *, scope: Scope, set_id: int, most: int) -> list[tuple[int, int, int, str]]:
    """(entry, chunk, document, text) of the next entries that sum up a passage of the set which the asker may search,
    by id.
    """
    live = documents_askable(scope=scope, sets=[set_id]).order_by().values("live_version_id")
    entries = IndexEntry.objects.filter(version_id__in=live, representation="summary", chunk__retired=None)
    rows = list(
        entries.filter(pk__gt=entry).order_by("pk").values_list("pk", "chunk_id", "version__document_id")[:most]
    )
    texts = dict(EntryText.objects.filter(entry_id__in=[row[0] for row in rows]).values_list("entry_id", "text"))
    return [(*row, texts.get(row[0], "")) for row in rows]
