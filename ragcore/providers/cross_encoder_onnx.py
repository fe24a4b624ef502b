"""Exported cross-encoders on ONNX Runtime: no torch in the process that serves (D5)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.errors import RerankerRefusedError

MODEL_FILES = ("onnx/model.onnx", "model.onnx", "onnx/model_int8.onnx", "onnx/model_quantized.onnx")
OTHER_FILES = ("tokenizer.json", "tokenizer_config.json", "config.json")
GPU_BATCH = 32
CPU_BATCH = 1  # nearly as fast as larger ones, and int8 scales, which are those of a whole batch, stay the pair's own
UNLIMITED = 1_000_000  # what configurations write for a model without a limit is far above


class OnnxPairs:
    """Implements PairModel with the files of a folder or of a model on the Hugging Face hub.

    Needs one of MODEL_FILES with an output float[n, 1] or float[n], and tokenizer.json.
    Raises RerankerRefusedError if something is missing or the model does not rank, and what reading files raises.
    """

    def __init__(self, model: str, *, max_tokens: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        folder = Path(model) if Path(model).is_dir() else _downloaded(model)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the cores
        there = onnxruntime.get_available_providers()
        wanted = [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider") if name in there]
        self._session: Any = onnxruntime.InferenceSession(str(_model_file(folder)), options, providers=wanted)
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(min(max_tokens, _limit(folder)), strategy="longest_first")
        self._tokenizer.no_padding()
        self._padding = _padding(folder, self._tokenizer)
        self.batch = GPU_BATCH if "CUDAExecutionProvider" in self._session.get_providers() else CPU_BATCH

    def logits(self, question: str, texts: Sequence[str]) -> list[float]:
        """See PairModel. Raises RerankerRefusedError if there is more than one number a pair."""
        encodings = self._tokenizer.encode_batch([(question, text) for text in texts])
        feeds = dict(self._feeds(encodings))
        found = np.asarray(self._session.run(None, feeds)[0], dtype=np.float32)
        if found.size != len(texts):
            raise RerankerRefusedError(f"The model gives {found.size // len(texts)} numbers a pair; it does not rank.")
        return [float(score) for score in found.reshape(-1)]

    def _feeds(self, encodings: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """int64[n, longest] of what the model takes."""
        rows = {
            "input_ids": ([e.ids for e in encodings], self._padding),
            "attention_mask": ([e.attention_mask for e in encodings], 0),
            "token_type_ids": ([e.type_ids for e in encodings], 0),
        }
        for name, (values, padding) in rows.items():
            if name in self._inputs:
                longest = max(map(len, values))
                yield name, np.array([[*row, *[padding] * (longest - len(row))] for row in values], np.int64)


def _model_file(folder: Path) -> Path:
    found = next((folder / name for name in MODEL_FILES if (folder / name).is_file()), None)
    if found is None or not (folder / "tokenizer.json").is_file():
        raise RerankerRefusedError(
            f"{str(folder)!r} has no exported model: {' or '.join(MODEL_FILES)}, and tokenizer.json, are needed. "
            "`python -m ragcore.providers.cross_encoder_export MODEL FOLDER` makes them."
        )
    return found


def _downloaded(model: str) -> Path:
    """The files of a model on the hub, kept in its cache."""
    from huggingface_hub import snapshot_download

    wanted = [*OTHER_FILES, *MODEL_FILES[:1], f"{MODEL_FILES[0]}_data"]
    return Path(snapshot_download(model, allow_patterns=wanted))


def _limit(folder: Path) -> int:
    """How many tokens the model was made for."""
    said = (
        _json(folder / "tokenizer_config.json").get("model_max_length"),
        _json(folder / "config.json").get("max_position_embeddings"),
    )
    return min((int(limit) for limit in said if isinstance(limit, (int, float)) and 0 < limit < UNLIMITED), default=512)


def _padding(folder: Path, tokenizer: Any) -> int:
    """The id that fills a row; the mask makes it count for nothing."""
    said = _json(folder / "config.json").get("pad_token_id")
    return said if isinstance(said, int) else tokenizer.token_to_id("[PAD]") or 0


def _json(path: Path) -> Mapping[str, Any]:
    read = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return read if isinstance(read, dict) else {}
