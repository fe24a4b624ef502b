"""Folders of tiny models with random weights that read single characters, for tests."""

from __future__ import annotations

from pathlib import Path

from tests.contracts.embedder import TEXTS


def bert_folder(folder: Path, *, hidden: int) -> str:
    """A BERT of so many numbers in a folder that exists; its path."""
    from transformers import BertConfig, BertModel, BertTokenizer

    characters = sorted(set("".join(TEXTS).lower().replace(" ", "")))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *(f"##{c}" for c in characters)]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(words), hidden_size=hidden, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    BertModel(config).save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)
