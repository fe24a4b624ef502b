from concurrent.futures import ThreadPoolExecutor

import pytest

from ragcore.embedding import exporting
from ragcore.embedding.exporting import ensure_exported
from ragcore.errors import EmbedderRefusedError


def test_of_several_that_start_together_one_exports(tmp_path, monkeypatch):
    exports = []

    def export(target, exporter):
        exports.append((target, exporter))
        target.write_bytes(b"model")

    monkeypatch.setattr(exporting, "_export", export)
    target = tmp_path / "models" / "model.onnx"

    with ThreadPoolExecutor(4) as pool:
        files = list(pool.map(lambda number: ensure_exported(target, "an.exporter"), range(4)))

    assert exports == [(target, "an.exporter")]
    assert {file.read_bytes() for file in files} == {b"model"}


def test_a_failed_export_is_told_with_its_reason_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(exporting.sys, "executable", "/bin/false")

    with pytest.raises(EmbedderRefusedError, match="could not be prepared"):
        ensure_exported(tmp_path / "model.onnx", "an.exporter")

    assert not (tmp_path / "model.onnx").exists()
