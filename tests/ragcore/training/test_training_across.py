"""What is learnt of questions whose answers stand in the other language, from a small parallel set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ragcore.ports import FloatArray
from ragcore.reranking.linear import FEATURES
from ragcore.text.token_count import counter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training.answer_sets import AnswerSet, answer_set
from ragcore.training.embedders import StoredVectors
from ragcore.training.meaning_training import across_rows
from ragcore.training.reranker_fitting import RankedList
from ragcore.training.reranker_training import ACROSS, ranked_lists, reranker_train
from ragcore.training.sentence_meaning_training import NAMES, first_right, meaning_lists, sentence_meaning_fit
from ragcore.training.support_meaning_training import across_fit, across_table, balanced_accuracy
from ragcore.types.sentence_vectors import HeadedSentence

THINGS = {"mast": "桅杆", "ferry": "渡轮", "bakery": "面包店", "tunnel": "隧道", "orchard": "果园", "library": "图书馆"}
TOKENIZER = JiebaTokenizer()


class Things:
    """Vectors say which of THINGS a text names, in whichever language."""

    model, dimensions, sentence_space = "things", 768, "plain"

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        rows = np.zeros((len(texts), 768), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 0.3
            for at, (english, chinese) in enumerate(THINGS.items(), 1):
                row[at] = english in text.lower() or chinese in text
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    embed_queries = embed_documents

    def embed_sentences(self, sentences: Sequence[HeadedSentence]) -> FloatArray:
        return self.embed_documents([one.text for one in sentences])[:, :384]

    def trust(self, cjk_share: float) -> float:
        return 0.7


def lines(path: Path, rows: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


@pytest.fixture
def parallel(tmp_path: Path) -> tuple[Path, Path]:
    """Chinese questions over English passages, and Chinese passages."""
    english, chinese = tmp_path / "en", tmp_path / "zh"
    text = "It rained for weeks in 1901. People walked here in 1903. The {} opened in {}."
    texts = {"en": text, "zh": "这里经常下雨，天气多变。{}于{}年开放，很多人来参观。人们喜欢在这里散步。"}
    for folder, name in ((english, "en"), (chinese, "zh")):
        told = [pair[name == "zh"] for pair in THINGS.items()]
        lines(
            folder / "corpus.jsonl",
            [
                {"id": f"set-{name}-a{at // 2}-{at % 2}", "title": "", "text": texts[name].format(one, 1950 + at)}
                for at, one in enumerate(told)
            ],
        )
    questions = [{"id": f"q{at}", "text": f"{one}哪年开放？"} for at, one in enumerate(THINGS.values())]
    lines(english / "queries.jsonl", [{**q, "answers": [str(1950 + at)]} for at, q in enumerate(questions)])
    relevant = "\n".join(f"q{at}\tset-en-a{at // 2}-{at % 2}\t1" for at in range(len(questions)))
    (english / "qrels.tsv").write_text(relevant, encoding="utf-8")
    return english, chinese


@pytest.fixture
def data(parallel: tuple[Path, Path], tmp_path: Path) -> AnswerSet:
    stored = StoredVectors(Things(), tmp_path / "vectors.sqlite")
    return answer_set(parallel[0], tokenizer=TOKENIZER, counter=counter(), embedder=stored)


def test_the_sentence_that_means_the_question_is_learnt_to_be_right(data: AnswerSet) -> None:
    lists = [one for half in (0, 1) for one in meaning_lists(data, embedder=Things(), half=half, limit=10)]

    weights = sentence_meaning_fit(lists)

    assert len(lists) == len(THINGS)
    assert weights["across"] > 0
    assert first_right(lists, weights)["en"] == 1.0 > first_right(lists, dict.fromkeys(NAMES, 0.0))["en"]


def test_sources_without_the_answer_are_less_near(data: AnswerSet) -> None:
    answered, lost = across_rows(data, embedder=Things(), half=None, limit=10, language="zh")

    assert len(answered) == len(THINGS)
    assert len(lost) == 2 * len(THINGS)  # without the document, and without all about the same
    assert answered[:, 0].min() > lost[:, 0].max()


def test_a_translation_supports_a_sentence_and_a_neighbour_does_not(parallel: tuple[Path, Path]) -> None:
    tables = [across_table(parallel, tokenizer=TOKENIZER, embedder=Things(), half=half) for half in (0, 1)]
    found = max(tables, key=lambda one: len(one.supported))

    assert {True, False} == set(found.supported.tolist())
    assert balanced_accuracy(found, across_fit(found)) > 0.5


def test_lists_across_languages_say_so(data: AnswerSet) -> None:
    lists = [one for _, one in ranked_lists(data, limit=10)]

    assert len(lists) == len(THINGS)
    assert all(one.inputs[:, FEATURES.index("across")].all() for one in lists)


def test_lists_across_languages_leave_the_weights_of_words_right() -> None:
    random = np.random.default_rng(5)

    def made(*, is_across: bool) -> RankedList:
        inputs = np.zeros((8, 2 * len(FEATURES)), np.float32)
        inputs[:, FEATURES.index("coverage")] = random.random(8)
        relevant = np.zeros(8, dtype=bool)
        if is_across:
            inputs[:, FEATURES.index("across")] = 1.0
            inputs[:, FEATURES.index("across_dense")] = random.random(8)
            relevant[int(inputs[:, FEATURES.index("across_dense")].argmax())] = True
        else:
            relevant[int(inputs[:, FEATURES.index("coverage")].argmax())] = True
        return RankedList("across" if is_across else "own", inputs, relevant, 1)

    own = [(str(n), made(is_across=False)) for n in range(40)]
    across = [(str(n), made(is_across=True)) for n in range(40)]
    near = np.zeros(2 * len(FEATURES), np.float32)

    both = reranker_train([*own, *across], near=near)

    at, dense = FEATURES.index("coverage"), FEATURES.index("across_dense")
    assert both.weights[at] > 3
    assert both.held_out["own"][1] > 0.9
    assert both.weights[dense] > 3
    assert both.held_out["across"][1] > 0.9
    assert ACROSS[dense]
    assert not ACROSS[at]
