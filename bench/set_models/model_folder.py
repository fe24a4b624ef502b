"""A model where models of the product may be: copied from a folder, or made of the package wordllama."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "wordllama"


def model_place(model: str, folder: Path) -> Path:
    """Put the model into `folder`, which must not exist. Raises FileNotFoundError where there is no such model."""
    if model == PACKAGE:
        return _wordllama_save(folder)
    shutil.copytree(model, folder)
    return folder


def _wordllama_save(folder: Path) -> Path:
    """The vectors of words of that package, averaged: 256 numbers, trained on English."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {PACKAGE} is not installed")
    from safetensors.torch import load_file
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer

    home = Path(spec.origin).parent
    weights = load_file(home / "weights" / "l2_supercat_256.safetensors")["embedding.weight"].float()
    tokenizer = Tokenizer.from_file(str(home / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)]).save(str(folder))
    return folder
