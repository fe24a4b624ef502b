"""Vectors of training stay on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ragcore.ports import FloatArray
from ragcore.training.embedders import StoredVectors, scripts_read, training_embedder


class Counting:
    """An embedder that counts the texts that it is given."""

    model, dimensions = "counting", 4

    def __init__(self, *, cjk: float = 1.0) -> None:
        self.cjk, self.texts = cjk, list[str]()

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        self.texts += texts
        return np.array([[len(text), 1, 0, 0] for text in texts], np.float32)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        self.texts += texts
        return np.array([[0, 0, 1, len(text)] for text in texts], np.float32)

    def trust(self, cjk_share: float) -> float:
        return self.cjk if cjk_share else 1.0

    def warm(self) -> None: ...


def test_a_text_is_embedded_once_for_all_runs(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    kept = StoredVectors(first, tmp_path / "vectors.sqlite")
    vectors = kept.embed_documents(["one", "three", "one"])

    again = StoredVectors(second, tmp_path / "vectors.sqlite").embed_documents(["three", "one", "other"])

    assert first.texts == ["one", "three"]
    assert second.texts == ["other"]
    assert vectors[:, 0].tolist() == [3, 5, 3]
    assert again[:, 0].tolist() == [5, 3, 5]


def test_questions_passages_and_models_are_told_apart(tmp_path: Path) -> None:
    one, other = Counting(), Counting()
    other.model = "other"
    for embedder in (one, other):
        kept = StoredVectors(embedder, tmp_path / "vectors.sqlite")
        assert kept.embed_documents(["a"])[0, 0] == 1
        assert kept.embed_queries(["a"])[0, 3] == 1
        assert kept.embed_queries([]).shape == (0, 4)

    assert one.texts == other.texts == ["a", "a"]


def test_a_script_is_read_where_its_cosines_are_trusted() -> None:
    assert scripts_read(Counting(cjk=0.3)) == ("en",)
    assert scripts_read(Counting(cjk=0.7)) == ("en", "zh", "zht")


def test_an_embedder_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="embedded_e5"):
        training_embedder("unknown", tmp_path)
