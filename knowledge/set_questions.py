"""Questions by the embedding models of sets: an optional part of a search, which never fails it (decision 041)."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import Error as DatabaseFailure

from knowledge import model_registry
from knowledge.faults import failure_columns
from knowledge.queue import NOTE_SET_MODEL, enqueue_on_commit
from knowledge.selectors.set_embedders import SetModel
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.errors import RagError
from ragcore.ports import Embedder, FloatArray
from ragcore.types import Query

logger = logging.getLogger(__name__)

UNAVAILABLE = "unavailable"  # in traces: the model of the set has not answered
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


@dataclass(slots=True)
class SetQuestions:
    """The questions of one search by the model of a set; each text is embedded once, all that are new together."""

    used: SetModel
    note: dict[str, Any] = field(default_factory=dict)  # of the trace; "way" is UNAVAILABLE where the model is silent
    embedded: dict[str, FloatArray | None] = field(default_factory=dict)  # text -> float32[768]

    def __post_init__(self) -> None:
        self.note.update(self.used.as_note())

    def vector(self, query: Query) -> FloatArray | None:
        """float32[768]; None where the model does not answer."""
        return self.vectors([query])[0]

    def vectors(self, queries: Sequence[Query]) -> list[FloatArray | None]:
        """The same for each question."""
        texts = [query.embedded_text for query in queries]
        if fresh := [text for text in dict.fromkeys(texts) if text not in self.embedded]:
            vectors = set_questions_embed(fresh, self.used)
            if vectors is None:
                self.note["way"] = UNAVAILABLE
            self.embedded.update(zip(fresh, vectors if vectors is not None else [None] * len(fresh), strict=True))
        return [self.embedded[text] for text in texts]


class SetModelEmbedder:
    """Implements ports.Embedder for a search of nothing but the part of a set that has a model of its own.

    Vectors are those of the site's model; how far they are trusted follows from the models that compare.
    """

    def __init__(self, embedder: Embedder, questions: SetQuestions) -> None:
        self.embedder, self.questions = embedder, questions
        self.model = embedder.model
        self.dimensions = embedder.dimensions

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self.embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self.embedder.embed_queries(texts)

    def trust(self, cjk_share: float) -> float:
        """See ports.Embedder. Of the set's model where it searches alone, of the better one where both do."""
        site, used = self.embedder.trust(cjk_share), self.questions.used
        if self.questions.note.get("way") == UNAVAILABLE:
            return site
        own = model_registry.optional_embedder_of(used.spec).trust(cjk_share)
        return own if used.is_alone else max(site, own)
