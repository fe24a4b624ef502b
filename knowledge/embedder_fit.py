"""How the configured embedding model is shortened: measured once, kept in the database, the same everywhere.

The first process that uses a model embeds a sample of texts and looks whether the first 768 and 384 numbers find the
neighbours that all numbers find. Where they do not, a projection is fitted. What was found is stored before the first
vector is, and never changes while there are vectors of the model.

Vectors of three texts are kept with it: they tell whether other weights stand behind the same name or folder by now.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
from django.db import connection, transaction

from knowledge.indexes.statements import embedder_fit_lock
from knowledge.model_setup import registry_changed, setup_now
from knowledge.models import EmbedderFit, SetVector, WholeVector
from ragcore.embedding.script_trust import ScriptTrust, trust_of_recall
from ragcore.embedding.shortening import Shortening, prefix_verify, projection_fit
from ragcore.embedding.vectors import DIMENSIONS
from ragcore.errors import EmbedderRefusedError, RagError
from ragcore.ports import FloatArray
from ragcore.text.scripts import cjk_share

logger = logging.getLogger(__name__)

VERIFY_TEXTS = 256  # enough to see that a prefix serves
FIT_TEXTS = 1600  # three quarters of which have more than 768 directions
PROBES = (
    "How is the antenna tilt adjusted?",
    "The battery of a site lasts for four hours when the mains fail.",
    "天线下倾角由远程单元调节。",
)
SAME_COSINE = 0.99  # of the same text by the same weights; half precision and other machines take less than 0.001

_others: WeakSet[WholeVectors] = WeakSet()  # clients of this process whose weights are others than those on record


@runtime_checkable
class WholeVectors(Protocol):
    """An embedder that also gives vectors as they are."""

    model: str

    def whole_vectors(self, texts: Sequence[str]) -> FloatArray: ...


@runtime_checkable
class Loadable(Protocol):
    """An embedder whose model can be loaded, or whose server can be asked, before the first text."""

    def warm(self) -> None:
        """However long loading takes. Raises EmbedderRefusedError, ModelUnavailableError."""
        ...


class StoredShortening:
    """`shorten` of an embedder: looks up how on the first vectors, measures where nobody has. Thread-safe.

    Looks again where the registry of models has changed: what is known may have been forgotten (`fit_forget`).
    Uses the ORM then. Raises EmbedderRefusedError where the model cannot be shortened.
    """

    def __init__(self) -> None:
        self.embedder: WholeVectors | None = None  # set by whoever makes both
        self._found: Shortening | None = None
        self._version: uuid.UUID | None = None  # of the registry, when it was looked up
        self._lock = threading.Lock()

    def __call__(self, vectors: npt.ArrayLike, *, model: str) -> FloatArray:
        """float32[n, 768] of float[n, d]."""
        version = setup_now().version
        if self._found is None or self._version != version:
            with self._lock:
                if self._found is None or self._version != version:
                    looked_up = self._look_up(np.asarray(vectors).shape[-1])
                    if looked_up != self._found:  # else its matrix is ready
                        self._found = looked_up
                    self._version = version
        return self._found.apply(vectors, model=model)

    def trust(self, cjk_share: float) -> float:
        """How far cosines of such texts are trusted, as measured; 1 before the first vector, and where nothing was."""
        shortening = self._found
        return 1.0 if shortening is None or shortening.trust is None else shortening.trust(cjk_share)

    def _look_up(self, dimensions: int) -> Shortening:
        if self.embedder is None:
            raise RuntimeError("the embedder is not known yet")
        is_in_use = connection.connection is not None  # it may hold a transaction, or a lock of its session
        try:
            shortening = shortening_of(self.embedder, dimensions=dimensions)
            if shortening != self._found and shortening.dimensions == dimensions:
                _weights_compare(self.embedder)
            return shortening
        finally:
            if not is_in_use:  # threads that compute keep no connection
                connection.close()


def shortening_of(embedder: WholeVectors, *, dimensions: int) -> Shortening:
    """What is stored of a model; measured and stored where nothing is: as long as embedding 256 or 1,600 texts."""
    if stored := _stored(embedder.model):
        return stored
    with embedder_fit_lock():
        if stored := _stored(embedder.model):
            return stored
        if WholeVector.objects.filter(embedding_model=embedder.model).exists():
            shortening = _of_earlier_version(embedder.model, dimensions)
        else:
            shortening = shortening_measure(embedder)
        EmbedderFit.objects.create(
            model=embedder.model,
            dimensions=shortening.dimensions,
            projection=shortening.packed,
            kept_whole=shortening.kept_whole,
            kept_prefix=shortening.kept_prefix,
            floor=shortening.floor,
            **_trust_columns(shortening.trust),
            probes=_probed(embedder).astype("<f2").tobytes(),
        )
    return shortening


def shortening_measure(embedder: WholeVectors) -> Shortening:
    """The prefix where it serves, else a fitted projection. Raises EmbedderRefusedError."""
    from ragcore.training.rotation_training import sample_texts

    texts = sample_texts(most=FIT_TEXTS)
    vectors = embedder.whole_vectors(texts[:VERIFY_TEXTS])
    shortening = prefix_verify(vectors, model=embedder.model)
    if shortening is None:
        rest = embedder.whole_vectors(texts[VERIFY_TEXTS:])
        shortening = projection_fit(np.vstack([vectors, rest]), model=embedder.model)
    shortening = replace(shortening, trust=trust_measure(embedder, shortening))
    logger.info(
        "%s gives %d numbers; its %s keeps %.0f %% of the neighbours with 768 numbers, %.0f %% with 384",
        embedder.model,
        shortening.dimensions,
        shortening.kind,
        100 * (shortening.kept_whole or 0),
        100 * (shortening.kept_prefix or 0),
    )
    return shortening


def trust_measure(embedder: WholeVectors, shortening: Shortening) -> ScriptTrust:
    """How far a model is trusted in either script, by what it finds among general texts; embeds some 400 of them."""
    from ragcore.training.general_pairs import general_pairs, recall_of  # reads files of a megabyte

    pairs = general_pairs()
    texts = [text for pair in zip(*pairs, strict=True) for text in pair]
    vectors = shortening.apply(embedder.whole_vectors(texts), model=embedder.model)
    is_cjk = np.array([cjk_share(question) > 0 for question, _rest in pairs])
    question_vectors, text_vectors = vectors[: len(pairs)], vectors[len(pairs) :]
    latin, cjk = (float(recall_of(question_vectors[some], text_vectors[some]).mean()) for some in (~is_cjk, is_cjk))
    return ScriptTrust(latin=trust_of_recall(latin), cjk=trust_of_recall(cjk))


def trust_refresh(embedder: WholeVectors) -> None:
    """Measure how far a model is trusted, where an earlier version has not. Uses the ORM."""
    shortening = _stored(embedder.model)
    if shortening is not None and shortening.trust is None:
        columns = _trust_columns(trust_measure(embedder, shortening))
        EmbedderFit.objects.filter(model=embedder.model).update(**columns)
        registry_changed()


def _trust_columns(trust: ScriptTrust | None) -> dict[str, float | None]:
    return {"trust_latin": trust.latin if trust else None, "trust_cjk": trust.cjk if trust else None}


def _stored(model: str) -> Shortening | None:
    row = EmbedderFit.objects.filter(model=model).first()
    if row is None:
        return None
    packed = bytes(row.projection) if row.projection is not None else None
    latin, cjk = row.trust_latin, row.trust_cjk
    return Shortening(
        dimensions=row.dimensions,
        packed=packed,
        kept_whole=row.kept_whole,
        kept_prefix=row.kept_prefix,
        floor=row.floor,
        trust=ScriptTrust(latin=latin, cjk=cjk) if latin is not None and cjk is not None else None,
    )


# ── other weights behind the same name ──────────────────────────────────────────────────────────


def weights_verify(embedder: WholeVectors) -> None:
    """Raises EmbedderRefusedError where a model gives other vectors than when it was measured, or fails.

    The vectors of models that an earlier version has measured are kept now. Uses the ORM.
    """
    rows = EmbedderFit.objects.filter(model=embedder.model)
    probes = rows.values_list("probes", flat=True).first()
    if probes is not None:
        stored_vectors = np.frombuffer(probes, "<f2").reshape(len(PROBES), -1)
        if not _is_same(stored_vectors, _probed(embedder)) and not _is_same(
            stored_vectors, _probed(embedder)
        ):  # once may be a rounding
            raise EmbedderRefusedError("other_weights", model=embedder.model)
    elif not connection.in_atomic_block:  # a question holds no lock on the row
        rows.filter(probes=None).update(probes=_probed(embedder).astype("<f2").tobytes())


def new_vectors_check(embedder: object) -> None:
    """Raises EmbedderRefusedError where new vectors of a model could not be compared with those that are stored.

    To be called when the model has given some: that is when it is compared first.
    """
    if isinstance(embedder, WholeVectors) and embedder in _others:
        weights_verify(embedder)
        _others.discard(embedder)


def _weights_compare(embedder: WholeVectors) -> None:
    """Notes what is found: questions go on, with a search that is worse."""
    _others.discard(embedder)
    try:
        weights_verify(embedder)
    except RagError as error:
        if error.reason == "other_weights":
            _others.add(embedder)
        logger.warning("%s", error)


def _is_same(stored_vectors: npt.NDArray[np.float16], new_vectors: FloatArray) -> bool:
    return stored_vectors.shape == new_vectors.shape and bool(
        np.all((stored_vectors * new_vectors).sum(axis=1) >= SAME_COSINE)
    )


def _probed(embedder: WholeVectors) -> FloatArray:
    """float32[3, d], L2-normalised: the vectors of PROBES as the model gives them."""
    rows = embedder.whole_vectors(PROBES)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), dtype=np.float32)


def fit_forget(model: str) -> bool:
    """Have it measured anew how a model is shortened; False, and nothing, where vectors of it are stored.

    Another model may stand behind the name of a server or the path of a folder by then.
    """
    with transaction.atomic():
        if any(kind.objects.filter(embedding_model=model).exists() for kind in (WholeVector, SetVector)):
            return False
        EmbedderFit.objects.filter(model=model).delete()
        registry_changed()
    return True


def measured_of(model: str) -> Shortening | None:
    """What was measured of a model; None: nothing. Uses the ORM."""
    return _stored(model)


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
