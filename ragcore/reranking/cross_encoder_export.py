"""Export a cross-encoder to ONNX: `python -m ragcore.reranking.cross_encoder_export MODEL FOLDER [--int8]`.

The folder then serves as `RERANKER=cross_encoder:FOLDER` with `RERANKER_BACKEND=onnx`.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def export(model: str, folder: Path, *, int8: bool = False, trust_remote_code: bool = False) -> None:
    """Write onnx/model.onnx, tokenizer.json and configurations; the model file appears complete or not at all."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    ranker = AutoModelForSequenceClassification.from_pretrained(  # nosec B615 (named by the operator)
        model, attn_implementation="eager", trust_remote_code=trust_remote_code
    ).eval()
    tokenizer = AutoTokenizer.from_pretrained(model, trust_remote_code=trust_remote_code)  # nosec B615
    tokenizer.save_pretrained(folder)
    ranker.config.save_pretrained(folder)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        file = Path(scratch) / "model.onnx"
        _export_fp32(ranker, [name for name in INPUTS if name in tokenizer.model_input_names], file)
        if int8:
            file = quantised(file, Path(scratch) / "int8.onnx")
        shutil.move(file, folder / "onnx" / "model.onnx")


def _export_fp32(ranker: Any, inputs: list[str], target: Path) -> None:
    """int64[b, s] of each input to float32[b, 1]."""
    import torch
    from torch.export import Dim

    class Logits(torch.nn.Module):  # type: ignore[misc]  # mypy does not read torch
        def __init__(self) -> None:
            super().__init__()
            self.ranker = ranker

        def forward(self, *tensors: Any) -> Any:
            return self.ranker(**dict(zip(inputs, tensors, strict=True))).logits

    example = tuple(torch.full((2, 8), 1, dtype=torch.long) for _ in inputs)
    limit = int(getattr(ranker.config, "max_position_embeddings", 0) or 512)
    axes = {0: Dim("batch"), 1: Dim("tokens", max=limit)}
    torch.onnx.export(
        Logits().eval(),
        example,
        str(target),
        input_names=inputs,
        output_names=["logits"],
        dynamic_shapes=(tuple(axes for _ in inputs),),
        dynamo=True,
        external_data=False,
        opset_version=18,
        verbose=False,
    )


def quantised(source: Path, target: Path) -> Path:
    """Dynamic int8 of the matrix products, one scale per output channel, as for the packaged embedder."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = onnx.load(str(source))
    del whole.graph.value_info[:]  # shapes that the export noted and its optimiser made untrue
    quantize_dynamic(
        whole,
        str(target),
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
    )
    return target


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="folder, or name on the Hugging Face hub")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--int8", action="store_true", help="a quarter of the size, twice as fast on a CPU")
    parser.add_argument("--trust-remote-code", action="store_true", help="run code that comes with the model")
    arguments = parser.parse_args()
    export(arguments.model, arguments.folder, int8=arguments.int8, trust_remote_code=arguments.trust_remote_code)
