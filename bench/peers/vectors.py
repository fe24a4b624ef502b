"""The vectors that peers are given, and what computing them costs, since none of them computes its own here."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from django.conf import settings

from bench.peers.catalogue import VectorKind
from bench.peers.exchange import FloatArray
from bench.peers.sets import PublicSet
from knowledge.model_registry import embedder
from ragcore.embedding.minilm import MiniLm

AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Vectors of one kind for a set. `milliseconds` of each question, which a user would wait for, too."""

    passages: FloatArray
    questions: FloatArray
    seconds: float  # for all passages
    milliseconds: Sequence[float]


def set_embed(public: PublicSet, *, kind: VectorKind) -> Embedded:
    """`minilm`: float32[n, 384] of the packaged model; `own`: float32[n, 768] of the configured embedder."""
    encode = _encoder(kind)
    texts = [passage.indexed for passage in public.passages]
    encode(texts[:1])
    start = time.perf_counter()
    passages = np.vstack([encode(texts[at : at + AT_ONCE]) for at in range(0, len(texts), AT_ONCE)])
    seconds = time.perf_counter() - start
    questions, milliseconds = [], []
    for question in public.questions:
        start = time.perf_counter()
        questions.append(encode([question.text]))
        milliseconds.append(1000 * (time.perf_counter() - start))
    return Embedded(passages=passages, questions=np.vstack(questions), seconds=seconds, milliseconds=milliseconds)


def _encoder(kind: VectorKind) -> Callable[[Sequence[str]], FloatArray]:
    if kind == "minilm":
        return MiniLm(Path(settings.DATA_DIR) / "models", threads=settings.EMBEDDER_THREADS).encode
    return embedder().embed_documents
