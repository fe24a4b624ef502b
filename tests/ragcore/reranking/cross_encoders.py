"""Tiny cross-encoders with random weights that read single characters, for tests."""

from __future__ import annotations

from pathlib import Path

from tests.contracts.reranker import QUESTION, TEXTS


def save_cross_encoder(folder: Path, *, labels: int = 1, head: bool = True) -> str:
    """A BERT with or without a head that ranks; returns its folder."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

    torch.manual_seed(7)
    characters = sorted(set("".join([*TEXTS, QUESTION.text, "Handbook"]).lower().replace(" ", "")))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *(f"##{c}" for c in characters)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        initializer_range=0.8,  # so that scores differ
        num_labels=labels,
    )
    model = BertForSequenceClassification(config) if head else BertModel(config)
    model.save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    return str(folder)
