"""Cross-encoders through sentence-transformers, on torch or OpenVINO (D5)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ragcore.errors import RerankerRefusedError

GPU_BATCH = 32
CPU_BATCH = 8  # small, so that a slow model is noticed early


class TorchPairs:
    """Implements PairModel. Raises RerankerRefusedError for a model that does not rank, and what loading raises."""

    def __init__(self, model: str, *, backend: str, max_tokens: int, trust_remote_code: bool) -> None:
        if backend == "openvino" and not find_spec("optimum.intel" if find_spec("optimum") else "optimum"):
            raise RerankerRefusedError(
                "RERANKER_BACKEND=openvino needs the package optimum-intel with openvino, which is not installed. "
                "Install it beside the product, or use torch or onnx.",
                model=model,
            )
        from sentence_transformers import CrossEncoder
        from torch.nn import Identity

        kind: Any = backend
        self._encoder: Any = CrossEncoder(
            model, backend=kind, trust_remote_code=trust_remote_code, activation_fn=Identity()
        )
        _check_ranks(self._encoder, model)
        self._encoder.max_seq_length = min(self._encoder.max_seq_length or max_tokens, max_tokens)
        self.batch = CPU_BATCH if str(self._encoder.device) == "cpu" else GPU_BATCH

    def logits(self, question: str, texts: Sequence[str]) -> list[float]:
        """See PairModel."""
        pairs = [[question, text] for text in texts]
        scores = self._encoder.predict(pairs, batch_size=len(pairs), show_progress_bar=False, convert_to_numpy=True)
        return [float(score) for score in scores]


def _check_ranks(encoder: Any, model: str) -> None:
    """A model without a trained head gets a random one when it is loaded: its scores would be noise."""
    config = getattr(encoder, "config", None)
    heads = [name for name in getattr(config, "architectures", None) or () if name.endswith("Model")]
    if heads:
        raise RerankerRefusedError(f"{model!r} is a {heads[0]} without a head that ranks.", model=model)
    if encoder.num_labels != 1:
        raise RerankerRefusedError(f"{model!r} sorts into {encoder.num_labels} classes; it does not rank.", model=model)
