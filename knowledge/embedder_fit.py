"""How the configured embedding model is shortened: measured once, kept in the database, the same everywhere (D6, D14).

The first process that uses a model embeds a sample of texts and looks whether the first 768 and 384 numbers find the
neighbours that all numbers find. Where they do not, a projection is fitted. What was found is stored before the first
vector is, and never changes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from django.db import connection

from knowledge.indexes.statements import embedder_fit_lock
from knowledge.models import EmbedderFit, WholeVector
from ragcore.embedding.shortening import (
    Shortening,
    prefix_verify,
    projection_fit,
)
from ragcore.embedding.vectors import DIMENSIONS
from ragcore.ports import FloatArray

logger = logging.getLogger(__name__)

VERIFY_TEXTS = 256  # enough to see that a prefix serves
FIT_TEXTS = 1600  # three quarters of which have more than 768 directions


@runtime_checkable
class WholeVectors(Protocol):
    """An embedder that also gives vectors as they are."""

    model: str

    def whole_vectors(self, texts: Sequence[str]) -> FloatArray: ...


class StoredShortening:
    """`shorten` of an embedder: looks up how on the first vectors, measures where nobody has. Thread-safe.

    Uses the ORM then. Raises EmbedderRefusedError where the model cannot be shortened.
    """

    def __init__(self) -> None:
        self.embedder: WholeVectors | None = None  # set by whoever makes both
        self._found: Shortening | None = None
        self._lock = threading.Lock()

    def __call__(self, vectors: npt.ArrayLike, *, model: str) -> FloatArray:
        """float32[n, 768] of float[n, d]."""
        if self._found is None:
            with self._lock:
                self._found = self._found or self._look_up(np.asarray(vectors).shape[-1])
        return self._found.apply(vectors, model=model)

    def _look_up(self, dimensions: int) -> Shortening:
        if self.embedder is None:
            raise RuntimeError("the embedder is not known yet")
        is_in_use = connection.connection is not None  # it may hold a transaction, or a lock of its session
        try:
            return shortening_of(self.embedder, dimensions=dimensions)
        finally:
            if not is_in_use:  # threads that compute keep no connection
                connection.close()


def shortening_of(embedder: WholeVectors, *, dimensions: int) -> Shortening:
    """What is stored of a model; measured and stored where nothing is: as long as embedding 256 or 1,600 texts."""
    if found := _stored(embedder.model):
        return found
    with embedder_fit_lock():
        if found := _stored(embedder.model):
            return found
        if WholeVector.objects.filter(embedding_model=embedder.model).exists():
            made = _of_earlier_version(embedder.model, dimensions)
        else:
            made = shortening_measure(embedder)
        EmbedderFit.objects.create(
            model=embedder.model,
            dimensions=made.dimensions,
            projection=made.packed,
            kept_whole=made.kept_whole,
            kept_prefix=made.kept_prefix,
            floor=made.floor,
        )
    return made


def shortening_measure(embedder: WholeVectors) -> Shortening:
    """The prefix where it serves, else a fitted projection. Raises EmbedderRefusedError."""
    from ragcore.training.rotation_training import sample_texts

    texts = sample_texts(most=FIT_TEXTS)
    vectors = embedder.whole_vectors(texts[:VERIFY_TEXTS])
    made = prefix_verify(vectors, model=embedder.model)
    if made is None:
        rest = embedder.whole_vectors(texts[VERIFY_TEXTS:])
        made = projection_fit(np.vstack([vectors, rest]), model=embedder.model)
    logger.info(
        "%s gives %d numbers; its %s keeps %.0f %% of the neighbours with 768 numbers, %.0f %% with 384",
        embedder.model,
        made.dimensions,
        made.kind,
        100 * (made.kept_whole or 0),
        100 * (made.kept_prefix or 0),
    )
    return made


def _stored(model: str) -> Shortening | None:
    row = EmbedderFit.objects.filter(model=model).first()
    if row is None:
        return None
    packed = bytes(row.projection) if row.projection is not None else None
    return Shortening(
        dimensions=row.dimensions,
        packed=packed,
        kept_whole=row.kept_whole,
        kept_prefix=row.kept_prefix,
        floor=row.floor,
    )


def default_floor(model: str) -> float | None:
    """The default of `min_cosine` for a model; None: that of the packaged one holds. Uses the ORM."""
    return EmbedderFit.objects.filter(model=model).values_list("floor", flat=True).first()


def _of_earlier_version(model: str, dimensions: int) -> Shortening:
    """Vectors that are stored already were cut; others could not be compared with them."""
    if dimensions > DIMENSIONS:
        logger.warning(
            "vectors of %s were cut from %d to %d numbers by an earlier version without looking whether that serves; "
            "they stay so until the documents are ingested with another model",
            model,
            dimensions,
            DIMENSIONS,
        )
    return Shortening(dimensions=dimensions)
