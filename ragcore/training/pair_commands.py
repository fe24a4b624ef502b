"""Commands of `python -m ragcore.training` about the model that reads question and sentence together."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.embedding.e5 import e5_exported
from ragcore.embedding.e5_weights import E5Weights, weights_path
from ragcore.embedding.unigram import UnigramTokenizer
from ragcore.training.answer_sets import AnswerSet
from ragcore.training.embedders import training_embedder
from ragcore.training.pair_lists import pair_lists, table_lists
from ragcore.training.sentence_meaning_training import first_read, read_lists, reading_fit

DIGITS = 5  # of a weight


def train_sentence_reading(given: argparse.Namespace, sets: Sequence[AnswerSet], target: Path) -> None:
    """Fit how much counts what is read together, on the half that it was not trained on; the other weights stay."""
    embedder, half = training_embedder(given.embedder, given.models), 1 if given.half is None else given.half
    record: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    lists = [
        one for data in sets for one in read_lists(data, embedder=embedder, record=record, half=half, limit=given.limit)
    ]
    weights = {name: round(value, DIGITS) for name, value in reading_fit(lists).items()}
    figures = {
        "questions": len(lists),
        "right_sentence_first": first_read(lists, weights),
        "without_reading": first_read(lists, {"compared": 1.0, "read": 0.0}),
    }
    trained = {**record["trained"], "reading": {"half": half, **figures}}
    written = {name: value for name, value in record.items() if name != "trained"} | weights | {"trained": trained}
    (given.out or target).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    print(f"{weights} {figures}")


def train_pairs(given: argparse.Namespace, sets: Sequence[AnswerSet]) -> None:
    """Train what reads question and sentence together on one half of the titles; tell how well it does on the other."""
    from ragcore.training.pair_training import PairModel, PairTraining, first_right, pairs_fit, told

    half = given.half or 0
    mine, others = (
        [one for data in sets for one in pair_lists(data, half=half_, limit=limit)]
        for half_, limit in ((half, given.limit), (1 - half, given.limit // 10))
    )
    tables = [one for folder in given.tables for one in table_lists(folder, limit=given.limit)]
    model = PairModel(E5Weights(weights_path()), UnigramTokenizer(e5_exported(given.models)))
    told(pairs_fit(model, mine, tables, PairTraining(epochs=given.epochs)))
    print(f"{len(mine)} questions; a right sentence first in the other half: {first_right(model, others)}")
    if given.out:
        changes: dict[str, Any] = {name: values.astype(np.float16) for name, values in model.changes().items()}
        np.savez_compressed(given.out, **changes)
