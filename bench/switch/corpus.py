"""Several retrieval sets put together as one, and a small model for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

NUMBERS = 768
_WORDS = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")


def sets_joined(folders: Sequence[Path], into: Path) -> Path:
    """One set of all documents and questions; ids begin with the number of their set."""
    into.mkdir(parents=True, exist_ok=True)
    with (
        (into / "corpus.jsonl").open("w", encoding="utf-8") as corpus,
        (into / "queries.jsonl").open("w", encoding="utf-8") as queries,
        (into / "qrels.tsv").open("w", encoding="utf-8") as qrels,
    ):
        for number, folder in enumerate(folders):
            for name, target in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
                for row in _rows(folder / name):
                    target.write(json.dumps(_named(row, number), ensure_ascii=False) + "\n")
            for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
                query, document = line.split("\t")[:2]
                qrels.write(f"{number}-{query}\t{number}-{document}\t1\n")
    return into


def _rows(file: Path) -> Iterator[dict[str, object]]:
    with file.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _named(row: dict[str, object], number: int) -> dict[str, object]:
    return {**row, "id": f"{number}-{row['id']}"}


def words_of(texts: Iterable[str]) -> list[str]:
    """All words and Chinese characters, by the alphabet."""
    return sorted({word for text in texts for word in _WORDS.findall(text.lower())})


def model_save(folder: Path, words: Sequence[str]) -> Path:
    """A model in the layout of sentence-transformers: a fixed random vector for each word, averaged.

    Texts with the same words are near; words that it does not know count for nothing.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {"[UNK]": 0, **{word: at for at, word in enumerate(words, start=1)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106 # nosec B106 - no password
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    rows = np.full((len(vocabulary), NUMBERS), 1e-6, np.float32)
    for word, at in vocabulary.items():
        if at:
            rows[at] = np.random.default_rng(crc32(word.encode())).normal(size=NUMBERS) / rarity_root(word)
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=torch.from_numpy(rows))]).save(
        str(folder)
    )
    return folder


def rarity_root(word: str) -> float:
    """How common a word is: short ones are, so they count less."""
    return 3.0 if len(word) <= 3 and word.isascii() else 1.0
