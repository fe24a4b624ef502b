"""Embedders for training: by the name that the setting EMBEDDER uses, with their vectors kept on the disk."""

from __future__ import annotations

import argparse
import hashlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from ragcore.answerability.model import Script
from ragcore.client_registry import ClientSettings
from ragcore.embedding import EMBEDDERS
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.extractive.sentence_cosines import headed_sentences
from ragcore.ports import Embedder, FloatArray, SentenceEmbedder, Tokenizer
from ragcore.types import Passage
from ragcore.types.sentence_vectors import SentenceVectors

DEFAULT = "embedded_e5"
VECTORS_FILE = "training-vectors.sqlite"
READS = 0.5  # trust from which cosines of a script say enough to be learnt from
SCRIPTS: tuple[Script, ...] = ("en", "zh", "zht")
BATCH = 64  # texts between two writes


def embedder_arguments(parser: argparse.ArgumentParser) -> None:
    """`--embedder`, `--no-embedder` and `--models`, which `given_embedder` reads."""
    embedders = parser.add_mutually_exclusive_group()
    embedders.add_argument("--embedder", default=DEFAULT, help="as the setting EMBEDDER names it")
    embedders.add_argument("--no-embedder", action="store_true", help="words alone")
    folder = Path(os.environ.get("DATA_DIR", "var")) / "models"
    parser.add_argument("--models", type=Path, default=folder, help="where models and vectors are kept")


def given_embedder(options: argparse.Namespace) -> StoredVectors | None:
    """The embedder of `--embedder`; None with `--no-embedder`."""
    return None if options.no_embedder else training_embedder(options.embedder, options.models)


@cache
def training_embedder(name: str, models: Path) -> StoredVectors:
    """The embedder of this name with its model in `models`, where vectors stay, too. Raises ValueError."""
    return StoredVectors(EMBEDDERS.create(name, ClientSettings(models_dir=models)), models / VECTORS_FILE)


def scripts_read(embedder: Embedder) -> tuple[Script, ...]:
    """The scripts whose cosines are worth learning from."""
    return tuple(script for script in SCRIPTS if embedder.trust(float(script != "en")) >= READS)


class StoredVectors(CachingEmbedder):
    """Implements ports.Embedder over another one; the vector of a text is computed once for all runs."""

    def __init__(self, embedder: Embedder, file: Path) -> None:
        super().__init__(embedder)
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(file, check_same_thread=False)  # used by one thread after another
        self._database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._vectors(texts, "passage", self.embedder.embed_documents)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._vectors(texts, "query", self.embedder.embed_queries)

    def _vectors(self, texts: Sequence[str], kind: str, embed: Callable[[Sequence[str]], FloatArray]) -> FloatArray:
        keys = [hashlib.sha256(f"{self.model}\0{kind}\0{text}".encode()).digest() for text in texts]
        by_key = {key: self._stored(key) for key in keys}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if by_key[key] is None}
        for start in range(0, len(missing), BATCH):
            part = list(missing)[start : start + BATCH]
            vectors = embed([missing[key] for key in part])
            by_key |= dict(zip(part, vectors, strict=True))
            with self._database:
                rows = ((key, row.astype(np.float32).tobytes()) for key, row in zip(part, vectors, strict=True))
                self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        rows_ = [by_key[key] for key in keys]
        return np.vstack([np.zeros((0, self.dimensions), np.float32), *(row for row in rows_ if row is not None)])

    def sentences(self, passage: Passage, tokenizer: Tokenizer) -> SentenceVectors | None:
        """Vectors of the sentences of a passage; None where the embedder gives none."""
        if not isinstance(self.embedder, SentenceEmbedder):
            return None
        sentences = headed_sentences(passage, tokenizer)
        texts = [sentence.text for sentence in sentences]
        name = "\0".join(
            [self.model, self.embedder.sentence_space, *(f"{sentence.head}\0{sentence.text}" for sentence in sentences)]
        )
        key = hashlib.sha256(f"{name}\0sentences".encode()).digest()
        if (stored := self._stored(key)) is not None:
            return SentenceVectors.of(texts, stored.reshape(len(texts), -1))
        if not sentences:
            return None
        vectors = self.embedder.embed_sentences(sentences)
        with self._database:
            row = (key, vectors.astype(np.float32).tobytes())
            self._database.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", row)
        return SentenceVectors.of(texts, vectors)

    def _stored(self, key: bytes) -> FloatArray | None:
        row = self._database.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float32)
