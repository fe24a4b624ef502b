"""Making the vectors of the sentences of passages: with new passages, and in the background for others (decision 048).

They are an optional part: where they cannot be made, passages are found, read and published without them, and the
background makes them later. What is done is in the table itself, so a worker that is killed loses the batch at hand.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext

import numpy as np
from django.db import Error as DatabaseFailure
from django.db import transaction

from knowledge.indexes.sentence_vectors import (
    EmbeddedSentences,
    SentenceSpace,
    newest_passage,
    passages_of,
    passages_without,
    sentences_fill,
    space_of,
)
from knowledge.indexes.statements import sentences_try_lock
from knowledge.model_registry import embedder_of, tokenizer
from knowledge.model_setup import setup_refresh
from knowledge.models import EmbedderSwitch
from knowledge.queue import FILL_SENTENCES, enqueue_on_commit
from knowledge.services.embedder_fill import (
    LOOKED_BACK,
    LOOKED_SECONDS,
    SLICE_SECONDS,
    FillTask,
    StoppedError,
    fill_tasks,
)
from knowledge.services.model_slots import model_slot
from ragcore.errors import RagError
from ragcore.extractive.sentence_cosines import headed_sentences
from ragcore.ports import Embedder, SentenceEmbedder
from ragcore.types import Passage
from ragcore.types.sentence_vectors import SENTENCE_DIMENSIONS, SentenceVectors

logger = logging.getLogger(__name__)

BATCH = 32  # passages a transaction: a second or two of computing
PAGE = 2_000  # passages that are looked at together
FAILURES = 3  # in a row, after which the model is at fault and not a passage

_complete: dict[SentenceSpace, tuple[int, float]] = {}  # passage up to which all have theirs, and when all were read


def _nothing(count: int) -> None:
    del count


def sentences_embed(
    passages: Sequence[Passage], embedder: Embedder, *, alive: Callable[[int], None] = _nothing
) -> list[EmbeddedSentences | None]:
    """The vectors of the sentences of each passage. Slow: call outside of transactions.

    None where the embedder gives none, and where that failed, which is logged. `alive` is told before each passage how
    many are done, and may end the work.
    """
    if not isinstance(embedder, SentenceEmbedder):
        return [None] * len(passages)
    results: list[EmbeddedSentences | None] = []
    failures = 0
    for passage in passages:
        alive(len(results))
        vectors = _vectors(passage, embedder) if failures < FAILURES else None
        failures = failures + 1 if vectors is None else 0
        results.append(None if vectors is None else EmbeddedSentences(space_of(embedder), vectors))
    return results


def _vectors(passage: Passage, embedder: SentenceEmbedder) -> SentenceVectors | None:
    """None where that failed, whatever the reason: a passage is published without them."""
    try:
        sentences = headed_sentences(passage, tokenizer())
        if not sentences:
            return SentenceVectors.of([], np.zeros((0, SENTENCE_DIMENSIONS), np.float32))
        vectors = embedder.embed_sentences(sentences)
        if not np.isfinite(vectors).all():
            raise ValueError("the embedder returned numbers that are not finite")
        return SentenceVectors.of([sentence.text for sentence in sentences], vectors)
    except Exception as error:
        is_known = isinstance(error, RagError)
        logger.warning("the sentences of a passage get no vectors: %s", error, exc_info=not is_known)
        return None


# ── in the background ───────────────────────────────────────────────────────────────────────────


def sentences_tend(*, seconds: float = SLICE_SECONDS) -> int:
    """Make the vectors of sentences that passages lack, for so long; returns of how many passages.

    Of the model in use, of the one on its way and of the former one, as far as they give any. Nothing if another worker
    does it. Call outside of transactions.
    """
    setup_refresh(now=True)
    with sentences_try_lock() as alone:
        if not alone:
            return 0
        until, stored = time.monotonic() + seconds, 0
        for task in fill_tasks():
            try:
                stored += _tend(task, until=until)
            except StoppedError:
                continue
            except DatabaseFailure:
                raise
            except Exception as error:  # of one model, or of the library behind it
                is_known = isinstance(error, RagError)
                logger.warning("sentences get no vectors of %s: %s", task.spec.client, error, exc_info=not is_known)
    if time.monotonic() >= until:
        enqueue_on_commit(FILL_SENTENCES)
    return stored


def _tend(task: FillTask, *, until: float) -> int:
    """Raises StoppedError where the model is wanted no more, or makes none: it is asked again with the next run."""
    embedder = embedder_of(task.spec)
    if not isinstance(embedder, SentenceEmbedder) or (task.switch is not None and task.switch.model != embedder.model):
        return 0
    space = space_of(embedder)
    after, looked = _complete.get(space, (0, float("-inf")))
    if time.monotonic() - looked > LOOKED_SECONDS:
        after, looked = 0, time.monotonic()
    newest, stored = newest_passage(), 0
    while (page := passages_without(space, after=after, limit=PAGE)).last:
        for start in range(0, len(page.chunks), BATCH):
            stored += _fill(task, embedder, page.chunks[start : start + BATCH])
            if time.monotonic() >= until:
                return stored
        after = page.last
    _complete[space] = (max(newest - LOOKED_BACK, 0), looked)
    return stored


def _fill(task: FillTask, embedder: Embedder, chunks: Sequence[int]) -> int:
    """Make and store the vectors of these passages; returns of how many. Raises StoppedError where all fail."""
    with model_slot("embedding", alive=lambda: None) if task.spec.is_remote else nullcontext():
        passages = passages_of(chunks)
        embedded = sentences_embed(passages, embedder)
    vectors = {passage.chunk: item for passage, item in zip(passages, embedded, strict=True) if item is not None}
    if passages and not vectors:
        raise StoppedError
    return _store(task, vectors)


@transaction.atomic
def _store(task: FillTask, vectors: Mapping[int, EmbeddedSentences]) -> int:
    """Raises StoppedError where somebody has given the model up; what was stored before is deleted by them."""
    if not vectors:
        return 0
    model = next(iter(vectors.values())).space.model
    switches = EmbedderSwitch.objects.filter(model=model, state__in=EmbedderSwitch.FILLED)
    if not task.is_live and not switches.select_for_update(no_key=True).exists():
        raise StoppedError
    return sentences_fill(vectors)
