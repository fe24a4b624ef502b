"""Makes the vectors that sentences of passages lack of an embedding model of the site (decision 048)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial

from django.utils.translation import gettext_lazy as _

from knowledge.indexes.sentence_vectors import (
    EmbeddedSentences,
    newest_passage,
    passages_of,
    passages_without,
    sentences_fill,
    space_of,
)
from knowledge.model_registry import embedder_of
from knowledge.model_setup import setup_refresh
from knowledge.queue import FILL_SENTENCES
from knowledge.services.embedder_fill import FillTask, Place, fill_task, is_model_needed, site_due, switch_of
from knowledge.services.model_slots import model_slot
from knowledge.services.sentence_vectors import sentences_embed
from ragcore.ports import Embedder, SentenceEmbedder
from work.kinds import Checkpoint, DueWork, JobKind, job_kind
from work.models import Job

BATCH = 32  # passages a transaction: a second or two of computing
PAGE = 2_000  # passages that are looked at together
Vectors = Mapping[int, EmbeddedSentences]  # by passage


@job_kind
class EmbedSentences(JobKind):
    """One model, as far as it gives vectors of sentences. It begins anew each minute with the passages that are new."""

    name = FILL_SENTENCES
    label = _("Vectors of the sentences of passages")
    queue = "nightly"
    slice_seconds = 45.0
    longest_retry_seconds = 300.0
    ends_with_author = False

    def due(self) -> list[DueWork]:
        return site_due()

    def run(self, job: Job) -> Iterator[Checkpoint]:
        setup_refresh(now=True)
        task = fill_task(subject=job.subject)
        if task is None:
            return
        embedder = embedder_of(task.spec)
        if not isinstance(embedder, SentenceEmbedder) or not task.names(embedder.model):
            return
        space = space_of(embedder)
        place = Place.of(job, space=f"{space.model} {space.name}", newest=newest_passage)
        while (page := passages_without(space, after=place.after, limit=PAGE)).last:
            for start in range(0, len(page.chunks), BATCH):
                chunks = page.chunks[start : start + BATCH]
                vectors = _vectors(task, embedder, chunks)
                task = fill_task(subject=job.subject)  # it may have been given up
                if vectors is None or task is None:
                    return  # it is tried again with the next job
                place = place.moved(after=chunks[-1])
                write = partial(_store, space.model, vectors, is_live=task.is_live)
                yield Checkpoint(data=place.data(), write=write)
            place = place.moved(after=page.last)
        yield Checkpoint(data=place.end(), is_last=True)

    def subject_words(self, job: Job) -> str:
        """The name of the model; "" where the site has never changed it."""
        row = switch_of(subject=job.subject)
        return row.model if row is not None else ""


def _vectors(task: FillTask, embedder: Embedder, chunks: Sequence[int]) -> Vectors | None:
    """Of the passages that are still there; None where the model gave none at all."""
    with model_slot("embedding", alive=lambda: None) if task.spec.is_remote else nullcontext():
        passages = passages_of(chunks)
        embedded = sentences_embed(passages, embedder)
    vectors = {passage.chunk: item for passage, item in zip(passages, embedded, strict=True) if item is not None}
    return None if passages and not vectors else vectors


def _store(model: str, vectors: Vectors, *, is_live: bool) -> None:
    if vectors and is_model_needed(model, is_live=is_live):
        sentences_fill(vectors)
