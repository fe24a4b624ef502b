"""Questions by the embedding models of sets: an optional part of a search, which never fails it (decision 041)."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import Error as DatabaseFailure

from knowledge import model_registry
from knowledge.faults import failure_columns
from knowledge.queue import NOTE_SET_MODEL, enqueue_on_commit
from knowledge.selectors.set_embedders import SetModel
from ragcore.embedding.vectors import DIMENSIONS, CachingEmbedder, with_set_vectors
from ragcore.errors import RagError
from ragcore.ports import Embedder, FloatArray

logger = logging.getLogger(__name__)

RESTED_SECONDS = 60.0  # a model that has not answered is asked again after that, in each process

_resting: dict[str, float] = {}  # model -> until when (monotonic)


def rested() -> None:
    """Every model is asked again."""
    _resting.clear()


def set_questions_embed(texts: Sequence[str], used: SetModel) -> FloatArray | None:
    """float32[n, 768] by the model of a set; None where it does not answer, or has not a moment ago."""
    if time.monotonic() < _resting.get(used.model, 0.0):
        return None
    try:
        embedder = model_registry.optional_embedder_of(used.spec)
        if embedder.model != used.model:
            return None  # its row names another model by now
        return CachingEmbedder(embedder).embed_queries(texts)
    except DatabaseFailure:
        raise  # the search is lost anyway
    except Exception as error:  # whatever a model or its server does: the site's model answers
        is_known = isinstance(error, RagError)
        logger.warning("the model %s of a set does not answer: %s", used.model, error, exc_info=not is_known)
        _resting[used.model] = time.monotonic() + RESTED_SECONDS
        _tell(used.row, error)
        return None


def _tell(row_id: int, error: Exception) -> None:
    """A task notes at the row that its model does not answer questions; whoever searches is not failed by this.

    Without what the model said: it may repeat the question, which is not for the owners of the set. The worker's own
    try tells more.
    """
    columns = failure_columns(error)
    code, message = columns["error_code"], columns["error_message"]
    if isinstance(error, RagError):
        message = str(type(error).default_message)
    try:
        enqueue_on_commit(NOTE_SET_MODEL, row_id=row_id, code=code, message=message)
    except Exception:
        logger.exception("that the model of a set does not answer could not be noted")


class SetModelEmbedder:
    """Implements ports.Embedder for questions: the site's numbers, then those by the models of the sets that are asked.

    `notes`: of the trace, one for each model, in their order. `is_whole`: the one model searches all that is asked.
    Documents get the site's numbers alone.
    """

    def __init__(
        self, embedder: Embedder, used: Sequence[SetModel], notes: Sequence[dict[str, Any]], *, is_whole: bool
    ) -> None:
        self.embedder, self.used, self.notes, self.is_whole = embedder, used, notes, is_whole
        self.model = embedder.model
        self.dimensions = embedder.dimensions

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self.embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, d + 769 k] (`with_set_vectors`) of the d numbers of the embedder and k models."""
        vectors = self.embedder.embed_queries(texts)
        added: dict[int, FloatArray] = {}
        for used, note in zip(self.used, self.notes, strict=True):
            found = set_questions_embed(texts, used)
            if found is None:
                note["way"] = "unavailable"
                found = np.zeros((len(texts), DIMENSIONS), np.float32)
            added[used.row] = found
        return with_set_vectors(vectors, added)

    def trust(self, cjk_share: float) -> float:
        """See ports.Embedder. Of the set's model where it searches alone, of the better one where both do.

        Where other passages are searched, too, that of the site's model.
        """
        site = self.embedder.trust(cjk_share)
        if not self.is_whole or self.notes[0].get("way") == "unavailable":
            return site
        own = model_registry.optional_embedder_of(self.used[0].spec).trust(cjk_share)
        return own if self.used[0].is_alone else max(site, own)
